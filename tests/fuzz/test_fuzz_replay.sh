# What once broke a reader, and the seeds that fuzzing starts from, are read without harm.
set -euo pipefail
replay=$GNNTRAIN_BIN/tests/fuzz/fuzz_replay
rm -rf seeds
"$GNNTRAIN_BIN/tests/fuzz/fuzz_seeds" seeds
"$replay" seeds "$GNNTRAIN_SOURCE/tests/fuzz/crashes"
# Each target has a seed: none is without a beginning.
targets=$(sed -n 's/^    {"\([a-z_0-9]*\)", fuzz_.*/\1/p' "$GNNTRAIN_SOURCE/tests/fuzz/target.c")
for target in $targets; do
  [[ -n $(ls "seeds/$target") ]] || { echo "$target has no seed"; exit 1; }
done
