"""Objects that look like those of the libraries, for the script to read."""
import numpy as np

EDGES = np.array([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 1]])  # 0 -> 1 stands twice; 3 -> 0 one way only
X = np.arange(8, dtype="f4").reshape(4, 2)
Y = np.array([1, 0, 2, -1])


class Data:
    """As PyG's: what is not there is None."""

    def __init__(self, **entries):
        self.__dict__.update(edge_index=EDGES, x=X, y=Y, num_nodes=4, edge_weight=None)
        self.__dict__.update(entries)


class Pyg(list):
    num_classes = 5

    def __init__(self, **entries):
        masks = np.eye(4, dtype=bool)
        self.append(Data(train_mask=masks[:, :2], val_mask=masks[:, 1:3] & ~masks[:, :2], test_mask=masks[:, 3],
                         edge_weight=np.array([1, 2, 3, 4, 5, 6.5]), **entries))


class Torch(list):
    """As PyG's with PyTorch's tensors: sparse features, a label that is NaN."""

    def __init__(self):
        import torch
        x = torch.sparse_coo_tensor(torch.tensor([[0, 3], [2, 1]]), torch.tensor([.5, -2]), (4, 30))
        self.append(Data(edge_index=torch.from_numpy(EDGES), x=x, y=torch.tensor([[0.], [1], [float("nan")], [1]]),
                         edge_attr=torch.ones(6, 1), train_mask=torch.tensor([True, False, False, True])))


class Graph:
    """As DGL's."""

    def __init__(self, **entries):
        self.ndata = dict(feat=np.eye(4, 16), label=np.array([[0, 1], [1, 1], [0, 0], [1, 0]]),
                          train_mask=np.array([1, 0, 0, 0]), val_mask=np.array([0, 1, 0, 0]),
                          test_mask=np.array([0, 0, 1, 1]))
        self.ndata.update(entries)
        self.edata = {}

    def edges(self):
        return EDGES[0], EDGES[1]

    def num_nodes(self):
        return 4


class Dgl(list):
    def __init__(self, **entries):
        self.append(Graph(**entries))


class Ogb:
    """As OGB's of no library."""

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return {"edge_index": EDGES, "node_feat": X, "edge_feat": None, "num_nodes": 4}, np.array([[1.], [0], [np.nan], [1]])

    def get_idx_split(self):
        return {"train": np.array([3, 0]), "valid": np.array([1]), "test": np.array([2])}


class Two(list):
    def __init__(self):
        self.extend([Data(), Data()])


class Second(list):
    """Of two graphs the second is otherwise."""

    def __init__(self, **entries):
        self.extend([Data(), Data(**entries)])


class Graphs(list):
    """Of OGB, of graphs with a class each."""

    def __init__(self):
        self.extend([Data(y=np.array([[0]])), Data(y=np.array([1])), Data(y=1)])

    def get_idx_split(self):
        return dict(train=np.array([0, 2]), valid=np.array([1]), test=np.zeros(0, int))


class Masks(list):
    def __init__(self, mask):
        self.append(Data(train_mask=mask))


class Weights(list):
    def __init__(self, weight):
        self.append(Data(edge_weight=np.array(weight)))


class Listed(Ogb):
    def __init__(self, train):
        self.train = train

    def get_idx_split(self):
        return dict(Ogb.get_idx_split(self), train=self.train)


class Parts(Ogb):
    def __init__(self, split):
        self.split = split

    def get_idx_split(self):
        return self.split


class Bare(list):
    """Neither nodes nor edges."""

    def __init__(self):
        self.append(Data(edge_index=np.zeros((2, 0), "i8"), x=None, y=None, num_nodes=None))
