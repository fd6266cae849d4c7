#!/usr/bin/env python3
"""Epochs (forward, backward, Adam) of the GCN in PyTorch Geometric on a gnntrain dataset, a line of JSON a variant.

    peer_pyg.py DATASET.h5 --models 2x256,3x128
    peer_pyg.py DATASET.h5 --type gat     GATConv with 8 heads side by side, one in the last layer; agnn: AGNNConv, the
                                          layers of the model between two linear ones
    peer_pyg.py cora.h5 --recipe          the GCN of Kipf and Welling: 2 x 16, dropout .5, weight decay, bias

GCNConv on the normalised adjacency, made once: as a CSR matrix of torch.sparse, and, where its messages fit into
memory, as an edge index with `cached=True`. The first loss is compared with float64 on the same weights. GATConv and
AGNNConv take an edge index; --check holds runs of gnntrain against them, in float64 and with gnntrain's weights.
"""
import argparse
import json
import time
import warnings

import h5py
import torch

from peer_data import Rows, Shard
from peer_measure import clock, failure, first_weights, forget, gib, say, widths
from peer_reference import Reference

warnings.filterwarnings("ignore")
MESSAGES = 60e9  # bytes of messages of a layer, above which an edge index is not tried


HEADS = 8


class Attention(torch.nn.Module):
    """The models of gnntrain's types gat and agnn, without bias."""

    def __init__(self, kind, dims):
        from torch_geometric.nn import AGNNConv, GATConv
        super().__init__()
        self.kind, last = kind, len(dims) - 2
        if kind == "gat":
            convs = [GATConv(i, o, bias=False) if k == last else GATConv(i, o // HEADS, HEADS, bias=False)
                     for k, (i, o) in enumerate(zip(dims, dims[1:]))]
        else:
            self.ends = torch.nn.ModuleList([torch.nn.Linear(dims[0], dims[1], bias=False),
                                             torch.nn.Linear(dims[1], dims[-1], bias=False)])
            convs = [AGNNConv() for _ in range(len(dims) - 1)]
        self.convs = torch.nn.ModuleList(convs)

    def forward(self, x, edges):
        if self.kind == "gat":
            for k, conv in enumerate(self.convs):
                x = conv(x, edges)
                x = torch.nn.functional.elu(x) if k + 1 < len(self.convs) else x
            return x
        x = self.ends[0](x).relu()
        for conv in self.convs:
            x = conv(x, edges)
        return self.ends[1](x)

    def load(self, path):
        """The parameters of a checkpoint of gnntrain."""
        with h5py.File(path, "r") as f, torch.no_grad():
            of = lambda k, name: torch.from_numpy(f[f"parameters/layer{k}.{name}"][:]).to(next(self.parameters()))
            for k, conv in enumerate(self.convs):
                if self.kind == "gat":
                    conv.lin.weight.copy_(of(k, "weight").t())
                    conv.att_src.copy_(of(k, "left")[None])
                    conv.att_dst.copy_(of(k, "right")[None])
                else:
                    conv.beta.copy_(of(k + 1, "beta").flatten())
            if self.kind == "agnn":
                self.ends[0].weight.copy_(of(0, "weight").t())
                self.ends[1].weight.copy_(of(len(self.convs) + 1, "weight").t())


class Net(torch.nn.Module):
    def __init__(self, dims, dropout, bias, **options):
        from torch_geometric.nn import GCNConv
        super().__init__()
        self.convs = torch.nn.ModuleList(GCNConv(i, o, bias=bias, **options) for i, o in zip(dims, dims[1:]))
        self.dropout = dropout

    def forward(self, x, adjacency):
        for k, conv in enumerate(self.convs):
            x = conv(torch.nn.functional.dropout(x, self.dropout, self.training) if self.dropout else x, adjacency)
            x = x.relu() if k + 1 < len(self.convs) else x
        return x


def adjacency_of(rows, device, form):
    if form == "csr":
        return Shard(rows, device, torch.float32).matrix, {"normalize": False}
    ptr = rows.ptr.to(device)
    target = torch.repeat_interleave(torch.arange(rows.nodes, device=device), ptr[1:] - ptr[:-1])
    return torch.stack([rows.col.to(device).long(), target]), {"cached": True}


def optimizer_of(net, recipe, device):
    fused = {"fused": True} if device.type == "cuda" else {}
    first, others = list(net.convs[0].parameters()), [p for conv in net.convs[1:] for p in conv.parameters()]
    groups = [{"params": first, "weight_decay": 5e-4 if recipe else 0}, {"params": others, "weight_decay": 0}]
    return torch.optim.Adam(groups, lr=0.01, **fused)


def measure_attention(args, rows, device, name, precision):
    """PyG's own weights: its time and memory."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    net = Attention(args.type, widths(name, rows)).to(device)
    edges, _ = adjacency_of(rows, device, "edge_index")
    x, y = rows.x.to(device), rows.y.to(device)
    options = {"fused": True} if device.type == "cuda" else {}
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, **options)
    forget()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(x, edges), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    ms = clock(step, device, args.epochs, args.seconds)
    say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode="edge_index", ms=round(ms, 4), right=True,
        gib=gib(args.memory))


def check_attention(args, rows, device):
    """Losses of gnntrain's runs beside those of PyG with the same weights, in float64."""
    edges, _ = adjacency_of(rows, device, "edge_index")
    with open(args.check) as f:
        runs = json.load(f)
    for run in runs:
        net = Attention(args.type, widths(run["model"], rows)).to(device).double()
        net.load(run["before"])
        with torch.no_grad():
            out = net(rows.x.to(device).double(), edges)
            right = torch.nn.functional.cross_entropy(out, rows.y.to(device)).item()
        say(check=run["key"], loss_error=abs(run["loss"] - right) / right, gradient_error=None)
        del net, out
        forget()


def attention(args, rows, device):
    if args.check and 8 * rows.arcs * max(widths(name, rows)[1] for name in args.models.split(",")) < MESSAGES:
        check_attention(args, rows, device)
    for name in args.models.split(","):
        for precision in args.precisions.split(","):
            forget()
            try:
                measure_attention(args, rows, device, name, precision)
            except Exception as error:  # a peer that fails is a finding
                say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode="edge_index", failed=failure(error))


def measure(args, rows, device, name, precision, form, right):
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    dims = widths(name, rows)
    adjacency, options = adjacency_of(rows, device, form)
    net = Net(dims, 0.5 if args.recipe else 0.0, args.recipe, **options).to(device)
    if not args.recipe:
        with torch.no_grad():
            for conv, w in zip(net.convs, first_weights(dims)):
                conv.lin.weight.copy_(w.t())
    x, y, train = rows.x.to(device), rows.y.to(device), rows.train.to(device)
    x = x / x.sum(1, keepdim=True).clamp(min=1e-12) if args.recipe else x
    whole = rows.train_nodes == rows.nodes
    optimizer = optimizer_of(net, args.recipe, device)
    forget()

    def step():
        optimizer.zero_grad(set_to_none=True)
        out = net(x, adjacency)
        loss = torch.nn.functional.cross_entropy(out if whole else out[train], y if whole else y[train])
        loss.backward()
        optimizer.step()
        return loss.detach()

    error = abs(step().item() - right) / right if right else None
    ms = clock(step, device, args.epochs, args.seconds)
    say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode=form, ms=round(ms, 4), loss_error=error,
        right=error is None or error < (1e-5 if precision == "fp32" else 1e-3), gib=gib(args.memory))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--models", default="2x256", help="layers x hidden, commas between (default: %(default)s)")
    parser.add_argument("--precisions", default="fp32,tf32", help="default: %(default)s")
    parser.add_argument("--type", default="gcn", choices=["gcn", "gat", "agnn"])
    parser.add_argument("--check", help="gat, agnn: JSON list of {key, model, before, loss} (a checkpoint and its loss)")
    parser.add_argument("--recipe", action="store_true", help="dropout, weight decay and bias; fp32")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing a variant (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=60, help="seconds after which nothing new is begun")
    parser.add_argument("--memory", type=json.loads, default=[], help="used bytes of each GPU before the program, as JSON")
    args = parser.parse_args()
    device, began = torch.device(args.device), time.time()
    rows = Rows(args.dataset)
    if args.type != "gcn":
        return attention(args, rows, device)
    models = ["2x16"] if args.recipe else args.models.split(",")
    reference = None if args.recipe else Reference(rows, device)
    right = {name: reference and reference.loss_and_gradients(first_weights(widths(name, rows)))[0] for name in models}
    del reference
    for name in models:
        for precision in ["fp32"] if args.recipe else args.precisions.split(","):
            for form in ("csr", "edge_index"):
                if time.time() - began > args.budget:
                    return say(note="PyG: variants left out, its time was used up")
                forget()
                if form == "edge_index" and 4 * rows.arcs * max(widths(name, rows)[1:]) > MESSAGES:
                    continue
                try:
                    measure(args, rows, device, name, precision, form, right[name])
                except Exception as error:  # a peer that fails is a finding
                    say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode=form, failed=failure(error))


if __name__ == "__main__":
    main()
