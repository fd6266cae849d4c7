# launch/to_dataset.py on objects that look like those of PyG, DGL and OGB, and on PyG's own where it is there: what is
# written passes gnndata check, is what the objects held, and trains; what does not fit gets one sentence and exit code 2.
. "$GNNTRAIN_SOURCE/tests/launch/job.sh"
rm -rf ./*
cp "$GNNTRAIN_SOURCE/tests/launch/dataset_objects.py" .

python=
for candidate in python3 /usr/bin/python3; do
  if [[ -z $python ]] && "$candidate" -c 'import h5py, numpy' 2>/dev/null; then python=$candidate; fi
done
[[ -n $python ]] || { echo "skipped: Python has no h5py or no numpy" && exit 77; }
script=("$python" "$GNNTRAIN_SOURCE/launch/to_dataset.py")

"${script[@]}" --help >help.txt || fail "--help: $(cat help.txt)"
for word in --undirected --drop-self-loops --weights MODULE:CLASS; do
  grep -qF -- "$word" help.txt || fail "--help does not list $word"
done

# written NAME SUMMARY ARGUMENT...: makes NAME.h5, which is as the summary says and passes gnndata check
written() {
  local name=$1 summary=$2
  shift 2
  "${script[@]}" "dataset_objects:${name%%_*}" "$name.h5" "$@" >out.txt 2>&1 || fail "$name: $(cat out.txt)"
  [[ $(cat out.txt) == "$name.h5: $summary" ]] || fail "$name: $(cat out.txt)"
  "$GNNTRAIN_BIN/gnndata" check "$name.h5" >out.txt || { cat out.txt; fail "$name: a bad dataset"; }
}

written Pyg "4 nodes, 5 arcs, directed, 2 features, 5 classes (multiclass), 2 splits"
written Pyg_weighted "4 nodes, 6 arcs, undirected, weighted, 2 features, 5 classes (multiclass), 2 splits" \
  --weights --undirected
written Dgl "4 nodes, 5 arcs, directed, 16 features, 2 classes (multilabel), 1 split"
written Ogb "4 nodes, 6 arcs, undirected, 2 features, 2 classes (multiclass), 1 split" --undirected

"$python" - <<'PYTHON' || fail "other values than the objects'"
import h5py, numpy as np

def same(file, name, values):
    assert np.array_equal(file[name][()], values), (file.filename, name, file[name][()])

with h5py.File("Pyg.h5") as f:
    same(f, "graph/indptr", [0, 2, 4, 5, 5])
    same(f, "graph/indices", [1, 3, 0, 2, 1])
    same(f, "node/features", np.arange(8).reshape(4, 2))
    same(f, "node/labels", [1, 0, 2, -1])
    same(f, "split/0/train", [0])
    same(f, "split/1/train", [1])
    same(f, "split/0/val", [1])
    same(f, "split/1/val", [2])
    same(f, "split/0/test", [])  # node 3 has no label
    assert "graph/weights" not in f
with h5py.File("Pyg_weighted.h5") as f:
    same(f, "graph/indices", [1, 3, 0, 2, 1, 0])
    same(f, "graph/weights", [7.5, 5, 7.5, 4, 4, 5])  # 0 -> 1: 1 + 6.5; the larger of both ways
with h5py.File("Dgl.h5") as f:
    same(f, "node/features/indptr", [0, 1, 2, 3, 4])
    same(f, "node/features/indices", [0, 1, 2, 3])
    same(f, "node/labels", [[0, 1], [1, 1], [0, 0], [1, 0]])
    same(f, "split/test", [2, 3])
with h5py.File("Ogb.h5") as f:
    same(f, "node/labels", [1, 0, -1, 1])
    same(f, "split/train", [0, 3])
    same(f, "split/test", [])
PYTHON

if "$python" -c 'import torch' 2>/dev/null; then
  written Torch "4 nodes, 6 arcs, undirected, weighted, 30 features, 2 classes (multiclass), 1 split" --weights --undirected
  "$python" - <<'PYTHON' || fail "other values than the tensors'"
import h5py
with h5py.File("Torch.h5") as f:
    assert f["node/labels"][()].tolist() == [0, 1, -1, 1] and f["split/train"][()].tolist() == [0, 3]
    assert f["node/features/indices"][()].tolist() == [2, 1] and f["node/features/data"][()].tolist() == [.5, -2]
    assert f["graph/weights"][()].tolist() == [2, 1, 2, 1, 1, 1]
PYTHON
fi

printf '[dataset]\npath = "Pyg.h5"\n' >pyg.toml
must_run 1 pyg.toml --epochs 2

# refused SENTENCE ARGUMENT...
refused() {
  local text=$1 code=0
  shift
  "${script[@]}" "$@" >out.txt 2>err.txt || code=$?
  [[ $code == 2 && $(wc -l <err.txt) == 1 ]] || fail "$*: exit code $code: $(cat err.txt)"
  grep -qF -- "to_dataset.py: $text" err.txt || fail "$*: \"$(cat err.txt)\" lacks \"$text\""
  [[ ! -e bad.h5 ]] || fail "$*: left a dataset behind"
}

refused "nowhere cannot be imported" nowhere:Thing bad.h5
refused "dataset_objects has no Thing" dataset_objects:Thing bad.h5
refused "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found 'dataset_objects'" dataset_objects bad.h5
refused "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found ':X'" :X bad.h5
refused "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found '.here:X'" .here:X bad.h5
echo 'raise KeyError("a key")' >broken.py
refused "broken cannot be imported: KeyError: 'a key'" broken:X bad.h5
refused "expected name=VALUE for Two, found '=5'" dataset_objects:Two bad.h5 =5
refused "expected name=VALUE for Two, found '5a=5'" dataset_objects:Two bad.h5 5a=5
refused "ZipFile cannot be made from these arguments: FileNotFoundError" zipfile:ZipFile bad.h5 file=nowhere.zip
refused "str is neither a graph nor a dataset of one" builtins:str bad.h5 object=a
refused "the dataset holds 2 graphs" dataset_objects:Two bad.h5
refused "the edges have no weights" dataset_objects:Dgl bad.h5 --weights
refused "edge 1 names node 9, outside 0 .. 3" dataset_objects:Pyg bad.h5 "edge_index=[[0, 9], [1, 0]]"
refused "2 sources, 1 targets of edges" dataset_objects:Pyg bad.h5 "edge_index=[[0, 1], [1]]"
refused "features of shape (3, 1) for 4 nodes" dataset_objects:Pyg bad.h5 "x=[[1], [2], [3]]"
refused "feature 0 of node 2 is not a finite" dataset_objects:Pyg bad.h5 "x=[[1], [2], [1e999], [3]]"
refused "the label of node 1 is 0.5; allowed: -1 (none)" dataset_objects:Pyg bad.h5 "y=[0, 0.5, 1, 1]"
refused "label 1 of node 0 is 2; allowed: 0, 1" dataset_objects:Pyg bad.h5 "y=[[0, 2], [0, 1], [1, 1], [0, 0]]"
refused "split 0: node 0 is in several of train, val, test" dataset_objects:Dgl bad.h5 "val_mask=[1, 0, 0, 0]"

refused "train_mask of shape (2, 4) for 4 nodes; allowed: (4,) and (4, splits)" dataset_objects:Masks bad.h5 \
  "mask=[[1, 0, 0, 0], [0, 1, 0, 0]]"
refused "train_mask of shape (3,) for 4 nodes" dataset_objects:Masks bad.h5 "mask=[1, 0, 0]"
refused "train_mask of node 2 is 3; allowed: 0, 1" dataset_objects:Masks bad.h5 "mask=[0, 1, 3, 0]"
refused "train names node 4, outside 0 .. 3" dataset_objects:Listed bad.h5 "train=[0, 4]"
refused "train names node -1, outside 0 .. 3" dataset_objects:Listed bad.h5 "train=[0, -1]"
refused "the label of node 1 is 4294967296; allowed: -1 (none) and the classes 0, 1, ... 999999" dataset_objects:Pyg bad.h5 \
  "y=[0, 4294967296, 1, 1]"
refused "the label of node 1 is inf; allowed" dataset_objects:Pyg bad.h5 "y=[0, 1e999, 1, 1]"
refused "labels of type <U1" dataset_objects:Pyg bad.h5 "y=['a', 'b', 'c', 'd']"
refused "the weight of edge 1 is not a finite single-precision number" dataset_objects:Weights bad.h5 --weights \
  "weight=[1, 1e39, 1, 1, 1, 1]"
refused "the weights of edge 0, 1 have no finite single-precision sum" dataset_objects:Weights bad.h5 --weights \
  "weight=[3e38, 1, 1, 1, 1, 3e38]"
for nodes in four -1 2147483648; do
  refused "num_nodes is $nodes; allowed: whole numbers from 1 to 2147483647" dataset_objects:Pyg bad.h5 "num_nodes=$nodes"
done
refused "the graph has 4611686018427387904 nodes; at most 2147483647" dataset_objects:Pyg bad.h5 num_nodes=None x=None y=None \
  "edge_index=[[0], [4611686018427387903]]"
refused "get_idx_split() gives no val; train, valid (or val) and test are expected" dataset_objects:Parts bad.h5 \
  'split={"train": [0], "test": [1]}'
refused "get_idx_split() gives no train;" dataset_objects:Parts bad.h5 split=5
refused "labels is [[1], [1, 2]]; an array with rows of equal length is expected" dataset_objects:Pyg bad.h5 "y=[[1], [1, 2]]"
refused "x of type <U3 and shape (); a list of numbers" dataset_objects:Pyg bad.h5 num_nodes=None x=abc
refused "edge_index of type int64 and shape ()" dataset_objects:Pyg bad.h5 "edge_index=[[0, 1], 5]"
refused "the graph has neither nodes nor edges" dataset_objects:Bare bad.h5
refused "edge_index has 3 rows; 2 are expected" dataset_objects:Pyg bad.h5 "edge_index=[[0], [1], [2]]"
refused "edge_index of type float64" dataset_objects:Pyg bad.h5 "edge_index=[[0.5], [1]]"
refused "Two is not made from these arguments: got an unexpected keyword argument 'foo'" dataset_objects:Two bad.h5 foo=1
mkdir -p folder
refused "folder: cannot be written: is not a plain file" dataset_objects:Pyg folder
echo thesis >notes.txt
refused "notes.txt: is there and is no dataset; remove it or name another" dataset_objects:Pyg notes.txt
[[ $(<notes.txt) == thesis ]] || fail "notes.txt was replaced"
refused "help.txt/bad.h5: cannot be written" dataset_objects:Pyg help.txt/bad.h5
long=$(printf 'x%.0s' {1..250}).h5
refused "$long: cannot be written: File name too long" dataset_objects:Pyg "$long"
refused "'caf\\udce9.h5': cannot be written: the name of a dataset has to be valid UTF-8" dataset_objects:Pyg $'caf\xe9.h5'
refused "/proc/bad.h5: cannot be written: No such file or directory" dataset_objects:Pyg /proc/bad.h5
"${script[@]}" dataset_objects:Pyg made/here/out.h5 >out.txt 2>&1 || fail "a folder that is missing: $(cat out.txt)"
"$GNNTRAIN_BIN/gnndata" check made/here/out.h5 >out.txt || fail "made/here/out.h5 is a bad dataset"

if "$python" -c 'import torch_geometric' 2>/dev/null; then
  "${script[@]}" torch_geometric.datasets:KarateClub karate.h5 >out.txt 2>&1 || fail "KarateClub: $(cat out.txt)"
  grep -q '^karate.h5: 34 nodes, 156 arcs, undirected, 34 features, 4 classes (multiclass), 1 split$' out.txt ||
    fail "KarateClub: $(cat out.txt)"
  "$GNNTRAIN_BIN/gnndata" check karate.h5 >out.txt || { cat out.txt; fail "karate.h5 is a bad dataset"; }
fi
