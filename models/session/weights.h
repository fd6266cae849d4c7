/* weights: the parameters of a checkpoint, and the running statistics of its batch norms, for other programs:
 * as float32, under the names of modules of PyTorch Geometric's layers (models/session/weights_names.h), in a
 * file whose ending says which: .safetensors or .npz. Of other types of models under gnntrain's names. */
#ifndef MODELS_SESSION_WEIGHTS_H
#define MODELS_SESSION_WEIGHTS_H

/* On one rank; needs neither configuration nor dataset. The file is written beside its place, synced and
 * renamed, and its folder is made. Errors: BAD_INPUT: no checkpoint, or values that no training writes; `out`
 * is the checkpoint, or something else than a file of weights. FAILED: it cannot be written. */
int weights_export(const char *checkpoint, const char *out);

#endif
