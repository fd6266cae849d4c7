/* import_split_file: splits from files: a word a node of a text, or arrays of an archive. */
#ifndef IO_IMPORT_IMPORT_SPLIT_FILE_H
#define IO_IMPORT_IMPORT_SPLIT_FILE_H

#include "io/dataset/dataset.h"
#include "io/file/npz.h"

/* train_idx ... or train_masks ... of an archive; a word a node of a text file. */
int split_from_npz(struct dataset_source *source, const char *path);
int split_from_text(struct dataset_source *source, const char *path);

/* Splits as train_idx, val_idx, test_idx, as train_mask ... [nodes] or as train_masks ... [S, nodes];
 * replaces what is there; nothing happens when the archive has none. */
int import_split_arrays(struct dataset_source *source, const struct npz *npz, int64_t nodes);

#endif
