/* heads: what a layer of graph attention keeps, from its forward for its backward. */
#ifndef MODELS_HEADS_H
#define MODELS_HEADS_H

#include "models/run.h"

struct heads {
  int64_t count, width;  /* width of each */
  int left, right;       /* parameters [count, width] */
  int beta;              /* agnn: a parameter */
  struct tensor product; /* H W beside the terms a_l . H W and a_r . H W, [own, count (width + 2)] */
  struct tensor y;       /* sums of all heads, [own, count width] */
  struct tensor positive, share, log_sum; /* see struct attention */
};

/* Whether this device and this dataset allow for attention. Errors: BAD_INPUT for a device without its
 * kernels, and for a graph with weights. */
int heads_check(const struct run *run);

#endif
