/* gnnbench_cliques: a union of cliques to measure on, as of people who work together in groups. */
#ifndef LAUNCH_BENCH_INPUT_GNNBENCH_CLIQUES_H
#define LAUNCH_BENCH_INPUT_GNNBENCH_CLIQUES_H

#include "runtime/base/csr.h"

/* Cliques of `least` to `most` consecutive nodes, whose sizes s are drawn from s^-power (power not 1). */
struct cliques {
  int64_t count, least, most;
  double power;
};
int bench_cliques(const struct cliques *cliques, struct csr *m);

#endif
