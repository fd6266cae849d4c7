"""The nets of to_torch and to_pyg: convolutions of either kind, and what gnntrain has between them (docs/models.md)."""
import math

import torch
from torch.nn import BatchNorm1d, Identity, LayerNorm, Linear, Module, ModuleList, ReLU, Sequential
from torch.nn.functional import dropout, elu, leaky_relu


def same(x):
    return x


ACTIVATIONS = {"none": same, "relu": torch.relu, "elu": elu, "leaky_relu": leaky_relu}
NORMS = {"none": lambda _: Identity(), "batch": BatchNorm1d, "layer": LayerNorm}


class Net(Module):
    """Logits [N, C] of features [N, F] and a graph: edge_index int64 [2, E], sources and targets, and edge_weight [E].

    In training mode values are dropped as the configuration says. Features are the dataset's, not yet normalised.
    """

    def __init__(self, checkpoint, layers):
        super().__init__()
        self.model, self.layers = checkpoint.config["model"], layers
        self.divides = checkpoint.config["dataset"]["normalize"] == "row"
        self.activation = ACTIVATIONS[self.model["activation"]]
        self.build(checkpoint.layers, layers)

    def norm(self, width):
        return NORMS[self.model["norm"]](width)

    def drop(self, x, setting="dropout"):
        return dropout(x, self.model[setting], self.training)

    def forward(self, x, edge_index, edge_weight=None):
        if self.divides:
            sums = x.sum(1, keepdim=True)
            x = x / torch.where(sums == 0, torch.ones_like(sums), sums)
        return self.walk(self.drop(x, "dropout_input"), self.layers.arguments(edge_index, edge_weight, x))


class Stack(Net):
    """gcn, sage, gat, gin: convolutions one upon the other."""

    def build(self, parameters, layers):
        convolutions = getattr(self, "build_" + self.model["type"])(parameters, layers)
        self.convs = ModuleList(convolutions)
        self.norms = ModuleList(self.norm(self.model["hidden"]) for _ in convolutions[1:])

    def build_gcn(self, parameters, layers):
        return [layers.gcn(*p["weight"].shape, "bias" in p) for p in parameters]

    def build_sage(self, parameters, layers):
        return [layers.sage(p["self" if "self" in p else "weight"].shape[0], p["weight"].shape[1], "bias" in p,
                            p["weight"].shape[0]) for p in parameters]

    def build_gat(self, parameters, layers):
        return [layers.gat(p["weight"].shape[0], p["left"].shape[1], p["left"].shape[0], k + 1 < len(parameters), "bias" in p)
                for k, p in enumerate(parameters)]

    def build_gin(self, parameters, layers):
        return [layers.gin(Sequential(Linear(*inner["weight"].shape, bias=False), BatchNorm1d(inner["weight"].shape[1]),
                                      ReLU(), Linear(*outer["weight"].shape, bias="bias" in outer)))
                for inner, outer in zip(parameters[::2], parameters[1::2])]

    def walk(self, x, graph):
        for k, conv in enumerate(self.convs):
            z = conv(x, *graph)
            if k + 1 == len(self.convs):
                return z
            z = self.activation(self.norms[k](z))
            x = self.drop(z + x if self.model["residual"] and k > 0 else z)


class Between(Net):
    """gcnii: convolutions between two linear layers, which all see the output of the first of these."""

    def build(self, parameters, layers):
        first, *inner, last = parameters
        hidden, lam = self.model["hidden"], self.model["lambda"]
        self.lins = ModuleList(Linear(*p["weight"].shape, bias="bias" in p) for p in (first, last))
        self.convs = ModuleList(layers.gcnii(hidden, l, math.log(lam / l + 1)) for l in range(1, len(inner) + 1))
        self.norms = ModuleList(self.norm(hidden) for _ in (first, *inner))

    def walk(self, x, graph):
        first = self.activation(self.norms[0](self.lins[0](x)))
        x = self.drop(first)
        for conv, norm in zip(self.convs, self.norms[1:]):
            x = self.drop(self.activation(norm(conv(x, first, *graph))))
        return self.lins[1](x)
