"""From a dict of the names in objects.py to the arrays of a dataset file, with a sentence for what does not fit."""
import numpy as np

from gnntrain.error import Error, brief

PARTS = ("train", "val", "test")
SPARSE_DENSITY = 0.1  # features below it are stored as sparse rows
MOST_CLASSES = 1000 * 1000  # of a dataset
MOST_NODES = 2**31 - 1


def array(value, what):
    """Any tensor or sequence as a numpy array."""
    try:
        for step in ("detach", "cpu"):
            value = getattr(value, step)() if hasattr(value, step) else value
        return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        raise Error(f"{what} is {brief(value)}; an array with rows of equal length is expected") from None


def numbers(value, what, kinds):
    """An array whose type is of these kinds: b, i, u and f are numpy's letters."""
    found = array(value, what)
    if found.dtype.kind not in kinds or found.ndim == 0:
        raise Error(f"{what} of type {found.dtype} and shape {found.shape}; a list of "
                       f"{'numbers' if 'f' in kinds else 'whole numbers'} is expected")
    return found


def single(value):
    """In single precision; what does not fit becomes infinite."""
    with np.errstate(all="ignore"):
        return value.astype("f4")


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
        raise Error(f"edge_index has {rows} rows; 2 are expected, the sources and the targets")
    sides = [array(side, "edge_index") for side in sides]
    return [numbers(side, "edge_index", "iu" if side.size else "iuf").astype("i8").ravel() for side in sides]


def adjacency(found, nodes, weight, undirected, drop_self_loops):
    """indptr, indices, weights and whether the graph is directed; row v lists the sources of its arcs."""
    source, target = ends_of(found)
    if len(source) != len(target) or weight is not None and len(weight) != len(source):
        raise Error(f"{len(source)} sources, {len(target)} targets" +
                       ("" if weight is None else f" and {len(weight)} weights") + " of edges do not go together")
    for side in (source, target):
        if len(side) and (side.min() < 0 or side.max() >= nodes):
            bad = int(np.flatnonzero((side < 0) | (side >= nodes))[0])
            raise Error(f"edge {bad} names node {side[bad]}, outside 0 .. {nodes - 1}")
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
        raise Error(f"the weights of edge {bad % nodes}, {bad // nodes} have no finite single-precision sum")
    indptr = np.zeros(nodes + 1, "i8")
    np.cumsum(np.bincount(key // nodes, minlength=nodes), out=indptr[1:])
    return indptr, (key % nodes).astype("i4"), weight, directed


def weights_of(found, wanted):
    if not wanted:
        return None
    weight = found.get("edge_weight")
    weight = None if weight is None else numbers(weight, "edge_weight", "biuf").astype("f8")
    if weight is None or weight.size != len(weight):
        raise Error("the edges have no weights: neither edge_weight nor an edge_attr of one column")
    bad = np.flatnonzero(~np.isfinite(single(weight.ravel())))
    if len(bad):
        raise Error(f"the weight of edge {int(bad[0])} is not a finite single-precision number")
    return weight.ravel()


def sparse_rows_of(value):
    """Of scipy's sparse matrices, in a copy: entries ascending in a row, none twice, none 0."""
    with np.errstate(all="ignore"):
        rows = value.tocsr().astype("f4")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def features_of(value, nodes):
    """Dense [N, F], or the three arrays of sparse rows."""
    if value is None:
        return None, 0
    if hasattr(value, "tocsr") and value.shape[0] == nodes and value.dtype.kind in "biuf":
        rows = sparse_rows_of(value)
        if rows.nnz < SPARSE_DENSITY * nodes * value.shape[1] and np.isfinite(rows.data).all():
            return (rows.indptr.astype("i8"), rows.indices.astype("i4"), rows.data), value.shape[1]
    if hasattr(value, "todense"):
        value = value.todense()
    elif str(getattr(value, "layout", "torch.strided")) != "torch.strided" or hasattr(value, "sparse_sizes"):
        value = value.to_dense()
    dense = single(numbers(value, "features", "biuf"))
    dense = dense.reshape(nodes, -1) if len(dense) == nodes else dense
    if dense.ndim != 2 or len(dense) != nodes or dense.shape[1] == 0:
        raise Error(f"features of shape {dense.shape} for {nodes} nodes")
    if not np.isfinite(dense).all():
        node, column = np.argwhere(~np.isfinite(dense))[0]
        raise Error(f"feature {column} of node {node} is not a finite single-precision number")
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
        raise Error(f"labels of shape {label.shape} for {nodes} nodes")
    if label.ndim == 2 and label.shape[1] > 1:
        if not np.isin(label, (0, 1)).all():
            node, column = np.argwhere(~np.isin(label, (0, 1)))[0]
            raise Error(f"label {column} of node {node} is {label[node, column]}; allowed: 0, 1")
        if label.shape[1] > MOST_CLASSES:
            raise Error(f"{label.shape[1]} classes; at most {MOST_CLASSES} are allowed")
        return label.astype("u1"), label.shape[1], "multilabel"
    label = label.ravel()
    label = np.where(np.isnan(label), -1, label) if label.dtype.kind == "f" else label
    bad = np.flatnonzero((label != np.floor(label)) | (label < -1) | (label >= MOST_CLASSES))
    if len(bad):
        raise Error(f"the label of node {int(bad[0])} is {label[bad[0]]}; allowed: -1 (none) and the classes 0, 1, "
                       f"... {MOST_CLASSES - 1}")
    if not len(label) or label.max() < 0:
        raise Error("no node has a label")
    if (classes or 0) > MOST_CLASSES:
        raise Error(f"num_classes is {classes}; at most {MOST_CLASSES} are allowed")
    return label.astype("i4"), max(int(label.max()) + 1, classes or 0), "multiclass"


def mask_of(value, nodes, part):
    """[nodes, splits]; [splits, nodes] could be told from it only where the two differ, and is refused."""
    mask = numbers(value, f"{part}_mask", "biuf")
    if mask.ndim > 2 or len(mask) != nodes or mask.size == 0:
        raise Error(f"{part}_mask of shape {mask.shape} for {nodes} nodes; allowed: ({nodes},) and "
                       f"({nodes}, splits)")
    mask = mask.reshape(nodes, -1)
    if not np.isin(mask, (0, 1)).all():
        node, k = np.argwhere(~np.isin(mask, (0, 1)))[0]
        raise Error(f"{part}_mask of node {node} is {mask[node, k]}; allowed: 0, 1")
    return mask.astype(bool)


def list_of(value, nodes, part):
    """A list of nodes as a mask [nodes, 1]."""
    node = array(value, part)
    node = node.astype("i8") if node.size == 0 else numbers(node, part, "iu")
    bad = np.flatnonzero((node < 0) | (node >= nodes))
    if len(bad):
        raise Error(f"{part} names node {node.ravel()[bad[0]]}, outside 0 .. {nodes - 1}")
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
        raise Error("masks of " + ", ".join(f"{mask.shape[1]}" for mask in masks.values()) + " splits")
    splits = []
    for k in range(count):
        column = {part: mask[:, k % mask.shape[1]] for part, mask in masks.items()}
        if (sum(mask.astype("u1") for mask in column.values()) > 1).any():
            node = int(np.flatnonzero(sum(mask.astype("u1") for mask in column.values()) > 1)[0])
            raise Error(f"split {k}: node {node} is in several of {', '.join(column)}")
        known = np.ones(nodes, bool) if label is None or label.ndim > 1 else label >= 0
        splits.append({part: np.flatnonzero(column.get(part, np.zeros(nodes, bool)) & known) for part in PARTS})
    return splits


def count_nodes(found):
    given = found.get("num_nodes")
    if given is not None:
        count = array(given, "num_nodes")
        if count.dtype.kind not in "iu" or count.size != 1 or not 1 <= count.item() <= MOST_NODES:
            raise Error(f"num_nodes is {brief(given)}; allowed: whole numbers from 1 to {MOST_NODES}")
        return count.item()
    for name in ("x", "y"):
        value = found.get(name)
        if value is not None:
            shape = value.shape if hasattr(value, "shape") else array(value, name).shape  # sparse ones are no arrays
            return shape[0] if len(shape) else numbers(value, name, "biuf").shape[0]
    return 1 + max((int(side.max()) for side in ends_of(found) if len(side)), default=-1)
