"""Turns a dataset object of PyTorch Geometric, DGL or OGB into a dataset of gnntrain.

CLASS is made from the name=VALUE arguments; they are Python values, or texts where they are none:

  launch/to_dataset.py torch_geometric.datasets:Planetoid data/cora.h5 root=/tmp/pyg name=Cora
  launch/to_dataset.py dgl.data:RedditDataset data/reddit.h5
  launch/to_dataset.py ogb.nodeproppred:NodePropPredDataset data/ogbn_arxiv.h5 name=ogbn-arxiv --undirected

It needs numpy and h5py beside the library in question; python3 -m gnntrain.to_dataset is the same. An object that is
there already becomes a dataset by gnntrain.Dataset. Labels of one column are classes (-1 or NaN: none), of several
columns 0 and 1 for each class. The folder of OUT.h5 is made where it is missing.
"""
import argparse
import ast
import importlib
import inspect
import os
import sys

from gnntrain.dataset import Dataset
from gnntrain.error import Error, brief


def literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def imported(place):
    """What stands at MODULE:CLASS."""
    module, _, name = place.partition(":")
    if not module or not name or module.startswith("."):
        raise Error(f"expected MODULE:CLASS, as torch_geometric.datasets:Planetoid, found {place!r}")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # whatever the module's own lines raise
        raise Error(f"{module} cannot be imported: {type(error).__name__}: {brief(error, 200)}") from error
    if kind is None:
        raise Error(f"{module} has no {name}")
    return kind, name


def make(place, arguments):
    kind, name = imported(place)
    for argument in arguments:
        if not argument.partition("=")[0].isidentifier() or "=" not in argument:
            raise Error(f"expected name=VALUE for {name}, found {argument!r}")
    given = {key: literal(value) for key, _, value in (argument.partition("=") for argument in arguments)}
    try:
        inspect.signature(kind).bind(**given)
    except TypeError as error:
        raise Error(f"{name} is not made from these arguments: {error}") from error
    except ValueError:
        pass  # a class that does not say what it takes
    try:
        return kind(**given)
    except Exception as error:  # whatever the class raises
        raise Error(f"{name} cannot be made from these arguments: {type(error).__name__}: {brief(error, 200)}") from error


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
        dataset = Dataset.from_object(dataset, args.undirected, args.drop_self_loops, args.weights)
        print(f"{dataset.save(args.out)}: {dataset!r}")
    except Error as error:
        print(f"to_dataset.py: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
    except MemoryError as error:
        print(f"to_dataset.py: memory is short: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
