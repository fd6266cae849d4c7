/* rank_consistency: ranks that were started apart, or read copies of a file on hosts of their own, would
 * drift apart without a word: each applies its own optimiser to its own weights. */
#ifndef MODELS_TRAIN_RANK_CONSISTENCY_H
#define MODELS_TRAIN_RANK_CONSISTENCY_H

#include "runtime/comm/comm.h"
#include "runtime/config/config.h"

/* Collective. Errors: BAD_INPUT naming a rank and the first key where it differs from rank 0;
 * runtime.threads may. */
int rank_consistency_config(struct comm *comm, const struct config *config);

/* Collective. Whether the file has the same size and, in 64 places, the same bytes everywhere; every rank can
 * read it. Errors: BAD_INPUT naming file and rank. */
int rank_consistency_file(struct comm *comm, const char *path);

/* Collective. Whether all ranks chose the device of that name, and not some of them another because theirs is
 * out of order. Errors: BAD_INPUT naming a rank. */
int rank_consistency_device(struct comm *comm, const char *name);

#endif
