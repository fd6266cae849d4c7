# Each model trains the same on any number of ranks, with dropout on, and to the same bits when repeated.
#   fp64: loss curves within 1e-9 over 50 epochs; fp32: within 1e-5 of fp64 over the first 5; ranks within 1e-4 over 50.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

# The order is set, as models choose others for the partition that they share.
works gnndata synth data.h5 --nodes 600 --degree 10 --features 24 --classes 5 --community-size 100 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=50 train.lr=0.01 train.weight_decay=5e-4 partition.order=degree
works gnndata synth hyper.h5 --nodes 600 --hyperedges 250 --degree 4 --features 24 --classes 5 \
  --community-size 100 --seed 3

# agrees NAME [SECTION.KEY=VALUE]...: enters a model.
agrees() { echo "$*" >>models; }
agrees sage.mean model.type=sage model.norm=layer model.residual=true
agrees sage.gcn model.type=sage model.aggregator=gcn
agrees sage.sum model.type=sage model.aggregator=sum model.norm=batch model.dropout_input=0.0
agrees sage.max model.type=sage model.aggregator=max train.lr=0.005
agrees sage.min model.type=sage model.aggregator=min train.lr=0.005
# A value that crosses the kink of ReLU or of gat's or gatv2's LeakyReLU on one number of ranks alone, or on one kind of processor,
# moves what Adam makes of small gradients: these, and gin with its large sums, take smaller steps.
agrees gat model.type=gat model.heads=4 model.heads_last=2 model.dropout_attention=0.3 \
  model.activation=elu train.lr=0.005
agrees gatv2 model.type=gatv2 model.heads=4 model.heads_last=2 model.dropout_attention=0.3 \
  model.activation=elu train.lr=0.005
agrees agnn model.type=agnn model.layers=4
agrees gin.fixed model.type=gin model.eps=0.1 model.dropout_input=0.0 train.lr=0.002
agrees gin.learned model.type=gin model.learn_eps=true model.norm=layer train.lr=0.002
agrees gcnii model.type=gcnii model.layers=8 train.weight_decay_convolutions=0.01
agrees sgc model.type=sgc model.dropout_input=0.0
agrees appnp model.type=appnp model.layers=2 model.steps=6

agrees hgnn dataset.path=hyper.h5 model.type=hgnn
agrees hgnn.split dataset.path=hyper.h5 model.type=hgnn runtime.incidence=split
agrees hgnn.weights dataset.path=hyper.h5 model.type=hgnn model.edge_weights=true
agrees unigin dataset.path=hyper.h5 model.type=unigin model.norm=layer train.lr=0.002
agrees unigcnii dataset.path=hyper.h5 model.type=unigcnii model.layers=4

# train RANKS KIND [SECTION.KEY=VALUE]...: all models in the same processes; leaves the losses in losses.MODEL.KIND
train() {
  local name
  sed "s/^[^ ]*/&.$2/; s/\$/ ${*:3}/" models >list
  OMP_NUM_THREADS=1 works on_ranks "$1" timeout -k 10 1000 "$GNNTRAIN_BIN/tests/models/train_all" base.toml list
  for name in $names; do keep_losses "$name.$2"; done
}
names=$(cut -d ' ' -f 1 models)
for ranks in 1 2 4; do
  train $ranks fp64.$ranks runtime.precision=fp64
  train $ranks fp32.$ranks
done
train 4 again
# Some rows, or all, wait for the halo, and are then summed whole: in models of each way to begin and to end a sum.
all=$names
cp models all_models
grep -E '^(sage.mean|sage.sum|gat|gin.learned|gcnii|appnp) ' all_models >models
names=$(cut -d ' ' -f 1 models)
train 2 whole.2 runtime.precision=fp64 runtime.rows=all
train 2 late.2 runtime.precision=fp64 runtime.rows=all runtime.late_rows=0.4
train 4 late.4 runtime.rows=all runtime.late_rows=1.0
train 4 staged.4 runtime.precision=fp64 runtime.halo_stages=2
for name in $names; do
  ! cmp -s "losses.$name.whole.2" "losses.$name.late.2" || fail "$name: no row was late"
  within "$name.fp64.1" "$name.late.2" 50 1e-9
  within "$name.fp32.1" "$name.late.4" 50 1e-4
  within "$name.fp64.1" "$name.staged.4" 50 1e-9
done
for name in $all; do
  for ranks in 2 4; do
    within "$name.fp64.1" "$name.fp64.$ranks" 50 1e-9
    within "$name.fp32.1" "$name.fp32.$ranks" 50 1e-4
  done
  within "$name.fp64.1" "$name.fp32.1" 5 1e-5
  falls "$name.fp64.1" 0.9
  same "$name.fp32.4" "$name.again"
done
echo "agreement holds"
