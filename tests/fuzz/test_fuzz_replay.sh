# What once broke a reader, and the seeds that fuzzing starts from, are read without harm.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
here=$GNNTRAIN_SOURCE/tests/fuzz
fuzz_seeds seeds
fuzz_replay seeds "$here/crashes"

# Each target has a seed, so that none begins with nothing.
targets=$(sed -n 's/^    {"\([a-z_0-9]*\)", fuzz_.*/\1/p' "$here/target.c")
[[ $(wc -l <<<"$targets") -gt 20 ]] || fail "target.c lists hardly any targets"
for target in $targets; do
  [[ -n $(ls "seeds/$target") ]] || fail "$target has no seed"
done

# What is found becomes a text, and the text the bytes that were found.
mkdir -p texts/npz
"$here/encode" seeds/npz/graph "a comment" >texts/npz/graph.hex
"$here/decode" texts decoded
cmp decoded/npz/graph seeds/npz/graph

# What must be noticed is: a file that is no text of digits, and a folder without files.
mkdir -p wrong/npz nothing
echo '0x12' >wrong/npz/a.hex
! fuzz_replay wrong 2>/dev/null || fail "a damaged .hex was taken"
! fuzz_replay nothing 2>/dev/null || fail "a folder without files was taken"
