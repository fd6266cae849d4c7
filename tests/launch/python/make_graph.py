"""Writes graph.txt, features.npy, labels.txt and split.txt, for gnndata import, and made.h5 of the same graph."""
import numpy as np

import gnntrain

NODES = 90


class Matrix:
    """As scipy's: what gnntrain asks of a sparse matrix."""

    def __init__(self, row, col):
        self.row, self.col, self.data, self.shape = row, col, np.ones(len(row)), (NODES, NODES)

    def tocoo(self):
        return self


def matrix_of(row, col):
    try:
        import scipy.sparse
    except ImportError:
        return Matrix(row, col)
    return scipy.sparse.coo_matrix((np.ones(len(row)), (row, col)), (NODES, NODES)).tocsr()


def main():
    rng = np.random.default_rng(7)
    label = np.arange(NODES) % 3
    source = np.r_[np.arange(NODES), rng.integers(NODES, size=6 * NODES)]
    target = np.r_[(np.arange(NODES) + 3) % NODES, rng.integers(NODES // 3, size=6 * NODES) * 3 + label[source[NODES:]]]
    features = (rng.normal(size=(NODES, 5)) + label[:, None]).astype("f4")
    part = rng.integers(3, size=NODES)
    np.savetxt("graph.txt", np.c_[source, target], "%d")
    np.savetxt("labels.txt", label, "%d")
    np.savetxt("split.txt", np.array(["train", "val", "test"])[part], "%s")
    np.save("features.npy", features)
    data = gnntrain.Dataset.from_scipy(matrix_of(target, source), features, label, undirected=True, train=part == 0,
                                       val=np.flatnonzero(part == 1), test=part == 2)
    assert data.save("made.h5") == "made.h5"


if __name__ == "__main__":
    main()
