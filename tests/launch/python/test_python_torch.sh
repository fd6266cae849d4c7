# Modules of PyTorch, and where it is there of PyTorch Geometric, that gnntrain.to_torch and to_pyg make of checkpoints give
# gnntrain's logits.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_python h5py numpy torch
export PYTHONPATH=$GNNTRAIN_SOURCE/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
works "$python" "$GNNTRAIN_SOURCE/tests/launch/python/check_modules.py"
cat out.txt
