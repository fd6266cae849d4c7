"""Epochs of launch/compare's peer beside gnntrain's: from the weights that gnntrain has after its first epoch, the same losses, rates
and metrics. Prints what was compared."""
import json
import math
import pathlib
import sys

import numpy as np

import gnntrain

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "launch" / "study"))
import peer  # noqa: E402
from gnntrain.settings import value_of  # noqa: E402
from gnntrain.weights import state_of  # noqa: E402

EPOCHS, CLOSE = 12, 1e-5
SETTINGS = {
    "gcn, norms, decay of all, clipping": "model.norm=batch model.residual=true model.layers=3 train.weight_decay=.02 train.clip=.3",
    "gcn, decay of the first layer": "model.norm=layer train.weight_decay=.05 train.weight_decay_first_only=true train.schedule=cosine train.warmup=3",
    "sage, steps": "model.type=sage train.schedule=step train.step_every=3 train.step_factor=.5",
    "gin": "model.type=gin model.layers=2 model.learn_eps=true train.weight_decay=.01",
    "gat": "model.type=gat model.heads=2 model.hidden=8",
    "gcnii, decay of convolutions": "model.type=gcnii model.layers=3 train.weight_decay=.1 train.weight_decay_convolutions=.01 model.norm=batch",
    "gcnii, decay of the first layer": "model.type=gcnii model.layers=2 train.weight_decay=.1 train.weight_decay_first_only=true",
    "several labels": "model.type=gcn dataset.path=several.h5",
}


def make_several():
    """Several labels a node, and arcs with weights."""
    rng = np.random.default_rng(5)
    part = np.arange(90) % 3
    gnntrain.Dataset.from_object(
        {"edge_index": rng.integers(90, size=(2, 400)), "edge_weight": rng.random(400) + .1, "num_nodes": 90, "x": rng.random((90, 7)),
         "y": (rng.random((90, 5)) < .3).astype("u1"), **{f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}},
        weights=True).save("several.h5")


def rows(folder):
    return [row for row in map(json.loads, (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()) if "epoch" in row]


def compare(name, words):
    given = dict(word.split("=", 1) for word in words.split())
    settings = {"dataset.path": "data.h5", "model.hidden": 12, "model.dropout": 0.0, "train.epochs": EPOCHS, "train.lr": .2,
                "train.optimizer": "sgd", "train.momentum": 0.0, "checkpoint.every": 1, "checkpoint.keep": EPOCHS, "log.overwrite": True,
                **{key: value if value_of(value) is None else value_of(value) for key, value in given.items()}}
    gnntrain.train(settings, out="run").wait()
    training, ours = peer.Training("torch", "run", "cpu"), rows("run")
    state = state_of(gnntrain.Checkpoint("run/checkpoints/epoch-0-1.h5"))
    training.net.load_state_dict({key: peer.torch.from_numpy(values.copy()) for key, values in state.items()})
    worst = 0
    for row in ours[1:]:
        loss, _ = training.step(row["epoch"])
        assert math.isclose(peer.rate(training.config["train"], row["epoch"]), row["lr"], rel_tol=1e-9), (name, row)
        worst = max(worst, abs(loss - row["loss"]) / row["loss"])
        assert worst < CLOSE, (name, row["epoch"], loss, row["loss"])
        found = training.evaluate(row["epoch"])
        for part in ("train", "val", "test"):
            assert abs(found[part] - row[part]) < .02, (name, row, found)  # a node may fall to either side
    assert ours[-1]["loss"] < ours[1]["loss"]
    print(f"{name}: losses within {worst:.1e}")


make_several()
for what, how in SETTINGS.items():
    compare(what, how)
