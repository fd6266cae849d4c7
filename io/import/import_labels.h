/* import_labels: labels of nodes, as an option asks for them or as graph archives hold them. Random ones come
 * from Philox streams keyed by the seed and indexed by node. */
#ifndef IO_IMPORT_IMPORT_LABELS_H
#define IO_IMPORT_IMPORT_LABELS_H

#include "io/file/npy.h"
#include "io/import/import.h"

/* Applies the option to import->source, whose nodes are known; nothing happens without one. */
int import_labels(struct import *import);

/* Labels [nodes] (whole numbers; -1 or NaN: none; distinct values in ascending order become classes 0, 1,
 * ...) or [nodes, C] of 0 and 1 (multilabel); replaces what is there. */
int import_label_array(struct import *import, const struct npy *array);
/* A text, "label" or "id label" a line; a label for each node where it has no ids. */
int import_label_text(struct import *import, const char *path);
/* Labels by number of import->labels, [nodes], -1: none. Where all are whole numbers as above, else texts, in
 * the order of their bytes, become classes that are called so. Errors: BAD_INPUT: no label is there. */
int import_label_texts(struct import *import, const int32_t *label, int64_t nodes, const char *name);
int import_label_values(struct dataset_source *source, int64_t *value, int64_t nodes, const char *name);
void import_drop_labels(struct dataset_source *source);

#endif
