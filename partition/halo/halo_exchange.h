/* halo_exchange: rows of a halo on the way between devices.
 *
 * halo_start packs the rows that peers need and starts the messages, or stores them into the memory of peers
 * that are in reach; halo_finish waits until this rank's halo rows have landed in the tail of the feature
 * buffer. Between them the own part is computed. Where rows come in stages (halo_divide), those of one are
 * summed while those of the next are under way. */
#ifndef PARTITION_HALO_HALO_EXCHANGE_H
#define PARTITION_HALO_HALO_EXCHANGE_H

#include "partition/halo/halo_near.h"
#include "runtime/device/arena.h"

/* Lays out the device copy of send_row and, when the arena is allocated, fills it. */
int halo_prepare(struct halo *halo, struct arena *arena);

/* Starts messages between buffers of devices once the compute stream has come so far; what is queued behind
 * messages_finish finds them there. */
int messages_start(struct comm *comm, struct kernels *k, const struct message *sends, int send_count,
                   const struct message *recvs, int recv_count);
int messages_finish(struct comm *comm, struct kernels *k);

/* Packs own rows of x [own, width], each times its `scale` (real [own]; NULL: 1), into packed
 * [halo_packed_rows, width] and starts the messages into tail, whose stride is packed's, or any that all
 * ranks have where there are no messages (halo_landed); near peers' rows are stored there as they are. tail
 * is [halo.rows, width], and its memory has halo_landing_rows. After halo_finish of a stage its rows are
 * there, and those of the stages before; until that of the last one nothing else may use packed and tail. */
int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
               struct tensor packed, struct tensor tail);
int halo_finish(struct halo *halo, int stage, struct comm *comm, struct kernels *k);

/* The same plan backwards, of one without a relay, and at once: rows of `from` [halo.rows, width] go to their
 * owners and arrive in `to` [halo.send_rows, width], row i for own row send_row[i]. Both have one stride;
 * halo_finish of stage 0 ends it. */
int halo_return_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor from,
                      struct tensor to);

#endif
