/* cut_small: who owns which node of a graph that one rank has as a whole, found by METIS. */
#ifndef PARTITION_CUT_CUT_SMALL_H
#define PARTITION_CUT_CUT_SMALL_H

#include "partition/cut/cut_large.h"

/* part[nodes]; input->held: all rows. Errors: BAD_INPUT where METIS cannot take the graph; FAILED. */
int cut_small(struct progress *progress, const struct cut_input *input, int32_t *part);

#endif
