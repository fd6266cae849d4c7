/* halo_relay: rows of a halo between hosts. A row travels to another host once, however many ranks need it
 * there: one rank of that host, the gateway, takes it and hands it on. The i-th rank of a host sends to the
 * i-th of the other, so that all network adapters are in use. Where rows land, and in which order, stays as
 * it is without hosts. For products with sparse matrices: A. Bienz, W. D. Gropp, L. N. Olson, "Node aware
 * sparse matrix-vector multiplication", JPDC 130, 2019. */
#ifndef PARTITION_HALO_HALO_RELAY_H
#define PARTITION_HALO_HALO_RELAY_H

#include "partition/halo/halo.h"
#include "runtime/comm/comm.h"

/* What gateways are told of the rows that come to them. From a sender: how many rows, then for each rank that
 * needs some of them its number, how many, and their places among these rows. */
struct halo_parcels {
  int32_t *words; /* by sender */
  int64_t *bytes; /* [ranks] of each */
};

/* The gateway: the rank on the host of `to` that takes rows of `from` for all of that host, in the column of
 * a grid of `cols` columns in which both stand. */
int halo_gateway(const struct comm *comm, int cols, int from, int to);

/* Collective, after halo_init, on several hosts. Adds the plan, in a grid of so many columns among the ranks
 * of each. own: rows that send_row may list. parcels: those for this rank where no other is there to send
 * them; NULL: they come. Errors: FAILED when memory is short. */
int halo_relay_init(struct comm *comm, int cols, int64_t own, const struct halo_parcels *parcels,
                    struct halo *halo);

#endif
