#!/usr/bin/env python3
"""Epochs (forward, backward, Adam) of HypergraphConv of PyTorch Geometric on a gnntrain dataset with a hypergraph, a line of
JSON a variant.

    peer_hyper.py DATASET.h5 --models 2x64

The layer as it is, eager, and captured into a CUDA graph. It weighs rows by D_v^-1, where gnntrain's hgnn has D_v^-1/2
on both sides: the same work. --check holds losses of gnntrain's runs against gnntrain's own formula in float64.
"""
import argparse
import json
import time
import warnings

import h5py
import torch

from peer_measure import add_timing, clock, failure, forget, gib, loss_error, say, warm_up, widths

warnings.filterwarnings("ignore")


class Hypergraph:
    """The whole dataset, on the device."""

    def __init__(self, path, device):
        with h5py.File(path, "r") as f:
            ptr = torch.from_numpy(f["hypergraph/indptr"][:])
            self.vertex = torch.from_numpy(f["hypergraph/indices"][:]).long().to(device)
            self.nodes, self.classes = int(f.attrs["num_nodes"]), int(f.attrs["num_classes"])
            self.x = self._features(f).to(device)
            self.y = torch.from_numpy(f["node/labels"][:]).long().to(device)
            self.train = torch.from_numpy(f["split/train"][:]).to(device)
        self.hyperedges, self.features = ptr.numel() - 1, self.x.shape[1]
        self.edge = torch.repeat_interleave(torch.arange(self.hyperedges), ptr[1:] - ptr[:-1]).to(device)
        self.index = torch.stack([self.vertex, self.edge])

    def _features(self, f):
        node = f["node/features"]
        if isinstance(node, h5py.Dataset):
            return torch.from_numpy(node[:])
        ptr, x = torch.from_numpy(node["indptr"][:]), torch.zeros(self.nodes, int(f.attrs["num_features"]))
        row = torch.repeat_interleave(torch.arange(self.nodes), ptr[1:] - ptr[:-1])
        x[row, torch.from_numpy(node["indices"][:]).long()] = torch.from_numpy(node["data"][:])
        return x

    def convolve(self, h):
        """D_v^-1/2 B D_e^-1 B^T D_v^-1/2 H."""
        one = torch.ones(self.vertex.numel(), dtype=h.dtype, device=h.device)
        degree = torch.zeros(self.nodes, dtype=h.dtype, device=h.device).index_add_(0, self.vertex, one)
        size = torch.zeros(self.hyperedges, dtype=h.dtype, device=h.device).index_add_(0, self.edge, one)
        scale = degree.clamp(min=1).rsqrt()[:, None]
        sums = h.new_zeros(self.hyperedges, h.shape[1]).index_add_(0, self.edge, (h * scale)[self.vertex])
        sums = sums / size.clamp(min=1)[:, None]
        return h.new_zeros(self.nodes, h.shape[1]).index_add_(0, self.vertex, sums[self.edge]) * scale


class Net(torch.nn.Module):
    def __init__(self, dims):
        from torch_geometric.nn import HypergraphConv
        super().__init__()
        self.convs = torch.nn.ModuleList(HypergraphConv(i, o, bias=False) for i, o in zip(dims, dims[1:]))

    def forward(self, data):
        x = data.x
        for k, conv in enumerate(self.convs):
            x = conv(x, data.index, num_edges=data.hyperedges)
            x = x.relu() if k + 1 < len(self.convs) else x
        return x


def check(path, data):
    """Losses of gnntrain's runs from their weights, in float64."""
    with open(path) as f:
        runs = json.load(f)
    for run in runs:
        layers = int(run["model"].split("x")[0])
        with h5py.File(run["before"], "r") as f:
            weights = [torch.from_numpy(f[f"parameters/layer{k}.weight"][:]).double().to(data.x.device) for k in range(layers)]
        h = data.x.double()
        for k, w in enumerate(weights):
            h = data.convolve(h @ w)
            h = h.relu() if k + 1 < layers else h
        right = torch.nn.functional.cross_entropy(h[data.train], data.y[data.train]).item()
        say(check=run["key"], loss_error=loss_error(run["loss"], right), gradient_error=None)
        del h, weights
        forget()


def captured(step):
    warm_up(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(args, data, device, name, precision, mode):
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    net = Net(widths(name, data)).to(device)
    options = {"fused": True, "capturable": mode == "captured"} if device.type == "cuda" else {}
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, **options)
    whole = data.train.numel() == data.nodes

    def step():
        optimizer.zero_grad(set_to_none=True)
        out = net(data)
        loss = torch.nn.functional.cross_entropy(out if whole else out[data.train], data.y if whole else data.y[data.train])
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = captured(step) if mode == "captured" else step
    ms = clock(step, device, args.epochs, args.seconds)
    say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode=mode, ms=round(ms, 4), right=True,
        gib=gib(args.memory))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--models", default="2x64", help="layers x hidden, commas between (default: %(default)s)")
    parser.add_argument("--precisions", default="fp32,tf32", help="default: %(default)s")
    parser.add_argument("--check", help="JSON list of {key, model, before, loss} (a checkpoint and its loss)")
    add_timing(parser)
    args = parser.parse_args()
    device, began = torch.device(args.device), time.time()
    data = Hypergraph(args.dataset, device)
    if args.check:
        check(args.check, data)
    modes = ["eager", "captured"] if args.device == "cuda" else ["eager"]
    for name, precision, mode in ((n, p, m) for n in args.models.split(",") for p in args.precisions.split(",") for m in modes):
        if time.time() - began > args.budget:
            return say(note="PyG: variants left out, its time was used up")
        forget()
        try:
            measure(args, data, device, name, precision, mode)
        except Exception as error:  # a peer that fails is a finding
            say(peer="pyg", ranks=1, model=name, once=False, precision=precision, mode=mode, failed=failure(error))


if __name__ == "__main__":
    main()
