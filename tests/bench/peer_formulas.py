"""The formulas of gnntrain's models in float64: the loss that a run's weights have, without PyTorch Geometric and without
numbers for all edges at once, so that it is there for graphs of any size."""
import functools

import h5py
import torch
from torch.nn.functional import cross_entropy, elu, leaky_relu, normalize

from peer_data import Shard, entries
from peer_measure import failure, forget, loss_error, say
from peer_models import ALPHA, LAMBDA

ENTRIES = 1 << 22  # of the graph at a time


class Graph:
    """A dataset on the device, in float64; row v holds the sources of v."""

    def __init__(self, rows, device):
        self.rows, self.device, self.nodes = rows, device, rows.nodes
        self.ptr, self.col = rows.ptr.to(device), rows.col.to(device)
        self.x, self.y, self.train = rows.x.to(device).double(), rows.y.to(device), rows.train.to(device)

    @functools.cached_property
    def binary(self):
        ones = torch.ones(self.col.numel(), dtype=torch.float64, device=self.device)
        return torch.sparse_csr_tensor(self.ptr, self.col.long(), ones, size=(self.nodes, self.nodes))

    @functools.cached_property
    def normalised(self):
        """D^-1/2 (A + I) D^-1/2."""
        return Shard(self.rows, self.device, torch.float64).matrix

    @functools.cached_property
    def with_loops(self):
        """Where rows of A + I begin, and their sources."""
        row, col, _ = entries(self.rows, self.device)
        ptr = torch.zeros(self.nodes + 1, dtype=torch.long, device=self.device)
        ptr[1:] = torch.bincount(row, minlength=self.nodes).cumsum(0)
        return ptr, col[row.argsort()]

    def mean(self, h):
        return self.binary @ h / (self.ptr[1:] - self.ptr[:-1]).clamp(min=1)[:, None]

    def blocks(self, ptr, col):
        """Rows of about ENTRIES entries: the first, their numbers of entries, each entry's row among them, and its source."""
        first = 0
        while first < self.nodes:
            last = int(torch.searchsorted(ptr, ptr[first] + ENTRIES, right=True)) - 1
            last = min(self.nodes, max(first + 1, last))
            count = (ptr[first + 1:last + 1] - ptr[first:last]).long()
            row = torch.repeat_interleave(torch.arange(last - first, device=self.device), count)
            yield first, count, row, col[int(ptr[first]):int(ptr[last])].long()
            first = last

    def largest(self, h):
        """Column by column over the sources, of values of 0 and more."""
        out = torch.empty_like(h)
        for first, count, _, col in self.blocks(self.ptr, self.col):
            out[first:first + len(count)] = torch.segment_reduce(h[col], "max", lengths=count, unsafe=True, initial=0.0)
        return out

    def attend(self, h, score):
        """H [nodes, heads, width]: sums over row v of A + I, weighed by the softmax of score(v, u) [entries, heads]."""
        out = torch.empty_like(h)
        for first, count, row, col in self.blocks(*self.with_loops):
            s = score(row + first, col)
            s = (s - torch.segment_reduce(s, "max", lengths=count, unsafe=True)[row]).exp()
            total = torch.segment_reduce(s, "sum", lengths=count, unsafe=True)
            weighed = (s[:, :, None] * h[col]).flatten(1)
            sums = torch.segment_reduce(weighed, "sum", lengths=count, unsafe=True).view(-1, *h.shape[1:])
            out[first:first + len(count)] = sums / total[:, :, None]
        return out


def between(h, layers, k):
    return h.relu() if k + 1 < len(layers) else h


def sage(graph, h, layers):
    for k, w in enumerate(layers):
        h = between(h @ w["self"] + graph.mean(h) @ w["weight"], layers, k)
    return h


def sage_max(graph, h, layers):
    for k, w in enumerate(layers):
        most = graph.largest((h @ w["pool"] + w["pool_bias"]).relu())
        h = between(h @ w["self"] + most @ w["weight"], layers, k)
    return h


def gin(graph, h, layers):
    """A layer with batch norm and one without, in turn; eps is 0."""
    for k, w in enumerate(layers):
        if "gain" in w:
            h = (h + graph.binary @ h) @ w["weight"]
            h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
            h = (h * w["gain"] + w["shift"]).relu()
        else:
            h = between(h @ w["weight"], layers, k)
    return h


def gcnii(graph, h, layers):
    h = first = (h @ layers[0]["weight"]).relu()
    for k, w in enumerate(layers[1:-1], 1):
        beta = torch.tensor(LAMBDA / k + 1, dtype=torch.float64).log().item()
        s = (1 - ALPHA) * (graph.normalised @ h) + ALPHA * first
        h = ((1 - beta) * s + beta * (s @ w["weight"])).relu()
    return h @ layers[-1]["weight"]


def gat(graph, h, layers):
    for k, w in enumerate(layers):
        z = (h @ w["weight"]).view(len(h), *w["left"].shape)
        left, right = (z * w["left"]).sum(2), (z * w["right"]).sum(2)
        h = graph.attend(z, lambda v, u: leaky_relu(left[u] + right[v], 0.2)).flatten(1)
        h = elu(h) if k + 1 < len(layers) else h
    return h


def agnn(graph, h, layers):
    h = (h @ layers[0]["weight"]).relu()
    for w in layers[1:-1]:
        unit = normalize(h)
        h = graph.attend(h[:, None], lambda v, u: w["beta"] * (unit[v] * unit[u]).sum(1, keepdim=True))[:, 0]
    return h @ layers[-1]["weight"]


FORMULAS = {formula.__name__.replace("_", "-"): formula for formula in (sage, sage_max, gin, gcnii, gat, agnn)}


def parameters(path, device):
    """Of a checkpoint: for each layer its arrays by name."""
    layers = []
    with h5py.File(path, "r") as f:
        for name, values in f["parameters"].items():
            layer, what = name[len("layer"):].split(".")
            layers += [{} for _ in range(int(layer) + 1 - len(layers))]
            layers[int(layer)][what] = torch.from_numpy(values[:]).double().to(device)
    return layers


def loss_of(run, graph):
    out = FORMULAS[run["type"]](graph, graph.x, parameters(run["before"], graph.device))
    return cross_entropy(out[graph.train], graph.y[graph.train]).item()


def check(runs, rows, device):
    """Losses of gnntrain's runs, of the same weights, as lines of JSON."""
    graph = Graph(rows, device)
    for run in runs:
        try:
            with torch.no_grad():
                right = loss_of(run, graph)
            say(check=run["key"], loss_error=loss_error(run["loss"], right), gradient_error=None)
        except Exception as error:  # the peer is still to be timed
            say(type=run["type"], note=f"{run['key']} in float64: {failure(error)}")
        forget()
