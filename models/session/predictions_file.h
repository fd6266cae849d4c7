/* predictions_file: what a model says of each node, or of each graph where labels are of graphs, as a file
 * that its name's ending chooses: HDF5 for .h5 and any other, a table for .csv, an array for .npy
 * (docs/data.md). Rank 0 alone has one. Beside its place until it is whole. */
#ifndef MODELS_SESSION_PREDICTIONS_FILE_H
#define MODELS_SESSION_PREDICTIONS_FILE_H

#include <stdio.h>

#include "io/dataset/dataset.h"
#include "runtime/file/atomic_write.h"

enum predictions_kind { PREDICTIONS_H5, PREDICTIONS_CSV, PREDICTIONS_NPY };

struct predictions_file {
  enum predictions_kind kind;
  struct dataset *dataset; /* borrowed */
  int64_t rows;            /* nodes, or graphs */
  int64_t *graph;          /* [rows + 1] nodes that graphs begin with; NULL: rows are nodes */
  int64_t classes;
  int multilabel;
  char **class_name; /* [classes], or NULL */
  struct h5 h5;
  struct atomic_write file; /* of the others */
  FILE *out;
};

enum predictions_kind predictions_kind_of(const char *path);

/* Errors: BAD_INPUT where something else is there. */
int predictions_file_check(const char *path);

/* Makes it, and its folder. embedding: columns of the last hidden layer, which HDF5 holds too; 0: none.
 * checkpoint, dataset_path: what it says it comes from. Errors: FAILED. */
int predictions_file_create(struct predictions_file *p, const char *path, struct dataset *dataset,
                            int64_t classes, int64_t embedding, const char *checkpoint,
                            const char *dataset_path);
/* Logits [count, classes] of nodes [first, first + count), which follow those before; rows of the embedding
 * [count, cols]. */
int predictions_file_logits(struct predictions_file *p, int64_t first, int64_t count, const float *logits);
int predictions_file_embedding(struct predictions_file *p, int64_t first, int64_t count, const float *rows,
                               int64_t cols);
int predictions_file_commit(struct predictions_file *p);
/* What was not committed is removed. */
void predictions_file_close(struct predictions_file *p);

#endif
