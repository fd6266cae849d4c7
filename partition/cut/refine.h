/* refine: nodes move to the part that most of their arcs lead to, while the parts keep their balance. */
#ifndef PARTITION_CUT_REFINE_H
#define PARTITION_CUT_REFINE_H

#include <stdint.h>

#include "partition/graph/coarse_graph.h"

/* count NULL: 1. Each part holds at most `balance` times the mean of count and of nnz, or what it held before
 * if that was more. Equal input, equal result, on any number of threads. */
int refine_parts(const struct coarse_graph *graph, const int64_t *count, const int64_t *nnz, int parts,
                 double balance, int32_t *part);

#endif
