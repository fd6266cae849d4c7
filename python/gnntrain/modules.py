"""to_torch and to_pyg: a checkpoint as a module of PyTorch."""
from gnntrain.checkpoint import checkpoint_of
from gnntrain.error import Error, needed
from gnntrain.weights import state_of

TYPES = ("gcn", "sage", "gat", "gin", "gcnii")


def _net(checkpoint, layers_of):
    torch = needed("torch", "a module of a checkpoint", "PyTorch")
    checkpoint = checkpoint_of(checkpoint)
    if checkpoint.type not in TYPES:
        raise Error(f"{checkpoint.path}: model.type = \"{checkpoint.type}\" has no module; these have: {', '.join(TYPES)}")
    from gnntrain.net import Between, Stack
    layers = layers_of()(checkpoint.config["model"])
    net = (Between if checkpoint.type == "gcnii" else Stack)(checkpoint, layers)
    state = {name: torch.from_numpy(values.copy()) for name, values in state_of(checkpoint).items()}
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise Error(f"{checkpoint.path}: does not fit the layers: {' '.join(str(error).split())[:300]}", 1) from None
    return net.eval()


def _torch_layers():
    from gnntrain.torch_layers import Layers
    return Layers


def _pyg_layers():
    from gnntrain.pyg_layers import Layers
    return Layers


def to_torch(checkpoint):
    """A torch.nn.Module, in evaluation mode, whose net(x, edge_index, edge_weight=None) gives gnntrain's logits [N, C] of a
    checkpoint (or of its path): gcn, sage, gat, gin, gcnii. Where it classifies graphs, net(x, edge_index, batch=batch) gives
    a row of each; batch int64 [N] is the graph of each node. Error: another type, or PyTorch is not there."""
    return _net(checkpoint, _torch_layers)


def to_pyg(checkpoint):
    """The same of layers of PyTorch Geometric (2.5 and later). Error also for settings that its layers do not have."""
    return _net(checkpoint, _pyg_layers)
