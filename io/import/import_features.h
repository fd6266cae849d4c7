/* import_features: features of nodes, as an option asks for them or as graph archives hold them. Random ones
 * come from Philox streams keyed by the seed and indexed by node. */
#ifndef IO_IMPORT_IMPORT_FEATURES_H
#define IO_IMPORT_IMPORT_FEATURES_H

#include "io/file/npz.h"
#include "io/import/import.h"

enum { IMPORT_COLUMNS = 1 << 24 }; /* most features that an option may ask for */

/* Applies the option to import->source, whose nodes are known; nothing happens without one. */
int import_features(struct import *import);

/* Features as a numpy array [nodes, F], a text with a row for each node or scipy CSR under `prefix`; replaces
 * what is there. */
int import_feature_array(struct import *import, const struct npy *array);
int import_feature_text(struct import *import, const char *path);
int import_feature_csr(struct dataset_source *source, const struct npz *npz, const char *prefix,
                       int64_t nodes);

#endif
