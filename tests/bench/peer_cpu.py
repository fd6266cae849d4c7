#!/usr/bin/env python3
"""Epoch time of the same two-layer GCN in plain PyTorch on the CPU, as one line of JSON.

    peer_cpu.py DATASET.h5 [--threads T] [--hidden 64] [--epochs 20] [--warmup 5] [--once]

D^-1/2 (A + I) D^-1/2 is a torch.sparse CSR matrix; it is symmetric, so its gradient is itself. Each layer
aggregates its narrower side; --once aggregates the features before the first epoch. An epoch is forward,
backward and the Adam step on the training nodes, all nodes computed; the median after the warm-up counts.
"""
import argparse
import json
import statistics
import time
import warnings

import h5py
import torch

warnings.filterwarnings("ignore", message="Sparse CSR tensor support")


def read(path):
    with h5py.File(path) as f:
        if isinstance(f["node/features"], h5py.Group):
            raise SystemExit(f"{path}: sparse features; this comparison wants dense ones")
        arrays = (f[name][:] for name in ("graph/indptr", "graph/indices", "node/features", "node/labels", "split/train"))
        return [torch.from_numpy(a) for a in arrays] + [int(f.attrs["num_classes"])]


def normalised(start, col):
    """D^-1/2 (A + I) D^-1/2, rows sorted by column."""
    nodes = start.numel() - 1
    lengths = start[1:] - start[:-1]
    own = torch.arange(nodes)
    row = torch.cat([torch.repeat_interleave(own, lengths), own])
    col = torch.cat([col.long(), own])
    row, col = torch.div((key := torch.sort(row * nodes + col).values), nodes, rounding_mode="floor"), key % nodes
    scale = (lengths + 1).float().rsqrt()
    first = torch.zeros(nodes + 1, dtype=torch.int64)
    first[1:] = torch.cumsum(lengths + 1, 0)
    return torch.sparse_csr_tensor(first, col, scale[row] * scale[col], size=(nodes, nodes))


class Aggregate(torch.autograd.Function):
    matrix = None

    @staticmethod
    def forward(ctx, h):
        return Aggregate.matrix @ h

    @staticmethod
    def backward(ctx, grad):
        return Aggregate.matrix @ grad.contiguous()


class GCN(torch.nn.Module):
    def __init__(self, features, hidden, classes, once):
        super().__init__()
        widths = [features, hidden, classes]
        self.weight = torch.nn.ParameterList(torch.nn.init.xavier_uniform_(torch.empty(i, o)) for i, o in zip(widths, widths[1:]))
        self.bias = torch.nn.ParameterList(torch.zeros(o) for o in widths[1:])
        self.once = once

    def forward(self, x):
        for k, (w, b) in enumerate(zip(self.weight, self.bias)):
            if k == 0 and self.once:
                x = x @ w + b
            elif w.shape[0] < w.shape[1]:
                x = Aggregate.apply(x) @ w + b
            else:
                x = Aggregate.apply(x @ w) + b
            x = torch.relu(x) if k == 0 else x
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's choice")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    start, col, x, label, train, classes = read(args.dataset)
    label = label.long()
    Aggregate.matrix = normalised(start, col)
    model = GCN(x.shape[1], args.hidden, classes, args.once)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if args.once:
        x = Aggregate.matrix @ x
    times = []
    for _ in range(args.warmup + args.epochs):
        begun = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x)[train], label[train])
        loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begun))
    print(json.dumps({"ms": round(statistics.median(times[args.warmup:]), 2), "epochs": args.epochs, "once": args.once,
                      "threads": torch.get_num_threads(), "nodes": start.numel() - 1, "arcs": col.numel(),
                      "loss": round(loss.item(), 6), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
