"""The same GCN in float64: loss and gradients that every side is held against."""
import h5py
import torch

from peer_data import Shard
from peer_measure import loss_error


class Reference:
    def __init__(self, rows, device):
        self.matrix = Shard(rows, device, torch.float64).matrix
        self.x, self.y, self.train = rows.x.to(device).double(), rows.y.to(device), rows.train.to(device)
        self.device = device

    def loss_and_gradients(self, weights):
        matrix = self.matrix

        class Aggregate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, h):
                return matrix @ h

            @staticmethod
            def backward(ctx, grad):
                return matrix @ grad.contiguous()  # symmetric

        weights = [w.to(self.device).double().requires_grad_() for w in weights]
        h = self.x
        for k, w in enumerate(weights):
            h = Aggregate.apply(h) @ w if w.shape[0] < w.shape[1] else Aggregate.apply(h @ w)
            h = torch.relu(h) if k + 1 < len(weights) else h
        loss = torch.nn.functional.cross_entropy(h[self.train], self.y[self.train])
        return loss.item(), torch.autograd.grad(loss, weights)

    def errors_of_run(self, before, after, loss):
        """Of a gnntrain run with Adam: relative error of the loss that its epoch printed for the weights of checkpoint
        `before`, and the error of its gradients there over their largest element. The gradients follow from the first
        moments of the checkpoints before and after that epoch."""
        weights, moments = _read(before, "parameters"), _read(before, "moments/first")
        right, gradients = self.loss_and_gradients(weights)
        error = largest = 0.0
        for old, new, exact in zip(moments, _read(after, "moments/first"), gradients):
            error = max(error, (((new - 0.9 * old) / 0.1).to(self.device) - exact).abs().max().item())
            largest = max(largest, exact.abs().max().item())
        return loss_error(loss, right), error / largest


def _read(path, group):
    with h5py.File(path, "r") as f:
        arrays, k = [], 0
        while f"{group}/layer{k}.weight" in f:
            arrays.append(torch.from_numpy(f[f"{group}/layer{k}.weight"][:]))
            k += 1
        return arrays
