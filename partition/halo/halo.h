/* halo: which own rows each peer needs, and which rows of others this rank needs. halo_exchange.h brings
 * them. */
#ifndef PARTITION_HALO_HALO_H
#define PARTITION_HALO_HALO_H

#include <stdint.h>

#include "partition/graph/directory.h"
#include "runtime/base/tensor.h"

/* Rows that follow each other. */
struct halo_rows {
  int64_t first, count;
};

/* A rank that rows go to, and others come from. */
struct halo_peer {
  int rank;
  struct halo_rows sent; /* of send_row */
  struct halo_rows came; /* where they land */
};

/* Neighbouring peers whose rows travel together. */
struct halo_stage {
  int first, end;        /* of the peers */
  struct halo_rows came; /* where theirs land */
};

enum { HALO_STAGES = 2 }; /* at most */

struct halo {
  int64_t rows; /* halo rows of this rank */
  int64_t *id;  /* [rows] their global ids */
  int peers;
  struct halo_peer *peer; /* [peers] by rank, ascending */
  int stages;             /* 1: rows of all peers travel together */
  struct halo_stage stage[HALO_STAGES];
  int64_t send_rows;
  int32_t *send_row; /* [send_rows] own rows to pack, by peer, host */
  int32_t *send_row_device;
  struct halo_relay *relay;    /* how rows travel between hosts (halo_relay.h); NULL: from rank to rank */
  struct halo_near *near;      /* peers that are stored to; NULL: all are sent messages (halo_near.h) */
  void *near_device;           /* what it keeps on the device */
  const uint8_t *stored;       /* [peers] those that are stored to, not sent messages; NULL: none */
  int all_near;                /* on every rank all peers are stored to: nothing travels as a message */
  struct message *send, *recv; /* [peers] scratch of the exchange under way */
};

/* The two exchanges that rows between hosts take. */
struct halo_relay {
  struct halo first;  /* own rows, to ranks of this host and to the gateway of each other one; rows: all that
                         land, those of the halo and behind them what is to be handed on */
  struct halo second; /* these, to the ranks of this host that need them, this one among them. A peer for
                         each rank and each source of rows; send_row lists rows that have landed */
  int on_host;        /* buffers lie in host memory, and no stream waits for the first exchange: the second
                         begins in halo_finish, when the first has ended */
  struct tensor packed, landed; /* of an exchange under way, until then */
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

/* Rows of the packing buffer; and rows of the memory where rows land, those of the halo first. */
int64_t halo_packed_rows(const struct halo *halo);
int64_t halo_landing_rows(const struct halo *halo);

/* From now on rows come in two stages; `rank` of a grid of so many columns. Numbers of parts that differ in
 * the highest bit have each other in the first stage, the others in the second one (as in the steps of
 * recursive doubling: Thakur, Rabenseifner and Gropp 2005). So a pair is in the same stage on both sides, and
 * peers of a stage follow each other. On all ranks, or none; before halo_meet (halo_near.h). */
void halo_divide(struct halo *halo, int rank, int ranks, int cols);
/* What the first stage would be, or is. */
struct halo_stage halo_first_stage(const struct halo *halo, int rank, int ranks, int cols);

/* Lists the peers: ranks of [ranks] to which sent[r] rows go, or from which came[r] do, which lie in their
 * order. A step of a plan. Errors: FAILED when memory is short. */
int halo_list_peers(struct halo *halo, int ranks, const int64_t *sent, const int64_t *came);

enum halo_side { HALO_SENT, HALO_CAME };

/* One message a peer of that stage, or of all if it is NULL, with rows to say, of those rows of `data`;
 * returns how many. Peers that are stored to are left out. */
int halo_messages(const struct halo *halo, const struct halo_stage *stage, enum halo_side side, void *data,
                  int64_t row_bytes, struct message *messages);

/* Collective. One exchange of host rows, for set-up: tail[i] = the row of row_bytes of halo node i. */
int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail);

#endif
