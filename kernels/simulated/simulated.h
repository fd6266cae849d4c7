/* simulated: the tables of a GPU that is not there (runtime/device/device_simulated.c). An op sets its clock
 * forward by what the cost model says of it, and computes nothing. */
#ifndef KERNELS_SIMULATED_SIMULATED_H
#define KERNELS_SIMULATED_SIMULATED_H

#include "kernels/cost/cost_windows.h"
#include "kernels/format/layout.h"
#include "kernels/ops/sparse.h"

struct simulated_layout {
  struct layout base;
  struct density density; /* of the whole matrix */
  struct cost_rows rows;
  struct window_choice windows;
  int attends;         /* it is for attention, not for products */
  int64_t merged_rows; /* of windows with tiles */
  void *block;         /* the device's memory that it takes */
};

/* The work of the op at hand as one pass over matrices. */
int simulated_pass(struct kernels *k);

/* An op that is no more than that. */
#define SIMULATED_PASS(name, type)                            \
  static int name(struct kernels *k, const struct type *op) { \
    (void)op;                                                 \
    return simulated_pass(k);                                 \
  }

int simulated_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct layout **made);
int simulated_layout_share(struct kernels *k, const struct layout *from, struct layout **made);
void simulated_layout_free(struct kernels *k, struct layout *layout);

extern const struct attention_ops simulated_attention_ops;
extern const struct elementwise_ops simulated_elementwise_ops;
extern const struct gemm_ops simulated_gemm_ops;
extern const struct loss_ops simulated_loss_ops;
extern const struct optimizer_ops simulated_optimizer_ops;
extern const struct reduce_ops simulated_reduce_ops;
extern const struct sparse_ops simulated_sparse_ops;

#endif
