#!/usr/bin/env python3
"""Which --power of gnndata synth gives as many arcs to the largest nodes as a graph has.

  tests/bench/papers_fit.py FILE.h5...

A node of synth weighs (u + 1e-3)^-A, u uniform. The share of the ends of arcs that the hundredth with most of them has then follows
from A; this is its inverse. configs/papers/*/datasets.tsv has powers that were found so on graphs of the same kind.
"""
import sys

import h5py
import numpy as np

LEAST, TOP = 1e-3, .01


def share_of(power):
    """Of the weights of all nodes, that of the hundredth with the largest."""
    def integral(end):
        return (end + LEAST) ** (1 - power) - LEAST ** (1 - power)
    return integral(TOP) / integral(1)


def power_of(share):
    low, high = 0., .999
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if share_of(middle) < share else (low, middle)
    return low


def share_in(path):
    with h5py.File(path) as file:
        starts, indices = file["graph/indptr"][:], file["graph/indices"][:]
    ends = np.sort(np.diff(starts) + np.bincount(indices, minlength=len(starts) - 1))
    return ends[-max(1, len(ends) // 100):].sum() / ends.sum()


def main():
    for path in sys.argv[1:]:
        share = share_in(path)
        print(f"{path}: the hundredth of the nodes with most arcs has {100 * share:.1f}% of their ends, --power {power_of(share):.2f}")


if __name__ == "__main__":
    main()
