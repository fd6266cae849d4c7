"""Trains models for some epochs on a graph of each kind and compares the logits of their modules with the program's. Prints
what was compared."""
import copy
import importlib.util

import numpy as np
import torch

import gnntrain
from gnntrain.settings import value_of
from gnntrain.weights import state_of

CLOSE = 1e-4
PYG = importlib.util.find_spec("torch_geometric") is not None
# By kind of graph: settings of models beyond those that all have. What PyG's layers cannot say ends in a "-".
MODELS = {
    "undirected": ["type=gcn norm=batch residual layers=4", "type=sage norm=layer activation=elu", "type=gin layers=3 norm=batch",
                   "type=gat heads=4 heads_last=3 dropout_attention=.3 activation=elu residual layers=3",
                   "type=gcnii layers=4 alpha=.2 norm=layer"],
    "directed": ["type=gcn bias=false", "type=sage aggregator=sum", "type=gat heads=2 bias=false", "type=gin learn_eps eps=.3",
                 "type=gcnii layers=3 bias=false lambda=1 norm=batch", "type=sage aggregator=max -", "type=sage aggregator=min -"],
    "graphs": [f"type={model} readout={readout} readout_layers={layers} layers=3"
               for model in ("gcn residual norm=batch", "gin norm=layer learn_eps", "gat heads=2 activation=elu", "gcnii alpha=.2",
                             "sage norm=batch bias=false") for readout in ("sum", "mean", "max") for layers in ("last", "all")],
    "weighted": ["type=gcn", "type=gcn norm_edges=row -", "type=sage aggregator=gcn activation=leaky_relu -", "type=gin -"],
}


def graph_of(kind):
    """With self loops and nodes without arcs."""
    rng = np.random.default_rng(3)
    edges = rng.integers(70, size=(2, 260))
    edges[:, :5] = edges[:1, :5]
    masks = {f"{part}_mask": np.arange(73) % 3 == k for k, part in enumerate(("train", "val", "test"))}
    data = {"edge_index": edges, "num_nodes": 73, "x": rng.random((73, 6)), "y": rng.integers(4, size=73),
            "edge_weight": rng.random(260) + .1, **masks}
    return gnntrain.Dataset.from_object(data, undirected=kind == "undirected", weights=kind == "weighted")


class Graphs(list):
    """A dataset of 40 graphs of 1 to 9 nodes, as OGB's have their splits."""

    def __init__(self):
        rng = np.random.default_rng(5)
        for k in range(40):
            nodes = 1 + k % 9
            self.append({"edge_index": rng.integers(nodes, size=(2, 2 * nodes)), "num_nodes": nodes, "y": k % 3,
                         "x": rng.random((nodes, 6))})

    def get_idx_split(self):
        return {part: np.arange(k, 40, 3) for k, part in enumerate(("train", "valid", "test"))}


def arguments_of(data):
    """What a module takes: features, arcs, weights, and the graph of each node where there are many."""
    weight = None if data.weights is None else torch.from_numpy(data.weights.copy())
    batch = None if data.graphs is None else torch.repeat_interleave(
        torch.arange(len(data.graphs) - 1), torch.from_numpy(np.diff(data.graphs)))
    return torch.from_numpy(data.features.copy()), torch.from_numpy(data.edge_index), weight, batch


def settings_of(model):
    given = {"model.hidden": 12, "model.dropout": .3, "model.dropout_input": .1, "dataset.normalize": "row", "train.epochs": 6,
             "train.lr": .05, "log.overwrite": True}
    for word in model.split():
        key, _, value = word.partition("=")
        if key != "-":
            found = value_of(value or "true")
            given[f"model.{key}"] = value if found is None else found
    return given


def refused(sentence, call, *arguments):
    try:
        call(*arguments)
    except gnntrain.Error as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"not refused: {sentence}")


def error_of(net, data, logits):
    arguments = arguments_of(data)
    with torch.inference_mode():
        found = net(*arguments)
    with torch.no_grad():
        again = copy.deepcopy(net)(*arguments)
    assert found.shape == logits.shape
    assert torch.equal(found, again)
    return np.abs(found.numpy() - logits).max() / max(1, np.abs(logits).max())


def check_training_mode(net, data):
    """It drops values, and has a gradient for each parameter."""
    arguments = arguments_of(data)
    net.train()
    torch.manual_seed(1)
    first, second = net(*arguments), net(*arguments)
    assert not torch.equal(first, second)
    second.square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def check_weights(net, data):
    """Where weights have gradients the matrix is another one, and does the same, there and back."""
    edges, found = torch.from_numpy(data.edge_index), []
    for learns in (False, True):
        x, weight = torch.from_numpy(data.features.copy()).requires_grad_(), torch.from_numpy(data.weights.copy()).requires_grad_(learns)
        out = net(x, edges, weight)
        out.square().sum().backward()
        assert (weight.grad is not None) == learns
        found.append((out, x.grad))
    assert all(torch.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in zip(*found))


def compare(kind, data, model):
    run = gnntrain.train({"dataset.path": f"{kind}.h5", **settings_of(model)}, out="run")
    run.wait()
    logits = gnntrain.predict(run.config, run.best, "predictions.h5").logits
    checkpoint = gnntrain.Checkpoint(run.best)
    nets = {"torch": gnntrain.to_torch(checkpoint)}
    if PYG and not model.endswith("-"):
        nets["pyg"] = gnntrain.to_pyg(checkpoint)
    for name, net in nets.items():
        error = error_of(net, data, logits)
        print(f"{name:6}{kind:11}{model:85}{error:.1e}")
        assert error < CLOSE, f"{name}: logits of {model} on a {kind} graph differ by {error}"
        assert {key for key in net.state_dict() if not key.endswith("num_batches_tracked")} == set(state_of(checkpoint))
        if kind == "directed" and ("max" in model or "min" in model):
            refused("no use for edge weights", net, torch.zeros(1, 6), torch.zeros((2, 1), dtype=torch.int64), torch.ones(1))
        if kind != "weighted":
            check_training_mode(net, data)
        elif name == "torch" and "gin" not in model:
            check_weights(net, data)


def check_one_graph(data):
    """Without a batch all nodes are of one graph; and batches are of graphs alone."""
    net = gnntrain.to_torch("run/best.h5")
    x, edges, _, batch = arguments_of(data)
    first = int(data.graphs[1])
    with torch.no_grad():
        alone = net(x[:first], edges[:, (edges < first).all(0)])
        assert torch.allclose(alone, net(x, edges, batch=batch)[:1], rtol=1e-5, atol=1e-5)
    refused("this one classifies nodes", gnntrain.to_torch("row/best.h5"), x, edges, None, batch)


def check_refusals():
    gnntrain.train({"dataset.path": "directed.h5", "model.type": "mlp"}, epochs=1, out="mlp").wait()
    gnntrain.train({"dataset.path": "directed.h5", "model.norm_edges": "row"}, epochs=1, out="row").wait()
    refused('model.type = "mlp" has no module', gnntrain.to_torch, "mlp/best.h5")
    refused("GCNConv scales edges" if PYG else "to_pyg needs torch_geometric", gnntrain.to_pyg, "row/best.h5")


def main():
    for kind, models in MODELS.items():
        (gnntrain.Dataset.from_object(Graphs(), undirected=True) if kind == "graphs" else graph_of(kind)).save(f"{kind}.h5")
        data = gnntrain.Dataset.open(f"{kind}.h5")
        for model in models:
            compare(kind, data, model)
    check_refusals()
    compare("graphs", data := gnntrain.Dataset.open("graphs.h5"), "type=gcn readout=mean readout_layers=all")
    check_one_graph(data)
    print("compared with PyTorch Geometric" if PYG else "PyTorch Geometric is not there")


if __name__ == "__main__":
    main()
