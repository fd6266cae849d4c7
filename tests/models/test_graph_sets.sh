# Classes of whole graphs, from a TUDataset folder to predictions: each type of model trains the same on any number of ranks and
# goes on from one number on another, the file of predictions has a row a graph, and what does not fit is refused.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

# 60 graphs of 3 to 22 nodes: rings and stars, whose nodes are not quite alike.
mkdir tiny
awk 'BEGIN {
  srand(7)
  for (g = 1; g <= 60; g++) {
    n = 3 + int(20 * rand()); class = g % 2
    for (i = 0; i < n; i++) {
      print g >"tiny/tiny_graph_indicator.txt"
      print (int(3 * rand() * (class ? 1 : .8))) >"tiny/tiny_node_labels.txt"
      printf "%.3f, %.3f\n", rand(), rand() + .1 * class >"tiny/tiny_node_attributes.txt"
      a = class ? i : 0; b = class ? (i + 1) % n : i
      if (a == b) continue
      printf "%d, %d\n%d, %d\n", at + a + 1, at + b + 1, at + b + 1, at + a + 1 >"tiny/tiny_A.txt"
    }
    at += n
    print (class ? 1 : -1) >"tiny/tiny_graph_labels.txt"
  }
}'
works gnndata import tud tiny tiny.h5 --split folds:5
grep -q '60 graphs, .* 5 features, 2 classes, 5 splits (36 train, 12 val, 12 test)' out.txt || fail "import says $(cat out.txt)"
works gnndata check tiny.h5
works gnndata info tiny.h5
grep -q '^graphs  *60 of ' out.txt && grep -q '30 graphs, 50.00%  -1$' out.txt || fail "info says $(cat out.txt)"
settings base.toml dataset.path=tiny.h5 model.hidden=12 model.layers=2 model.dropout=0.3 train.epochs=12 train.lr=0.01 \
  runtime.precision=fp64

# agrees NAME [SECTION.KEY=VALUE]...: enters a model.
agrees() { echo "$*" >>models; }
agrees gcn model.readout=mean model.norm=batch
agrees gin model.type=gin model.learn_eps=true
agrees sage model.type=sage model.aggregator=max model.readout=max model.activation=elu
agrees gat model.type=gat model.heads=2 model.readout=mean
agrees gatv2 model.type=gatv2 model.heads=2 model.readout=mean
agrees gcnii model.type=gcnii model.readout=mean
agrees agnn model.type=agnn model.layers=3 model.readout=mean
agrees mlp model.type=mlp model.readout=max model.activation=elu
for type in gcn gin sage gat gatv2 gcnii mlp; do
  agrees $type.all model.type=$type model.readout=mean model.readout_layers=all model.layers=3 model.heads=2
done
agrees agnn.all model.type=agnn model.layers=4 model.readout=mean model.readout_layers=all
agrees largest.all model.type=gin model.readout=max model.readout_layers=all
agrees residual.all model.readout_layers=all model.layers=3 model.residual=true model.norm=batch
names=$(cut -d ' ' -f 1 models)
for ranks in 1 2 4; do
  sed "s/^[^ ]*/&.$ranks/" models >list
  OMP_NUM_THREADS=1 works on_ranks $ranks timeout -k 10 600 "$GNNTRAIN_BIN/tests/models/train_all" base.toml list
  for name in $names; do keep_losses "$name.$ranks"; done
done
for name in $names; do
  for ranks in 2 4; do within "$name.1" "$name.$ranks" 12 1e-9; done
done

must_run 2 base.toml --set log.dir=run.moved --epochs 5
must_run 4 base.toml --set log.dir=run.moved --resume
must_run 1 base.toml --set log.dir=run.whole
keep_losses moved
keep_losses whole
within whole moved 12 1e-9

# A row a graph, in HDF5, as a table and as an array; the same on any number of ranks.
must_run 1 base.toml --predict run.whole/best.h5 --out one.csv
grep -q 'of 60 graphs' out.txt || fail "predict says $(cat out.txt)"
must_run 4 base.toml --predict run.whole/best.h5 --out four.csv
[[ $(wc -l <one.csv) == 61 && $(head -1 one.csv) == id,prediction,class,logit_0,logit_1 ]] || fail "one.csv: $(head -2 one.csv)"
cut -d , -f 1-3 one.csv >one
cut -d , -f 1-3 four.csv >four
cmp one four || fail "predictions differ between ranks"
awk -F, 'NR > 1 && ($1 != NR - 2 || $3 != ($2 ? 1 : -1)) { exit 1 }' one.csv || fail "ids or classes of one.csv"
must_run 2 base.toml --predict run.whole/best.h5 --out one.h5
grep -q 'and embeddings of 60 graphs' out.txt || fail "predict says $(cat out.txt)"
works gnntrain --export run.whole/best.h5 --out one.npz
for type in gin gcnii; do works gnntrain --export run.$type.all.1/best.h5 --out $type.npz; done
if python3 -c 'import h5py' 2>/dev/null; then
  PYTHONPATH=$GNNTRAIN_SOURCE/python PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || fail "predictions or weights are others"
import csv, h5py, numpy as np
import gnntrain
from gnntrain.weights import state_of
with h5py.File("one.h5") as f:
    assert f["embedding"].shape == (60, 12) and f["logits"].shape == (60, 2) and "id" not in f
    assert list(f["prediction"]) == [int(row["prediction"]) for row in csv.DictReader(open("one.csv"))]
weights, written = state_of(gnntrain.Checkpoint("run.whole/best.h5")), np.load("one.npz")
assert weights.keys() == set(written) and "readouts.2.weight" in weights
assert all(np.array_equal(weights[name], written[name]) for name in weights)
for name in ("gin", "gcnii"):
    weights, written = state_of(gnntrain.Checkpoint(f"run.{name}.all.1/best.h5")), np.load(f"{name}.npz")
    assert weights.keys() == set(written) and all(np.array_equal(weights[key], written[key]) for key in weights)
    assert weights["readouts.0.weight"].shape == (2, 5) and weights["readouts.3.weight"].shape == (2, 12)
data = gnntrain.Dataset.open("tiny.h5")
assert len(data.graphs) == 61 and repr(data).startswith("60 graphs, ")
END
fi
must_run 1 base.toml --eval run.whole/best.h5
says '^  test by class +graphs +precision'
[[ $(grep -cE '^  (train|val|test) ' out.txt) -ge 3 ]] || fail "eval says $(cat out.txt)"

run gnndata partition tiny.h5 --parts 61
((code == 2)) && grep -q 'has 60 graphs and cannot be cut into 61 parts' err.txt || fail "61 parts: $(cat err.txt)"
works gnndata partition tiny.h5 --parts 4
grep -q '^partition: whole graphs, 4 parts' out.txt && grep -q '^edge cut: 0 of' out.txt || fail "partition says $(cat out.txt)"
must_refuse 2 'partition.grid = "1x2": graphs of tiny.h5 stay whole; "2x1" is allowed' 2 base.toml --set partition.grid=1x2
must_refuse 2 'labels are of its 60 graphs, which model.type = "appnp" does not classify' 1 base.toml --set model.type=appnp
works gnndata import tud tiny sparse.h5 --split folds:5 --features degree:200
must_refuse 2 'features are sparse rows, of which model.readout = "max" with model.readout_layers = "all" has no maximum; take "sum"' \
  1 base.toml --set dataset.path=sparse.h5 --set model.readout=max --set model.readout_layers=all
must_refuse 2 'labels are of its 60 graphs, which model.type = "sgc" does not classify' 1 base.toml --set model.type=sgc
echo "graphs agree"
