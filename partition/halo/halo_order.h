/* halo_order: which ranks share a host, and in which order rows of others lie in a halo, so that those that
 * one rank of a host takes for it (halo_relay.h) lie together. */
#ifndef PARTITION_HALO_HALO_ORDER_H
#define PARTITION_HALO_HALO_ORDER_H

#include "runtime/comm/comm.h"

/* Whether there are hosts of several ranks. */
int halo_relays(const struct comm *comm);

int halo_share_host(const struct comm *comm, int a, int b);

/* The gateway: the rank on the host of `to` that takes rows of `from` for all of that host, in the column of
 * a grid of `cols` columns in which both stand. */
int halo_gateway(const struct comm *comm, int cols, int from, int to);

/* Ranks in the order in which their rows lie in a halo: those of this host; then others by their gateway
 * here. order: [size], the caller frees it. Errors: FAILED when memory is short. */
int halo_order(const struct comm *comm, int cols, int **order);

#endif
