"""What test_python.sh asks of the package, in the folder where made.h5 and imported.h5 lie."""
import importlib.util
import json
import os
import signal
import struct
import threading

import h5py
import numpy as np

import gnntrain
from gnntrain.weights import safetensors_of, state_of

MPIRUN = "mpirun --oversubscribe --bind-to none"
SETTINGS = {"model": {"hidden": 8, "norm": "batch"}, "dataset.path": "made.h5", "train.epochs": 30}


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), (a, b)


def refused(sentence, call, *arguments, code=2, **settings):
    try:
        call(*arguments, **settings)
    except gnntrain.Error as error:
        assert sentence in str(error) and error.code == code, (str(error), error.code)
    else:
        raise AssertionError(f"not refused: {sentence}")


def rows_of(folder):
    with open(f"{folder}/metrics.jsonl") as f:
        return [json.loads(line) for line in f]


def check_datasets():
    made, imported = gnntrain.Dataset.open("made.h5"), gnntrain.Dataset.open("imported.h5")
    for name in ("indptr", "indices", "features", "labels"):
        same(getattr(made, name), getattr(imported, name))
    for part in ("train", "val", "test"):
        same(made.splits[0][part], imported.splits[0][part])
    assert repr(made) == repr(imported) and not made.directed and made.weights is None
    assert {**made.attributes, "name": 0} == {**imported.attributes, "name": 0}
    assert made.edge_index.shape == (2, made.num_edges) and (made.edge_index[0] == made.indices).all()
    imported.save("copied.h5")
    with h5py.File("imported.h5") as a, h5py.File("copied.h5") as b:
        a.visititems(lambda place, _: same(a[place][()], b[place][()]) if isinstance(a[place], h5py.Dataset) else None)
    try:
        made.labels[0] = 2
        raise AssertionError("what is in the file was written to")
    except ValueError:
        pass
    two = gnntrain.Dataset.from_object({"edge_index": [[0, 1], [1, 2]], "num_nodes": 3, "edge_weight": [2, 3.5]}, weights=True)
    assert two.directed and two.weights.tolist() == [2, 3.5] and two.indices.tolist() == [0, 1] and two.splits == []
    if importlib.util.find_spec("scipy"):
        check_sparse_features()
    refused("nowhere.h5: is not there", gnntrain.Dataset.open, "nowhere.h5")
    refused('is no dataset: the attribute format = "gnntrain-dataset"', gnntrain.Dataset.open, "run/best.h5")
    refused("graph.txt: cannot be read as a dataset", gnntrain.Dataset.open, "graph.txt")
    refused("graph.txt: is there and is no dataset", two.save, "graph.txt")
    refused("train names a node twice", gnntrain.Dataset.from_scipy, np.eye(3), train=[0, 1, 1])
    refused("the adjacency has shape (2, 3)", gnntrain.Dataset.from_scipy, np.ones((2, 3)))
    with h5py.File("copied.h5", "r+") as f:
        f["graph/indptr"][3] = 10**6
    broken = gnntrain.Dataset.open("copied.h5")
    refused("/graph/indptr: does not ascend", lambda: broken.indptr)
    imported.save("copied.h5")


def check_sparse_features():
    """They are what their dense form is, entries that stand twice and zeros among them."""
    from scipy.sparse import coo_matrix
    row, col, value = [2, 0, 1, 1, 0], [7, 30, 3, 3, 4], [1.5, 0, 2, 3, -1]
    sparse = coo_matrix((value, (row, col)), (3, 40))
    a, b = (gnntrain.Dataset.from_scipy(np.eye(3), features, [0, 1, 1]) for features in (sparse, sparse.toarray()))
    for part in "indptr", "indices", "data":
        same(a.array(f"node/features/{part}"), b.array(f"node/features/{part}"))
    assert (a.features == sparse.toarray()).all() and a.num_features == 40
    refused("feature 3 of node 1 is not a finite", gnntrain.Dataset.from_scipy, np.eye(3), coo_matrix(([1e39], ([1], [3])), (3, 40)))
    refused("features of shape (2, 40) for 3 nodes", gnntrain.Dataset.from_scipy, np.eye(3), sparse.tocsr()[:2])


def check_training():
    """A run of each number of ranks: the lines of its metrics, and its end."""
    for ranks in 1, 2:
        run = gnntrain.train(SETTINGS, ranks=ranks, mpirun=MPIRUN, out=f"run{ranks}", settings={"train.runs": 3 - ranks})
        assert run.result is None and run.config == f"run{ranks}/config.toml"
        epochs, rows = list(run), rows_of(f"run{ranks}")
        assert epochs == [row for row in rows if "final" not in row] and len(epochs) == 30 * (3 - ranks)
        assert run.results == [row for row in rows if "final" in row] and run.result == rows[-1] and run.code == 0
        assert "result" in run.output
    refused("run1 already holds a run", lambda: gnntrain.train(SETTINGS, out="run1").wait())
    assert rows_of("run1")[-1]["run"] == 1
    result = gnntrain.train(SETTINGS, epochs=2, settings={"log": {"overwrite": True}}, out="run1").wait()
    assert result["epochs"] == 2 and len(rows_of("run1")) == 3
    os.makedirs("there", exist_ok=True)
    with open("of_file.toml", "w") as f:
        f.write('dataset.path = "made.h5"\n# dir = "x"\n[train]\nepochs = 4\n[log]\ndir = "there/it" # a folder\n')
    run = gnntrain.train("of_file.toml")
    assert [row["epoch"] for row in run] == [1, 2, 3, 4] and run.dir == "there/it"


def check_stopping():
    """Closed, left, and interrupted: each keeps a checkpoint, from which a run goes on."""
    long = dict(settings={"model.hidden": 16}, epochs=10**7, mpirun=MPIRUN)
    for ranks, leave in (2, lambda run: run.close()), (1, lambda run: None):
        run = gnntrain.train(SETTINGS, ranks=ranks, out=f"stopped{ranks}", **long)
        first = next(run), next(run)
        assert [row["epoch"] for row in first] == [1, 2]
        leave(run)
        if ranks == 2:
            assert run.code == 75 and run.result is None and list(run) == []
        del run  # which ends the other one
        saved, = os.listdir(f"stopped{ranks}/checkpoints")
        epoch = gnntrain.Checkpoint(f"stopped{ranks}/checkpoints/{saved}").epoch
        assert epoch >= 2 and saved == f"epoch-0-{epoch}.h5"
        more = gnntrain.train(SETTINGS, out=f"stopped{ranks}", resume=True, settings={"model.hidden": 16}, epochs=epoch + 3)
        assert [row["epoch"] for row in more] == [epoch + 1, epoch + 2, epoch + 3] and more.result["epochs"] == epoch + 3


def ends_interrupted(run):
    """Where wait() is interrupted the job has saved a checkpoint and ended."""
    try:
        run.wait()
        raise AssertionError("Ctrl-C is passed over")
    except KeyboardInterrupt:
        pass
    saved = os.listdir(os.path.join(run.dir, "checkpoints"))
    assert run.code == 75 and len(saved) == 1, (run.code, saved, run.output)


def check_interrupt():
    """At any time, and between two epochs, where no code of the job runs."""
    run = gnntrain.train(SETTINGS, epochs=10**7, out="interrupted")
    next(run)
    threading.Timer(.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    ends_interrupted(run)

    class Interrupted(gnntrain.Training):
        def __next__(self):
            if super().__next__()["epoch"] > 1:
                raise KeyboardInterrupt
    run = gnntrain.train(SETTINGS, epochs=10**7, out="between")
    run.__class__ = Interrupted
    ends_interrupted(run)


def numpy_logits(data, checkpoint):
    """A gcn of two layers with a batch norm, from its definition."""
    a = np.zeros((data.num_nodes, data.num_nodes))
    a[data.edge_index[1], data.edge_index[0]] = 1
    np.fill_diagonal(a, 1)
    scale = a.sum(1) ** -.5
    p, (w0, w1), x = scale[:, None] * a * scale, checkpoint.layers, data.features
    (mean, variance), = checkpoint.statistics.values()
    h = (p @ x @ w0["weight"] - mean) / np.sqrt(variance + 1e-5) * w0["gain"] + w0["shift"]
    return p @ np.maximum(h, 0) @ w1["weight"] + w1["bias"]


def check_weights():
    data, checkpoint = gnntrain.Dataset.open("made.h5"), gnntrain.Checkpoint("run2/best.h5")
    result = rows_of("run2")[-1]
    found = gnntrain.predict("run2/config.toml", "run2/best.h5", "predictions.h5")
    same(found.logits, gnntrain.predictions("predictions.h5").logits)
    assert np.abs(found.logits - numpy_logits(data, checkpoint)).max() < 1e-4
    assert (found.prediction == found.logits.argmax(1)).all() and found.embedding.shape == (90, 8)
    right = (found.prediction == data.labels)[data.splits[0]["test"]].mean()
    assert abs(right - result["test"]) < 1e-6 and result["test"] > .5
    assert checkpoint.epoch == checkpoint.best_epoch == result["best_epoch"] and checkpoint.weights == "best"
    assert checkpoint.metric["test"] == result["test"] and checkpoint.config["model"]["norm"] == "batch"
    latest = gnntrain.Checkpoint("run2/checkpoints/epoch-0-30.h5")
    assert latest.epoch == 30 and latest.weights == "latest"
    same(gnntrain.Checkpoint(latest.path, best=True).parameters["layer0.weight"], checkpoint.parameters["layer0.weight"])
    refused('is no checkpoint: the attribute format = "gnntrain-checkpoint"', gnntrain.Checkpoint, "made.h5")
    refused("is no file of predictions", gnntrain.predictions, "made.h5")
    return checkpoint


def read_safetensors(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    assert size % 8 == 0 and header.pop("__metadata__") == {"format": "pt"}
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(data)
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items() if entry["dtype"] == "F32"}


def check_export(checkpoint):
    state = state_of(checkpoint)
    assert sorted(state) == ["convs.0.lin.weight", "convs.1.bias", "convs.1.lin.weight", "norms.0.bias",
                             "norms.0.running_mean", "norms.0.running_var", "norms.0.weight"]
    same(state["convs.0.lin.weight"], np.ascontiguousarray(checkpoint.parameters["layer0.weight"].T.astype("f4")))
    gnntrain.export(checkpoint, "weights.safetensors")
    gnntrain.export("run2/best.h5", "weights.npz")
    with np.load("weights.npz") as zipped:
        for found in read_safetensors("weights.safetensors"), zipped:
            assert sorted(found) == sorted(state)
            for name, values in state.items():
                same(found[name], values)
    if importlib.util.find_spec("safetensors"):
        from safetensors.numpy import load_file
        assert sorted(load_file("weights.safetensors")) == sorted(state)
    with open("weights.safetensors", "rb") as f:
        assert f.read() == safetensors_of(state)
    refused("weights are written as .safetensors or .npz", gnntrain.export, checkpoint, "weights.pt")


def check_errors():
    wrong = dict(out="wrong")
    refused("nowhere.h5", lambda: gnntrain.train({"dataset.path": "nowhere.h5"}, **wrong).wait())
    refused("model.hiden", lambda: gnntrain.train("of_file.toml", settings={"model.hiden": 3}, **wrong).wait())
    refused("model.hidden", lambda: gnntrain.train("of_file.toml", settings={"model.hidden": "many"}, ranks=2, mpirun=MPIRUN,
                                                   **wrong).wait())
    refused("nowhere.toml: is not there", gnntrain.train, "nowhere.toml")
    refused("ranks is 0; a whole number", gnntrain.train, "of_file.toml", ranks=0)
    refused("mpirun names no program that is there: 'nompirun'", gnntrain.train, "of_file.toml", ranks=2, mpirun="nompirun")
    refused("nothing/gnntrain: is no program", gnntrain.train, "of_file.toml", program="nothing/gnntrain")
    refused("a key is SECTION.KEY", gnntrain.train, {"path": "made.h5"})
    refused("train.lr is [0.1]; a text, a number", gnntrain.train, {"train": {"lr": [0.1]}})
    refused("false ended with exit code 1", lambda: gnntrain.train("of_file.toml", program="false", **wrong).wait(), code=1)
    assert not os.path.exists("wrong")


def main():
    check_training()
    os.symlink("run2", "run")
    check_datasets()
    check_stopping()
    check_interrupt()
    check_export(check_weights())
    check_errors()


if __name__ == "__main__":
    main()
