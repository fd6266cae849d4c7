/* adjacency: one direction of a shard's edges, divided into columns of own nodes and of halo nodes, with the
 * plan that fills the halo. */
#ifndef PARTITION_SHARD_ADJACENCY_H
#define PARTITION_SHARD_ADJACENCY_H

#include <stdint.h>

#include "partition/graph/graph.h"
#include "partition/halo/halo.h"
#include "runtime/base/csr.h"

/* Where self loops are. */
enum self_loops {
  LOOPS_APART,  /* in `self` as stored, in neither part */
  LOOPS_WITHIN, /* besides, each own row has exactly one among its entries: the stored one, else one of weight
                   1 */
};

/* Rows are own nodes, columns local ids [own | halo]. In a grid of several columns the ranks of a row have
 * the same adjacency, and own is here what they own together. */
struct adjacency {
  enum self_loops loops;
  struct csr own_part;               /* [own - late rows, own] */
  struct csr halo_part[HALO_STAGES]; /* [rows with such columns, rows of the stage], row[] names them; at
                                        first all are in the first one: column j is halo row j */
  struct csr late_part; /* [late rows, own + halo], the last rows: adjacency_delay; row NULL: they are all */
  struct halo halo;     /* the plan that fills the halo */
  uint8_t *has_halo; /* [stages, own] 1: the row has columns of that stage of the halo, or of a later one */
  float *self;       /* [own] weight of the stored self loop, NaN: none; NULL: none stored on any rank */
  int64_t making;    /* bytes, the most that were there at a time while this was made, the block included */
  float *degree;     /* [own + halo rows of this direction] row sums of weights incl. stored self loops, of
                        the forward adjacency in both directions */
};

/* Collective. Sends the edges of this rank's block to the owners of their rows (of their columns when
 * `forward` is given: the transpose of that adjacency), to all ranks of their row of the grid, and divides
 * them. The block goes as it is sent or divided, unless keep_block. */
int adjacency_init(struct comm *comm, const struct directory *directory, struct graph *block, int keep_block,
                   enum self_loops loops, const struct adjacency *forward, struct adjacency *adjacency);
void adjacency_free(struct adjacency *adjacency);

/* Moves the rows from `first` on, whole, from the other parts to the late one, whose columns from own rows'
 * number on (csr.near) are the halo's. At most once, of an adjacency from which no level borrows. Errors:
 * FAILED when memory is short; then nothing has been moved. */
int adjacency_delay(struct adjacency *adjacency, int64_t first);

/* Divides the halo part by the stages of the halo, which halo_divide has set. Not where rows are late, and at
 * most once. Errors: FAILED when memory is short; then nothing has changed. */
int adjacency_divide_halo(struct adjacency *adjacency);

/* All its rows, late ones too. */
static inline int64_t adjacency_rows(const struct adjacency *adjacency) {
  return adjacency->own_part.rows + adjacency->late_part.rows;
}
/* Bytes on the host; and of these what the halo takes: its plan, its columns and the flags of rows. */
int64_t adjacency_bytes(const struct adjacency *adjacency);
int64_t adjacency_halo_bytes(const struct adjacency *adjacency);

#endif
