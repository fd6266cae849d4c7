#!/usr/bin/env python3
"""Turns a dataset object of PyTorch Geometric, DGL or OGB into a dataset of gnntrain.

CLASS is made from the name=VALUE arguments; they are Python values, or texts where they are none:

  launch/to_dataset.py torch_geometric.datasets:Planetoid data/cora.h5 root=/tmp/pyg name=Cora
  launch/to_dataset.py dgl.data:RedditDataset data/reddit.h5
  launch/to_dataset.py ogb.nodeproppred:NodePropPredDataset data/ogbn_arxiv.h5 name=ogbn-arxiv --undirected

It needs numpy and h5py beside the library in question. From Python, write(dataset, "out.h5") does the same for an
object that is there: a dataset of one graph, PyG's Data, a DGLGraph, OGB's pair of graph and labels, or a dict with
edge_index [2, E] (sources, targets) and any of num_nodes, x, y, edge_weight, train_mask, val_mask, test_mask. Masks of
several columns, [N, S] and not [S, N], become S splits. Labels of one column are classes (-1 or NaN: none), of several
columns 0 and 1 for each class. The folder of OUT.h5 is made where it is missing.
"""
import argparse
import ast
import collections.abc
import importlib
import inspect
import os
import secrets
import sys

import h5py
import numpy as np

PARTS = ("train", "val", "test")
SPARSE_DENSITY = 0.1  # features below it are stored as sparse rows
MOST_CLASSES = 1000 * 1000  # of a dataset
FORMAT = "gnntrain-dataset"
MOST_NODES = 2**31 - 1


class BadInput(Exception):
    """One sentence for whoever called."""


def brief(value, most=60):
    """A value on one line of a message."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[:most - 3] + "..."


def array(value, what):
    """Any tensor or sequence as a numpy array."""
    try:
        for step in ("detach", "cpu"):
            value = getattr(value, step)() if hasattr(value, step) else value
        return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        raise BadInput(f"{what} is {brief(value)}; an array with rows of equal length is expected") from None


def numbers(value, what, kinds):
    """An array whose type is of these kinds: b, i, u and f are numpy's letters."""
    found = array(value, what)
    if found.dtype.kind not in kinds or found.ndim == 0:
        raise BadInput(f"{what} of type {found.dtype} and shape {found.shape}; a list of "
                       f"{'numbers' if 'f' in kinds else 'whole numbers'} is expected")
    return found


def single(value):
    """In single precision; what does not fit becomes infinite."""
    with np.errstate(all="ignore"):
        return value.astype("f4")


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


def split_of(dataset):
    """The split that OGB keeps beside the graph."""
    split = dataset.get_idx_split()
    named = {"train": first_of(split, "train"), "val": first_of(split, "valid", "val"), "test": first_of(split, "test")}
    for part, nodes in named.items():
        if nodes is None:
            raise BadInput(f"get_idx_split() gives no {part}; train, valid (or val) and test are expected")
    return named


def is_graph(thing):
    """Whether it is one itself: PyG's datasets hand the attributes of their graphs on."""
    return isinstance(thing, dict) or hasattr(thing, "ndata") or hasattr(type(thing), "edge_index") or (
        "edge_index" in getattr(thing, "__dict__", {}))


def of_dataset(dataset):
    """The only graph of a dataset, with its split."""
    if is_graph(dataset):
        return of_graph(dataset)
    if isinstance(dataset, tuple) and len(dataset) == 2:
        return dict(of_graph(dataset[0]), y=dataset[1])
    if not hasattr(dataset, "__getitem__") or isinstance(dataset, (str, bytes)):
        raise BadInput(f"{type(dataset).__name__} is neither a graph nor a dataset of one")
    if hasattr(dataset, "__len__") and len(dataset) != 1:
        raise BadInput(f"the dataset holds {len(dataset)} graphs; datasets of one graph are written")
    found = of_dataset(dataset[0])
    if hasattr(dataset, "get_idx_split"):
        found.update(split=split_of(dataset))
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


def ends_of(found):
    """Sources and targets."""
    sides = found["edge_index"]
    rows = len(sides) if hasattr(sides, "__len__") else 0
    if rows != 2:
        raise BadInput(f"edge_index has {rows} rows; 2 are expected, the sources and the targets")
    sides = [array(side, "edge_index") for side in sides]
    return [numbers(side, "edge_index", "iu" if side.size else "iuf").astype("i8").ravel() for side in sides]


def adjacency(found, nodes, weight, undirected, drop_self_loops):
    """indptr, indices, weights and whether the graph is directed; row v lists the sources of its arcs."""
    source, target = ends_of(found)
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
    weight = None if weight is None else single(weight)
    if weight is not None and not np.isfinite(weight).all():
        bad = int(key[np.flatnonzero(~np.isfinite(weight))[0]])
        raise BadInput(f"the weights of edge {bad % nodes}, {bad // nodes} have no finite single-precision sum")
    indptr = np.zeros(nodes + 1, "i8")
    np.cumsum(np.bincount(key // nodes, minlength=nodes), out=indptr[1:])
    return indptr, (key % nodes).astype("i4"), weight, directed


def weights_of(found, wanted):
    if not wanted:
        return None
    weight = found.get("edge_weight")
    weight = None if weight is None else numbers(weight, "edge_weight", "biuf").astype("f8")
    if weight is None or weight.size != len(weight):
        raise BadInput("the edges have no weights: neither edge_weight nor an edge_attr of one column")
    bad = np.flatnonzero(~np.isfinite(single(weight.ravel())))
    if len(bad):
        raise BadInput(f"the weight of edge {int(bad[0])} is not a finite single-precision number")
    return weight.ravel()


def features_of(value, nodes):
    """Dense [N, F], or the three arrays of sparse rows."""
    if value is None:
        return None, 0
    if hasattr(value, "todense"):
        value = value.todense()
    elif str(getattr(value, "layout", "torch.strided")) != "torch.strided" or hasattr(value, "sparse_sizes"):
        value = value.to_dense()
    dense = single(numbers(value, "features", "biuf"))
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
    label = numbers(value, "labels", "biuf")
    if len(label) != nodes or label.ndim > 2:
        raise BadInput(f"labels of shape {label.shape} for {nodes} nodes")
    if label.ndim == 2 and label.shape[1] > 1:
        if not np.isin(label, (0, 1)).all():
            node, column = np.argwhere(~np.isin(label, (0, 1)))[0]
            raise BadInput(f"label {column} of node {node} is {label[node, column]}; allowed: 0, 1")
        if label.shape[1] > MOST_CLASSES:
            raise BadInput(f"{label.shape[1]} classes; at most {MOST_CLASSES} are allowed")
        return label.astype("u1"), label.shape[1], "multilabel"
    label = label.ravel()
    label = np.where(np.isnan(label), -1, label) if label.dtype.kind == "f" else label
    bad = np.flatnonzero((label != np.floor(label)) | (label < -1) | (label >= MOST_CLASSES))
    if len(bad):
        raise BadInput(f"the label of node {int(bad[0])} is {label[bad[0]]}; allowed: -1 (none) and the classes 0, 1, "
                       f"... {MOST_CLASSES - 1}")
    if not len(label) or label.max() < 0:
        raise BadInput("no node has a label")
    if (classes or 0) > MOST_CLASSES:
        raise BadInput(f"num_classes is {classes}; at most {MOST_CLASSES} are allowed")
    return label.astype("i4"), max(int(label.max()) + 1, classes or 0), "multiclass"


def mask_of(value, nodes, part):
    """[nodes, splits]; [splits, nodes] could be told from it only where the two differ, and is refused."""
    mask = numbers(value, f"{part}_mask", "biuf")
    if mask.ndim > 2 or len(mask) != nodes or mask.size == 0:
        raise BadInput(f"{part}_mask of shape {mask.shape} for {nodes} nodes; allowed: ({nodes},) and "
                       f"({nodes}, splits)")
    mask = mask.reshape(nodes, -1)
    if not np.isin(mask, (0, 1)).all():
        node, k = np.argwhere(~np.isin(mask, (0, 1)))[0]
        raise BadInput(f"{part}_mask of node {node} is {mask[node, k]}; allowed: 0, 1")
    return mask.astype(bool)


def list_of(value, nodes, part):
    """A list of nodes as a mask [nodes, 1]."""
    node = array(value, part)
    node = node.astype("i8") if node.size == 0 else numbers(node, part, "iu")
    bad = np.flatnonzero((node < 0) | (node >= nodes))
    if len(bad):
        raise BadInput(f"{part} names node {node.ravel()[bad[0]]}, outside 0 .. {nodes - 1}")
    mask = np.zeros((nodes, 1), bool)
    mask[node] = True
    return mask


def splits_of(found, nodes, label):
    """A list of dicts from part to ascending ids, none without a label."""
    if found.get("split"):
        masks = {part: list_of(found["split"][part], nodes, part) for part in PARTS}
    else:
        masks = {part: found.get(part + "_mask") for part in PARTS}
        masks = {part: mask_of(mask, nodes, part) for part, mask in masks.items() if mask is not None}
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
    given = found.get("num_nodes")
    if given is not None:
        count = array(given, "num_nodes")
        if count.dtype.kind not in "iu" or count.size != 1 or not 1 <= count.item() <= MOST_NODES:
            raise BadInput(f"num_nodes is {brief(given)}; allowed: whole numbers from 1 to {MOST_NODES}")
        return count.item()
    for name in ("x", "y"):
        value = found.get(name)
        if value is not None:
            shape = value.shape if hasattr(value, "shape") else array(value, name).shape  # sparse ones are no arrays
            return shape[0] if len(shape) else numbers(value, name, "biuf").shape[0]
    return 1 + max((int(side.max()) for side in ends_of(found) if len(side)), default=-1)


def is_dataset(path):
    try:
        with h5py.File(path) as f:
            return f.attrs.get("format") == FORMAT
    except OSError:
        return False


def check_out(path):
    """Makes its folder, and finds out whether a file can be made there. Only another dataset is replaced."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{path!r}: cannot be written: the name of a dataset has to be valid UTF-8") from None
    if os.path.exists(path) and not os.path.isfile(path) or not os.path.basename(path):
        raise BadInput(f"{path or 'OUT.h5'}: cannot be written: is not a plain file")
    if os.path.exists(path) and os.path.getsize(path) and not is_dataset(path):
        raise BadInput(f"{path}: is there and is no dataset; remove it or name another")
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        part = beside(path)
        with open(part, "xb"):
            pass
        os.remove(part)
    except OSError as error:
        raise BadInput(f"{brief(path, 255)}: cannot be written: {error.strerror}") from None


def beside(path):
    """A name that nobody can guess: no link that somebody put there is written through."""
    return f"{path}.{secrets.token_hex(8)}.part"


def store(path, attributes, arrays):
    """Beside, then renamed: the file is there whole or not at all."""
    part = beside(path)
    try:
        with h5py.File(part, "x") as f:
            f.attrs.update(attributes)
            for place, values in arrays.items():
                f[place] = values
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def write(dataset, path, undirected=False, drop_self_loops=False, weights=False, name=None):
    """Writes a dataset object to path and returns a line that says what it holds."""
    found = of_dataset(dataset)
    if found.get("edge_index") is None:
        raise BadInput(f"{type(dataset).__name__}: has no edge_index")
    nodes = count_nodes(found)
    if not 1 <= nodes <= MOST_NODES:
        raise BadInput(f"the graph has {nodes} nodes; at most {MOST_NODES} are allowed" if nodes > 0 else
                       "the graph has neither nodes nor edges")
    indptr, indices, weight, directed = adjacency(found, nodes, weights_of(found, weights), undirected,
                                                  drop_self_loops)
    features, width = features_of(found.get("x"), nodes)
    label, classes, task = labels_of(found.get("y"), nodes, found.get("num_classes"))
    splits = splits_of(found, nodes, label)
    name = name or os.path.splitext(os.path.basename(path))[0]
    arrays = {"graph/indptr": indptr, "graph/indices": indices, "graph/weights": weight, "node/labels": label}
    if isinstance(features, tuple):
        arrays.update(zip(("node/features/indptr", "node/features/indices", "node/features/data"), features))
    else:
        arrays["node/features"] = features
    for k, split in enumerate(splits):
        for part, ids in split.items():
            arrays[f"split/{part}" if len(splits) == 1 else f"split/{k}/{part}"] = ids.astype("i8")
    check_out(path)
    store(path, dict(format=FORMAT, version=1, name=name, task=task, directed=int(directed),
                     num_nodes=nodes, num_edges=len(indices), num_features=width, num_classes=classes),
          {place: values for place, values in arrays.items() if values is not None})
    return (f"{path}: {nodes} nodes, {len(indices)} arcs, {'directed' if directed else 'undirected'}"
            f"{'' if weight is None else ', weighted'}, {width} features, {classes} classes ({task}), "
            f"{len(splits)} split{'' if len(splits) == 1 else 's'}")


def literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def imported(place):
    """What stands at MODULE:CLASS."""
    module, _, name = place.partition(":")
    if not module or not name or module.startswith("."):
        raise BadInput(f"expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found {place!r}")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # whatever the module's own lines raise
        raise BadInput(f"{module} cannot be imported: {type(error).__name__}: {brief(error, 200)}") from error
    if kind is None:
        raise BadInput(f"{module} has no {name}")
    return kind, name


def make(place, arguments):
    kind, name = imported(place)
    for argument in arguments:
        if not argument.partition("=")[0].isidentifier() or "=" not in argument:
            raise BadInput(f"expected name=VALUE for {name}, found {argument!r}")
    given = {key: literal(value) for key, _, value in (argument.partition("=") for argument in arguments)}
    try:
        inspect.signature(kind).bind(**given)
    except TypeError as error:
        raise BadInput(f"{name} is not made from these arguments: {error}") from error
    except ValueError:
        pass  # a class that does not say what it takes
    try:
        return kind(**given)
    except Exception as error:  # whatever the class raises
        raise BadInput(f"{name} cannot be made from these arguments: {type(error).__name__}: {brief(error, 200)}") from error


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
    except MemoryError as error:
        print(f"to_dataset.py: memory is short: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
