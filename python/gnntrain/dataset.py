"""Dataset: the file that gnntrain trains on (docs/data.md), as numpy arrays."""
import os

import h5py
import numpy as np

from gnntrain.arrays import (MOST_NODES, PARTS, adjacency, count_nodes, features_of, labels_of, list_of, splits_of,
                             weights_of)
from gnntrain.error import Error, beside, brief, publish
from gnntrain.h5_file import is_of, opened, places, read, text_of
from gnntrain.objects import of_dataset

FORMAT, VERSION = "gnntrain-dataset", 1
COUNTS = ("num_nodes", "num_edges", "num_features", "num_classes", "directed")


def check_out(path):
    """Makes its folder, and finds out whether a file can be made there. Only another dataset is replaced."""
    path = os.fspath(path)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise Error(f"{path!r}: cannot be written: the name of a dataset has to be valid UTF-8") from None
    if os.path.exists(path) and not os.path.isfile(path) or not os.path.basename(path):
        raise Error(f"{path or 'OUT.h5'}: cannot be written: is not a plain file")
    if os.path.exists(path) and os.path.getsize(path) and not is_of(path, FORMAT):
        raise Error(f"{path}: is there and is no dataset; remove it or name another")
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        part = beside(path)
        with open(part, "xb"):
            pass
        os.remove(part)
    except OSError as error:
        raise Error(f"{brief(path, 255)}: cannot be written: {error.strerror}") from None


def of_scipy(matrix, features, labels, parts):
    """A dict of the names of objects.py, from an adjacency, dense or not, whose row v holds the arcs into v."""
    entries = matrix.tocoo() if hasattr(matrix, "tocoo") else np.asarray(matrix)
    if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1]:
        raise Error(f"the adjacency has shape {entries.shape}; as many rows as columns are expected")
    nodes = entries.shape[0]
    if isinstance(entries, np.ndarray):
        row, col = np.nonzero(entries)
        weight = entries[row, col]
    else:
        row, col, weight = entries.row, entries.col, entries.data
    found = dict(edge_index=(col, row), num_nodes=nodes, edge_weight=weight, x=features, y=labels)
    for part, given in parts.items():
        if given is None:
            continue
        given = np.asarray(given)
        if given.dtype != bool:
            if len(np.unique(given)) != given.size:
                raise Error(f"{part} names a node twice; nodes of a part are a list of numbers, or a mask of bool")
            given = list_of(given, nodes, part)
        found[part + "_mask"] = given
    return found


def arrays_of(found, weighted, undirected, drop_self_loops):
    """Attributes and arrays of the file, from a dict of the names of objects.py."""
    nodes = count_nodes(found)
    if not 1 <= nodes <= MOST_NODES:
        raise Error(f"the graph has {nodes} nodes; at most {MOST_NODES} are allowed" if nodes > 0 else
                    "the graph has neither nodes nor edges")
    indptr, indices, weight, directed = adjacency(found, nodes, weights_of(found, weighted), undirected, drop_self_loops)
    features, width = features_of(found.get("x"), nodes)
    label, classes, task = labels_of(found.get("y"), nodes, found.get("num_classes"))
    splits = splits_of(found, nodes, label)
    arrays = {"graphs/indptr": found.get("graphs"), "graph/indptr": indptr, "graph/indices": indices, "graph/weights": weight, "node/labels": label}
    if isinstance(features, tuple):
        arrays.update(zip(("node/features/indptr", "node/features/indices", "node/features/data"), features))
    else:
        arrays["node/features"] = features
    for k, split in enumerate(splits):
        for part, ids in split.items():
            arrays[f"split/{part}" if len(splits) == 1 else f"split/{k}/{part}"] = ids.astype("i8")
    attributes = dict(task=task, directed=int(directed), num_nodes=nodes, num_edges=len(indices), num_features=width,
                      num_classes=classes)
    return attributes, {place: values for place, values in arrays.items() if values is not None}


class Dataset:
    """A graph with features, labels and splits.

    name, task ("multiclass", "multilabel", "none"), directed, num_nodes, num_edges, num_features, num_classes: what the
    file says of itself. Arrays are read when they are asked for, and nobody may write to them.
    """

    def __init__(self, attributes, arrays, path=None):
        """For from_pyg, from_scipy, open and their like."""
        self.attributes, self._arrays, self._path = attributes, arrays, path
        for key in ("task", *COUNTS):
            setattr(self, key, attributes[key])
        self.directed = bool(self.directed)

    # Where they come from

    @classmethod
    def from_object(cls, data, undirected=False, drop_self_loops=False, weights=False, name=None):
        """From PyG's Data, a DGLGraph, OGB's pair of graph and labels, a dataset or list of these, or a dict of edge_index
        [2, E] (sources, targets) and any of num_nodes, x, y, edge_weight, train_mask, val_mask, test_mask. Several graphs
        are classified: each has a label y of its own.

        undirected: every arc in both directions; weights: keep edge weights (those of equal arcs are summed).
        Masks of several columns [N, S] become S splits. Error: what does not fit, by its place.
        """
        found = of_dataset(data)
        if found.get("edge_index") is None:
            raise Error(f"{type(data).__name__}: has no edge_index")
        attributes, arrays = arrays_of(found, weights, undirected, drop_self_loops)
        return cls(dict(attributes, name=name), arrays)

    from_pyg = from_dgl = from_ogb = from_object

    @classmethod
    def from_scipy(cls, adjacency, features=None, labels=None, train=None, val=None, test=None, undirected=False,
                   drop_self_loops=False, weights=False, name=None):
        """From a sparse matrix [N, N] of scipy, or an array, whose row v holds the arcs into v, and features of N rows,
        sparse or not.

        labels: [N] classes, -1 for none, or [N, C] of 0 and 1. train, val, test: masks of bool, [N] or [N, S] for S
        splits, or lists of nodes. weights: keep the values of the matrix; else its pattern counts.
        """
        found = of_scipy(adjacency, features, labels, dict(train=train, val=val, test=test))
        attributes, arrays = arrays_of(found, weights, undirected, drop_self_loops)
        return cls(dict(attributes, name=name), arrays)

    @classmethod
    def open(cls, path):
        """Of a dataset file. Error: not there, damaged, no dataset, or sizes that do not agree."""
        path = os.fspath(path)
        with opened(path, FORMAT, "dataset") as f:
            if f.attrs.get("version") != VERSION:
                raise Error(f"{path}: is a dataset of version {f.attrs.get('version')}; version {VERSION} is read")
            attributes = {"name": text_of(f.attrs.get("name", "")), "task": text_of(f.attrs.get("task", "none"))}
            attributes.update((key, int(f.attrs[key])) for key in COUNTS)
            arrays = dict.fromkeys(places(f))
        return cls(attributes, arrays, path)

    # What is in it

    @property
    def name(self):
        return self.attributes["name"]

    def array(self, place):
        """What stands at a place of the file, as "graph/indptr"; None where there is nothing."""
        if place not in self._arrays:
            return None
        if self._arrays[place] is None:
            with opened(self._path, FORMAT, "dataset") as f:
                values = read(f, place)
            self._check(place, values)
            self._arrays[place] = values
        return self._arrays[place]

    def _check(self, place, values):
        nodes = self.num_nodes
        sizes = {"graph/indptr": (nodes + 1,), "graph/indices": (self.num_edges,), "graph/weights": (self.num_edges,),
                 "node/features": (nodes, self.num_features), "node/features/indptr": (nodes + 1,), "node/id": (nodes,),
                 "node/labels": (nodes, self.num_classes) if self.task == "multilabel" else (nodes,)}
        if values.shape != sizes.get(place, values.shape):
            raise Error(f"{self._path}: /{place}: has shape {values.shape}; {sizes[place]} is expected")
        if place == "graph/indptr" and (values[0] != 0 or values[-1] != self.num_edges or (np.diff(values) < 0).any()):
            raise Error(f"{self._path}: /{place}: does not ascend from 0 to {self.num_edges}")
        if place == "graphs/indptr" and (values.ndim != 1 or len(values) < 2 or values[0] != 0 or values[-1] != nodes or
                                         (np.diff(values) < 1).any()):
            raise Error(f"{self._path}: /{place}: does not ascend from 0 to {nodes}")
        if place == "graph/indices" and values.size and not (values.min() >= 0 and values.max() < nodes):
            raise Error(f"{self._path}: /{place}: names nodes outside 0 .. {nodes - 1}")

    @property
    def indptr(self):
        """int64 [N + 1]: row v of the graph lists the sources of its arcs."""
        return self.array("graph/indptr")

    @property
    def indices(self):
        """int32 or int64 [E]."""
        return self.array("graph/indices")

    @property
    def weights(self):
        """float32 [E]; None where edges have none."""
        return self.array("graph/weights")

    @property
    def graphs(self):
        """int64 [G + 1]: the nodes that graphs begin with, and how many nodes there are; None: labels are of nodes."""
        return self.array("graphs/indptr")

    @property
    def edge_index(self):
        """int64 [2, E]: sources and targets, as PyG has them, in the order of indices."""
        return np.stack([self.indices.astype("i8"), np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))])

    @property
    def features(self):
        """float32 [N, F], made dense where the file has sparse rows; None where there are none."""
        if "node/features/indptr" not in self._arrays:
            return self.array("node/features")
        indptr, column, data = (self.array(f"node/features/{part}") for part in ("indptr", "indices", "data"))
        if indptr[-1] != len(column) or len(column) != len(data) or (np.diff(indptr) < 0).any():
            raise Error(f"{self._path}: /node/features: indptr, indices and data do not go together")
        dense = np.zeros((self.num_nodes, self.num_features), "f4")
        dense[np.repeat(np.arange(self.num_nodes), np.diff(indptr)), column] = data
        return dense

    @property
    def labels(self):
        """int32 [N], -1 for none; uint8 [N, C] when multilabel; None."""
        return self.array("node/labels")

    @property
    def ids(self):
        """Your ids, where the file has them: int64 [N], or texts."""
        return self.array("node/id")

    @property
    def splits(self):
        """A list of dicts: train, val and test to ascending nodes."""
        if "split/train" in self._arrays:
            return [{part: self.array(f"split/{part}") for part in PARTS}]
        splits = []
        while f"split/{len(splits)}/train" in self._arrays:
            splits.append({part: self.array(f"split/{len(splits)}/{part}") for part in PARTS})
        return splits

    def __repr__(self):
        count = len(self.splits)
        many = "" if self.graphs is None else f"{len(self.graphs) - 1} graphs, "
        return (f"{many}{self.num_nodes} nodes, {self.num_edges} arcs, {'directed' if self.directed else 'undirected'}"
                f"{', weighted' if 'graph/weights' in self._arrays else ''}, {self.num_features} features, "
                f"{self.num_classes} classes ({self.task}), {count} split{'' if count == 1 else 's'}")

    def save(self, path):
        """Writes the file, beside its place, then renamed; its folder is made. Returns the path. Error: something else is
        there, or it cannot be written."""
        path = os.fspath(path)
        name = self.name or os.path.splitext(os.path.basename(path))[0]
        arrays = {place: self.array(place) for place in self._arrays}
        check_out(path)

        def write(part):
            with h5py.File(part, "x") as f:
                f.attrs.update(dict(self.attributes, format=FORMAT, version=VERSION, name=name))
                for place, values in arrays.items():
                    f[place] = values

        publish(path, write)
        return path
