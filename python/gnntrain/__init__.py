"""gnntrain from Python: datasets, trainings, predictions and weights. docs/python.md has examples.

    gnntrain.Dataset         a graph with features, labels and splits, from PyG, DGL, OGB, scipy or a file
    gnntrain.train           trains by the program; an iterator over the epochs
    gnntrain.predict         predictions of a checkpoint, by the program; gnntrain.predictions reads such a file
    gnntrain.Checkpoint      weights, statistics and settings of a checkpoint
    gnntrain.to_torch        a checkpoint as a module of plain PyTorch; gnntrain.to_pyg: of PyTorch Geometric's layers
    gnntrain.export          weights as .safetensors or .npz

What is wrong raises gnntrain.Error: one sentence, with the exit code that the program would end with.
"""
import importlib

__version__ = "0.2.0"

# Modules are imported when one of their names is asked for: none pays for what it does not use.
_PLACES = {"Error": "error", "Dataset": "dataset", "train": "training", "Training": "training", "predict": "predicting",
           "predictions": "predicting", "Predictions": "predicting", "Checkpoint": "checkpoint", "to_torch": "modules",
           "to_pyg": "modules", "export": "weights"}
__all__ = [*_PLACES, "__version__"]


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 'gnntrain' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"gnntrain.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted(__all__)
