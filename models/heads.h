/* heads: what a layer of graph attention keeps, from its forward for its backward. */
#ifndef MODELS_HEADS_H
#define MODELS_HEADS_H

#include "models/run.h"

struct heads {
  int64_t count, width;                   /* width of each */
  int left, right;                        /* parameters [count, width] */
  int beta;                               /* agnn: a parameter */
  struct tensor message;                  /* what neighbours need, dtype: H W | the reals a_l . H W */
  struct tensor right_term;               /* a_r . H W, real [own, count] */
  struct tensor y;                        /* sums of all heads, [own, count width] */
  struct tensor positive, share, log_sum; /* see struct attention */
};

/* Whether this dataset allows for attention. Errors: BAD_INPUT for a graph with weights. */
int heads_check(const struct run *run);

#endif
