/* parts: where the time of an epoch goes, from the profile's regions below "epoch".
 *
 * All parts but the exchange follow each other on the compute stream, so that they and what is left over add
 * up to the epoch. The exchange runs beside them; what they cannot hide of it is the wait. */
#ifndef MODELS_TRAIN_EPOCH_BREAKDOWN_H
#define MODELS_TRAIN_EPOCH_BREAKDOWN_H

#include "runtime/comm/comm.h"

enum part {
  PART_PACK,     /* gathering the rows that peers need */
  PART_EXCHANGE, /* messages on their way, from packed to received; beside the others */
  PART_WAIT,     /* the compute stream stands still for them */
  PART_OWN,      /* aggregation of own columns */
  PART_HALO,     /* of halo columns, with the end of the layer where it is fused */
  PART_GEMM,     /* products with weights, of sparse features too */
  PART_UPDATE,   /* ends of layers that are not fused, forward and backward */
  PART_LOSS,
  PART_REDUCE, /* sums over ranks */
  PART_OPTIMISER,
  PART_OTHER, /* the rest of the epoch: gaps between the parts */
  PARTS
};
extern const char *const part_name[PARTS];

/* Doubles alone: ranks are averaged by adding arrays of them. */
struct parts {
  double epochs, seconds; /* of whole epochs */
  struct {
    double seconds, bytes, flops;
  } part[PARTS];
};

/* What this rank recorded so far. */
struct parts parts_read(void);

/* Sums of `later` without those of `earlier`. */
struct parts parts_since(const struct parts *later, const struct parts *earlier);

void parts_add(struct parts *sum, const struct parts *parts);

/* Collective. Sums become averages over ranks. */
int parts_average(struct parts *parts, struct comm *comm);

/* The share of the exchange in [0, 1] during which the compute stream worked: 1 - wait / exchange; 0 without
 * an exchange. */
double parts_hidden(const struct parts *parts);

/* The shortest epoch that these parts allow, in seconds of all epochs: the exchange, packing included, beside
 * the own part, and everything else after it. Parts should have been measured without overlap. */
double parts_bound(const struct parts *parts);

/* Collective. Prints a row a part: mean ms of an epoch, the slowest rank's, share of the epoch, GB/s and
 * GFLOP/s; then the share of the exchange that was hidden. Nothing where no epoch was recorded. */
int parts_print(struct comm *comm);

#endif
