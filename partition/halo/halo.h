/* halo: which own rows each peer needs, and which rows of others this rank needs. halo_exchange.h brings
 * them. */
#ifndef PARTITION_HALO_HALO_H
#define PARTITION_HALO_HALO_H

#include <stdint.h>

#include "partition/graph/directory.h"
#include "runtime/base/tensor.h"

struct halo {
  int64_t rows;        /* halo rows of this rank */
  int64_t *id;         /* [rows] their global ids */
  int peers;           /* ranks that we send to or receive from */
  int *peer;           /* [peers] those of this host first; ascending, but for halo_order */
  int64_t *send_start; /* [peers + 1] into send_row */
  int64_t *recv_start; /* [peers + 1] halo rows from each peer */
  int32_t *send_row;   /* own rows to pack, host */
  int32_t *send_row_device;
  struct halo_relay *relay;    /* how rows travel between hosts (halo_relay.h); NULL: from rank to rank */
  struct halo_near *near;      /* peers that are stored to; NULL: all are sent messages (halo_near.h) */
  void *near_device;           /* what it keeps on the device */
  int all_near;                /* on every rank all peers are stored to: nothing travels as a message */
  struct message *send, *recv; /* [peers] scratch of the exchange under way */
};

/* The two exchanges, each of whose send_row lists rows of what came before it. */
struct halo_relay {
  struct halo across; /* own rows, to a rank of each other host; rows: what comes here to be handed on */
  struct halo within; /* those, to the ranks of this host that need them, this one among them; rows: of the
                         halo, all but the first near_rows */
  int near_peers; /* of the halo, those on this host: its first ones, which get and send rows themselves */
  int64_t near_rows, near_sends; /* halo rows from them, rows of send_row to them */
  int stored;                    /* on every rank all that stays on a host is stored; set by halo_meet */
  struct message *send, *recv;   /* [ranks] scratch */
  int under_way;                 /* an exchange by it, with rows here until halo_finish */
  struct tensor arrived, out, tail;
};

/* Collective. The plan that brings rows halo.id, which the caller has set (halo.rows of them, in any order):
 * it puts them in the order of their positions, grouped by owner, owners as peers are. In a grid a rank gets
 * them of the one in its column. Own rows are those of the directory's ids. Both sides of every pair compare
 * a hash of the ids that are to travel. A rank alone has nobody to ask: halo_lone.h completes its plan.
 * Errors: FAILED, naming the pair that disagrees. */
int halo_init(struct comm *comm, const struct directory *directory, struct halo *halo);
void halo_free(struct halo *halo);

/* Bytes that the plan takes on the host. */
int64_t halo_bytes(const struct halo *halo);

/* Rows that go to peers, each as often as it does; and rows of the packing buffer. */
int64_t halo_send_rows(const struct halo *halo);
int64_t halo_packed_rows(const struct halo *halo);

/* Lists the peers: those ranks, in the order of order[size] (NULL: ascending), to which sent[r] rows go or
 * from which received[r] come. Part of making a plan. Errors: FAILED when memory is short. */
int halo_list_peers(const struct comm *comm, const int *order, const int64_t *sent, const int64_t *received,
                    struct halo *halo);

/* One message for each of the first `peers` of them with rows to say, of rows of `data` by start (send_start
 * or recv_start); returns how many. without[peer]: leave it out; NULL: all. */
int halo_messages(const struct halo *halo, int peers, const int64_t *start, void *data, int64_t row_bytes,
                  const uint8_t *without, struct message *messages);

/* Collective. One exchange of host rows, for set-up: tail[i] = the row of row_bytes of halo node i. */
int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail);

#endif
