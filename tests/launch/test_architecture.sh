# docs/architecture.md and docs/adding.md name only what is there: functions, files and constants in `backticks`, links, the
# floors of test_floors.sh, and lines of code in blocks that name their file (```c FILE).
. "$GNNTRAIN_SOURCE/tests/lib.sh"
shopt -u nullglob

# All code in one file, for names to be looked for.
(cd "$GNNTRAIN_SOURCE" && find runtime io kernels partition models launch tests \
  \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name CMakeLists.txt \) \
  ! -name test_architecture.sh -exec cat {} +) >code.txt
(($(wc -l <code.txt) > 20000)) || fail "the tree has hardly any code"

# Whether a function or macro of that name is defined: at the beginning of a line or behind its type, not where it is called.
defined() {
  grep -qE "^([a-z_][A-Za-z0-9_ *]* \**)?$1\(.*[{,]\$|^#define $1\(|^function\($1 |^$1\(\) \{" code.txt ||
    grep -qE "^[a-z_].* \**(REAL\()?$1\)?\([^;]*\$|^$1\($" code.txt
}

# spans FILE: what stands between backticks, a line each, outside of blocks of code.
spans() { sed -E '/^ *```/,/^ *```$/d' "$1" | grep -oE '`[^`]+`' | tr -d '`'; }

check_span() {
  case $1 in
  *[!A-Za-z0-9_./\(\)]* | --* | .) ;; # an expression or an option
  *'()') defined "${1%'()'}" || echo "no function $1" ;;
  [a-z]*/*) [[ -e $GNNTRAIN_SOURCE/$1 ]] || echo "no file $1" ;;
  README.md) [[ -e $GNNTRAIN_SOURCE/$1 ]] || echo "no file $1" ;;
  [A-Z]*[A-Z0-9]) grep -qw -- "$1" code.txt || echo "no $1" ;;
  esac
}

# check_code FILE: every line of a block that names a file stands there, but for the indentation of the page.
check_code() {
  awk '
  /^ *```[a-z]+ / { file = $2; indent = match($0, /[^ ]/) - 1; next }
  /^ *```$/ { file = ""; next }
  file != "" && NF { print file "\t" substr($0, indent + 1) }' "$1" | while IFS=$'\t' read -r file line; do
    [[ -e $GNNTRAIN_SOURCE/$file ]] || { echo "no file $file" && continue; }
    grep -qxF -- "$line" "$GNNTRAIN_SOURCE/$file" || echo "not in $file: $line"
  done
}

check_links() {
  grep -oE '\]\([^)]+\)' "$1" | tr -d '])(' | while read -r link; do
    [[ $link == http* || -e $GNNTRAIN_SOURCE/docs/$link ]] || echo "no page $link"
  done
}

# check PAGE: prints what is wrong.
check() {
  spans "$1" | sort -u | while IFS= read -r span; do check_span "$span"; done
  check_code "$1"
  check_links "$1"
}

# check_floors PAGE
check_floors() {
  sed -nE 's/^ *floors\("(.*)", "(.*)"\)$/\1: \2/p' "$GNNTRAIN_SOURCE/tests/launch/test_floors.sh" |
    sed 's/^: /the tree: /' >floors.txt
  (($(wc -l <floors.txt) > 10)) || echo "test_floors.sh has hardly any floors"
  sed -n '/^the tree: /,/^```$/p' "$1" | sed '$d' | diff - floors.txt || true
}

docs=$GNNTRAIN_SOURCE/docs
for page in architecture adding; do
  (($(spans "$docs/$page.md" | wc -l) > 40)) || fail "docs/$page.md names hardly anything"
  found=$(check "$docs/$page.md")
  [[ -z $found ]] || fail "docs/$page.md: $found"
done
found=$(check_floors "$docs/architecture.md")
[[ -z $found ]] || fail "docs/architecture.md has other floors than test_floors.sh: $found"

# The check itself must see each kind of wrong name. sees MESSAGE SED: of a page that was changed so.
sees() {
  sed -E "$2" "$docs/$3.md" >page.md
  ! cmp -s page.md "$docs/$3.md" || fail "$2 changes nothing in docs/$3.md"
  [[ $(check page.md) == *"$1"* ]] || fail "not seen in docs/$3.md: $2"
}
sees 'no function halo_begin()' 's/`halo_start\(\)`/`halo_begin()`/' architecture
sees 'no function op_sp()' 's/`op_spmm\(\)`/`op_sp()`/' architecture
sees 'no file models/program/lives.c' 's|`models/program/liveness.c`|`models/program/lives.c`|' architecture
sees 'no STEP_LOST' 's/`STEP_LOSS`/`STEP_LOST`/' architecture
sees 'no page other.md' 's/\(adding.md\)/(other.md)/' architecture
sees 'no function unit_tests()' 's/`unit_test\(\)`/`unit_tests()`/' adding
sees 'not in models/layers/sgc.c: ' 's/int z = build_linear/int y = build_linear/' adding
sees 'no file kernels/cpu/elementwise/elementwise_tables.c' 's|^( *```c kernels/cpu/elementwise/elementwise_table)\.c|\1s.c|' adding
sed 's/^io: file | arrow dataset/io: arrow dataset | file/' "$docs/architecture.md" >page.md
[[ -n $(check_floors page.md) ]] || fail "another order of floors was not seen"
