/* epoch_breakdown: where the time of an epoch goes, from the profile's regions below "epoch".
 *
 * All parts but the exchange follow each other on the compute stream, so that they and what is left over add
 * up to the epoch. The exchange runs beside them; what they cannot hide of it is the wait. */
#ifndef MODELS_TRAIN_EPOCH_BREAKDOWN_H
#define MODELS_TRAIN_EPOCH_BREAKDOWN_H

#include "runtime/comm/comm.h"

enum epoch_part {
  EPOCH_PACK,     /* gathering the rows that peers need */
  EPOCH_EXCHANGE, /* messages on their way, from packed to received; beside the others */
  EPOCH_WAIT,     /* the compute stream stands still for them */
  EPOCH_OWN,      /* aggregation of own columns */
  EPOCH_HALO,     /* of halo columns, with the epilogue of the layer where it is fused */
  EPOCH_GEMM,     /* products with weights, of sparse features too */
  EPOCH_EPILOGUE, /* epilogues of layers that are not fused, forward and backward */
  EPOCH_LOSS,
  EPOCH_REDUCE, /* sums over ranks */
  EPOCH_OPTIMISER,
  EPOCH_OTHER, /* the rest of the epoch: gaps between the parts */
  EPOCH_PARTS
};
extern const char *const epoch_part_name[EPOCH_PARTS];

/* Doubles alone: ranks are averaged by adding arrays of them. */
struct epoch_breakdown {
  double epochs, seconds; /* of whole epochs */
  struct {
    double seconds, bytes, flops;
  } part[EPOCH_PARTS];
};

/* What this rank recorded so far. */
struct epoch_breakdown epoch_breakdown_read(void);

/* Sums of `later` without those of `earlier`. */
struct epoch_breakdown epoch_breakdown_since(const struct epoch_breakdown *later,
                                             const struct epoch_breakdown *earlier);

void epoch_breakdown_add(struct epoch_breakdown *sum, const struct epoch_breakdown *parts);

/* Collective. Sums become averages over ranks; those of a rank alone are its own. */
int epoch_breakdown_average(struct epoch_breakdown *parts, struct comm *comm);

/* The share of the exchange in [0, 1] during which the compute stream worked: 1 - wait / exchange; 0 without
 * an exchange. */
double epoch_breakdown_hidden(const struct epoch_breakdown *parts);

/* The shortest epoch that these parts allow, in seconds of all epochs: the exchange, packing included, beside
 * the own part, and everything else after it. Parts should have been measured without overlap. */
double epoch_breakdown_bound(const struct epoch_breakdown *parts);

/* Collective. Prints a row a part: mean ms of an epoch, the slowest rank's, share of the epoch, GB/s and
 * GFLOP/s; then the share of the exchange that was hidden. Nothing where no epoch was recorded. */
int epoch_breakdown_print(struct comm *comm);

#endif
