/* halo_near: peers of a halo whose devices reach this one's memory (comm_reach). Their rows are not packed
 * and sent; each stores what the others need where they need it. */
#ifndef PARTITION_HALO_HALO_NEAR_H
#define PARTITION_HALO_HALO_NEAR_H

#include "kernels/ops/ops.h"
#include "partition/halo/halo.h"

/* Where rows that arrive land: the first of them as row `before` of the matrix that begins at `data`,
 * whatever its width. data NULL: there is no such exchange. */
struct halo_landing {
  void *data;
  int64_t before;
};

struct halo_near {
  int peers;                   /* how many there are */
  int lone;                    /* the other ranks are not there */
  int blocks;                  /* of struct put */
  struct put_peer *out, *back; /* [peers] on the device: of halo_start, of halo_return_start */
  uint32_t *turn;              /* [HALO_STAGES, PUT_BLOCKS] */
  const int *ended;
  uint8_t is_near[]; /* [halo.peers] */
};

/* Bytes on the device, of all its peers. */
int64_t halo_near_bytes(const struct halo *halo);

/* Collective. From now on halo_start stores rows into the landings that near peers name here, which lie in
 * the block of `reach`; halo_return_start, likewise. Sets halo.all_near. After halo_prepare, over allocated
 * memory. Errors: FAILED where rows are handed on within a host whose devices are out of reach. */
int halo_meet(struct halo *halo, struct comm *comm, struct kernels *k, const struct comm_reach *reach,
              struct halo_landing out, struct halo_landing back);
/* From now on messages alone. */
void halo_leave(struct halo *halo);

static inline int halo_is_near(const struct halo *halo, int peer) {
  return halo->near && halo->near->is_near[peer];
}

/* Memory where rows of the halo land, as a matrix of so many columns: with the gaps of any matrix where all
 * ranks' rows are stored; messages lie as close together as they travel. */
static inline struct tensor halo_landed(const struct halo *halo, struct tensor landing, int64_t cols) {
  const struct tensor rows = tensor_rows(landing, 0, halo->rows);
  return halo->all_near ? tensor_narrowed(rows, cols) : tensor_packed(rows, cols);
}

/* Rows of an exchange: elements that each counts for, gaps included, and how far apart they land. */
struct halo_outgoing {
  struct tensor x;
  const void *scale;
  int64_t elements, stride;
  int back; /* of halo_return_start */
};

/* Puts them to near peers of stage i. */
int halo_put(const struct halo *halo, int i, struct comm *comm, struct kernels *k,
             const struct halo_outgoing *what);

#endif
