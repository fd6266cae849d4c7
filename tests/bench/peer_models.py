"""gnntrain's models from layers of PyTorch Geometric, one description each. A net takes the features and the graph in one of
the `forms` of its kind, fastest first: a CSR matrix of torch.sparse, or an edge index. Without bias, as the runs beside it
are; with `recipe` as the configuration of Cora has it."""
import torch
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch.nn.functional import dropout, elu

HEADS = 8
ALPHA, LAMBDA = 0.1, 0.5  # of GCNII on Cora


class Stack(torch.nn.Module):
    """Convolutions with an activation between."""

    def __init__(self, convs, activation=torch.relu, dropped=0.0):
        super().__init__()
        self.convs, self.activation, self.dropped = torch.nn.ModuleList(convs), activation, dropped

    def forward(self, x, graph):
        for k, conv in enumerate(self.convs):
            x = conv(dropout(x, self.dropped, self.training) if self.dropped else x, graph)
            x = self.activation(x) if k + 1 < len(self.convs) else x
        return x

    def groups(self, recipe):
        """Parameters for the optimiser, with the weight decay of the recipe."""
        first, others = [*self.convs[0].parameters()], [p for conv in self.convs[1:] for p in conv.parameters()]
        return [{"params": first, "weight_decay": 5e-4 if recipe else 0}, {"params": others, "weight_decay": 0}]


class Between(torch.nn.Module):
    """Convolutions between two linear layers; `initial`: each sees the output of the first of these, too."""

    def __init__(self, dims, convs, initial=False, bias=False, dropped=0.0):
        super().__init__()
        self.ends = torch.nn.ModuleList([Linear(dims[0], dims[1], bias=bias), Linear(dims[1], dims[-1], bias=bias)])
        self.convs, self.initial, self.dropped = torch.nn.ModuleList(convs), initial, dropped

    def drop(self, x):
        return dropout(x, self.dropped, self.training) if self.dropped else x

    def forward(self, x, graph):
        x = first = self.ends[0](self.drop(x)).relu()
        for conv in self.convs:
            x = conv(self.drop(x), first, graph).relu() if self.initial else conv(self.drop(x), graph)
        return self.ends[1](self.drop(x))

    def groups(self, recipe):
        return [{"params": [*self.convs.parameters()], "weight_decay": 0.01 if recipe else 0},
                {"params": [*self.ends.parameters()], "weight_decay": 5e-4 if recipe else 0}]


def gcn(dims, form, recipe):
    from torch_geometric.nn import GCNConv
    options = {"normalize": False} if form == "csr" else {"cached": True}
    return Stack([GCNConv(i, o, bias=recipe, **options) for i, o in zip(dims, dims[1:])], dropped=0.5 if recipe else 0.0)


def sage(dims, form, recipe):
    from torch_geometric.nn import SAGEConv
    return Stack([SAGEConv(i, o, bias=False) for i, o in zip(dims, dims[1:])])


def sage_max(dims, form, recipe):
    """Projects to as many columns as a layer's input has, where gnntrain projects to the hidden width."""
    from torch_geometric.nn import SAGEConv
    return Stack([SAGEConv(i, o, aggr="max", project=True, bias=False) for i, o in zip(dims, dims[1:])])


def gin(dims, form, recipe):
    from torch_geometric.nn import GINConv
    hidden = dims[1]
    return Stack([GINConv(Sequential(Linear(i, hidden, bias=False), BatchNorm1d(hidden), ReLU(), Linear(hidden, o, bias=False)))
                  for i, o in zip(dims, dims[1:])])


def gat(dims, form, recipe):
    from torch_geometric.nn import GATConv
    inner = [GATConv(i, o // HEADS, HEADS, bias=False) for i, o in zip(dims[:-2], dims[1:])]
    return Stack([*inner, GATConv(dims[-2], dims[-1], bias=False)], elu)


def agnn(dims, form, recipe):
    from torch_geometric.nn import AGNNConv
    return Between(dims, [AGNNConv() for _ in dims[1:]])


def gcnii(dims, form, recipe):
    from torch_geometric.nn import GCN2Conv
    convs = [GCN2Conv(dims[1], ALPHA, LAMBDA, layer, cached=True) for layer in range(1, len(dims))]
    return Between(dims, convs, initial=True, bias=recipe, dropped=0.6 if recipe else 0.0)


# CSR has no maximum on GPUs, and no attention. GCNII caches its normalised edge index.
FORMS = {gcn: ["csr", "edge_index"], sage: ["csr", "edge_index"], gin: ["csr", "edge_index"], sage_max: ["edge_index"],
         gat: ["edge_index"], agnn: ["edge_index"], gcnii: ["edge_index"]}
KINDS = {net.__name__.replace("_", "-"): net for net in FORMS}
