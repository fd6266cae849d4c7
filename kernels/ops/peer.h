/* peer: the same products by another library on the same device, for gnnbench to measure beside ours. */
#ifndef KERNELS_OPS_PEER_H
#define KERNELS_OPS_PEER_H

#include "kernels/ops/ops.h"
#include "runtime/base/csr.h"

struct peer_ops {
  const char *name;
  const char *device;                                               /* whose tensors it takes */
  int algorithms;                                                   /* among which the fastest counts */
  int (*open)(struct kernels *k, const struct csr *m, void **peer); /* the matrix on the device */
  void (*close)(struct kernels *k, void *peer);                     /* NULL is fine */
  /* Makes ready for y = m x, preprocessing included. *able: this algorithm can do it. */
  int (*prepare)(struct kernels *k, void *peer, int algorithm, struct tensor x, struct tensor y, int *able);
  int (*run)(struct kernels *k, const void *peer); /* y = m x as prepared */
  /* The same of x_v . y_u for its entries (v, u), which take the place of its values; by one algorithm. */
  int (*prepare_scores)(struct kernels *k, void *peer, struct tensor x, struct tensor y, int *able);
  int (*run_scores)(struct kernels *k, const void *peer);
};

#endif
