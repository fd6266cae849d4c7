"""The training of a run of gnntrain, by PyTorch: the same model, settings and part of the nodes, from weights of its own.

  peer.py KIND RUN OUT DEVICE     KIND: torch or pyg; RUN: the folder of a finished run; OUT: a folder, which gets metrics.jsonl

launch/compare starts it. The module is that of gnntrain.to_torch or to_pyg, with weights drawn anew; each epoch is written as
plain PyTorch has it: forward, loss, backward, step. What cannot be said of it is one sentence and exit code 2.
"""
import json
import math
import pathlib
import sys
import time

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

import gnntrain


def stop(message):
    print(f"peer: {message}", file=sys.stderr)
    raise SystemExit(2)


def checkpoint_of(run):
    files = sorted(pathlib.Path(run, "checkpoints").glob("epoch-*.h5"), key=lambda path: int(path.stem.split("-")[2]))
    if not files:
        stop(f"{run}: has no checkpoint")
    return gnntrain.Checkpoint(files[-1])


def module_of(kind, checkpoint, seed):
    """With weights drawn as Glorot and Bengio have it, and biases of 0."""
    net = (gnntrain.to_pyg if kind == "pyg" else gnntrain.to_torch)(checkpoint)
    torch.manual_seed(seed)
    for name, values in net.named_parameters():
        if values.dim() > 1:
            torch.nn.init.xavier_uniform_(values)
        else:
            torch.nn.init.constant_(values, checkpoint.config["model"]["eps"] if name.endswith("eps") else 0)
    for module in net.modules():
        if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.LayerNorm)):
            module.reset_parameters()
    return net


def groups(net, train):
    """Parameters by their weight decay. That of convolutions alone, and of the first layer alone, as gnntrain has them."""
    decay, own = train["weight_decay"], train["weight_decay_convolutions"]
    between = hasattr(net, "lins")  # convolutions between two linear layers

    def of(*modules):
        return {id(values) for module in modules for values in module.parameters()}
    firsts = of((net.lins if between else net.convs)[0], *net.norms[:1])
    convolutions = of(net.convs, *net.norms[1:]) if between and own >= 0 else set()
    found = {}
    for values in net.parameters():
        rate = own if id(values) in convolutions else 0 if train["weight_decay_first_only"] and id(values) not in firsts else decay
        found.setdefault(rate, []).append(values)
    return [{"params": values, "weight_decay": rate} for rate, values in found.items()]


def optimizer_of(net, train):
    given = groups(net, train)
    if train["optimizer"] == "sgd":
        return torch.optim.SGD(given, lr=train["lr"], momentum=train["momentum"])
    return (torch.optim.AdamW if train["optimizer"] == "adamw" else torch.optim.Adam)(given, lr=train["lr"])


def rate(train, epoch):
    """The learning rate of an epoch, from 1."""
    warmup, length = train["warmup"], max(1, train["epochs"] - train["warmup"])
    after = epoch - 1 - warmup
    if epoch <= warmup:
        return train["lr"] * epoch / (warmup + 1)
    if train["schedule"] == "cosine":
        return train["lr"] * .5 * (1 + math.cos(math.pi * after / length))
    if train["schedule"] == "step":
        return train["lr"] * train["step_factor"] ** (after // train["step_every"])
    return train["lr"]


class Graph:
    """Tensors of the dataset on the device."""

    def __init__(self, config, device):
        data = gnntrain.Dataset.open(config["dataset"]["path"])
        if data.labels is None or data.features is None or data.graphs is not None:
            stop("the dataset has no features, or no labels of nodes")
        to = {"device": device}
        self.x = torch.as_tensor(data.features.copy(), **to)
        self.edges = torch.as_tensor(data.edge_index, **to)
        self.weight = None if data.weights is None else torch.as_tensor(data.weights.copy(), **to)
        self.multilabel = data.labels.ndim == 2
        labels = torch.as_tensor(data.labels.copy(), **to)
        self.labels = labels.float() if self.multilabel else labels.long()
        split = data.splits[config["dataset"]["split"] % len(data.splits)]
        self.part = {name: torch.as_tensor(split[name].copy(), **to).long() for name in ("train", "val", "test")}
        if not self.multilabel:
            self.part = {name: nodes[self.labels[nodes] >= 0] for name, nodes in self.part.items()}

    def loss(self, out, part):
        nodes = self.part[part]
        return (binary_cross_entropy_with_logits if self.multilabel else cross_entropy)(out[nodes], self.labels[nodes])

    def metric(self, out, part):
        """Accuracy, or micro-F1 of several labels a node; None of no nodes."""
        nodes = self.part[part]
        if len(nodes) == 0:
            return None
        if not self.multilabel:
            return (out[nodes].argmax(1) == self.labels[nodes]).float().mean().item()
        said, right = out[nodes] > 0, self.labels[nodes] > 0
        both, either = (said & right).sum().item(), said.sum().item() + right.sum().item()
        return 2 * both / either if either else 0.0


class Training:
    def __init__(self, kind, run, device):
        checkpoint = checkpoint_of(run)
        self.config, self.device = checkpoint.config, torch.device(device)
        if self.config["train"]["metric"] == "roc_auc":
            stop('there is no peer for train.metric = "roc_auc"')
        torch.set_float32_matmul_precision("highest" if self.config["runtime"]["precision"] == "fp32" else "high")
        self.net = module_of(kind, checkpoint, self.config["train"]["seed"]).to(self.device)
        self.graph = Graph(self.config, self.device)
        self.optimizer = optimizer_of(self.net, self.config["train"])
        self.best, self.since = {"val": -1.0, "loss": math.inf, "test": None, "epoch": None}, 0

    def out(self):
        return self.net(self.graph.x, self.graph.edges, self.graph.weight)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def step(self, epoch):
        """The loss of an epoch, and its milliseconds."""
        train, begun = self.config["train"], time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = rate(train, epoch)
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.graph.loss(self.out(), "train")
        loss.backward()
        if train["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), train["clip"])
        self.optimizer.step()
        self.wait()
        return loss.item(), 1e3 * (time.perf_counter() - begun)

    @torch.no_grad()
    def evaluate(self, epoch):
        """Metrics of an epoch, and whether to go on."""
        self.net.eval()
        out = self.out()
        found = {part: self.graph.metric(out, part) for part in ("train", "val", "test")}
        loss = self.graph.loss(out, "val").item() if found["val"] is not None else math.inf
        if found["val"] is None or (found["val"], -loss) > (self.best["val"], -self.best["loss"]):
            self.best = {"val": found["val"] if found["val"] is not None else -1.0, "loss": loss, "test": found["test"], "epoch": epoch}
        return found


def train(kind, run, out, device):
    training = Training(kind, run, device)
    settings, nothing = training.config["train"], dict.fromkeys(("train", "val", "test"))
    with open(pathlib.Path(out, "metrics.jsonl"), "w") as file:
        for epoch in range(1, settings["epochs"] + 1):
            loss, ms = training.step(epoch)
            seen = epoch % settings["eval_every"] == 0 or epoch == settings["epochs"]
            found = training.evaluate(epoch) if seen else nothing
            print(json.dumps({"run": 0, "epoch": epoch, "loss": loss, **found, "ms": ms, "time": time.time()}), file=file)
            if 0 < settings["patience"] <= epoch - (training.best["epoch"] or 0):
                break
        best = training.best
        print(json.dumps({"run": 0, "final": True, "best_epoch": best["epoch"], "epochs": epoch, "val": max(0, best["val"]),
                          "test": best["test"]}), file=file)


if __name__ == "__main__":
    try:
        train(*sys.argv[1:])
    except (gnntrain.Error, ImportError) as error:
        stop(str(error))
    except RuntimeError as error:  # torch.cuda.OutOfMemoryError is one
        if "out of memory" not in str(error):
            raise
        stop("out of memory")
