#include "partition/cut/partition_graphs.h"

#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* work[g]: nodes and arcs of all graphs before graph g; so many offsets are read at a time. */
enum { BLOCK = 1 << 20 };

static int sum_work(struct dataset *dataset, const int64_t *start, int64_t *work) {
  FREED int64_t *offset = NULL;
  TRY(memory_arrays("row offsets", ROOM(&offset, smaller(dataset->nodes, BLOCK) + 1)));
  for (int64_t first = 0, g = 0; first < dataset->nodes; first += BLOCK) {
    const int64_t rows = smaller(BLOCK, dataset->nodes - first);
    TRY(dataset_read_starts(dataset, GRAPH_ROWS, first, rows, offset));
    for (; g <= dataset->graphs && start[g] <= first + rows; g++)
      work[g] = start[g] + offset[start[g] - first];
  }
  return OK;
}

/* The graph that part p begins with: where the work before it is nearest to its share, and leaves a graph for
 * each part. */
static int64_t cut_before(const int64_t *work, int64_t graphs, int parts, int p, int64_t least) {
  const double share = (double)work[graphs] * p / parts;
  int64_t g = least;
  while (g < graphs - (parts - p) && (double)(work[g] + work[g + 1]) / 2 < share) g++;
  return g;
}

static int make(struct dataset *dataset, int parts, struct partition *partition) {
  FREED int64_t *start = NULL, *work = NULL;
  int64_t first = 0;
  if (parts > dataset->graphs)
    FAIL(BAD_INPUT, "%s has %lld graphs and cannot be cut into %d parts; allowed: 1 to the number of graphs",
         dataset->h5.path, (long long)dataset->graphs, parts);
  TRY(dataset_read_graphs(dataset, &start));
  TRY(memory_arrays("the work of graphs", ROOM(&work, dataset->graphs + 1)));
  TRY(sum_work(dataset, start, work));
  TRY(partition_init_parts(partition, parts, dataset->nodes));
  partition->chosen = ORDER_GIVEN;
  partition->graphs = dataset->graphs;
  for (int p = 0; p < parts; p++) {
    const int64_t behind = p + 1 < parts ? cut_before(work, dataset->graphs, parts, p + 1, first + 1)
                                         : dataset->graphs;
    partition->nnz[p] = work[behind] - start[behind] - (work[first] - start[first]);
    partition->offset[p + 1] = start[behind];
    first = behind;
  }
  return OK;
}

int partition_make_graphs(struct comm *comm, struct dataset *dataset, int parts,
                          struct partition *partition) {
  const double began = profile_clock();
  TRY(comm_agree(comm, make(dataset, parts, partition)));
  partition->seconds = profile_clock() - began;
  return OK;
}
