/* import_options: features, labels and splits that a person gives beside the graph file; and the parts of
 * them that graph archives hold themselves. All random choices come from Philox streams keyed by the seed
 * and indexed by node. */
#ifndef IO_IMPORT_OPTIONS_H
#define IO_IMPORT_OPTIONS_H

#include "io/import.h"
#include "io/npz.h"

enum { IMPORT_COLUMNS = 1 << 24 }; /* most features that an option may ask for */

/* Whether each option can be understood, before anything is read. Errors: BAD_INPUT naming the option. */
int import_check_options(const struct import_options *options);

/* "random:0.5,0.25" and the like. Returns 0 when `text` does not start with `prefix`. */
int import_has_prefix(const char *text, const char *prefix);
/* One integer in [low, high] after the prefix. Errors: BAD_INPUT naming `option`. */
int import_parse_count(const char *option, const char *text, int64_t low, int64_t high, int64_t *value);
/* Whether the path ends like that. */
int import_has_suffix(const char *path, const char *suffix);

/* Each applies its option to import->source, whose nodes are known; nothing happens without one. */
int import_features(struct import *import);
int import_labels(struct import *import);
int import_split(struct import *import);

/* Features as a numpy array [nodes, F] or scipy CSR under `prefix`; replaces what is there. */
int import_feature_array(struct dataset_source *source, const struct npy *array, int64_t nodes);
int import_feature_csr(struct dataset_source *source, const struct npz *npz, const char *prefix,
                       int64_t nodes);

/* Labels [nodes] (whole numbers; -1 or NaN: none; distinct values in ascending order become classes 0, 1,
 * ...) or [nodes, C] of 0 and 1 (multilabel); replaces what is there. */
int import_label_array(struct dataset_source *source, const struct npy *array, int64_t nodes);
int import_label_values(struct dataset_source *source, int64_t *value, int64_t nodes, const char *name);
void import_drop_labels(struct dataset_source *source);

/* Splits as train_idx, val_idx, test_idx, as train_mask ... [nodes] or as train_masks ... [S, nodes];
 * replaces what is there; nothing happens when the archive has none. */
int import_split_arrays(struct dataset_source *source, const struct npz *npz, int64_t nodes);
/* Takes nodes with label -1 out of all splits. */
void import_clean_splits(struct import *import);

#endif
