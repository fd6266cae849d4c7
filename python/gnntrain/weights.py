"""Weights under the names that they have in modules of PyTorch Geometric's layers, and files of them."""
import json
import os
import struct

import numpy as np

from gnntrain.checkpoint import checkpoint_of
from gnntrain.error import Error, publish


def _norm(place, layer, statistics):
    """Of a norm: its gain and shift, and of a batch norm what it has seen."""
    if "gain" not in layer:
        return {}
    found = {f"{place}.weight": layer["gain"][0], f"{place}.bias": layer["shift"][0]}
    if statistics is not None:
        found.update({f"{place}.running_mean": statistics[0], f"{place}.running_var": statistics[1]})
    return found


def _linear(place, layer, weight="weight", bias="bias"):
    """y = x W + b: PyTorch stores W transposed."""
    found = {f"{place}.weight": layer[weight].T}
    if bias in layer:
        found[f"{place}.bias"] = layer[bias][0]
    return found


def _gcn(place, layer):
    found = _linear(f"{place}.lin", layer, bias=None)
    return {**found, f"{place}.bias": layer["bias"][0]} if "bias" in layer else found


def _sage(place, layer):
    found = _linear(f"{place}.lin_l", layer)
    if "self" in layer:
        found[f"{place}.lin_r.weight"] = layer["self"].T
    return {**found, **_linear(f"{place}.lin", layer, "pool", "pool_bias")} if "pool" in layer else found


def _gat(place, layer):
    return {**_gcn(place, layer), f"{place}.att_src": layer["left"][None], f"{place}.att_dst": layer["right"][None]}


def _gcnii(place, layer):
    return {f"{place}.weight1": layer["weight"]}


def readouts_of(checkpoint):
    """Of a model that classifies graphs the linear layers above readouts, by the number of the layer whose output they are
    of, 0 for the features; {} of other models."""
    each = 2 if checkpoint.type == "gin" else 1
    return {k // each: layer for k, layer in enumerate(checkpoint.layers) if "readout" in layer}


def layers_of(checkpoint):
    """The layers below what stands above readouts."""
    layers = checkpoint.layers
    return layers[:-1] if "readout" in layers[-1] else layers


def _gin(checkpoint):
    """Two layers of gnntrain are a convolution."""
    found, layers, model = {}, layers_of(checkpoint), checkpoint.config["model"]
    for k in range(0, len(layers), 2):
        inner, place = layers[k], f"convs.{k // 2}"
        found[f"{place}.eps"] = inner["eps"][0] if "eps" in inner else np.array([model["eps"]])
        found.update(_linear(f"{place}.nn.0", inner))
        found.update(_norm(f"{place}.nn.1", inner, checkpoint.statistics.get(f"layer{k}")))
        found.update(_linear(f"{place}.nn.3", layers[k + 1]))
        found.update(_norm(f"norms.{k // 2}", layers[k + 1], checkpoint.statistics.get(f"layer{k + 1}")))
    return found


def _alike(checkpoint, convolution):
    """Convolutions convs.0, convs.1, ... and the norms behind them; of gcnii between lins.0 and lins.1."""
    found, layers = {}, layers_of(checkpoint)
    between = convolution is _gcnii
    ends = () if not between else (0,) if readouts_of(checkpoint) else (0, len(layers) - 1)
    for k, layer in enumerate(layers):
        if k in ends:
            found.update(_linear(f"lins.{int(k > 0)}", layer))
        else:
            found.update(convolution(f"convs.{k - between}", layer))
        found.update(_norm(f"norms.{k}", layer, checkpoint.statistics.get(f"layer{k}")))
    return found


def _arrays(found):
    return {name: np.ascontiguousarray(values, "<f4") for name, values in found.items()}


CONVOLUTIONS = {"gcn": _gcn, "sage": _sage, "gat": _gat, "gcnii": _gcnii}


def state_of(checkpoint):
    """float32 arrays by the names of to_pyg's and to_torch's modules. Of other types than theirs: parameters and
    statistics by gnntrain's names."""
    try:
        if checkpoint.type == "gin":
            found = _gin(checkpoint)
        elif checkpoint.type in CONVOLUTIONS:
            found = _alike(checkpoint, CONVOLUTIONS[checkpoint.type])
        else:
            statistics = {f"{layer}.statistics": values for layer, values in checkpoint.statistics.items()}
            return _arrays({**checkpoint.parameters, **statistics})
        for k, layer in readouts_of(checkpoint).items():
            found.update(_linear(f"readouts.{k}", layer, "readout", "readout_bias"))
    except (KeyError, IndexError) as error:
        raise Error(f"{checkpoint.path}: lacks {error} of model.type = \"{checkpoint.type}\"") from None
    return _arrays(found)


def safetensors_of(arrays):
    """The bytes of a safetensors file of float32 arrays: the length of its header, the header, the data."""
    header, data, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, values in sorted(arrays.items()):
        header[name] = {"dtype": "F32", "shape": [*values.shape], "data_offsets": [at, at + values.nbytes]}
        data.append(values.tobytes())
        at += values.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def _bytes_of(arrays):
    """By the package safetensors where it is there, which writes the same."""
    try:
        from safetensors.numpy import save
    except ImportError:
        return safetensors_of(arrays)
    return save(arrays, metadata={"format": "pt"})


def export(checkpoint, path):
    """Writes the weights of a checkpoint (or of its path) to path.safetensors or path.npz, as float32 under the names of
    PyTorch Geometric's layers, and returns the path. Batch norms' running statistics are among them. The file appears
    whole or not at all. Error: another ending, or it cannot be written."""
    path, arrays = os.fspath(path), state_of(checkpoint_of(checkpoint))

    def write(part):
        with open(part, "xb") as f:
            if path.endswith(".npz"):
                np.savez(f, **arrays)
            else:
                f.write(_bytes_of(arrays))

    if not path.endswith((".safetensors", ".npz")):
        raise Error(f"{path}: weights are written as .safetensors or .npz; let the name end so")
    publish(path, write)
    return path
