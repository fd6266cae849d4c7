/* heads: what a layer of graph attention keeps, from its forward for its backward. */
#ifndef MODELS_HEADS_H
#define MODELS_HEADS_H

#include "runtime/tensor.h"

struct heads {
  int64_t count, width;  /* width of each */
  int left, right;       /* parameters [count, width] */
  struct tensor product; /* H W beside the terms a_l . H W and a_r . H W, [own, count (width + 2)] */
  struct tensor y;       /* sums of all heads, [own, count width] */
  struct tensor positive, share, log_sum; /* see struct attention */
};

#endif
