"""The nets of to_torch and to_pyg: convolutions of either kind, and what gnntrain has between them (docs/models.md)."""
import math

import torch
from torch.nn import BatchNorm1d, Identity, LayerNorm, Linear, Module, ModuleDict, ModuleList, ReLU, Sequential
from torch.nn.functional import dropout, elu, leaky_relu

from gnntrain.error import Error
from gnntrain.weights import layers_of, readouts_of


def same(x):
    return x


ACTIVATIONS = {"none": same, "relu": torch.relu, "elu": elu, "leaky_relu": leaky_relu}
NORMS = {"none": lambda _: Identity(), "batch": BatchNorm1d, "layer": LayerNorm}


def pooled(x, batch, kind):
    """Of each graph the "sum", "mean" or "max" of its nodes' rows, column by column. batch: the graph of each node, from 0 on."""
    graphs = int(batch.max()) + 1 if len(batch) else 0
    rows = x.new_zeros(graphs, x.shape[1])
    if kind == "max":
        return rows.scatter_reduce(0, batch[:, None].expand_as(x), x, "amax", include_self=False)
    rows = rows.index_add(0, batch, x)
    return rows if kind == "sum" else rows / torch.bincount(batch, minlength=graphs).clamp(min=1)[:, None]


class Net(Module):
    """Logits [N, C] of features [N, F] and a graph: edge_index int64 [2, E], sources and targets, and edge_weight [E]. Of a
    model that classifies graphs a row for each of these: batch int64 [N] is the graph of each node; None: they are one.

    In training mode values are dropped as the configuration says. Features are the dataset's, not yet normalised.
    """

    def __init__(self, checkpoint, layers):
        super().__init__()
        self.model, self.layers = checkpoint.config["model"], layers
        self.divides = checkpoint.config["dataset"]["normalize"] == "row"
        self.activation = ACTIVATIONS[self.model["activation"]]
        readouts = readouts_of(checkpoint)
        self.of_graphs = bool(readouts)
        self.build(layers_of(checkpoint), layers)
        if readouts:
            self.readouts = ModuleDict({str(k): Linear(*layer["readout"].shape, bias="readout_bias" in layer)
                                        for k, layer in readouts.items()})

    def norm(self, width):
        return NORMS[self.model["norm"]](width)

    def drop(self, x, setting="dropout"):
        return dropout(x, self.model[setting], self.training)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        if batch is not None and not self.of_graphs:
            raise Error("batch is of models that classify graphs; this one classifies nodes")
        if self.divides:
            sums = x.sum(1, keepdim=True)
            x = x / torch.where(sums == 0, torch.ones_like(sums), sums)
        x = self.drop(x, "dropout_input")
        outputs = self.walk(x, self.layers.arguments(edge_index, edge_weight, x))
        if self.of_graphs:
            return self.read(x, outputs, x.new_zeros(len(x), dtype=torch.int64) if batch is None else batch)
        for x in outputs:
            pass
        return x

    def read(self, x, outputs, batch):
        """Logits of graphs: what the readouts of x and of layers' outputs give, where they have a linear layer, added up."""
        logits = 0
        for k, rows in enumerate((x, *outputs)):
            if str(k) in self.readouts:
                logits = logits + self.readouts[str(k)](pooled(rows, batch, self.model["readout"]))
        return logits


class Stack(Net):
    """gcn, sage, gat, gin: convolutions one upon the other."""

    def build(self, parameters, layers):
        convolutions = getattr(self, "build_" + self.model["type"])(parameters, layers)
        self.convs = ModuleList(convolutions)
        self.norms = ModuleList(self.norm(self.model["hidden"]) for _ in convolutions[not self.of_graphs:])

    def build_gcn(self, parameters, layers):
        return [layers.gcn(*p["weight"].shape, "bias" in p) for p in parameters]

    def build_sage(self, parameters, layers):
        return [layers.sage(p["self" if "self" in p else "weight"].shape[0], p["weight"].shape[1], "bias" in p,
                            p["weight"].shape[0]) for p in parameters]

    def build_gat(self, parameters, layers):
        return [layers.gat(p["weight"].shape[0], p["left"].shape[1], p["left"].shape[0],
                           self.of_graphs or k + 1 < len(parameters), "bias" in p)
                for k, p in enumerate(parameters)]

    def build_gin(self, parameters, layers):
        return [layers.gin(Sequential(Linear(*inner["weight"].shape, bias=False), BatchNorm1d(inner["weight"].shape[1]),
                                      ReLU(), Linear(*outer["weight"].shape, bias="bias" in outer)))
                for inner, outer in zip(parameters[::2], parameters[1::2])]

    def walk(self, x, graph):
        """The outputs of the layers; the last are the logits where nodes are classified."""
        for k, conv in enumerate(self.convs):
            z = conv(x, *graph)
            if k == len(self.norms):
                yield z
                return
            z = self.activation(self.norms[k](z))
            x = self.drop(z + x if self.model["residual"] and k > 0 else z)
            yield x


class Between(Net):
    """gcnii: convolutions between two linear layers, which all see the output of the first of these."""

    def build(self, parameters, layers):
        first, inner, ends = parameters[0], parameters[1:], parameters[:1]
        if not self.of_graphs:
            ends.append(inner.pop())
        hidden, lam = self.model["hidden"], self.model["lambda"]
        self.lins = ModuleList(Linear(*p["weight"].shape, bias="bias" in p) for p in ends)
        self.convs = ModuleList(layers.gcnii(hidden, l, math.log(lam / l + 1)) for l in range(1, len(inner) + 1))
        self.norms = ModuleList(self.norm(hidden) for _ in (first, *inner))

    def walk(self, x, graph):
        first = self.activation(self.norms[0](self.lins[0](x)))
        yield first
        x = self.drop(first)
        for conv, norm in zip(self.convs, self.norms[1:]):
            x = self.drop(self.activation(norm(conv(x, first, *graph))))
            yield x
        if not self.of_graphs:
            yield self.lins[1](x)
