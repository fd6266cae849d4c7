/* shard: the part of the graph that one rank trains. Local node ids are [own | halo]: own rows in the
 * partition's order, then halo rows grouped by owner, each group in its owner's order, so that receives land
 * in place at the tail of a feature buffer. In a grid of several columns (partition/graph/grid.h) node data
 * are of own rows as ever, the adjacencies of all rows of the part that the ranks share. */
#ifndef PARTITION_SHARD_SHARD_H
#define PARTITION_SHARD_SHARD_H

#include <stdint.h>

#include "partition/shard/adjacency.h"
#include "partition/shard/hyper.h"
#include "partition/shard/shard_graphs.h"
#include "partition/shard/shard_levels.h"
#include "runtime/base/csr.h"

enum data_kind { DATA_FEATURES, DATA_LABELS, DATA_SPLITS, DATA_KINDS };

struct shard {
  int64_t own, global_nodes;
  const int64_t *global_id; /* [own] dataset's node of each own row, of the directory, which outlives the
                               shard; further ids of halo rows are in halo.id */
  int directed;
  struct adjacency in;  /* row v lists sources u: the forward aggregation */
  struct adjacency out; /* its transpose, for the backward of directed graphs; zero when not directed */
  struct shard_levels levels;
  struct hyper hyper; /* of runs on a hypergraph; then both adjacencies are empty */
  struct shard_graphs graphs;
  /* Node data of own rows */
  int64_t features, classes;
  int sparse;
  float *feature;              /* [own, features]; NULL when sparse */
  struct csr feature_rows;     /* [own, features] when sparse */
  int32_t *label;              /* [own] or NULL */
  uint8_t *labels;             /* [own, classes] or NULL */
  int32_t *split[SPLIT_COUNT]; /* local own ids, ascending */
  int64_t split_count[SPLIT_COUNT], split_global[SPLIT_COUNT];
  uint64_t data_hash[DATA_KINDS]; /* of all nodes' as the file has them, the same on any number of ranks */
};

/* Collective. Sends this rank's block of the graph to the owners of its rows and builds [own | halo], both
 * directions when the dataset is directed; plans are checked pair by pair. `block` is freed on the way; of a
 * rank alone (runtime/comm/comm_lone.h), which has the whole graph in it, it stays. */
int shard_init(struct comm *comm, struct dataset *dataset, const struct directory *directory,
               struct graph *block, enum self_loops loops, struct shard *shard);

/* Collective. Adds the levels, by which the directory's ids must run. */
int shard_add_levels(struct comm *comm, const struct directory *directory, const struct levels *levels,
                     struct shard *shard);

/* What a rank alone (runtime/comm/comm_lone.h) has. */
struct shard_whole {
  const struct graph *graph;
  const struct levels *levels;
};

/* Collective, once the levels are there. Rows of halos travel to each host once
 * (partition/halo/halo_relay.h), where there are hosts of several ranks of a column of the grid, and all of
 * each host reach each other: near[r] of [ranks] says into whose memory this rank stores (comm_reach_find).
 * Devices that are the host need not. Of a hypergraph's halos none. whole: of a rank alone; else NULL.
 * Errors: FAILED when memory is short. */
int shard_add_relays(struct comm *comm, const struct directory *directory, const uint8_t *near,
                     const struct shard_whole *whole, struct shard *shard);

/* Collective. Features and labels of own rows: each rank reads 1/k of the rows, at most DATASET_BLOCK bytes
 * at a time, and sends them to their owners. Fills data_hash. normalize: afterwards, rows of X divided by
 * their sum (a row with sum 0 stays). Errors: what dataset_read_* say, on the rank that met it. */
int shard_read_data(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                    enum normalize normalize, struct shard *shard);
/* The same of a rank alone, but for what no size depends on: dense features stay unread, nothing is hashed.
 */
int shard_read_outline(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                       struct shard *shard);
/* Collective, after shard_read_data. Reads split number `split` in place of the one held. Errors: BAD_INPUT
 * for a node without a label or in two parts, or a name in /split that nobody reads. */
int shard_read_split(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                     int64_t split, struct shard *shard);
void shard_free(struct shard *shard);
/* Collective. data_hash of features and labels as they lie in the shard and of all splits in the file; a step
 * of shard_read_data. */
int shard_hash_data(struct comm *comm, struct dataset *dataset, struct shard *shard);

/* peer[r] of [ranks] = whether this rank exchanges rows of a halo with rank r, in whatever product. */
void shard_peers(const struct comm *comm, const struct shard *shard, uint8_t *peer);

/* Bytes that the shard holds on the host. */
int64_t shard_bytes(const struct shard *shard);
/* Bytes at the peak of building the shard, the rank's block of the graph included, the directory not. */
int64_t shard_build_bytes(const struct shard *shard);

/* Collective. Rows of own nodes (row_bytes each, in local order) to rank 0 in the dataset's order: rank 0
 * calls sink(first, count, rows, context) for consecutive blocks. */
int shard_gather_rows(struct comm *comm, const struct directory *directory, const void *rows,
                      int64_t row_bytes,
                      int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                      void *context);

#endif
