/* halo: which own rows each peer needs, and which rows of others this rank needs. halo_exchange.h brings
 * them. */
#ifndef PARTITION_HALO_HALO_H
#define PARTITION_HALO_HALO_H

#include <stdint.h>

#include "partition/graph/directory.h"

struct halo {
  int64_t rows;        /* halo rows of this rank */
  int64_t *id;         /* [rows] their global ids */
  int peers;           /* ranks that we send to or receive from */
  int *peer;           /* [peers] ascending */
  int64_t *send_start; /* [peers + 1] into send_row */
  int64_t *recv_start; /* [peers + 1] halo rows from each peer */
  int32_t *send_row;   /* own rows to pack, host */
  int32_t *send_row_device;
  struct halo_near *near;      /* peers that are stored to; NULL: all are sent messages (halo_near.h) */
  void *near_device;           /* what it keeps on the device */
  int all_near;                /* on every rank all peers are stored to: nothing travels as a message */
  struct message *send, *recv; /* [peers] scratch of the exchange under way */
};

/* Collective. The plan that brings rows halo.id, which the caller has set (halo.rows of them, in any order):
 * it puts them in the order of their positions, grouped by owner. In a grid a rank gets them of the one in
 * its column. Own rows are those of the directory's ids. Both sides of every pair compare a hash of the ids
 * that are to travel. A rank alone has nobody to ask: halo_lone.h completes its plan. Errors: FAILED, naming
 * the pair that disagrees. */
int halo_init(struct comm *comm, const struct directory *directory, struct halo *halo);
void halo_free(struct halo *halo);

/* Bytes that the plan takes on the host. */
int64_t halo_bytes(const struct halo *halo);

/* Rows to pack in all: the size of the packing buffer. */
int64_t halo_send_rows(const struct halo *halo);

/* One message a peer with rows to say, of rows of `data` by start (send_start or recv_start); returns how
 * many. without[peer]: leave it out; NULL: all. */
int halo_messages(const struct halo *halo, const int64_t *start, void *data, int64_t row_bytes,
                  const uint8_t *without, struct message *messages);

/* Collective. One exchange of host rows, for set-up: tail[i] = the row of row_bytes of halo node i. */
int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail);

#endif
