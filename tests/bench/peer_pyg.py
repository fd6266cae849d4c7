#!/usr/bin/env python3
"""Epochs (forward, backward, Adam) of gnntrain's models in PyTorch Geometric on a gnntrain dataset, a line of JSON a variant.

    peer_pyg.py DATASET.h5 --models 2x256,3x128            GCNConv on the normalised adjacency, made once
    peer_pyg.py DATASET.h5 --models gat:2x256,gin:2x256    GATConv of 8 heads side by side, one in the last layer; GINConv over
                                                           linear, batch norm, ReLU, linear; sage and sage-max: SAGEConv; agnn:
                                                           AGNNConv between two linear layers; gcnii: GCN2Conv likewise
    peer_pyg.py cora.h5 --recipe --models gcnii:64x64      dropout, weight decay and bias as in configs/cora*.toml

GCNConv, SAGEConv (mean) and GINConv take a CSR matrix of torch.sparse and, where its messages fit into memory, an edge index;
all others an edge index. GCN's first loss is compared with float64 on the same weights. --check holds runs of gnntrain of the
other types against their own formulas in float64 (peer_formulas.py).
"""
import argparse
import json
import time
import warnings

import torch

from peer_data import Rows, Shard, compressed
from peer_formulas import check
from peer_measure import add_timing, clock, failure, first_weights, forget, gib, loss_error, say, widths
from peer_models import FORMS, KINDS
from peer_reference import Reference

warnings.filterwarnings("ignore")
MESSAGES = 60e9  # bytes of messages of a layer, above which an edge index is not tried where there is CSR
DTYPE = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


def graph_of(rows, device, kind, form, dtype):
    ptr, col = rows.ptr.to(device), rows.col.to(device)
    row = torch.repeat_interleave(torch.arange(rows.nodes, device=device), ptr[1:] - ptr[:-1])
    if form == "edge_index":
        return torch.stack([col.long(), row])
    if kind == "gcn":
        return Shard(rows, device, dtype).matrix
    return compressed(row, col, torch.ones(col.numel(), dtype=dtype, device=device), (rows.nodes, rows.nodes))


def net_of(args, rows, kind, model, form):
    layers, hidden = (int(n) for n in model.split("x"))
    dims = [rows.features] + [hidden] * (layers if kind == "gcnii" else layers - 1) + [rows.classes]
    net = KINDS[kind](dims, form, args.recipe)
    if kind == "gcn" and not args.recipe:
        with torch.no_grad():
            for conv, w in zip(net.convs, first_weights(dims)):
                conv.lin.weight.copy_(w.t())
    return net


def step_of(args, rows, device, net, graph, dtype):
    x, y, train = rows.x.to(device), rows.y.to(device), rows.train.to(device)
    x = (x / x.sum(1, keepdim=True).clamp(min=1e-12) if args.recipe else x).to(dtype)
    whole = rows.train_nodes == rows.nodes
    fused = {"fused": True} if device.type == "cuda" else {}
    optimizer = torch.optim.Adam(net.groups(args.recipe), lr=0.01, **fused)

    def step():
        optimizer.zero_grad(set_to_none=True)
        out = net(x, graph).float()
        loss = torch.nn.functional.cross_entropy(out if whole else out[train], y if whole else y[train])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def measure(args, rows, device, record, form, right):
    kind, precision = record["type"], record["precision"]
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    dtype = DTYPE[precision]
    net = net_of(args, rows, kind, record["model"], form).to(device).to(dtype)
    step = step_of(args, rows, device, net, graph_of(rows, device, kind, form, dtype), dtype)
    forget()
    error = loss_error(step().item(), right) if right else None
    ms = clock(step, device, args.epochs, args.seconds)
    say(**record, ms=round(ms, 4), loss_error=error, right=error is None or error < (1e-5 if precision == "fp32" else 1e-3),
        gib=gib(args.memory))


def forms_of(rows, kind, model):
    """Not the edge index where its messages take too much and there is another form."""
    forms, width = FORMS[KINDS[kind]], max(widths(model, rows)[1:])
    return [f for f in forms if f == forms[0] or 4 * rows.arcs * width <= MESSAGES]


def variants(args, rows):
    """A precision of all models before the next one, in case the budget runs out."""
    for kind, model in args.models:
        if kind != "gcn" and forms_of(rows, kind, model) != FORMS[KINDS[kind]]:
            say(type=kind, note=f"PyG {model}: edge index not tried, messages of a layer would take more than {MESSAGES / 1e9:.0f} GB")
    for precision in ["fp32"] if args.recipe else args.precisions:
        for kind, model in args.models:
            for form in forms_of(rows, kind, model):
                yield {"type": kind, "peer": "pyg", "ranks": 1, "model": model, "once": False, "precision": precision, "mode": form}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--models", default="2x256", help="layers x hidden behind a type (none: gcn) and a colon, commas between "
                        "(default: %(default)s)")
    parser.add_argument("--precisions", default="fp32,tf32", help="and bf16 (default: %(default)s)")
    parser.add_argument("--check", help="JSON list of {key, type, before, loss} (a checkpoint and its loss)")
    parser.add_argument("--recipe", action="store_true", help="dropout, weight decay and bias; fp32; gcn, gcnii")
    add_timing(parser)
    args = parser.parse_args()
    args.precisions = args.precisions.split(",")
    args.models = [model.split(":") if ":" in model else ["gcn", model] for model in args.models.split(",")]
    return args


def main():
    args, began = arguments(), time.time()
    device, rows, right = torch.device(args.device), Rows(args.dataset), {}
    if args.check:
        with open(args.check) as f:
            check([run for run in json.load(f) if run["type"] != "gcn"], rows, device)
    plain = [] if args.recipe else [model for kind, model in args.models if kind == "gcn"]
    if plain:
        reference = Reference(rows, device)
        right = {name: reference.loss_and_gradients(first_weights(widths(name, rows)))[0] for name in plain}
        del reference
    for record in variants(args, rows):
        if time.time() - began > args.budget:
            return say(note="PyG: variants left out, its time was used up")
        forget()
        try:
            measure(args, rows, device, record, record["mode"], right.get(record["model"]) if record["type"] == "gcn" else None)
        except Exception as error:  # a peer that fails is a finding
            say(**record, failed=failure(error))


if __name__ == "__main__":
    main()
