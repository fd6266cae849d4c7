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

# compare LOG WHAT: the two numbers of a log, at most 1.3 times apart; $peak in MiB.
compare() {
  local estimate peak_unit estimate_unit
  read -r peak peak_unit estimate estimate_unit < <(
    sed -n 's/^ *memory *\([0-9.]*\) \([KMG]iB\) on the fullest rank (estimate \([0-9.]*\) \([KMG]iB\))/\1 \2 \3 \4/p' "$1")
  echo "$2: peak $peak $peak_unit, estimate $estimate $estimate_unit"
  peak=$(mib "$peak" "$peak_unit")
  awk -v p="$peak" -v e="$(mib "$estimate" "$estimate_unit")" \
    'BEGIN {exit !(p > 50 && p <= 1.3 * e && e <= 1.3 * p)}' || fail "they are more than 1.3 times apart"
}

for ranks in 1 2; do
  mpirun -n $ranks --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set log.dir=run \
    --set log.overwrite=true >"log.$ranks" 2>&1 || fail "$ranks ranks: $(tail -3 "log.$ranks")"
  compare "log.$ranks" "$ranks ranks"
done

# METIS takes more on rank 0 than training does; where its partition is kept it takes nothing.
"$GNNTRAIN_BIN/gnndata" synth cut.h5 --nodes 60000 --degree 50 --features 4 --classes 4 >synth.log 2>&1 ||
  fail "synth: $(cat synth.log)"
for time in made kept; do
  mpirun -n 2 --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set dataset.path=cut.h5 \
    --set partition.method=metis --set log.dir=run --set log.overwrite=true >"log.$time" 2>&1 ||
    fail "METIS: $(tail -3 "log.$time")"
done
compare log.made "partition made"
grep 'making the partition, beyond that' log.made || fail "the estimate leaves METIS out"
most=$peak
grep 'making the partition, beyond that' log.kept && fail "a kept partition is counted"
peak=$(sed -n 's/^ *memory *\([0-9.]*\) MiB on the fullest rank (estimate.*/\1/p' log.kept)
awk -v m="$most" -v k="$peak" 'BEGIN {exit !(k > 0 && m > 1.5 * k)}' ||
  fail "with METIS $most MiB, with what it left $peak MiB"

# Ranks of unequal load: what one of them needs beyond training, another need not.
awk 'BEGIN {srand(1); for (i = 0; i < 20000; i++) print i, (i + 1) % 20000
            for (i = 0; i < 200000; i++) print int(10000 * rand()), int(10000 * rand())}' >edges.txt
"$GNNTRAIN_BIN/gnndata" import edgelist edges.txt uneven.h5 --undirected --drop-self-loops --features random:8 \
  --labels random:4 --split per-class:20,30 >import.log 2>&1 || fail "import: $(cat import.log)"
mpirun -n 2 --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set dataset.path=uneven.h5 \
  --set model.hidden=2 --set log.dir=run --set log.overwrite=true >log.uneven 2>&1 || fail "uneven: $(tail -30 log.uneven)"
grep 'building the shard, beyond that' log.uneven || fail "no rank needs more to build its shard than to train"
