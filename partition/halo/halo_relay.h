/* halo_relay: rows of a halo between hosts. A row travels to another host once, however many ranks need it
 * there: one rank of that host, the gateway, takes it and hands it on. The i-th rank of a host sends to the
 * i-th of the other, so that all network adapters are in use. For products with sparse matrices: A. Bienz, W.
 * D. Gropp, L. N. Olson, "Node aware sparse matrix-vector multiplication", JPDC 130, 2019. */
#ifndef PARTITION_HALO_HALO_RELAY_H
#define PARTITION_HALO_HALO_RELAY_H

#include "partition/halo/halo.h"
#include "runtime/comm/comm.h"

/* Collective, after halo_init. Makes the plan, in a grid of so many columns among the ranks of each; nothing
 * where halo_relays is 0. own: rows that send_row may list. Errors: FAILED when memory is short. */
int halo_relay_init(struct comm *comm, int cols, int64_t own, struct halo *halo);

#endif
