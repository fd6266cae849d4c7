# The peak memory of the fullest rank lies within 1.3 times the estimate that the banner gives, both ways.
set -u
fail() { echo "FAILED: $*"; exit 1; }

rm -rf ./*.h5 ./*.parts run
"$GNNTRAIN_BIN/gnndata" synth data.h5 --nodes 200000 --degree 20 --features 64 --classes 8 >synth.log 2>&1 ||
  fail "synth: $(cat synth.log)"
cat >run.toml <<'TOML'
dataset.path = "data.h5"
model = {hidden = 32, norm = "batch"}
train.epochs = 3
partition = {method = "block", order = "given"}
TOML

# mib NUMBER UNIT
mib() { awk -v n="$1" -v u="$2" 'BEGIN {print u == "GiB" ? 1024 * n : u == "KiB" ? n / 1024 : n}'; }

for ranks in 1 2; do
  mpirun -n $ranks --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set log.dir=run \
    --set log.overwrite=true >"log.$ranks" 2>&1 || fail "$ranks ranks: $(tail -3 "log.$ranks")"
  read -r peak peak_unit estimate estimate_unit < <(
    sed -n 's/^ *memory *\([0-9.]*\) \([KMG]iB\) on the fullest rank (estimate \([0-9.]*\) \([KMG]iB\))/\1 \2 \3 \4/p' "log.$ranks")
  echo "$ranks ranks: peak $peak $peak_unit, estimate $estimate $estimate_unit"
  awk -v p="$(mib "$peak" "$peak_unit")" -v e="$(mib "$estimate" "$estimate_unit")" \
    'BEGIN {exit !(p > 50 && p <= 1.3 * e && e <= 1.3 * p)}' || fail "they are more than 1.3 times apart"
done

# Ranks of unequal load: what one of them needs beyond training, another need not.
awk 'BEGIN {srand(1); for (i = 0; i < 20000; i++) print i, (i + 1) % 20000
            for (i = 0; i < 200000; i++) print int(10000 * rand()), int(10000 * rand())}' >edges.txt
"$GNNTRAIN_BIN/gnndata" import edgelist edges.txt uneven.h5 --undirected --drop-self-loops --features random:8 \
  --labels random:4 --split per-class:20,30 >import.log 2>&1 || fail "import: $(cat import.log)"
mpirun -n 2 --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set dataset.path=uneven.h5 \
  --set model.hidden=2 --set log.dir=run --set log.overwrite=true >log.uneven 2>&1 || fail "uneven: $(tail -30 log.uneven)"
grep 'building the shard, beyond that' log.uneven || fail "no rank needs more to build its shard than to train"
