# gnntrain --plan and gnnbench epoch --as: without GPUs, the same each time, and with the messages that ranks really send.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
export OMP_NUM_THREADS=1

settings config.toml dataset.path=synth:nodes=6000,degree=10,features=24,classes=5,community-size=300 train.epochs=20 \
  model.layers=3 model.hidden=32 model.dropout=0 log.dir=run
hubs=dataset.path=synth:nodes=6000,degree=10,features=24,classes=5,community-size=300,power=0.9,inside=0.1

# field RANKS NUMBER: of the row of so many ranks, its column of that number; the mark of an estimate is none.
field() { sed 's/^~/ /' "${3-out.txt}" | awk -v ranks="$1" -v field="$2" 'NF == 15 && $1 == ranks { print $field }'; }

works gnntrain config.toml --plan 1,2,4,64,256 --out plan.svg --quiet
cp out.txt first.txt
says '^NVIDIA H200, fp32; GB/s of a GPU: [0-9]+ within a host of 8, 50 between hosts'
says '^ +4 +4x1 +1 +[0-9.]+ '
says '^ +64 +64x1 +8 +'
says '^~ +256 +256x1 +32 +'
says '^ +32 +32x1 +4 +' # estimates begin with it
says '^  up to [0-9]+ ranks? an epoch gets shorter by 10% or more'
[[ $(echo run/*) == run/parts ]] || fail "a plan leaves more than the parts that it has made: $(echo run/*)"
grep -q '^<svg .*' plan.svg && grep -q '</svg>' plan.svg || fail "plan.svg is no picture"
holds "$(field 1 13) == 0 && $(field 2 13) > 0" "MB sent"
for ranks in 1 2 4 64 256; do # the parts of an epoch but the exchange, which runs beside, are no longer than it
  holds "$(field $ranks 7) + $(field $ranks 8) + $(field $ranks 9) <= $(field $ranks 4) + .002" "$ranks ranks"
done
works gnntrain config.toml --plan 1,2,4,64,256 --quiet
cmp out.txt first.txt || fail "a plan differs from the one before"

# Slower ways take longer, and a GPU that is slower.
works gnntrain config.toml --plan 4 --network 10GB/s,160gbit,2 --quiet
says '10 within a host of 2, 20 between hosts'
holds "$(field 4 3) == 2 && $(field 4 4) > $(field 4 4 first.txt)" "a slower network"
works gnntrain config.toml --plan 4 --network 0.1GB/s,160gbit --quiet
holds "$(field 4 12) > .1 && $(field 4 12 first.txt) < .05" "sums over ranks on a slower network"
works gnntrain config.toml --plan 1 --gpu h100 --quiet
holds "$(field 1 4) > $(field 1 4 first.txt)" "an H100"

# Rows that are stored into the memory of GPUs of a host take what was measured for that, messages what they take.
printf '%s\n' '["NVIDIA H200"]' 'store_start = 16e6' 'store_byte = 330' >slow.toml
works gnntrain config.toml --plan 4 --quiet --set runtime.constants=slow.toml
holds "$(field 4 4) > $(field 4 4 first.txt)" "slow stores"
works gnntrain config.toml --plan 4 --quiet --set runtime.constants=slow.toml --set runtime.exchange=messages
cp out.txt messages.txt
works gnntrain config.toml --plan 4 --quiet --set runtime.exchange=messages
cmp out.txt messages.txt || fail "messages last as stores do"

# Plain rows: hubs are not cut.
works gnntrain config.toml --plan 1 --quiet --set "$hubs"
cp out.txt cut.txt
works gnntrain config.toml --plan 1 --quiet --set "$hubs" --set runtime.layout=csr
holds "$(field 1 4) > $(field 1 4 cut.txt)" "plain rows"

# Column vectors: where none is full enough, what the gather takes; where all are taken, longer in so sparse a graph.
works gnntrain config.toml --plan 1 --quiet --set runtime.layout=gather
cp out.txt gather.txt
works gnntrain config.toml --plan 1 --quiet --set runtime.layout=vectors --set runtime.vector_threshold=8
holds "$(field 1 4) == $(field 1 4 gather.txt)" "no column vectors"
works gnntrain config.toml --plan 1 --quiet --set runtime.layout=vectors --set runtime.vector_threshold=1
holds "$(field 1 4) > $(field 1 4 gather.txt)" "all column vectors"

# Every model of graphs, a grid, maxima, a batch norm.
for model in agnn appnp gat gatv2 gcn gcnii gin mlp sage sgc; do
  works gnntrain config.toml --plan 2,128 --set model.type=$model --set runtime.precision=bf16 --quiet
  holds "$(field 2 4) > .02 && $(field 128 4) > .02" "an epoch of $model"
  lacks nan
done
works gnntrain config.toml --plan 2 --set model.type=sage --set 'model.aggregator="max"' --quiet
refused 2 'does not know hypergraphs' gnntrain config.toml --plan 2 --set model.type=hgnn \
  --set dataset.path=synth:nodes=400,degree=4,features=4,classes=2,hyperedges=200
works gnntrain config.toml --plan 4 --set partition.grid=2x2 --quiet
says '^ +4 +2x2 '
works gnntrain config.toml --plan 2 --set runtime.rows=all --set model.type=sage --set model.norm=batch --quiet

# What a rank sends, as each of them says by itself, is what they send together; and what the plan says, in MB.
for setting in model.type=gcn runtime.rows=all model.type=gat; do
  works mpirun -n 2 --oversubscribe --bind-to none gnnbench epoch config.toml --set $setting --reps 1 --json
  both=$(exchanged out.txt)
  for rank in 0 1; do
    works gnnbench epoch config.toml --set $setting --as $rank/2 --reps 1 --json
    cp out.txt as.$rank
  done
  holds "$both > 0 && $both == ($(exchanged as.0) + $(exchanged as.1)) / 2" "bytes of both ranks, $setting"
  works gnntrain config.toml --set $setting --plan 2 --quiet
  holds "($(exchanged as.0) > $(exchanged as.1) ? $(exchanged as.0) : $(exchanged as.1)) / 1e6 - $(field 2 13) < .051" \
    "MB of the plan, $setting"
done

# A rank's parts are its own, no shares of them: they compute as fast as those of one rank that has all. rate PART FILE: of the
# fastest of all epochs in the file. On a loaded machine it takes many until none of its parts was interrupted.
rate() {
  sed -n "/\"op\": \"$1\".*, alone\"/s/.*\"ms\": \([0-9.e-]*\), \"ms_min\": \([0-9.e-]*\),.*\"gflops\": \([0-9.e+-]*\)[,}].*/\1 \2 \3/p" "$2" |
    awk '$3 * $1 / $2 > most { most = $3 * $1 / $2 } END { print most }'
}
rm -f as.1 as.4
computes_as_fast() {
  local ranks part
  for ranks in 1 4; do
    works gnnbench epoch config.toml --set runtime.rows=all --as 0/$ranks --reps 5 --json
    cat out.txt >>as.$ranks
  done
  for part in gemm 'own part'; do
    awk -v one="$(rate "$part" as.1)" -v four="$(rate "$part" as.4)" 'BEGIN { exit !(four < 2 * one && 2 * four > one) }' || return 1
  done
}
wait_until 60 computes_as_fast ||
  fail "GFLOP/s of one rank and of one of four: gemm $(rate gemm as.1), $(rate gemm as.4), own part $(rate 'own part' as.1), $(rate 'own part' as.4)"

# The arcs of gat lie in tiles where they may, all of its layers alike: in bf16, without dropout of attention, in heads of
# 16 columns and more. A plan has them by the same rule as a training.
dense=dataset.path=synth:nodes=6000,degree=60,features=24,classes=5,community-size=128
gat=(--plan 1 --verbose --set $dense --set model.type=gat --set model.heads=4 --set model.hidden=64
  --set runtime.precision=bf16 --set runtime.layout=tiles)
works gnntrain config.toml "${gat[@]}"
says 'attention: on rank 0 [5-9][0-9].[0-9]% of the arcs lie in [0-9]+ tiles'
holds "$(field 1 7) > 0" "ms of the own part"
tiles=$(field 1 7)
for setting in runtime.layout=gather runtime.layout=windows model.heads=8 model.heads_last=3 model.dropout_attention=0.3 \
  runtime.precision=fp32 model.type=gatv2; do
  works gnntrain config.toml "${gat[@]}" --set $setting
  lacks 'of the arcs lie in'
done
works gnntrain config.toml "${gat[@]}" --set runtime.layout=gather
holds "$(field 1 7) != $tiles" "tiles and the gather take the same"

# Those of agnn, too, in rows of at most 64 columns.
agnn=("${gat[@]}" --set model.type=agnn --set model.layers=4)
works gnntrain config.toml "${agnn[@]}"
says 'attention: on rank 0 [5-9][0-9].[0-9]% of the arcs lie in [0-9]+ tiles'
holds "$(field 1 7) > 0" "ms of the own part of agnn"
tiles=$(field 1 7)
for setting in model.hidden=65 runtime.layout=gather runtime.precision=fp32; do
  works gnntrain config.toml "${agnn[@]}" --set $setting
  lacks 'of the arcs lie in'
done
works gnntrain config.toml "${agnn[@]}" --set runtime.layout=gather
holds "$(field 1 7) != $tiles" "tiles and the gather take the same for agnn"

# Or in column vectors, which gat has not.
works gnntrain config.toml "${agnn[@]}" --set runtime.layout=vectors --set runtime.vector_threshold=2
says 'attention: on rank 0 [0-9.]+% of the arcs lie in [0-9]+ blocks of 8 column vectors'
for setting in model.hidden=65 runtime.precision=fp32 model.type=gat; do
  works gnntrain config.toml "${agnn[@]}" --set runtime.layout=vectors --set $setting
  lacks 'of the arcs lie in'
done

# As many rows wait for the halo as the exchange leaves time for, where the constants say that it pays: not of few columns,
# not without a gather, and not where the exchange takes longer than the tiles.
works gnndata synth late.h5 --nodes 150000 --degree 100 --features 8 --classes 5 --community-size 8000 --inside 0.8
late=(--plan 2 --verbose --set dataset.path=late.h5 --set partition.method=block --set model.layers=3
  --set model.hidden=512 --set runtime.precision=bf16 --set runtime.rows=all)
works gnntrain config.toml "${late[@]}"
says 'late rows: on rank 0 [45][0-9]\.[0-9]% of the rows'
works gnntrain config.toml "${late[@]}" --set runtime.late_rows=0.2
says 'late rows: on rank 0 2[0-9]\.[0-9]% of the rows'
for setting in runtime.late_rows=0 model.hidden=64 runtime.layout=csr runtime.layout=tiles; do
  works gnntrain config.toml "${late[@]}" --set $setting
  lacks 'late rows'
done
# Where sums would wait, none is late, and rows come in two stages if they are wide enough; not those of attention.
waits=("${late[@]:3}" --plan 4 --verbose)
works gnntrain config.toml "${waits[@]}"
says 'halo: comes in two stages'
for setting in model.hidden=64 runtime.halo_stages=1; do
  works gnntrain config.toml "${waits[@]}" --set $setting
  lacks 'two stages'
done
works gnntrain config.toml --plan 4 --verbose --set runtime.halo_stages=2
says 'halo: comes in two stages'
for setting in runtime.late_rows=1 model.type=gat; do
  works gnntrain config.toml --plan 4 --verbose --set runtime.halo_stages=2 --set runtime.rows=all --set $setting
  lacks 'two stages'
done
# Rows with tiles are late together, or none is: where the tiles take as long as the exchange.
dense=(--verbose --set dataset.path=dense.h5 --set partition.method=block --set runtime.layout=tiles
  --set model.hidden=128 --set runtime.precision=bf16 --set runtime.rows=all)
works gnndata synth dense.h5 --nodes 40000 --degree 500 --features 8 --classes 5 --community-size 8000 --inside 0.9
works gnntrain config.toml --plan 2 "${dense[@]}"
says 'late rows: on rank 0 100.0% of the rows'
works gnntrain config.toml --plan 8 "${dense[@]}"
lacks 'late rows'
# Between two ranks there is one stage.
works gnntrain config.toml --plan 2 "${dense[@]}" --set runtime.layout=gather --set runtime.late_rows=0 --set runtime.halo_stages=2
lacks 'two stages'

# A slow network is what an epoch waits for.
works gnnbench epoch config.toml --as 0/2 --network 1gbit,1gbit --reps 2 --json
says '"op": "wait"'
# One rank alone takes the grid that they would take together.
lone=(config.toml --set runtime.device=cpu --set runtime.threads=1 --set runtime.rows=all --set dataset.path=columns.h5
  --set model.layers=3 --set model.hidden=128 --as 1/6 --reps 1 --json)
works gnndata synth columns.h5 --nodes 3000 --degree 200 --features 16 --classes 4
works gnnbench epoch "${lone[@]}" --network 1gbit,1gbit,2
says ' as 1/6 in 1x6'
works gnnbench epoch "${lone[@]}" --network 1gbit,1gbit,2 --set partition.grid=6x1
says ' as 1/6"'
works gnnbench epoch "${lone[@]}" --network 10GB/s,10GB/s,6
says ' as 1/6"'

refused 2 '--plan 2,1: numbers of ranks are wanted' gnntrain config.toml --plan 2,1
refused 2 '--plan 0: numbers of ranks are wanted' gnntrain config.toml --plan 0
refused 2 '--plan 1,: numbers of ranks' gnntrain config.toml --plan 1,
refused 2 '--network fast: "nvlink,400gbit,8" is wanted' gnntrain config.toml --plan 1 --network fast
refused 2 '--network nvlink,400gbit,0: ' gnntrain config.toml --plan 1 --network nvlink,400gbit,0
refused 2 'nothing is known of a GPU "a100"' gnntrain config.toml --plan 1 --gpu a100
refused 2 '--gpu goes with --plan' gnntrain config.toml --gpu h200
refused 2 'let the name end in .svg' gnntrain config.toml --plan 1 --out plan.png
refused 2 '--plan trains nothing' gnntrain config.toml --plan 1 --dry-run
refused 2 '--plan is for GPUs' gnntrain config.toml --plan 1 --set runtime.precision=fp64
refused 2 'more ranks than nodes|64 parts|40 nodes' gnntrain config.toml --plan 8000 \
  --set dataset.path=synth:nodes=40,degree=4,features=2,classes=2
refused 2 'run it without mpirun' mpirun -n 2 --oversubscribe gnntrain config.toml --plan 1
refused 2 '--as 2/2: a rank of so many is wanted' gnnbench epoch config.toml --as 2/2
refused 2 '--network goes with --as' gnnbench epoch config.toml --network nvlink,400gbit
