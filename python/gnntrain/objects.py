"""From the objects of PyTorch Geometric, DGL and OGB to a dict of the names that arrays.py takes:

edge_index [2, E] (sources, targets) and any of num_nodes, x, y, edge_weight, train_mask, val_mask, test_mask, split (part
to list of nodes), num_classes, graphs (the nodes that graphs begin with, and how many nodes there are).
"""
import collections.abc

import numpy as np

from gnntrain.error import Error
from gnntrain.graph_set import joined


def first_of(source, *names):
    """The first of these entries, or attributes, that is there and is not None."""
    for name in names:
        value = source.get(name) if isinstance(source, collections.abc.Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def of_dgl(graph):
    if len(getattr(graph, "ntypes", [0])) > 1 or len(getattr(graph, "etypes", [0])) > 1:
        raise Error("the graph has several kinds of nodes or edges; graphs of one kind are written")
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
        raise Error("the graph has several kinds of nodes or edges; graphs of one kind are written")
    return of_dgl(graph) if hasattr(graph, "ndata") and hasattr(graph, "edges") else of_pyg(graph)


def split_of(dataset):
    """The split that OGB keeps beside the graph."""
    split = dataset.get_idx_split()
    named = {"train": first_of(split, "train"), "val": first_of(split, "valid", "val"), "test": first_of(split, "test")}
    for part, nodes in named.items():
        if nodes is None:
            raise Error(f"get_idx_split() gives no {part}; train, valid (or val) and test are expected")
    return named


def is_graph(thing):
    """Whether it is one itself: PyG's datasets hand the attributes of their graphs on."""
    return isinstance(thing, dict) or hasattr(thing, "ndata") or hasattr(type(thing), "edge_index") or (
        "edge_index" in getattr(thing, "__dict__", {}))


def of_dataset(dataset):
    """The only graph of a dataset, or all of them as one, with its split."""
    if is_graph(dataset):
        return of_graph(dataset)
    if isinstance(dataset, tuple) and len(dataset) == 2:
        return dict(of_graph(dataset[0]), y=dataset[1])
    if not hasattr(dataset, "__getitem__") or isinstance(dataset, (str, bytes)):
        raise Error(f"{type(dataset).__name__} is neither a graph nor a dataset of one")
    if hasattr(dataset, "__len__") and len(dataset) == 0:
        raise Error("the dataset holds no graphs")
    if hasattr(dataset, "__len__") and len(dataset) > 1:
        return joined([of_dataset(dataset[k]) for k in range(len(dataset))],
                      split_of(dataset) if hasattr(dataset, "get_idx_split") else None)
    found = of_dataset(dataset[0])
    if hasattr(dataset, "get_idx_split"):
        found.update(split=split_of(dataset))
    classes = getattr(dataset, "num_classes", None)
    return dict(found, num_classes=classes) if isinstance(classes, (int, np.integer)) else found
