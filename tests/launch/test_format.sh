# Every C and C++ file stands as .clang-format says. Versions of clang-format differ, so only 14 judges.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
formatter=
for name in clang-format-14 clang-format; do
  if command -v $name >/dev/null && grep -q 'version 14\.' <<<"$($name --version)"; then formatter=$name && break; fi
done
[[ -n $formatter ]] || skip "clang-format 14 is not installed"

cd "$GNNTRAIN_SOURCE"
find runtime io kernels partition models launch tests -type f \
  \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 $formatter --dry-run -Werror

! $formatter --dry-run -Werror --assume-filename=planted.c <<<'int   planted( void ) ;' 2>/dev/null ||
  fail "clang-format takes a badly formatted line"
