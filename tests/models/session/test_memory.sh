# The peak memory of the fullest rank lies within 1.3 times the estimate that the banner gives, both ways.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

works gnndata synth data.h5 --nodes 200000 --degree 20 --features 64 --classes 8
settings run.toml dataset.path=data.h5 model.hidden=32 model.norm=batch train.epochs=3 partition.method=block \
  partition.order=given log.dir=run log.overwrite=true

# mib NUMBER UNIT
mib() { awk -v n="$1" -v u="$2" 'BEGIN {print u == "GiB" ? 1024 * n : u == "KiB" ? n / 1024 : n}'; }

# compare WHAT [LOG [TIMES]]: the two numbers of a run, at most 1.3 times apart, or so many; $peak in MiB.
compare() {
  local estimate peak_unit estimate_unit
  read -r peak peak_unit estimate estimate_unit < <(
    sed -n 's/^ *memory *\([0-9.]*\) \([KMG]iB\) on the fullest rank (estimate \([0-9.]*\) \([KMG]iB\))/\1 \2 \3 \4/p' "${2-out.txt}") || fail "no line of memory"
  echo "$1: peak $peak $peak_unit, estimate $estimate $estimate_unit"
  peak=$(mib "$peak" "$peak_unit")
  awk -v p="$peak" -v e="$(mib "$estimate" "$estimate_unit")" -v times="${3-1.3}" \
    'BEGIN {exit !(p > 50 && p <= times * e && e <= times * p)}' || fail "they are more than ${3-1.3} times apart"
}

for ranks in 1 2; do
  must_run $ranks run.toml
  compare "$ranks ranks"
done

# What is largest while the features are there beside their aggregate and rows of a halo on their way.
must_run 2 run.toml --set model.layers=1 --set model.norm=none
compare "2 ranks, one layer" out.txt 1.1

# Graphs that are classified, with readouts of all layers.
mkdir rings
awk 'BEGIN {
  for (g = 0; g < 10000; g++) {
    print g % 2 >"rings/rings_graph_labels.txt"
    for (i = 0; i < 15; i++) {
      print g + 1 >"rings/rings_graph_indicator.txt"
      print (g + i) % 5 >"rings/rings_node_labels.txt"
      printf "%d, %d\n%d, %d\n", 15 * g + i + 1, 15 * g + (i + 1) % 15 + 1, 15 * g + (i + 1) % 15 + 1, 15 * g + i + 1 >"rings/rings_A.txt"
    }
  }
}'
works gnndata import tud rings rings.h5 --split random:0.6,0.2
for ranks in 1 2; do
  readout=$([ $ranks = 1 ] && echo sum || echo max)
  must_run $ranks run.toml --set dataset.path=rings.h5 --set model.type=gin --set model.readout=$readout \
    --set model.readout_layers=all --set model.layers=3
  compare "$ranks ranks, readouts of all layers, $readout"
done

# A dataset that is made where it is read takes what one from a file does.
for ranks in 1 4; do
  must_run $ranks run.toml --set 'dataset.path="synth:nodes=200000,degree=20,features=64,classes=8"'
  compare "$ranks ranks, made in place"
done

# METIS takes more on rank 0 than training does; where its partition is kept it takes nothing.
works gnndata synth cut.h5 --nodes 60000 --degree 50 --features 4 --classes 4
for time in made kept; do
  must_run 2 run.toml --set dataset.path=cut.h5 --set partition.method=metis --verbose
  cp out.txt log.$time
done
compare "partition made" log.made
says 'making the partition, beyond that' log.made
most=$peak
lacks 'making the partition, beyond that' log.kept
peak=$(sed -n 's/^ *memory *\([0-9.]*\) MiB on the fullest rank (estimate.*/\1/p' log.kept)
holds "${peak:-0} > 0 && $most > 1.5 * $peak" "MiB with METIS and with what it left"

# Ranks of unequal load: what one of them needs beyond training, another need not.
awk 'BEGIN {srand(1); for (i = 0; i < 20000; i++) print i, (i + 1) % 20000
            for (i = 0; i < 200000; i++) print int(10000 * rand()), int(10000 * rand())}' >edges.txt
works gnndata import edgelist edges.txt uneven.h5 --drop-self-loops --features random:8 \
  --labels random:4 --split per-class:20,30
must_run 2 run.toml --set dataset.path=uneven.h5 --set model.hidden=2 --verbose
says 'building the shard, beyond that'

# Entries go back to the system as they are divided: no second copy of them, however rows are numbered.
works gnndata synth dense.h5 --nodes 300000 --degree 100 --features 4 --classes 4 --train 0.01
for rows in needed all; do
  must_run 1 run.toml --set dataset.path=dense.h5 --set model.hidden=2 --set model.norm=none --set "runtime.rows=$rows" --verbose
  compare "$rows rows" out.txt 1.1
  lacks 'building the shard, beyond that' out.txt
done
