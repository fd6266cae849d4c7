#!/usr/bin/env python3
# launch/to_dataset.py MODULE:CLASS OUT.h5 [name=VALUE]...: turns a dataset object of PyTorch Geometric, DGL or OGB into a
# dataset of gnntrain, by the package in python/; --help says more. Without that folder beside it, by the installed package.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), os.pardir, "python"))
try:
    from gnntrain.to_dataset import main
except ImportError as error:
    sys.exit(f"to_dataset.py: {error}; the package gnntrain (pip install ./python), numpy and h5py are needed")

if __name__ == "__main__":
    main()
