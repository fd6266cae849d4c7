#!/usr/bin/env python3
"""A dataset's graph as the text that METIS's gpmetis reads: both directions of an arc, no loops; a node weighs 1 and the
non-zeros of its row, a loop included, as in a partition made here.

    metis_graph.py DATASET.h5 OUT.graph
"""
import sys

import h5py
import numpy
from scipy.sparse import csr_matrix


def main():
    with h5py.File(sys.argv[1], "r") as f:
        ptr, ids = f["graph/indptr"][:], f["graph/indices"][:]
    arcs = csr_matrix((numpy.ones(len(ids), bool), ids, ptr), (len(ptr) - 1,) * 2)
    arcs = (arcs + arcs.T).tocoo()
    kept = arcs.row != arcs.col
    arcs = csr_matrix((arcs.data[kept], (arcs.row[kept], arcs.col[kept])), arcs.shape)
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write(f"{arcs.shape[0]} {arcs.nnz // 2} 010 2\n")
        for length, begin, end in zip(numpy.diff(ptr), arcs.indptr[:-1], arcs.indptr[1:]):
            out.write(f"1 {length} " + " ".join(map(str, arcs.indices[begin:end] + 1)) + "\n")


if __name__ == "__main__":
    main()
