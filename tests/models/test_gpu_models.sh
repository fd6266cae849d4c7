# test_gpu_models.sh PART: GIN, GCNII, GraphSAGE, also with max and min pooling, SGC, APPNP, GATv2, GCN on a weighted graph by tiles, by
# condensed windows, column vectors and plain rows, classes of graphs, and the models of hypergraphs on a GPU as on the processor, with dropout on: in fp32 loss curves
# within 1e-5 over the first 5 epochs and 1e-3 over 50, in bf16 the final loss within 1%; equal bits when repeated and
# when replayed in place of queued. (The maximum of two values that are equal but for rounding may be either: such
# pooling is held to its own bits alone.)
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
needs_gpus 1

works gnndata synth data.h5 --nodes 6000 --degree 20 --features 37 --classes 7 --community-size 200 --seed 3
works gnndata synth hyper.h5 --nodes 6000 --hyperedges 2500 --degree 6 --features 37 --classes 7 \
  --community-size 200 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=48 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=50 train.lr=0.005 train.weight_decay=5e-4 partition.order=given

# train NAME OPTION...: leaves the losses of the epochs in losses.NAME
train() {
  must_run 1 base.toml --set "log.dir=run.$1" --set log.overwrite=true "${@:2}"
  keep_losses "$1"
}

# repeats NAME OPTION...
repeats() {
  local name=$1
  train "$name.fp32" --device cuda "${@:2}"
  train "$name.again" --device cuda "${@:2}"
  same "$name.fp32" "$name.again"
  train "$name.bf16" --device cuda --set runtime.precision=bf16 "${@:2}"
  train "$name.queued" --device cuda --set runtime.precision=bf16 --set runtime.graph=false "${@:2}"
  same "$name.bf16" "$name.queued"
}

# agrees NAME OPTION...
agrees() {
  repeats "$@"
  train "$1.cpu" --device cpu "${@:2}"
  within "$1.cpu" "$1.fp32" 5 1e-5
  within "$1.cpu" "$1.fp32" 50 1e-3
  paste <(tail -n 1 "losses.$1.cpu") <(tail -n 1 "losses.$1.bf16") |
    awk '{d = ($2 - $1) / $1; exit !(d < 0.01 && d > -0.01)}' || fail "$1 ends elsewhere in bf16"
}

# A graph with weights, dense inside its communities.
make_weighted() {
  awk 'BEGIN {srand(7); for (u = 0; u < 3000; u++) for (v = u + 1; v % 150 > u % 150; v++)
         if (rand() < 0.2) printf "%d %d %.3f\n", u, v, 0.1 + rand()}' >weighted.txt
  rm -rf weighted.h5 weighted.h5.parts
  works gnndata import edgelist weighted.txt weighted.h5 --weights --undirected --features random:37 \
    --labels random:7 --split random:0.5,0.2
}

# 500 graphs of 4 to 63 nodes in four classes: rings with as many chords as the class says.
make_graphs() {
  mkdir -p set
  awk 'BEGIN {
    srand(9)
    for (g = 1; g <= 500; g++) {
      n = 4 + int(60 * rand()); class = g % 4
      print class >"set/set_graph_labels.txt"
      for (i = 0; i < n; i++) {
        print g >"set/set_graph_indicator.txt"
        print int(5 * rand()) >"set/set_node_labels.txt"
        printf "%d, %d\n%d, %d\n", at + i + 1, at + (i + 1) % n + 1, at + (i + 1) % n + 1, at + i + 1 >"set/set_A.txt"
      }
      for (c = 0; c < class * n / 8; c++) {
        a = at + 1 + int(n * rand()); b = at + 1 + int(n * rand())
        printf "%d, %d\n%d, %d\n", a, b, b, a >"set/set_A.txt"
      }
      at += n
    }
  }'
  works gnndata import tud set set.h5 --drop-self-loops --split random:0.6,0.2
}

hyper=(--set dataset.path=hyper.h5)
case $1 in
gcnii) agrees gcnii --set model.type=gcnii --set model.layers=16 --set train.weight_decay_convolutions=0.01 ;;
gin) agrees gin --set model.type=gin --set model.learn_eps=true --set model.dropout_input=0.0 --set train.lr=0.002 ;;
sage) agrees sage --set model.type=sage --set train.lr=0.002 ;;
sgc) agrees sgc --set model.type=sgc --set model.dropout_input=0.0 ;;
appnp) agrees appnp --set model.type=appnp --set model.layers=2 --set model.steps=6 ;;
gatv2)
  agrees gatv2 --set model.type=gatv2 --set model.heads=6 --set model.heads_last=2 --set model.dropout_attention=0.3 \
    --set model.activation=elu --set train.lr=0.002
  ;;
max) for extreme in max min; do repeats $extreme --set model.type=sage --set model.aggregator=$extreme; done ;;
weighted)
  make_weighted
  for tier in tiles windows selector csr vectors; do agrees $tier --set dataset.path=weighted.h5 --set runtime.layout=$tier; done
  ;;
graphs)
  make_graphs
  for readout in sum mean; do
    agrees $readout --set dataset.path=set.h5 --set model.readout=$readout --set model.norm=layer --set model.activation=elu
  done
  for type in gcn sage; do
    agrees $type.all --set dataset.path=set.h5 --set model.type=$type --set model.readout=mean --set model.readout_layers=all \
      --set model.residual=true --set model.norm=layer --set model.activation=elu
  done
  repeats gin --set dataset.path=set.h5 --set model.type=gin
  repeats gin.all --set dataset.path=set.h5 --set model.type=gin --set model.readout_layers=all
  repeats largest --set dataset.path=set.h5 --set model.readout=max
  repeats largest.all --set dataset.path=set.h5 --set model.readout=max --set model.readout_layers=all
  ;;
hgnn)
  agrees hgnn "${hyper[@]}" --set model.type=hgnn
  for tier in csr vectors; do agrees hgnn.$tier "${hyper[@]}" --set model.type=hgnn --set runtime.layout=$tier; done
  for form in steps fused split; do agrees hgnn.$form "${hyper[@]}" --set model.type=hgnn --set runtime.incidence=$form; done
  ;;
weights) agrees weights "${hyper[@]}" --set model.type=hgnn --set model.edge_weights=true ;;
unigin) agrees unigin "${hyper[@]}" --set model.type=unigin --set model.layers=2 --set train.lr=0.0005 ;;
unigcnii) agrees unigcnii "${hyper[@]}" --set model.type=unigcnii --set model.layers=6 ;;
*) fail "no part $1" ;;
esac
echo "agreement holds"
