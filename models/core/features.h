/* features: the input matrix X of the first layer, dense or in sparse rows, with input dropout.
 *
 * The first layer only ever needs X W, X^T dY and, where it aggregates first, X itself (dense). With dropout
 * a training pass works on a masked copy; evaluation on X. Where the aggregate never changes, X passes
 * through the device in panels of columns. */
#ifndef MODELS_CORE_FEATURES_H
#define MODELS_CORE_FEATURES_H

#include "kernels/ops/epilogue.h"
#include "models/core/run.h"
#include "runtime/device/arena.h"

/* The first rows of sparse X, as many as some steps of a pass work on, and the transpose of these. */
struct sparse_rows {
  int64_t count;
  struct csr x, transposed; /* on the host; x is the shard's */
  struct layout *rows, *rows_masked;
  struct layout *columns, *columns_masked; /* of the transpose; NULL where no gradient is of these rows */
};

enum { SPARSE_ROWS_MOST = 8 };

struct features {
  int sparse, masked;                /* masked: input dropout is on */
  int borrowed;                      /* dense data is the shard's own memory */
  int once;                          /* only the aggregate of X is wanted, once: X stays on the host */
  double *divisor;                   /* [own] what rows are divided by as they become doubles, or NULL */
  struct tensor dense, dense_masked; /* [own, features] */
  struct sparse_rows part[SPARSE_ROWS_MOST];
  int parts;
  struct dropout dropout;
  int training; /* what the last features_forward prepared */
};

/* How rows are to be normalised where the shard reads them, as floats: not at all in fp64, where X divides
 * them once they are doubles. */
enum normalize features_normalized_as_read(const struct config *config);

/* As propagation: init, plan (twice), start. Of sparse X, the rows that steps work on are said ahead of
 * start: `count` first ones, of which a training wants products (and dropout), a gradient, or both. Calls of
 * the same count are of the same rows. */
int features_init(struct features *f, struct run *run, int once);
/* Whether dense X is the shard's own memory. */
int features_are_borrowed(const struct run *run);
int features_add_rows(struct features *f, struct run *run, int64_t count, int trains, int gradient);
void features_rows_added(struct features *f, struct run *run);
/* planned: where dense X lies, as a value of the program; NULL: in a place of its own. */
void features_plan(struct features *f, struct run *run, struct arena *arena, const struct tensor *planned);
int features_start(struct features *f, struct run *run, const int64_t *id);
void features_free(struct features *f, struct run *run);

/* Columns [first, first + cols) of X, dense, on the device: in `panel` where they are not there anyhow, which
 * is until features_release. */
int features_panel(const struct features *f, struct run *run, int64_t first, int64_t cols,
                   struct tensor panel, struct tensor *x);

/* Gives the host's memory of features back once only their aggregate is needed. */
void features_release(struct features *f, struct run *run);

/* Prepares X for a pass: draws this epoch's mask when training, of dense X in so many first rows. */
int features_forward(struct features *f, struct run *run, int training, int64_t first);

/* X of the prepared pass, dense only. */
struct tensor features_tensor(const struct features *f);

/* Bytes of sparse transposes on the host. */
int64_t features_bytes(const struct features *f);

/* y [rows, n] = X w (+ add), w [features, n], then `epilogue` (NULL: none);  dw [features, n] = X^T dy, of
 * the first rows of X, all or as features_add_rows said. `add` is y, or real where X is sparse and y is not.
 */
int features_times(const struct features *f, struct run *run, struct tensor w, struct tensor add,
                   const struct epilogue *epilogue, struct tensor y);
int features_gradient(const struct features *f, struct run *run, struct tensor dy, struct tensor dw);

#endif
