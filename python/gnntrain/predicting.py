"""Predictions: by the program, and from the files that it writes."""
import os

from gnntrain.error import Error
from gnntrain.h5_file import opened, read, text_of
from gnntrain.program import Job, start_of
from gnntrain.settings import flat, toml

FORMAT = "gnntrain-predictions"


class Predictions:
    """What a model says of every node, a row a node in the dataset's order.

    logits: float32 [N, C]; prediction: int32 [N], or uint8 [N, C] when multilabel; embedding: float32 [N, H], the last
    hidden layer, None in models of one layer; id: your ids, int64 [N] or texts, None where the dataset has none.
    checkpoint, dataset: what they were made from.
    """

    def __init__(self, path):
        with opened(path, FORMAT, "file of predictions") as f:
            self.logits, self.prediction = read(f, "logits"), read(f, "prediction")
            self.embedding = read(f, "embedding") if "embedding" in f else None
            self.id = read(f, "id") if "id" in f else None
            self.checkpoint, self.dataset = text_of(f.attrs.get("checkpoint")), text_of(f.attrs.get("dataset"))
        rows = {len(values) for values in (self.logits, self.prediction, self.embedding, self.id) if values is not None}
        if len(rows) != 1 or self.logits.ndim != 2:
            raise Error(f"{path}: its arrays have {' and '.join(map(str, sorted(rows)))} rows; one a node is expected")

    def __repr__(self):
        return f"predictions of {len(self.logits)} nodes, {self.logits.shape[1]} classes"


def predictions(path):
    """Predictions that gnntrain --predict has written as HDF5. Error: not there, damaged, or another file."""
    return Predictions(os.fspath(path))


def predict(config, checkpoint, out, ranks=1, settings=None, program=None, mpirun="mpirun"):
    """gnntrain CONFIG --predict CHECKPOINT --out OUT.h5, and what it has written. Error: the program's sentence."""
    start, out = start_of(program, ranks, mpirun), os.fspath(out)
    if not out.endswith(".h5"):
        raise Error(f"out is {out}; a name that ends in .h5 is expected")
    changed = [f"--set={key}={toml(value, key)}" for key, value in flat(settings or {}, "settings").items()]
    Job(start, [os.fspath(config), *changed, "--predict", os.fspath(checkpoint), "--out", out]).finish()
    return predictions(out)
