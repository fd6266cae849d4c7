"""Checkpoint: weights, statistics and settings of a file that gnntrain has saved."""
import os

import numpy as np

from gnntrain.error import Error
from gnntrain.h5_file import opened, places, read, text_of
from gnntrain.settings import parsed

FORMAT, VERSION = "gnntrain-checkpoint", 1


class Checkpoint:
    """A file of checkpoints/, or best.h5.

    parameters: float64 [rows, columns] by name, as "layer0.weight", which multiplies rows of features from the right.
    statistics: float64 [2, columns], mean and variance of a batch norm, by layer, as "layer0".
    config: sections to keys to values. run, epoch: where the training stood, weights and statistics included; metric:
    of the best epoch, val and test from 0 to 1, NaN where there are no such nodes.
    """

    def __init__(self, path, best=False):
        """best: of a file of checkpoints/ the best weights so far, in place of the latest. Error: not there, damaged, no
        checkpoint, or values that no training writes."""
        self.path = os.fspath(path)
        with opened(self.path, FORMAT, "checkpoint") as f:
            attributes = dict(f.attrs.items())
            if attributes.get("version") != VERSION:
                raise Error(f"{self.path}: is a checkpoint of version {attributes.get('version')}; version {VERSION} is read")
            self.config = parsed(text_of(attributes["config"]))
            self.run, self.epoch, self.best_epoch = (int(attributes[key]) for key in ("run", "epoch", "best_epoch"))
            self.metric = {"val": float(attributes["best_val"]), "test": float(attributes["best_test"])}
            self.weights = "best" if best else text_of(attributes.get("weights", "latest"))
            self.parameters, self.statistics = self._arrays(f, best)
        if self.weights == "best":
            self.epoch = self.best_epoch
        if not self.parameters or "type" not in self.config.get("model", {}):
            raise Error(f"{self.path}: has no parameters, or no model.type")

    def _arrays(self, f, best):
        found = {"parameters": {}, "statistics": {}}
        for group in found:
            place = f"best/{group}" if best else group
            if best and self.best_epoch == 0 and group == "parameters":
                raise Error(f"{self.path}: no epoch has been evaluated, and none is the best")
            for name in sorted(places(f[place]), key=order_of) if place in f else []:
                values = read(f, f"{place}/{name}")
                if values.dtype != np.float64 or values.ndim != 2 or not np.isfinite(values).all():
                    raise Error(f"{self.path}: /{place}/{name}: is no table of finite numbers")
                found[group][name] = values
        return found["parameters"], found["statistics"]

    @property
    def type(self):
        """model.type"""
        return self.config["model"]["type"]

    @property
    def layers(self):
        """Of each layer its parameters by their own names, as [{"weight": ..., "bias": ...}, ...]."""
        layers = []
        for name, values in self.parameters.items():
            layer, what = order_of(name)
            layers += [{} for _ in range(layer + 1 - len(layers))]
            layers[layer][what] = values
        return layers

    def __repr__(self):
        return f"{self.type}, {len(self.parameters)} parameters after epoch {self.epoch} of run {self.run}"


def order_of(name):
    """"layer10.weight" as (10, "weight")."""
    layer, _, what = name.partition(".")
    number = layer[len("layer"):]
    if not layer.startswith("layer") or not number.isdigit() or len(number) > 4:
        raise Error(f"{name}: is no name of a parameter, as layer0.weight")
    return int(number), what


def checkpoint_of(given):
    """A Checkpoint, or the path of one."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)
