# launch/to_dataset.py on objects that look like those of PyG, DGL and OGB, and on PyG's own where it is there: what is
# written passes gnndata check, is what the objects held, and trains; what does not fit gets one sentence and exit code 2.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
cp "$GNNTRAIN_SOURCE/tests/launch/dataset_objects.py" .

needs_python h5py numpy
script=("$python" "$GNNTRAIN_SOURCE/launch/to_dataset.py")
export PYTHONDONTWRITEBYTECODE=1

"${script[@]}" --help >help.txt
for word in --undirected --drop-self-loops --weights MODULE:CLASS; do
  grep -qF -- "$word" help.txt || fail "--help does not list $word"
done

# written NAME SUMMARY ARGUMENT...: makes NAME.h5, which is as the summary says and passes gnndata check
written() {
  local name=$1 summary=$2
  shift 2
  works "${script[@]}" "dataset_objects:${name%%_*}" "$name.h5" "$@"
  [[ $(cat out.txt) == "$name.h5: $summary" ]] || fail "$name: another summary"
  works gnndata check "$name.h5"
}

written Pyg "4 nodes, 5 arcs, directed, 2 features, 5 classes (multiclass), 2 splits"
written Pyg_weighted "4 nodes, 6 arcs, undirected, weighted, 2 features, 5 classes (multiclass), 2 splits" \
  --weights --undirected
written Dgl "4 nodes, 5 arcs, directed, 16 features, 2 classes (multilabel), 1 split"
written Two "8 nodes, 10 arcs, directed, 2 features, 3 classes (multiclass), 0 splits"
written Graphs "3 graphs, 12 nodes, 18 arcs, undirected, 2 features, 2 classes (multiclass), 1 split" --undirected
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
with h5py.File("Two.h5") as f:
    same(f, "node/labels", [1, 0, 2, -1] * 2)
    same(f, "graph/indices", [1, 3, 0, 2, 1, 5, 7, 4, 6, 5])
    assert "graphs" not in f
with h5py.File("Graphs.h5") as f:
    same(f, "graphs/indptr", [0, 4, 8, 12])
    same(f, "node/labels", [0, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, -1])
    same(f, "node/features", np.tile(np.arange(8).reshape(4, 2), (3, 1)))
    same(f, "split/train", [0, 8])
    same(f, "split/val", [4])
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

settings pyg.toml dataset.path=Pyg.h5
must_run 1 pyg.toml --epochs 2
settings graphs.toml dataset.path=Graphs.h5
must_run 2 graphs.toml --epochs 2

# refuses SENTENCE ARGUMENT...: notes a call, of which hundreds fit into one start of Python; refused_all makes them.
refuses() { printf '%s\0' $# "$@" >>refusals; }
refused_all() {
  PYTHONPATH=$GNNTRAIN_SOURCE/python${PYTHONPATH:+:$PYTHONPATH} works "$python" \
    "$GNNTRAIN_SOURCE/tests/launch/python/refuse_all.py" refusals
  rm refusals
}

refused 2 'to_dataset.py: nowhere cannot be imported' "${script[@]}" nowhere:Thing bad.h5
refuses "nowhere cannot be imported" nowhere:Thing bad.h5
refuses "dataset_objects has no Thing" dataset_objects:Thing bad.h5
refuses "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found 'dataset_objects'" dataset_objects bad.h5
refuses "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found ':X'" :X bad.h5
refuses "expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found '.here:X'" .here:X bad.h5
echo 'raise KeyError("a key")' >broken.py
refuses "broken cannot be imported: KeyError: 'a key'" broken:X bad.h5
refuses "expected name=VALUE for Two, found '=5'" dataset_objects:Two bad.h5 =5
refuses "expected name=VALUE for Two, found '5a=5'" dataset_objects:Two bad.h5 5a=5
refuses "ZipFile cannot be made from these arguments: FileNotFoundError" zipfile:ZipFile bad.h5 file=nowhere.zip
refuses "str is neither a graph nor a dataset of one" builtins:str bad.h5 object=a
refuses "graph 1 has no label" dataset_objects:Second bad.h5 y=None
refuses "graph 1 has 2 labels, graph 0 has 4; a class or a row of 0 and 1" dataset_objects:Second bad.h5 "y=[0, 1]"
refuses "graph 1 has features of shape (1, 1) for 4 nodes; those of graph 0 have shape (4, 2)" dataset_objects:Second bad.h5 "x=[[1]]"
refuses "graph 1 has an edge outside of its nodes 0 .. 3" dataset_objects:Second bad.h5 "edge_index=[[0, 9], [1, 0]]"
refuses "the edges have no weights" dataset_objects:Dgl bad.h5 --weights
refuses "edge 1 names node 9, outside 0 .. 3" dataset_objects:Pyg bad.h5 "edge_index=[[0, 9], [1, 0]]"
refuses "2 sources, 1 targets of edges" dataset_objects:Pyg bad.h5 "edge_index=[[0, 1], [1]]"
refuses "features of shape (3, 1) for 4 nodes" dataset_objects:Pyg bad.h5 "x=[[1], [2], [3]]"
refuses "feature 0 of node 2 is not a finite" dataset_objects:Pyg bad.h5 "x=[[1], [2], [1e999], [3]]"
refuses "the label of node 1 is 0.5; allowed: -1 (none)" dataset_objects:Pyg bad.h5 "y=[0, 0.5, 1, 1]"
refuses "label 1 of node 0 is 2; allowed: 0, 1" dataset_objects:Pyg bad.h5 "y=[[0, 2], [0, 1], [1, 1], [0, 0]]"
refuses "split 0: node 0 is in several of train, val, test" dataset_objects:Dgl bad.h5 "val_mask=[1, 0, 0, 0]"

refuses "train_mask of shape (2, 4) for 4 nodes; allowed: (4,) and (4, splits)" dataset_objects:Masks bad.h5 \
  "mask=[[1, 0, 0, 0], [0, 1, 0, 0]]"
refuses "train_mask of shape (3,) for 4 nodes" dataset_objects:Masks bad.h5 "mask=[1, 0, 0]"
refuses "train_mask of node 2 is 3; allowed: 0, 1" dataset_objects:Masks bad.h5 "mask=[0, 1, 3, 0]"
refuses "train names node 4, outside 0 .. 3" dataset_objects:Listed bad.h5 "train=[0, 4]"
refuses "train names node -1, outside 0 .. 3" dataset_objects:Listed bad.h5 "train=[0, -1]"
refuses "the label of node 1 is 4294967296; allowed: -1 (none) and the classes 0, 1, ... 999999" dataset_objects:Pyg bad.h5 \
  "y=[0, 4294967296, 1, 1]"
refuses "the label of node 1 is inf; allowed" dataset_objects:Pyg bad.h5 "y=[0, 1e999, 1, 1]"
refuses "labels of type <U1" dataset_objects:Pyg bad.h5 "y=['a', 'b', 'c', 'd']"
refuses "the weight of edge 1 is not a finite single-precision number" dataset_objects:Weights bad.h5 --weights \
  "weight=[1, 1e39, 1, 1, 1, 1]"
refuses "the weights of edge 0, 1 have no finite single-precision sum" dataset_objects:Weights bad.h5 --weights \
  "weight=[3e38, 1, 1, 1, 1, 3e38]"
for nodes in four -1 2147483648; do
  refuses "num_nodes is $nodes; allowed: whole numbers from 1 to 2147483647" dataset_objects:Pyg bad.h5 "num_nodes=$nodes"
done
refuses "the graph has 4611686018427387904 nodes; at most 2147483647" dataset_objects:Pyg bad.h5 num_nodes=None x=None y=None \
  "edge_index=[[0], [4611686018427387903]]"
refuses "get_idx_split() gives no val; train, valid (or val) and test are expected" dataset_objects:Parts bad.h5 \
  'split={"train": [0], "test": [1]}'
refuses "get_idx_split() gives no train;" dataset_objects:Parts bad.h5 split=5
refuses "labels is [[1], [1, 2]]; an array with rows of equal length is expected" dataset_objects:Pyg bad.h5 "y=[[1], [1, 2]]"
refuses "x of type <U3 and shape (); a list of numbers" dataset_objects:Pyg bad.h5 num_nodes=None x=abc
refuses "edge_index of type int64 and shape ()" dataset_objects:Pyg bad.h5 "edge_index=[[0, 1], 5]"
refuses "the graph has neither nodes nor edges" dataset_objects:Bare bad.h5
refuses "edge_index has 3 rows; 2 are expected" dataset_objects:Pyg bad.h5 "edge_index=[[0], [1], [2]]"
refuses "edge_index of type float64" dataset_objects:Pyg bad.h5 "edge_index=[[0.5], [1]]"
refuses "Two is not made from these arguments: got an unexpected keyword argument 'foo'" dataset_objects:Two bad.h5 foo=1
mkdir -p folder
refuses "folder: cannot be written: is not a plain file" dataset_objects:Pyg folder
echo thesis >notes.txt
refuses "notes.txt: is there and is no dataset; remove it or name another" dataset_objects:Pyg notes.txt
refuses "help.txt/bad.h5: cannot be written" dataset_objects:Pyg help.txt/bad.h5
long=$(printf 'x%.0s' {1..250}).h5
refuses "$long: cannot be written: File name too long" dataset_objects:Pyg "$long"
refuses "'caf\\udce9.h5': cannot be written: the name of a dataset has to be valid UTF-8" dataset_objects:Pyg $'caf\xe9.h5'
refuses "/proc/bad.h5: cannot be written: No such file or directory" dataset_objects:Pyg /proc/bad.h5
refused_all
says '^[456][0-9] calls are refused$'
[[ $(<notes.txt) == thesis ]] || fail "notes.txt was replaced"
works "${script[@]}" dataset_objects:Pyg made/here/out.h5
works gnndata check made/here/out.h5

if "$python" -c 'import torch_geometric' 2>/dev/null; then
  works "${script[@]}" torch_geometric.datasets:KarateClub karate.h5
  says '^karate.h5: 34 nodes, 156 arcs, undirected, 34 features, 4 classes \(multiclass\), 1 split$'
  works gnndata check karate.h5
fi
