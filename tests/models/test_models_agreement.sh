# Each model trains the same on any number of ranks, with dropout on, and to the same bits when repeated.
#   fp64: loss curves within 1e-9 over 50 epochs; fp32: within 1e-5 of fp64 over the first 5; ranks within 1e-4 over 50.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

works gnndata synth data.h5 --nodes 1200 --degree 10 --features 24 --classes 5 --community-size 100 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=50 train.lr=0.01 train.weight_decay=5e-4

# agrees NAME [OPTION]...
agrees() {
  local name=$1 ranks
  shift
  for ranks in 1 2 4; do
    train_on $ranks "$name.fp64.$ranks" --set runtime.precision=fp64 "$@"
    train_on $ranks "$name.fp32.$ranks" "$@"
    [ $ranks = 1 ] || within "$name.fp64.1" "$name.fp64.$ranks" 50 1e-9
    [ $ranks = 1 ] || within "$name.fp32.1" "$name.fp32.$ranks" 50 1e-4
  done
  within "$name.fp64.1" "$name.fp32.1" 5 1e-5
  falls "$name.fp64.1" 0.9
  train_on 4 "$name.again" "$@"
  same "$name.fp32.4" "$name.again"
}

agrees sage.mean --set model.type=sage --set model.norm=layer --set model.residual=true
agrees sage.gcn --set model.type=sage --set model.aggregator=gcn
agrees sage.sum --set model.type=sage --set model.aggregator=sum --set model.norm=batch --set model.dropout_input=0.0
agrees sage.max --set model.type=sage --set model.aggregator=max --set train.lr=0.005
# A value that crosses the kink of ReLU or of gat's or gatv2's LeakyReLU on one number of ranks alone, or on one kind of processor,
# moves what Adam makes of small gradients: these, and gin with its large sums, take smaller steps.
agrees gat --set model.type=gat --set model.heads=4 --set model.heads_last=2 --set model.dropout_attention=0.3 \
  --set model.activation=elu --set train.lr=0.005
agrees gatv2 --set model.type=gatv2 --set model.heads=4 --set model.heads_last=2 --set model.dropout_attention=0.3 \
  --set model.activation=elu --set train.lr=0.005
agrees agnn --set model.type=agnn --set model.layers=4
agrees gin.fixed --set model.type=gin --set model.eps=0.1 --set model.dropout_input=0.0 --set train.lr=0.002
agrees gin.learned --set model.type=gin --set model.learn_eps=true --set model.norm=layer --set train.lr=0.002
agrees gcnii --set model.type=gcnii --set model.layers=8 --set train.weight_decay_convolutions=0.01
agrees sgc --set model.type=sgc --set model.dropout_input=0.0
agrees appnp --set model.type=appnp --set model.layers=2 --set model.steps=6

works gnndata synth hyper.h5 --nodes 1200 --hyperedges 500 --degree 4 --features 24 --classes 5 \
  --community-size 100 --seed 3
agrees hgnn --set dataset.path=hyper.h5 --set model.type=hgnn
agrees hgnn.weights --set dataset.path=hyper.h5 --set model.type=hgnn --set model.edge_weights=true
agrees unigin --set dataset.path=hyper.h5 --set model.type=unigin --set model.norm=layer --set train.lr=0.002
agrees unigcnii --set dataset.path=hyper.h5 --set model.type=unigcnii --set model.layers=4
echo "agreement holds"
