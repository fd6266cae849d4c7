#!/usr/bin/env python3
"""Epochs (forward, backward, Adam) of the GCN in plain PyTorch on a gnntrain dataset, a line of JSON a variant.

    peer_torch.py DATASET.h5 --models 2x256:once,3x128:once,2x256:always
    torchrun --nproc_per_node 4 peer_torch.py DATASET.h5 ...      (or RANK, WORLD_SIZE, LOCAL_RANK, MASTER_* set)

Every layer aggregates its narrower side with cuSPARSE (torch.sparse CSR); `once`: A X is computed before the first
epoch, `always`: in every one. Several ranks: blocks of consecutive nodes, all-to-all of the rows that others need, one
all-reduce. Modes: eager; captured: the whole step in a CUDA graph; overlapped (several ranks): captured, own columns
while rows are in flight; compiled (one rank): forward and backward through torch.compile, then captured. The first
loss of every variant is compared with float64 on the same weights. --check FILE: a list of gnntrain runs to hold
against float64.
"""
import time

BEGAN = time.time()
import argparse
import json
import os
import warnings

import torch
import torch.distributed as dist

from peer_data import Rows, Shard
from peer_measure import add_timing, clock, failure, first_weights, forget, gib, loss_error, say, wait, warm_up, widths
from peer_reference import Reference

warnings.filterwarnings("ignore")
DTYPE = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}
TOLERANCE = {"fp32": 1e-5, "tf32": 1e-3, "bf16": 1e-2}  # of the loss, relative


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--models", default="2x256:once", help="layers x hidden, with A X once or always (default: %(default)s)")
    parser.add_argument("--precisions", default="fp32,tf32,bf16", help="default: %(default)s")
    parser.add_argument("--modes", default="eager,captured,overlapped,compiled", help="default: %(default)s")
    parser.add_argument("--check", help="JSON list of {key, before, after, loss} (checkpoints and the loss between)")
    add_timing(parser)
    parser.add_argument("--began", type=float, default=BEGAN, help="when the command was given (Unix time)")
    args = parser.parse_args()
    args.precisions, args.modes = args.precisions.split(","), args.modes.split(",")
    args.models = [(model.split(":")[0], model.endswith(":once")) for model in args.models.split(",")]
    return args


class Peer:
    """The process's rank, its rows, and what is on its device at the moment."""

    def __init__(self, args):
        self.args, self.phase, self.began = args, {}, args.began
        self.mark("start")
        self.ranks, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        self.device = torch.device(args.device, int(os.environ.get("LOCAL_RANK", 0)) if args.device == "cuda" else None)
        if args.device == "cuda":
            torch.cuda.set_device(self.device)
            torch.zeros(1, device=self.device)
        if self.ranks > 1:
            dist.init_process_group("nccl" if args.device == "cuda" else "gloo")
            dist.all_reduce(torch.zeros(1, device=self.device))
        self.mark("NCCL" if self.ranks > 1 else "context")
        self.rows = Rows(args.dataset, self.rank, self.ranks)
        self.mark("read")
        self.loaded = self.x = self.shard = None
        self.times = {}  # the best so far of a model in a precision

    def mark(self, name):
        self.phase[name], self.began = self.phase.get(name, 0) + time.time() - self.began, time.time()

    def say(self, **record):
        if self.rank == 0:
            say(**record)

    def load(self, dtype, once, split):
        """Matrix and input of a family of variants."""
        if self.loaded != (dtype, split):
            self.shard = self.x = None
            forget()
            self.shard = Shard(self.rows, self.device, dtype, split)
            self.loaded, self.once = (dtype, split), None
        if self.once != once:
            self.x = self.rows.x.to(self.device).to(dtype)
            self.x = self.shard.aggregate(self.x) if once else self.x
            self.once = once
        self.y = self.rows.y.to(self.device)
        forget()

    def mean(self, value):
        """Over ranks, of losses of their shares; the largest of anything else is in worst()."""
        total = torch.tensor([value], dtype=torch.float64, device=self.device)
        if self.ranks > 1:
            dist.all_reduce(total)
        return total.item()

    def worst(self, value):
        if self.ranks == 1 or value is None:
            return value
        largest = torch.tensor([value], device=self.device, dtype=torch.float64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return largest.item()


def aggregate_of(shard):
    class Aggregate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return shard.aggregate(h)

        @staticmethod
        def backward(ctx, grad):
            return shard.aggregate(grad.contiguous())  # the matrix is symmetric

    return Aggregate.apply


CURRENT = []  # the shard that the opaque operator below multiplies with
_operator = None


def opaque_aggregate(shard):
    """The same as an operator that torch.compile does not look into."""
    global _operator
    CURRENT[:] = [shard]
    if _operator is None:
        @torch.library.custom_op("gnntrain_bench::aggregate", mutates_args=())
        def aggregate(h: torch.Tensor) -> torch.Tensor:
            return CURRENT[0].aggregate(h.contiguous())

        aggregate.register_fake(lambda h: h.new_empty(h.shape))
        aggregate.register_autograd(lambda ctx, grad: aggregate(grad))
        _operator = aggregate
    return _operator


class GCN:
    def __init__(self, peer, dims, precision, aggregate):
        self.x, self.y, self.once, self.aggregate = peer.x, peer.y, peer.once, aggregate
        self.dtype, self.train_nodes = DTYPE[precision], peer.rows.train_nodes
        self.train = None if self.train_nodes == peer.rows.nodes else peer.rows.train.to(peer.device)
        self.weights = [torch.nn.Parameter(w.to(peer.device)) for w in first_weights(dims)]

    def loss(self):
        h = self.x
        for k, w in enumerate(self.weights):
            w = w.to(self.dtype)
            if k == 0 and self.once:
                h = h @ w
            elif w.shape[0] < w.shape[1] or k == 0 and w.shape[0] <= 2 * w.shape[1]:  # the input needs no gradient
                h = self.aggregate(h) @ w
            else:
                h = self.aggregate(h @ w)
            h = torch.relu(h) if k + 1 < len(self.weights) else h
        h, y = (h, self.y) if self.train is None else (h[self.train], self.y[self.train])
        return torch.nn.functional.cross_entropy(h.float(), y, reduction="sum") / self.train_nodes


def step_of(peer, model, mode):
    """A function that trains one epoch and returns this rank's share of its loss."""
    on_gpu = peer.device.type == "cuda"
    options = {"fused": True, "capturable": mode != "eager"} if on_gpu else {}
    optimizer = torch.optim.Adam(model.weights, lr=0.01, **options)
    loss_of = torch.compile(model.loss, dynamic=False) if mode == "compiled" else model.loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        if peer.ranks > 1:
            flat = torch.cat([w.grad.flatten() for w in model.weights])
            dist.all_reduce(flat)
            for w, grad in zip(model.weights, flat.split([w.numel() for w in model.weights])):
                w.grad = grad.view_as(w)
        optimizer.step()
        return loss.detach()

    return step


def captured(step, model):
    """The step as a CUDA graph; the weights are afterwards what they were before."""
    start = [w.detach().clone() for w in model.weights]
    warm_up(step)
    forget()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        loss = step()
    with torch.no_grad():
        for w, value in zip(model.weights, start):
            w.copy_(value)

    def replay():
        graph.replay()
        return loss

    return replay


def measure(peer, name, once, precision, mode, right):
    """One variant: the step, its first loss, its time and memory."""
    if peer.device.type == "cuda":
        torch.set_float32_matmul_precision("high" if precision != "fp32" else "highest")
    aggregate = opaque_aggregate(peer.shard) if mode == "compiled" else aggregate_of(peer.shard)
    model = GCN(peer, widths(name, peer.rows), precision, aggregate)
    step = step_of(peer, model, mode)
    if mode != "eager":
        step = captured(step, model)
    first = peer.mean(step().item())
    error = loss_error(first, right) if right else None
    ms = peer.worst(clock(step, peer.device, peer.args.epochs, peer.args.seconds))
    key = name, once, precision
    peer.times[key] = min(ms, peer.times.get(key, ms))
    peer.say(peer="torch", ranks=peer.ranks, model=name, once=once, precision=precision, mode=mode, ms=round(ms, 4),
             loss_error=error, right=error is None or error <= TOLERANCE[precision], gib=peer.worst(gib(peer.args.memory)))


def try_to_measure(peer, name, once, precision, mode, right):
    try:
        peer.load(DTYPE[precision], once, mode == "overlapped")
        measure(peer, name, once, precision, mode, right)
    except Exception as error:  # a peer that fails is a finding
        peer.say(peer="torch", ranks=peer.ranks, model=name, once=once, precision=precision, mode=mode, failed=failure(error))
        if peer.ranks > 1:
            raise SystemExit(1)  # the others may wait for this rank
    if mode == "compiled":
        torch._dynamo.reset()
    forget()


def wall(peer):
    """From the command to the last epoch, for the first model, eager: the phases, then epochs one after the other."""
    precision = peer.args.precisions[0]
    name, once = peer.args.models[0]
    peer.load(DTYPE[precision], once, False)
    wait(peer.device)
    peer.mark("build")
    model = GCN(peer, widths(name, peer.rows), precision, aggregate_of(peer.shard))
    step = step_of(peer, model, "eager")
    for _ in range(peer.args.epochs):
        loss = step()
    loss.item()
    peer.mark("epochs")
    peer.say(peer="torch", ranks=peer.ranks, model=name, once=once, precision=precision,
             epochs=peer.args.epochs, wall={name: round(seconds, 3) for name, seconds in peer.phase.items()})


def references(peer):
    """float64 on rank 0: the runs of --check, and the first loss of each model."""
    right = {}
    if peer.rank == 0:
        reference = Reference(peer.rows if peer.ranks == 1 else Rows(peer.args.dataset), peer.device)
        if peer.args.check:
            with open(peer.args.check) as f:
                for run in (run for run in json.load(f) if run.get("type", "gcn") == "gcn"):
                    loss_error, gradient_error = reference.errors_of_run(run["before"], run["after"], run["loss"])
                    say(check=run["key"], loss_error=loss_error, gradient_error=gradient_error)
        for name in dict.fromkeys(name for name, _ in peer.args.models):
            right[name] = reference.loss_and_gradients(first_weights(widths(name, peer.rows)))[0]
        del reference
    forget()
    if peer.ranks > 1:
        shared = [right]
        dist.broadcast_object_list(shared, 0)
        right = shared[0]
    return right


def in_time(peer):
    """Whether the budget has room; the ranks decide alike."""
    return peer.worst(float(time.time() - peer.args.began > peer.args.budget)) == 0


def by_family(choices, modes):
    """Grouped by what has to be on the device."""
    choices = sorted(choices, key=lambda choice: (DTYPE[choice[2]] == torch.bfloat16, not choice[1]))
    return [(*choice, mode) for choice in choices for mode in modes]


def variants(peer):
    """What tells most comes first, in case the budget runs out. On one rank eager and captured ones, then compiled ones,
    which take longest, in each model's fastest precision, then in the others. On several all that is eager first: a
    rank that fails ends them all."""
    modes = [m for m in peer.args.modes if peer.device.type == "cuda" or m == "eager"]
    choices = [(*model, precision) for model in peer.args.models for precision in peer.args.precisions]
    for group in [["eager", "captured"]] if peer.ranks == 1 else [["eager"], ["captured"], ["overlapped"]]:
        yield from by_family(choices, [m for m in group if m in modes])
    if "compiled" in modes and peer.ranks == 1:
        fastest = sorted((c for c in choices if c in peer.times), key=peer.times.get)
        first = [next((c for c in fastest if c[:2] == model), None) for model in peer.args.models]
        yield from by_family([c for c in first if c], ["compiled"])
        yield from by_family([c for c in fastest if c not in first], ["compiled"])


def main():
    args = arguments()
    peer = Peer(args)
    wall(peer)
    right = references(peer)
    peer.loaded = None
    left_out = 0
    for name, once, precision, mode in variants(peer):
        if not in_time(peer):
            left_out += 1
            continue
        try_to_measure(peer, name, once, precision, mode, right[name])
    if left_out:
        peer.say(note=f"PyTorch: {left_out} variants left out, {args.budget:g} s were used up")
    if peer.ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
