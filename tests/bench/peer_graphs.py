#!/usr/bin/env python3
"""GIN on a collection of graphs in PyTorch Geometric, as configs/proteins.toml trains it: the same layers, folds and protocol.

    peer_graphs.py DATASET.h5 CONFIG.toml [--device cuda] [--readout-layers all]

All graphs are one batch. Of each split the epoch counts whose validation accuracy is best, of equal ones that of the lowest
validation loss. Prints mean and sample deviation of the test accuracy over the splits, and the median ms of an epoch, as a line of
JSON.
"""
import argparse
import json
import statistics
import time
import tomllib

import h5py
import torch
from torch.nn import BatchNorm1d, Linear, Module, ModuleList, ReLU, Sequential
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import GINConv, global_add_pool, global_max_pool, global_mean_pool

POOLS = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}


class Graphs:
    """A dataset file on a device: features, arcs, the graph of each node, and labels of graphs."""

    def __init__(self, path, device):
        with h5py.File(path) as f:
            read = lambda place: torch.from_numpy(f[place][()])
            ptr, start, label = read("graph/indptr"), read("graphs/indptr").long(), read("node/labels")
            row = torch.repeat_interleave(torch.arange(len(ptr) - 1), ptr[1:] - ptr[:-1])
            self.edges = torch.stack([read("graph/indices").long(), row]).to(device)
            self.batch = torch.repeat_interleave(torch.arange(len(start) - 1), start[1:] - start[:-1]).to(device)
            if isinstance(f["node/features"], h5py.Group):
                ptr = read("node/features/indptr")
                self.x = torch.sparse_csr_tensor(ptr, read("node/features/indices").long(), read("node/features/data"),
                                                 (len(ptr) - 1, int(f.attrs["num_features"]))).to_dense().to(device)
            else:
                self.x = read("node/features").to(device)
            self.y = label[start[:-1]].long().to(device)
            self.classes, splits = int(f.attrs["num_classes"]), sorted(f["split"], key=int)
            self.splits = [{part: torch.searchsorted(start, read(f"split/{k}/{part}")).to(device)
                            for part in ("train", "val", "test")} for k in splits]


class Net(Module):
    def __init__(self, data, model):
        super().__init__()
        width = model["hidden"]
        widths = [data.x.shape[1]] + [width] * model["layers"]
        self.convs = ModuleList(
            GINConv(Sequential(Linear(before, width, bias=False), BatchNorm1d(width), ReLU(), Linear(width, width)))
            for before in widths[:-1])
        read = widths if model.get("readout_layers") == "all" else widths[-1:]
        self.heads = ModuleList(Linear(width, data.classes, bias=k + 1 == len(read)) for k, width in enumerate(read))
        self.drop, self.pool = model["dropout"], POOLS[model["readout"]]

    def forward(self, data):
        outputs = [data.x]
        for conv in self.convs:
            outputs.append(dropout(torch.relu(conv(outputs[-1], data.edges)), self.drop, self.training))
        return sum(head(self.pool(x, data.batch)) for head, x in zip(self.heads, outputs[-len(self.heads):]))


def accuracy(logits, y, part):
    return (logits[part].argmax(1) == y[part]).double().mean().item()


def train(data, config, split, times):
    """Test accuracy at the best epoch."""
    net = Net(data, config["model"]).to(data.x.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=config["train"]["lr"])
    best = (-1.0, 0.0, 0.0)
    for _ in range(config["train"]["epochs"]):
        begun = time.perf_counter()
        net.train()
        optimizer.zero_grad()
        cross_entropy(net(data)[split["train"]], data.y[split["train"]]).backward()
        optimizer.step()
        if data.x.is_cuda:
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begun))
        net.eval()
        with torch.no_grad():
            logits = net(data)
        loss = cross_entropy(logits[split["val"]], data.y[split["val"]]).item()
        best = max(best, (accuracy(logits, data.y, split["val"]), -loss, accuracy(logits, data.y, split["test"])))
    return best[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("config")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--readout-layers", choices=("last", "all"), help="in place of the configuration's")
    args = parser.parse_args()
    with open(args.config, "rb") as f:
        config = tomllib.load(f)
    if args.readout_layers:
        config["model"]["readout_layers"] = args.readout_layers
    data, times, tests = Graphs(args.dataset, args.device), [], []
    for k, split in enumerate(data.splits):
        torch.manual_seed(k + 1)
        tests.append(100 * train(data, config, split, times))
    print(json.dumps({"variant": f"pyg {args.device}", "test": round(statistics.mean(tests), 2),
                      "spread": round(statistics.stdev(tests), 2), "ms": round(statistics.median(times), 3)}))


main()
