/* halo: which own rows each peer needs, and the exchange that brings them.
 *
 * halo_start packs the rows that peers need and starts the messages; halo_finish waits until this rank's halo
 * rows have landed in the tail of the feature buffer. Between them the own part is computed. */
#ifndef PARTITION_HALO_H
#define PARTITION_HALO_H

#include <stdint.h>

#include "kernels/ops.h"
#include "runtime/arena.h"
#include "runtime/comm.h"

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

void halo_free(struct halo *halo);

/* Lays out the device copy of send_row and, when the arena is allocated, fills it. */
int halo_prepare(struct halo *halo, struct arena *arena);

/* Rows to pack in all: the size of the packing buffer. */
int64_t halo_send_rows(const struct halo *halo);

/* Packs own rows of x (rows [0, own) of buffer) into packed [halo_send_rows, width] and starts the messages
 * into tail [halo.rows, width]. tail and packed are contiguous (stride = cols). */
int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, struct tensor packed,
               struct tensor tail);
int halo_finish(struct halo *halo, struct comm *comm, struct kernels *k);

#endif
