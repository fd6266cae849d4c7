"""Convolutions in plain PyTorch, with the parameters, by name, that those of PyTorch Geometric have."""
import warnings

import torch
from torch.nn import Linear, Module, Parameter
from torch.nn.functional import dropout, leaky_relu

from gnntrain.error import Error


class Product(torch.autograd.Function):
    """matrix @ x, of compressed rows, which torch multiplies several times as fast as a list of entries; the way back is
    the product with the transpose, made once."""

    @staticmethod
    def forward(ctx, x, matrix, transposed):
        ctx.both = matrix, transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, gradient):
        matrix, transposed = ctx.both
        return Product.apply(gradient.contiguous(), transposed, matrix), None, None


def compressed(entries):
    """Of a list of entries, in numbers of 32 bits where they suffice."""
    rows = entries.coalesce().to_sparse_csr()
    small = torch.int32 if rows.values().numel() < 2**31 else torch.int64
    return torch.sparse_csr_tensor(rows.crow_indices().to(small), rows.col_indices().to(small), rows.values(), rows.shape)


class Graph:
    """Arcs source -> target with weights, and the matrices of convolutions over them; row v sums over arcs into v."""

    def __init__(self, edge_index, edge_weight, nodes, dtype):
        self.source, self.target = edge_index
        self.nodes, self.weighted, self.kept = nodes, edge_weight is not None, {}
        self.weight = (edge_weight.to(dtype) if self.weighted else
                       torch.ones(self.source.numel(), dtype=dtype, device=self.source.device))

    def with_loops(self):
        """Sources, targets and weights with exactly one loop a node: the stored one, else one of weight 1."""
        lone = torch.ones(self.nodes, dtype=torch.bool, device=self.source.device)
        lone[self.source[self.source == self.target]] = False
        lone = lone.nonzero()[:, 0]
        return (torch.cat([self.source, lone]), torch.cat([self.target, lone]),
                torch.cat([self.weight, self.weight.new_ones(len(lone))]))

    def matrices(self, kind):
        """By kind, "both", "row", "none" of gcn, "mean", "self mean", "sum": the matrix and its transpose; where weights
        have gradients the matrix alone, as a list of entries."""
        if kind not in self.kept:
            loops = kind not in ("mean", "sum")
            source, target, weight = self.with_loops() if loops else (self.source, self.target, self.weight)
            degree = weight.new_zeros(self.nodes).index_add(0, target, weight)
            inverse = torch.where(degree > 0, 1 / degree, torch.zeros_like(degree))
            if kind == "both":
                weight = weight * inverse.sqrt()[target] * inverse.sqrt()[source]
            elif kind in ("row", "mean", "self mean"):
                weight = weight * inverse[target]
            entries = torch.sparse_coo_tensor(torch.stack([target, source]), weight, (self.nodes, self.nodes))
            with warnings.catch_warnings():  # that compressed rows are in beta state
                warnings.simplefilter("ignore")
                self.kept[kind] = ((entries.coalesce(),) if self.weight.requires_grad else
                                   (compressed(entries), compressed(entries.t())))
        return self.kept[kind]

    def times(self, kind, x):
        matrices = self.matrices(kind)
        return torch.sparse.mm(*matrices, x) if len(matrices) == 1 else Product.apply(x, *matrices)


class GCN(Module):
    def __init__(self, width, out, bias, norm):
        super().__init__()
        self.lin, self.norm = Linear(width, out, bias=False), norm
        self.bias = Parameter(torch.zeros(out)) if bias else None

    def forward(self, x, graph):
        z = graph.times(self.norm, self.lin(x))
        return z if self.bias is None else z + self.bias


class SAGE(Module):
    """Mean or sum of the neighbours, or of the neighbours and the node itself ("self mean", without lin_r)."""

    def __init__(self, width, out, bias, kind):
        super().__init__()
        self.kind, self.lin_l = kind, Linear(width, out, bias=bias)
        self.lin_r = None if kind == "self mean" else Linear(width, out, bias=False)

    def forward(self, x, graph):
        z = self.lin_l(graph.times(self.kind, x))
        return z if self.lin_r is None else z + self.lin_r(x)


class SAGEPool(Module):
    """The largest ("amax") or smallest ("amin") of relu(lin x) over the neighbours, column by column."""

    def __init__(self, width, pooled, out, bias, kind):
        super().__init__()
        self.kind = kind
        self.lin, self.lin_l, self.lin_r = Linear(width, pooled), Linear(pooled, out, bias=bias), Linear(width, out, bias=False)

    def forward(self, x, graph):
        pooled = self.lin(x).relu()
        most = torch.zeros_like(pooled)  # what nodes without neighbours have
        most = most.scatter_reduce(0, graph.target[:, None].expand(-1, pooled.shape[1]), pooled[graph.source], self.kind,
                                   include_self=False)
        return self.lin_l(most) + self.lin_r(x)


class GAT(Module):
    def __init__(self, width, out, heads, concat, dropped, bias):
        super().__init__()
        self.lin = Linear(width, heads * out, bias=False)
        self.att_src, self.att_dst = Parameter(torch.zeros(1, heads, out)), Parameter(torch.zeros(1, heads, out))
        self.concat, self.dropped = concat, dropped
        self.bias = Parameter(torch.zeros(heads * out if concat else out)) if bias else None

    def forward(self, x, graph):
        heads = self.lin(x).view(len(x), *self.att_src.shape[1:])
        source, target, _ = graph.with_loops()
        score = leaky_relu((heads * self.att_src).sum(2)[source] + (heads * self.att_dst).sum(2)[target], 0.2)
        rows = target[:, None].expand_as(score)
        most = torch.zeros_like(score[:len(x)]).scatter_reduce(0, rows, score.detach(), "amax", include_self=False)
        share = (score - most[target]).exp()
        share = share / torch.zeros_like(most).index_add(0, target, share)[target]
        share = dropout(share, self.dropped, self.training)
        z = torch.zeros_like(heads).index_add(0, target, share[:, :, None] * heads[source])
        z = z.flatten(1) if self.concat else z.mean(1)
        return z if self.bias is None else z + self.bias


class GIN(Module):
    def __init__(self, nn, eps, trained):
        super().__init__()
        self.nn = nn
        eps = torch.full((1,), float(eps))
        if trained:
            self.eps = Parameter(eps)
        else:
            self.register_buffer("eps", eps)

    def forward(self, x, graph):
        return self.nn((1 + self.eps) * x + graph.times("sum", x))


class GCNII(Module):
    def __init__(self, width, alpha, share):
        super().__init__()
        self.weight1, self.alpha, self.share = Parameter(torch.zeros(width, width)), alpha, share

    def forward(self, x, first, graph):
        s = (1 - self.alpha) * graph.times("both", x) + self.alpha * first
        return (1 - self.share) * s + self.share * (s @ self.weight1)


class Layers:
    """What modules.py builds a net of. settings: section [model] of the configuration."""
    AGGREGATORS = {"mean": "mean", "gcn": "self mean", "sum": "sum"}

    def __init__(self, settings):
        self.settings, self.seen, self.graph = settings, None, None

    def arguments(self, edge_index, edge_weight, x):
        """What a convolution takes behind x. The graph of the last call serves as long as it is the same."""
        refuses = {"gat": True, "sage": self.settings["aggregator"] in ("max", "min")}
        if edge_weight is not None and refuses.get(self.settings["type"]):
            raise Error("attention, maxima and minima have no use for edge weights; leave them out")
        if torch.is_inference_mode_enabled() or edge_weight is not None and edge_weight.requires_grad:
            return (Graph(edge_index, edge_weight, len(x), x.dtype),)  # whose matrices would not serve another call
        version = 0 if edge_index.is_inference() else edge_index._version
        seen = (edge_index, edge_weight, len(x), x.dtype, version)
        if self.seen is None or any(a is not b if isinstance(a, torch.Tensor) else a != b for a, b in zip(self.seen, seen)):
            self.seen, self.graph = seen, Graph(edge_index, edge_weight, len(x), x.dtype)
        return (self.graph,)

    def gcn(self, width, out, bias):
        return GCN(width, out, bias, self.settings["norm_edges"])

    def sage(self, width, out, bias, pooled=None):
        aggregator = self.settings["aggregator"]
        if aggregator in ("max", "min"):
            return SAGEPool(width, pooled, out, bias, "a" + aggregator)
        return SAGE(width, out, bias, self.AGGREGATORS[aggregator])

    def gat(self, width, out, heads, concat, bias):
        return GAT(width, out, heads, concat, self.settings["dropout_attention"], bias)

    def gin(self, mlp):
        return GIN(mlp, self.settings["eps"], self.settings["learn_eps"])

    def gcnii(self, width, layer, share):
        return GCNII(width, self.settings["alpha"], share)
