"""Many graphs that are classified, as one dict of the names that arrays.py takes (docs/data.md)."""
import numpy as np

from gnntrain.arrays import array, count_nodes, ends_of, list_of, numbers
from gnntrain.error import Error


def _column(graphs, name, nodes):
    """What all graphs have under that name, one behind the other; None where none has it."""
    values = [graph.get(name) for graph in graphs]
    if all(value is None for value in values):
        return None
    for k, value in enumerate(values):
        if value is None:
            raise Error(f"graph {k} has no {name}; other graphs have")
    rows = [array(value, name) for value in values]
    for k, value in enumerate(rows):
        if name == "x" and (value.ndim == 0 or len(value) != nodes[k] or value.shape[1:] != rows[0].shape[1:]):
            raise Error(f"graph {k} has features of shape {value.shape} for {nodes[k]} nodes; those of graph 0 have shape "
                        f"{rows[0].shape}")
    return np.concatenate(rows)


def _labels(graphs, start):
    """At the first node of each graph: a class, or a row of 0 and 1."""
    found = []
    for k, graph in enumerate(graphs):
        if graph.get("y") is None:
            raise Error(f"graph {k} has no label")
        found.append(np.atleast_1d(numbers(np.atleast_1d(array(graph["y"], "labels")), "labels", "biuf")).ravel())
        if len(found[k]) != len(found[0]):
            raise Error(f"graph {k} has {len(found[k])} labels, graph 0 has {len(found[0])}; a class or a row of 0 and 1 for "
                        "each graph is expected")
    found = np.stack(found)
    if found.shape[1] == 1:
        label = np.full(start[-1], -1.0 if found.dtype.kind == "f" else -1)
        label[start[:-1]] = found[:, 0]
        return label
    label = np.zeros((start[-1], found.shape[1]), found.dtype)
    label[start[:-1]] = found
    return label


def _are_of_nodes(graphs, nodes):
    """Whether labels are of nodes: as many in each graph."""
    sizes = [None if graph.get("y") is None else len(np.atleast_1d(array(graph["y"], "labels"))) for graph in graphs]
    return sizes == nodes and max(nodes) > 1


def joined(graphs, split=None):
    """One dict of many. Each has a label y of its own, or labels of its nodes; then they are one graph, in which no arc
    leads from one to another. split: part to list of graphs, counted from 0."""
    for k, graph in enumerate(graphs):
        if graph.get("edge_index") is None:
            raise Error(f"graph {k} has no edge_index")
    nodes = [count_nodes(graph) for graph in graphs]
    if min(nodes) < 1:
        raise Error(f"graph {nodes.index(min(nodes))} has no nodes")
    start = np.concatenate([[0], np.cumsum(nodes)])
    sides = [[], []]
    for k, graph in enumerate(graphs):
        for side, ends in zip(sides, ends_of(graph)):
            if len(ends) and (ends.min() < 0 or ends.max() >= nodes[k]):
                raise Error(f"graph {k} has an edge outside of its nodes 0 .. {nodes[k] - 1}")
            side.append(ends + start[k])
    found = dict(edge_index=[np.concatenate(side) for side in sides], num_nodes=int(start[-1]),
                 x=_column(graphs, "x", nodes), edge_weight=_column(graphs, "edge_weight", nodes))
    if _are_of_nodes(graphs, nodes):
        return dict(found, **{name: _column(graphs, name, nodes) for name in ("y", "train_mask", "val_mask", "test_mask")})
    found.update(y=_labels(graphs, start), graphs=start)
    if split is not None:
        found["split"] = {part: start[:-1][list_of(listed, len(graphs), part)[:, 0]] for part, listed in split.items()}
    return found
