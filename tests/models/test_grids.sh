# A grid of ranks trains as one rank does, each model whose sums treat columns alike, with dropout on:
# fp64: loss curves within 1e-9 over 50 epochs; fp32: within 1e-4; on a directed graph, too, and a run goes on in another
# grid. What cannot be a grid is refused.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

# Widths that leave some ranks a narrow slice of the columns, and some none.
works gnndata synth data.h5 --nodes 600 --degree 10 --features 24 --classes 5 --community-size 100 --seed 3
awk 'BEGIN { srand(5); for (i = 0; i < 5000; i++) print int(600 * rand()), int(600 * rand() ^ 2), .5 + rand() }' >arcs.txt
works gnndata import edgelist arcs.txt directed.h5 --weights --features random:24 --labels random:11 --split random:0.5,0.25
settings base.toml dataset.path=data.h5 model.hidden=40 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=50 train.lr=0.01 train.weight_decay=5e-4

# agrees NAME [SECTION.KEY=VALUE]...: enters a model.
agrees() { echo "$*" >>models; }
agrees gcn model.norm=batch model.residual=true
agrees gcn.directed dataset.path=directed.h5 model.norm=layer
agrees gcn.constant model.dropout_input=0.0
agrees sage.mean model.type=sage model.norm=layer model.residual=true
agrees sage.directed model.type=sage dataset.path=directed.h5
agrees sage.gcn model.type=sage model.aggregator=gcn
agrees sage.sum model.type=sage model.aggregator=sum model.norm=batch model.dropout_input=0.0
agrees gin.fixed model.type=gin model.eps=0.1 model.dropout_input=0.0 train.lr=0.002
agrees gin.learned model.type=gin model.learn_eps=true model.norm=layer train.lr=0.002
agrees gcnii model.type=gcnii model.layers=8 train.weight_decay_convolutions=0.01
agrees sgc model.type=sgc model.dropout_input=0.0
agrees appnp model.type=appnp model.layers=2 model.steps=6
names=$(cut -d ' ' -f 1 models)

# train RANKS KIND [SECTION.KEY=VALUE]...: all models in the same processes; leaves the losses in losses.MODEL.KIND
train() {
  local name
  sed "s/^[^ ]*/&.$2/; s/\$/ ${*:3}/" models >list
  OMP_NUM_THREADS=1 works on_ranks "$1" timeout -k 10 1000 "$GNNTRAIN_BIN/tests/models/train_all" base.toml list
  for name in $names; do keep_losses "$name.$2"; done
}

# Where relu meets a value within fp32's rounding of 0, half a gradient depends on the order of a sum: elu has no such edge.
train 1 fp64.1 runtime.precision=fp64
train 1 fp32.1 runtime.precision=fp32 model.activation=elu
for run in fp64.1x2 fp64.2x2 fp32.1x4; do
  grid=${run#*.} precision=${run%.*} tolerance=1e-9
  activation=relu
  [ $precision = fp64 ] || tolerance=1e-4 activation=elu
  train $((${grid%x*} * ${grid#*x})) $run runtime.precision=$precision "model.activation=$activation" "partition.grid=$grid"
  for name in $names; do within "$name.$precision.1" "$name.$run" 50 $tolerance; done
done
train_on 8 2x4 --set runtime.precision=fp64 --set partition.grid=2x4
train_on 8 8x1 --set runtime.precision=fp64 --set partition.grid=8x1
train_on 6 3x2 --set runtime.precision=fp64 --set partition.grid=3x2 --set runtime.halo_stages=2 --verbose
says 'halo: comes in two stages'
train_on 4 again --set runtime.precision=fp64 --set partition.grid=2x2 --set partition.method=random --set runtime.overlap=false
within 2x4 8x1 50 1e-9
within 2x4 3x2 50 1e-9
within 2x4 again 50 1e-9

# 20 epochs in one grid, the rest in another, ends like all of them.
train_on 1 whole --set train.runs=1
must_run 4 base.toml --set log.dir=run.moved --set partition.grid=2x2 --set train.epochs=20
must_run 2 base.toml --set log.dir=run.moved --set partition.grid=1x2 --resume
keep_losses moved
within whole moved 50 1e-4

must_refuse 2 'partition.grid = "3x1" is for 3 ranks, and there are 2' 2 base.toml --set partition.grid=3x1
must_refuse 2 'partition.grid = "2" is unknown; allowed: "auto", or .* like "2x1"' 2 base.toml --set partition.grid=2
must_refuse 2 'partition.grid = "1x2": model.type = "gat" wants whole rows of its neighbours; "2x1" is allowed' 2 \
  base.toml --set partition.grid=1x2 --set model.type=gat
must_refuse 2 'model.type = "sage" with model.aggregator = "max" wants' 2 base.toml --set partition.grid=1x2 \
  --set model.type=sage --set model.aggregator=max
must_refuse 2 'model.type = "sage" with model.aggregator = "min" wants' 2 base.toml --set partition.grid=1x2 \
  --set model.type=sage --set model.aggregator=min
echo "grids agree"
