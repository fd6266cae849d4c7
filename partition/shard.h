/* shard: the part of the graph that one rank trains. Local node ids are [own | halo]: own rows in the
 * partition's order, then halo rows grouped by owner, each group in its owner's order, so that receives land
 * in place at the tail of a feature buffer. */
#ifndef PARTITION_SHARD_H
#define PARTITION_SHARD_H

#include <stdint.h>

#include "partition/halo.h"
#include "partition/partition.h"
#include "runtime/csr.h"

/* One direction of the adjacency: rows are own nodes, columns local ids.
 * Stored self loops are taken out of both parts and kept in `self`. */
struct adjacency {
  struct csr own_part;  /* [own, own] */
  struct csr halo_part; /* [rows with halo, halo], row[] names them; column j is halo row j */
  struct halo halo;     /* the plan that fills the halo */
  uint8_t *unfinished;  /* [own] 1: the row has halo columns */
  float *self;          /* [own] weight of the stored self loop, 0: none; NULL: none stored anywhere */
  float *degree;        /* [own + halo of the forward direction] row sums of weights incl. stored self loops;
                           of the forward adjacency */
};

struct shard {
  int64_t own, global_nodes, global_edges;
  int64_t *global_id; /* [own] dataset's node of each own row; further ids of halo rows are in halo.id */
  int directed;
  struct adjacency in;  /* row v lists sources u: the forward aggregation */
  struct adjacency out; /* its transpose, for the backward of directed graphs; zero when not directed */
  /* Node data of own rows */
  int64_t features, classes;
  int sparse;
  float *feature;              /* [own, features]; NULL when sparse */
  struct csr feature_rows;     /* [own, features] when sparse */
  int32_t *label;              /* [own] or NULL */
  uint8_t *labels;             /* [own, classes] or NULL */
  int32_t *split[SPLIT_COUNT]; /* local own ids, ascending */
  int64_t split_count[SPLIT_COUNT], split_global[SPLIT_COUNT];
};

/* Collective. Sends this rank's block of the graph to the owners of its rows and builds [own | halo], both
 * directions when the dataset is directed; plans are checked pair by pair. `block` is freed on the way. */
int shard_init(struct comm *comm, struct dataset *dataset, const struct partition *partition,
               struct graph *block, struct shard *shard);

/* Collective. Features, labels and split `split` of own rows: each rank reads 1/k of the rows, at most
 * DATASET_BLOCK bytes at a time, and sends them to their owners. normalize: rows of X scaled to sum 1. */
int shard_read_data(struct comm *comm, struct dataset *dataset, const struct partition *partition,
                    enum normalize normalize, struct shard *shard);
/* Collective. Replaces the split. */
int shard_read_split(struct comm *comm, struct dataset *dataset, const struct partition *partition,
                     int64_t split, struct shard *shard);
void shard_free(struct shard *shard);

/* Bytes by part, for the estimate; `transient` is what building needs on top at its peak. */
int64_t shard_bytes(const struct shard *shard);

/* Collective. Rows of own nodes (row_bytes each, in local order) to rank 0 in the dataset's order: rank 0
 * calls sink(first, count, rows, context) for consecutive blocks. */
int shard_gather_rows(struct comm *comm, const struct partition *partition, const void *rows,
                      int64_t row_bytes,
                      int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                      void *context);

#endif
