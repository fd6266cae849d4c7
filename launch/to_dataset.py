#!/usr/bin/env python3
"""Turns a dataset object of PyTorch Geometric, DGL or OGB into a dataset of gnntrain.

CLASS is made from the name=VALUE arguments; they are Python values, or texts where they are none:

  launch/to_dataset.py torch_geometric.datasets:Planetoid data/cora.h5 root=/tmp/pyg name=Cora
  launch/to_dataset.py dgl.data:RedditDataset data/reddit.h5
  launch/to_dataset.py ogb.nodeproppred:NodePropPredDataset data/ogbn_arxiv.h5 name=ogbn-arxiv --undirected

It needs numpy and h5py beside the library in question. From Python, write(dataset, "out.h5") does the same for an
object that is there: a dataset of one graph, PyG's Data, a DGLGraph, OGB's pair of graph and labels, or a dict with
edge_index [2, E] (sources, targets) and any of num_nodes, x, y, edge_weight, train_mask, val_mask, test_mask. Masks of
several columns, [N, S], become S splits. Labels of one column are classes (-1 or NaN: none), of several columns 0 and
1 for each class.
"""
import argparse
import ast
import collections.abc
import importlib
import os
import sys

import h5py
import numpy as np

PARTS = ("train", "val", "test")
SPARSE_DENSITY = 0.1  # features below it are stored as sparse rows


class BadInput(Exception):
    """One sentence for whoever called."""


def array(value):
    """Any tensor or sequence as a numpy array."""
    for step in ("detach", "cpu"):
        value = getattr(value, step)() if hasattr(value, step) else value
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def first_of(source, *names):
    """The first of these entries, or attributes, that is there and is not None."""
    for name in names:
        value = source.get(name) if isinstance(source, collections.abc.Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


# From an object to a dict of the names that write() documents


def of_dgl(graph):
    if len(getattr(graph, "ntypes", [0])) > 1 or len(getattr(graph, "etypes", [0])) > 1:
        raise BadInput("the graph has several kinds of nodes or edges; graphs of one kind are written")
    source, target = graph.edges()
    found = {name: first_of(graph.ndata, name) for name in ("train_mask", "val_mask", "test_mask")}
    return dict(found, edge_index=(source, target), num_nodes=graph.num_nodes(),
                x=first_of(graph.ndata, "feat", "features", "x"), y=first_of(graph.ndata, "label", "labels", "y"),
                edge_weight=first_of(graph.edata, "weight", "w", "edge_weight"))


def of_pyg(data):
    edges = first_of(data, "edge_index")
    adjacency = first_of(data, "adj_t")
    weight = first_of(data, "edge_weight", "edge_attr")
    if edges is None and adjacency is not None and hasattr(adjacency, "coo"):
        target, source, weight = adjacency.coo()
        edges = (source, target)
    found = {name: first_of(data, name) for name in ("train_mask", "val_mask", "test_mask")}
    return dict(found, edge_index=edges, num_nodes=first_of(data, "num_nodes"), edge_weight=weight,
                x=first_of(data, "x", "node_feat"), y=first_of(data, "y"))


def of_graph(graph):
    if hasattr(graph, "node_types") and hasattr(graph, "edge_types") and len(graph.node_types) > 1:
        raise BadInput("the graph has several kinds of nodes or edges; graphs of one kind are written")
    return of_dgl(graph) if hasattr(graph, "ndata") and hasattr(graph, "edges") else of_pyg(graph)


def is_graph(thing):
    """Whether it is one itself: PyG's datasets hand the attributes of their graphs on."""
    return isinstance(thing, dict) or hasattr(thing, "ndata") or hasattr(type(thing), "edge_index") or (
        "edge_index" in getattr(thing, "__dict__", {}))


def of_dataset(dataset):
    """The only graph of a dataset, with the split that OGB keeps beside it."""
    if is_graph(dataset):
        return of_graph(dataset)
    if isinstance(dataset, tuple) and len(dataset) == 2:
        return dict(of_graph(dataset[0]), y=dataset[1])
    if not hasattr(dataset, "__getitem__"):
        raise BadInput(f"{type(dataset).__name__} is neither a graph nor a dataset of one")
    if hasattr(dataset, "__len__") and len(dataset) != 1:
        raise BadInput(f"the dataset holds {len(dataset)} graphs; datasets of one graph are written")
    found = of_dataset(dataset[0])
    if hasattr(dataset, "get_idx_split"):
        split = dataset.get_idx_split()
        found.update(split={part: split["valid" if part == "val" and "valid" in split else part] for part in PARTS})
    classes = getattr(dataset, "num_classes", None)
    return dict(found, num_classes=classes) if isinstance(classes, (int, np.integer)) else found


# From that dict to arrays of the file


def ordered(key, weight, merge):
    """Keys ascending, none twice; weights of equal keys are merged."""
    if weight is None:
        return np.unique(key), None
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, "i8")
    merged = merge.reduceat(weight[order], first) if len(key) else weight
    return key[first], merged


def adjacency(found, nodes, weight, undirected, drop_self_loops):
    """indptr, indices, weights and whether the graph is directed; row v lists the sources of its arcs."""
    source, target = (array(side).astype("i8").ravel() for side in found["edge_index"])
    if len(source) != len(target) or weight is not None and len(weight) != len(source):
        raise BadInput(f"{len(source)} sources, {len(target)} targets" +
                       ("" if weight is None else f" and {len(weight)} weights") + " of edges do not go together")
    for side in (source, target):
        if len(side) and (side.min() < 0 or side.max() >= nodes):
            bad = int(np.flatnonzero((side < 0) | (side >= nodes))[0])
            raise BadInput(f"edge {bad} names node {side[bad]}, outside 0 .. {nodes - 1}")
    if drop_self_loops:
        keep = source != target
        source, target, weight = source[keep], target[keep], None if weight is None else weight[keep]
    key, weight = ordered(target * nodes + source, weight, np.add)
    turned, turned_weight = ordered(key % nodes * nodes + key // nodes, weight, np.add)
    directed = not (np.array_equal(key, turned) and (weight is None or np.array_equal(weight, turned_weight)))
    if directed and undirected:  # where both directions have a weight, the larger
        both = None if weight is None else np.r_[weight, turned_weight]
        key, weight = ordered(np.r_[key, turned], both, np.maximum)
        directed = False
    indptr = np.zeros(nodes + 1, "i8")
    np.cumsum(np.bincount(key // nodes, minlength=nodes), out=indptr[1:])
    return indptr, (key % nodes).astype("i4"), None if weight is None else weight.astype("f4"), directed


def weights_of(found, wanted):
    if not wanted:
        return None
    weight = found.get("edge_weight")
    weight = None if weight is None else array(weight).astype("f8")
    if weight is None or weight.size != len(weight):
        raise BadInput("the edges have no weights: neither edge_weight nor an edge_attr of one column")
    if not np.isfinite(weight).all():
        raise BadInput(f"the weight of edge {int(np.flatnonzero(~np.isfinite(weight.ravel()))[0])} is not finite")
    return weight.ravel()


def features_of(value, nodes):
    """Dense [N, F], or the three arrays of sparse rows."""
    if value is None:
        return None, 0
    if hasattr(value, "todense"):
        value = value.todense()
    elif str(getattr(value, "layout", "torch.strided")) != "torch.strided" or hasattr(value, "sparse_sizes"):
        value = value.to_dense()
    dense = np.asarray(array(value), dtype="f4")
    dense = dense.reshape(nodes, -1) if len(dense) == nodes else dense
    if dense.ndim != 2 or len(dense) != nodes or dense.shape[1] == 0:
        raise BadInput(f"features of shape {dense.shape} for {nodes} nodes")
    if not np.isfinite(dense).all():
        node, column = np.argwhere(~np.isfinite(dense))[0]
        raise BadInput(f"feature {column} of node {node} is not a finite single-precision number")
    if np.count_nonzero(dense) >= SPARSE_DENSITY * dense.size:
        return dense, dense.shape[1]
    row, column = np.nonzero(dense)
    indptr = np.searchsorted(row, np.arange(nodes + 1)).astype("i8")
    return (indptr, column.astype("i4"), dense[row, column]), dense.shape[1]


def labels_of(value, nodes, classes):
    """Labels, how many classes there are, and the task."""
    if value is None:
        return None, 0, "none"
    label = array(value)
    if len(label) != nodes or label.ndim > 2:
        raise BadInput(f"labels of shape {label.shape} for {nodes} nodes")
    if label.ndim == 2 and label.shape[1] > 1:
        if not np.isin(label, (0, 1)).all():
            node, column = np.argwhere(~np.isin(label, (0, 1)))[0]
            raise BadInput(f"label {column} of node {node} is {label[node, column]}; allowed: 0, 1")
        return label.astype("u1"), label.shape[1], "multilabel"
    label = label.ravel()
    label = np.where(np.isnan(label), -1, label) if label.dtype.kind == "f" else label
    if (label != np.floor(label)).any() or (label < -1).any():
        bad = int(np.flatnonzero((label != np.floor(label)) | (label < -1))[0])
        raise BadInput(f"the label of node {bad} is {label[bad]}; allowed: -1 (none) and the classes 0, 1, ...")
    if not len(label) or label.max() < 0:
        raise BadInput("no node has a label")
    return label.astype("i4"), max(int(label.max()) + 1, classes or 0), "multiclass"


def splits_of(found, nodes, label):
    """A list of dicts from part to ascending ids, none without a label."""
    if found.get("split"):
        masks = {part: np.zeros((nodes, 1), bool) for part in PARTS}
        for part in PARTS:
            masks[part][array(found["split"][part]).astype("i8")] = True
    else:
        masks = {part: found.get(part + "_mask") for part in PARTS}
        masks = {part: array(mask).astype(bool).reshape(nodes, -1) for part, mask in masks.items() if mask is not None}
    if "train" not in masks:
        return []
    count = max(mask.shape[1] for mask in masks.values())
    if any(mask.shape[1] not in (1, count) for mask in masks.values()):
        raise BadInput("masks of " + ", ".join(f"{mask.shape[1]}" for mask in masks.values()) + " splits")
    splits = []
    for k in range(count):
        column = {part: mask[:, k % mask.shape[1]] for part, mask in masks.items()}
        if (sum(mask.astype("u1") for mask in column.values()) > 1).any():
            node = int(np.flatnonzero(sum(mask.astype("u1") for mask in column.values()) > 1)[0])
            raise BadInput(f"split {k}: node {node} is in several of {', '.join(column)}")
        known = np.ones(nodes, bool) if label is None or label.ndim > 1 else label >= 0
        splits.append({part: np.flatnonzero(column.get(part, np.zeros(nodes, bool)) & known) for part in PARTS})
    return splits


def count_nodes(found):
    for name in ("num_nodes", "x", "y"):
        value = found.get(name)
        if value is not None:
            return int(value) if name == "num_nodes" else int(value.shape[0])
    return 1 + max(int(array(side).max()) for side in found["edge_index"])


def write(dataset, path, undirected=False, drop_self_loops=False, weights=False, name=None):
    """Writes a dataset object to path and returns a line that says what it holds."""
    found = of_dataset(dataset)
    if found.get("edge_index") is None:
        raise BadInput(f"{type(dataset).__name__}: has no edge_index")
    nodes = count_nodes(found)
    indptr, indices, weight, directed = adjacency(found, nodes, weights_of(found, weights), undirected,
                                                  drop_self_loops)
    features, width = features_of(found.get("x"), nodes)
    label, classes, task = labels_of(found.get("y"), nodes, found.get("num_classes"))
    splits = splits_of(found, nodes, label)
    name = name or os.path.splitext(os.path.basename(path))[0]
    with h5py.File(path + ".part", "w") as f:
        f.attrs.update(format="gnntrain-dataset", version=1, name=name, task=task, directed=int(directed),
                       num_nodes=nodes, num_edges=len(indices), num_features=width, num_classes=classes)
        f["graph/indptr"], f["graph/indices"] = indptr, indices
        if weight is not None:
            f["graph/weights"] = weight
        if isinstance(features, tuple):
            f["node/features/indptr"], f["node/features/indices"], f["node/features/data"] = features
        elif features is not None:
            f["node/features"] = features
        if label is not None:
            f["node/labels"] = label
        for k, split in enumerate(splits):
            for part, ids in split.items():
                f[f"split/{part}" if len(splits) == 1 else f"split/{k}/{part}"] = ids.astype("i8")
    os.replace(path + ".part", path)
    return (f"{path}: {nodes} nodes, {len(indices)} arcs, {'directed' if directed else 'undirected'}"
            f"{'' if weight is None else ', weighted'}, {width} features, {classes} classes ({task}), "
            f"{len(splits)} split{'' if len(splits) == 1 else 's'}")


def literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def make(place, arguments):
    module, colon, name = place.partition(":")
    if not colon or any("=" not in argument for argument in arguments):
        raise BadInput("expected MODULE:CLASS OUT.h5 [name=VALUE]...; see --help")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise BadInput(f"{module} cannot be imported: {error}") from error
    if kind is None:
        raise BadInput(f"{module} has no {name}")
    return kind(**{key: literal(value) for key, _, value in (argument.partition("=") for argument in arguments)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", metavar="MODULE:CLASS", help="where the dataset's class is")
    parser.add_argument("out", metavar="OUT.h5")
    parser.add_argument("arguments", metavar="name=VALUE", nargs="*", help="what the class is made from")
    parser.add_argument("--undirected", action="store_true", help="store every arc in both directions")
    parser.add_argument("--drop-self-loops", action="store_true", help="leave arcs from a node to itself out")
    parser.add_argument("--weights", action="store_true", help="keep edge weights (duplicates are summed)")
    args = parser.parse_intermixed_args()
    try:
        dataset = make(args.dataset, args.arguments)
        print(write(dataset, args.out, args.undirected, args.drop_self_loops, args.weights))
    except BadInput as error:
        print(f"to_dataset.py: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
