#include "partition/cut/partition_ahead.h"

#include <dirent.h>
#include <math.h>

#include "io/file/path_check.h"
#include "partition/cut/cut_large.h"
#include "partition/graph/coarse_graph.h"
#include "partition/graph/metis.h"
#include "partition/multilevel/multilevel.h"
#include "partition/multilevel/scotch.h"
#include "partition/order/order.h"
#include "runtime/base/base.h"

/* Nodes and arcs of what is cut; of the symmetric pattern, which a directed graph may need twice the arcs
 * for. */
struct size {
  int64_t nodes, arcs, pattern;
  int directed;
};

static struct size size_of(const struct dataset *dataset, int hypergraph) {
  if (hypergraph)
    return (struct size){dataset->nodes + dataset->hyperedges, dataset->incidences, 2 * dataset->incidences,
                         1};
  int64_t pattern = dataset->directed ? 2 * dataset->edges : dataset->edges;
  return (struct size){dataset->nodes, dataset->edges, pattern, dataset->directed};
}

static int is_cut(const struct config *config, int parts) {
  const enum partition_method method = config->partition.method;
  return parts > 1 && (method == PARTITION_METIS || method == PARTITION_SCOTCH);
}

/* Whether a file in that folder begins so. */
static int has_file(const char *folder, const char *prefix) {
  DIR *dir = opendir(folder);
  int found = 0;
  for (const struct dirent *entry; dir && !found && (entry = readdir(dir));)
    found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  if (dir) closedir(dir);
  return found;
}

/* Which graph it is of is not known yet. */
static int may_be_kept(const struct config *config, const struct dataset *dataset, int parts) {
  char prefix[64], beside[sizeof dataset->h5.path + 16], folder[CONFIG_TEXT + 16];
  snprintf(prefix, sizeof prefix, "%s-%d-", partition_method_name[config->partition.method], parts);
  snprintf(beside, sizeof beside, "%s.parts", dataset->h5.path);
  snprintf(folder, sizeof folder, "%s/parts", config->log.dir);
  return (dataset_file(dataset) && has_file(beside, prefix)) || has_file(folder, prefix);
}

/* The file of method "file". */
static int check_file(const struct config *config, int parts) {
  if (parts == 1 || config->partition.method != PARTITION_FILE) return OK;
  if (config->partition.file[0]) return path_check_readable(config->partition.file);
  FAIL(BAD_INPUT, "partition.method \"file\" takes the parts of a file: set %s", "partition.file");
}

int partition_check_parts(const struct dataset *dataset, int parts, const char *nodes) {
  if (parts < 1 || parts > dataset->nodes)
    FAIL(BAD_INPUT, "%s has %lld %s and cannot be cut into %d parts; allowed: 1 to the number of %s",
         dataset->h5.path, (long long)dataset->nodes, nodes, parts, nodes);
  return OK;
}

/* Surely there: in the pattern all non-zeros but the loops are, and both ways of an incidence. Owners are no
 * matter: METIS gets no more of a graph than it can take. What several parts have of it is not known yet. */
int partition_check_ahead(const struct config *config, const struct dataset *dataset, int hypergraph,
                          int parts) {
  struct size size = size_of(dataset, hypergraph);
  TRY(partition_check_parts(dataset, parts, hypergraph ? "vertices" : "nodes"));
  TRY(check_file(config, parts));
  if (parts > 1 && config->partition.method == PARTITION_SCOTCH) TRY(scotch_takes(size.pattern));
  if (config->partition.order != ORDER_METIS || parts > 1 || may_be_kept(config, dataset, parts)) return OK;
  return metis_fits(size.nodes, hypergraph ? size.pattern : size.arcs - size.nodes, dataset->h5.path);
}

/* What a rank orders: its parts, and the rows that these receive. */
struct share {
  struct size size;
  int64_t halo;
};

static struct share share_of(const struct size *size, const struct partition *made, int rank, int ranks) {
  const int parts = made->grid.rows, first = (int)graph_block(parts, ranks, rank),
            behind = (int)graph_block(parts, ranks, rank + 1);
  const double part = (double)(behind - first) / parts;
  struct share share = {{llround(part * (double)size->nodes), llround(part * (double)size->arcs),
                         llround(part * (double)size->pattern), size->directed},
                        0};
  for (int p = first; p < behind; p++) share.halo += made->halo[(int64_t)p * made->grid.cols];
  return share;
}

/* Of the search for an order. loa-cluster begins with clusters; loa sees the arcs of a part from both ends.
 */
static int64_t order_bytes(const struct config *config, const struct share *share,
                           const struct partition *made) {
  enum { CLUSTER_NODE = 80, NODE = 25, LOA_ROW = 30, LOA_COLUMN = 60, LOA_ARC = 10 };
  const struct size *size = &share->size;
  int tried = made->tried | 1 << made->chosen;
  int64_t sample = smaller(size->nodes * COARSE_GRAPH_SAMPLE, size->pattern);
  if (config->partition.order == ORDER_METIS) return metis_bytes(size->nodes, size->pattern);
  if (config->partition.order == ORDER_LOA)
    return (size->nodes + share->halo) * LOA_COLUMN + size->nodes * LOA_ROW + size->arcs * LOA_ARC;
  if (tried & (1 << ORDER_CLUSTER | 1 << ORDER_LOA_CLUSTER))
    return sample * (int64_t)sizeof(int32_t) + size->nodes * CLUSTER_NODE;
  return size->nodes * NODE;
}

/* Rows that come to a rank, where they begin, their ids, numbers and parts; and ids, numbers and places of
 * the rows that its parts receive. */
static int64_t rows_bytes(const struct size *size, int64_t halo) {
  enum { NODE = 44, HALO = 20 };
  return size->nodes * NODE + size->arcs * (int64_t)sizeof(int32_t) + halo * HALO;
}

static int64_t pattern_bytes(const struct size *size) {
  return size->nodes * (int64_t)sizeof(int64_t) + size->pattern * (int64_t)sizeof(int32_t);
}

/* Of finding owners of a large graph, by all ranks. */
static int64_t large_bytes(const struct size *size, int parts, int rank, int ranks) {
  return cut_large_bytes(size->nodes, size->pattern, size->directed, ranks) +
         (rank == 0 ? multilevel_divide_bytes(size->nodes, size->pattern, parts) : 0);
}

/* Of a small one, by rank 0, to which all rows come where there are more. */
static int64_t small_bytes(const struct size *size, int hypergraph, int rank, int ranks) {
  const int counts = hypergraph ? 2 : 1;
  if (rank > 0) return 0;
  return (ranks > 1 || hypergraph ? rows_bytes(size, 0) : 0) + pattern_bytes(size) +
         counts * size->nodes * (int64_t)sizeof(int64_t) + metis_bytes(size->nodes, size->pattern);
}

/* Whether nodes stand as the file has them, and nobody lists them. */
static int is_unlisted(const struct config *config, const struct dataset *dataset, int hypergraph, int ranks,
                       const struct partition *made) {
  return dataset->graphs > 0 ||
         (!hypergraph && ranks > 1 && made->grid.rows == ranks &&
          config->partition.method == PARTITION_BLOCK && config->partition.order == ORDER_GIVEN);
}

int64_t partition_making_bytes(const struct config *config, const struct dataset *dataset, int hypergraph,
                               int rank, int ranks, const struct partition *made) {
  const struct size size = size_of(dataset, hypergraph);
  const enum node_order order = config->partition.order;
  const int parts = made->grid.rows,
            large = config->partition.method == PARTITION_SCOTCH ||
                    multilevel_takes(size.arcs, size.directed),
            divided = parts == 1 || config->partition.method == PARTITION_BLOCK;
  const int64_t graph = size.nodes * (int64_t)sizeof(int64_t) +
                        size.arcs * (!hypergraph && dataset->weighted ? 8 : 4);
  const struct share share = share_of(&size, made, rank, ranks);
  const int64_t listed = is_unlisted(config, dataset, hypergraph, ranks, made)
                             ? 0
                             : size.nodes * (int64_t)sizeof *made->part / ranks +
                                   share.size.nodes * (int64_t)sizeof *made->order;
  if (made->cached || (!hypergraph && divided && order == ORDER_GIVEN)) return listed + graph / ranks;
  const int order_wants = order == ORDER_METIS || (size.directed && order_needs_pattern(order));
  const int64_t owning = !is_cut(config, parts) ? 0
                         : large                ? large_bytes(&size, parts, rank, ranks)
                                                : small_bytes(&size, hypergraph, rank, ranks);
  const int64_t ordering = (ranks > 1 || hypergraph ? rows_bytes(&share.size, share.halo) : 0) +
                           order_bytes(config, &share, made) + (order_wants ? pattern_bytes(&share.size) : 0);
  return listed + graph / ranks + larger(owning, ordering);
}
