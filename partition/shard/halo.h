/* halo: which own rows each peer needs, and the exchange that brings them.
 *
 * halo_start packs the rows that peers need and starts the messages; halo_finish waits until this rank's halo
 * rows have landed in the tail of the feature buffer. Between them the own part is computed. */
#ifndef PARTITION_SHARD_HALO_H
#define PARTITION_SHARD_HALO_H

#include <stdint.h>

#include "kernels/ops/ops.h"
#include "runtime/comm/comm.h"
#include "runtime/device/arena.h"

struct halo {
  int64_t rows;        /* halo rows of this rank */
  int64_t *id;         /* [rows] their global ids */
  int peers;           /* ranks that we send to or receive from */
  int *peer;           /* [peers] ascending */
  int64_t *send_start; /* [peers + 1] into send_row */
  int64_t *recv_start; /* [peers + 1] halo rows from each peer */
  int32_t *send_row;   /* own rows to pack, host */
  int32_t *send_row_device;
  struct message *send, *recv; /* [peers] scratch of the exchange under way */
};

/* Collective. The plan that brings rows halo.id, which the caller has set (halo.rows of them, grouped by
 * owner, each group in its owner's order). owner[v]: rank of node v; local[v]: own row of an own node v;
 * global_id: the node of each own row. Both sides of every pair compare a hash of the ids that are to
 * travel. A rank alone has nobody to ask: halo_lone.h completes its plan. Errors: FAILED, naming the pair
 * that disagrees. */
int halo_init(struct comm *comm, const int32_t *owner, const int32_t *local, const int64_t *global_id,
              struct halo *halo);
void halo_free(struct halo *halo);

/* Bytes that the plan takes on the host. */
int64_t halo_bytes(const struct halo *halo);

/* Lays out the device copy of send_row and, when the arena is allocated, fills it. */
int halo_prepare(struct halo *halo, struct arena *arena);

/* Rows to pack in all: the size of the packing buffer. */
int64_t halo_send_rows(const struct halo *halo);

/* Starts messages between buffers of devices once the compute stream has come so far; what is queued behind
 * messages_finish finds them there. */
int messages_start(struct comm *comm, struct kernels *k, const struct message *sends, int send_count,
                   const struct message *recvs, int recv_count);
int messages_finish(struct comm *comm, struct kernels *k);

/* Packs own rows of x [own, width], each times its `scale` (real [own]; NULL: 1), into packed
 * [halo_send_rows, width] and starts the messages into tail [halo.rows, width], whose stride is packed's. */
int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
               struct tensor packed, struct tensor tail);
int halo_finish(struct halo *halo, struct comm *comm, struct kernels *k);

/* The same plan backwards: rows of `from` [halo.rows, width] go to their owners and arrive in `to`
 * [halo_send_rows, width], row i for own row send_row[i]. Both have one stride; halo_finish ends it. */
int halo_return_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor from,
                      struct tensor to);

/* Collective. One exchange of host rows, for set-up: tail[i] = the row of row_bytes of halo node i. */
int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail);

#endif
