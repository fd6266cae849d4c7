#!/usr/bin/env python3
"""Epochs (forward, backward, Adam) of the GCN in PyTorch Geometric on a gnntrain dataset, a line of JSON a variant.

    peer_pyg.py DATASET.h5 --models 2x256,3x128
    peer_pyg.py cora.h5 --recipe          the GCN of Kipf and Welling: 2 x 16, dropout .5, weight decay, bias

GCNConv on the normalised adjacency, made once: as a CSR matrix of torch.sparse, and, where its messages fit into
memory, as an edge index with `cached=True`. The first loss is compared with float64 on the same weights.
"""
import argparse
import json
import time
import warnings

import torch

from peer_data import Rows, Shard
from peer_measure import clock, failure, first_weights, forget, gib, say, widths
from peer_reference import Reference

warnings.filterwarnings("ignore")
MESSAGES = 60e9  # bytes of messages of a layer, above which an edge index is not tried


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
    parser.add_argument("--recipe", action="store_true", help="dropout, weight decay and bias; fp32")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing a variant (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=60, help="seconds after which nothing new is begun")
    parser.add_argument("--memory", type=json.loads, default=[], help="used bytes of each GPU before the program, as JSON")
    args = parser.parse_args()
    device, began = torch.device(args.device), time.time()
    rows = Rows(args.dataset)
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
