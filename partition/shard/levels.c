#include "partition/shard/levels.h"

#include <omp.h>

#include "runtime/base/base.h"

enum { UNREACHED = UINT8_MAX, BLOCK = 1 << 20 }; /* BLOCK: nodes whose marks the ranks exchange at a time */

static const double NEARLY_ALL = .9;

void levels_free(struct levels *levels) {
  free(levels->of);
  *levels = (struct levels){0};
}

void levels_forget_nodes(struct levels *levels) {
  free(levels->of);
  levels->of = NULL;
}

static int mark_part(struct dataset *dataset, int64_t split, enum split part, uint8_t level, uint8_t *of) {
  FREED int64_t *node = NULL;
  int64_t count = 0;
  TRY(dataset_read_split(dataset, split, part, &node, &count));
  for (int64_t i = 0; i < count; i++)
    if (of[node[i]] == UNREACHED) of[node[i]] = level;
  return OK;
}

/* Training nodes, and those that an evaluation asks for, too; `all`: hyperedges among them. */
static int mark_split(struct dataset *dataset, int64_t all, int64_t split, struct levels *levels) {
  TRY(memory_arrays("levels of nodes", ROOM(&levels->of, all)));
  memset(levels->of, UNREACHED, (size_t)all);
  TRY(mark_part(dataset, split, SPLIT_TRAIN, 0, levels->of));
  for (int part = SPLIT_TRAIN + 1; part < SPLIT_COUNT && levels->stride == 2; part++)
    TRY(mark_part(dataset, split, (enum split)part, 1, levels->of));
  return OK;
}

/* Sources of this rank's rows of the level a hop above. Several threads may mark the same node. */
static void mark_sources(const struct graph *block, uint8_t level, int stride, uint8_t *of) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < block->rows; i++) {
    if (__atomic_load_n(of + block->first + i, __ATOMIC_RELAXED) != level - stride) continue;
    for (int64_t e = block->start[i]; e < block->start[i + 1]; e++) {
      uint8_t *source = of + block->col[e];
      if (__atomic_load_n(source, __ATOMIC_RELAXED) == UNREACHED)
        __atomic_store_n(source, level, __ATOMIC_RELAXED);
    }
  }
}

/* This rank's hyperedges that have a vertex of that level, and none of one before it. */
static void mark_hyperedges(const struct graph *block, uint8_t level, uint8_t *of) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < block->rows; i++) {
    uint8_t *hyperedge = of + block->first + i;
    for (int64_t e = block->start[i]; *hyperedge == UNREACHED && e < block->start[i + 1]; e++)
      if (of[block->col[e]] == level) *hyperedge = level;
  }
}

/* A bit a node says which ones this rank has marked. mine, all: of one rank, of all of them. */
static int exchange_block(struct comm *comm, uint8_t level, uint8_t *of, int64_t nodes, uint8_t *mine,
                          uint8_t *all) {
  const int64_t bytes = (nodes + 7) / 8;
  memset(mine, 0, (size_t)bytes);
  for (int64_t v = 0; v < nodes; v++) mine[v / 8] |= (uint8_t)((of[v] == level) << v % 8);
  TRY(comm_gather_all(comm, mine, bytes, all));
  for (int r = 0; r < comm->size; r++)
    for (int64_t v = 0; v < nodes; v++)
      if (all[r * bytes + v / 8] >> v % 8 & 1) of[v] = level;
  return OK;
}

/* Every rank gets to know what the others have marked. */
static int exchange_marks(struct comm *comm, uint8_t level, uint8_t *of, int64_t nodes) {
  const int64_t bytes = smaller(nodes, BLOCK) / 8 + 1;
  FREED uint8_t *mine = NULL, *all = NULL;
  if (comm->size == 1) return OK;
  TRY(comm_agree(comm, memory_arrays("marks of nodes", ROOM(&mine, bytes), ROOM(&all, bytes * comm->size))));
  for (int64_t first = 0; first < nodes; first += BLOCK)
    TRY(exchange_block(comm, level, of + first, smaller(BLOCK, nodes - first), mine, all));
  return OK;
}

/* What levels are found in: this rank's rows of a graph, or hyperedges of a star; its vertices come first. */
struct search {
  struct comm *comm;
  const struct graph *block;
  int64_t vertices;
};

static int is_star(const struct search *search) {
  return search->vertices < search->block->nodes;
}

/* Marks what is in that level. */
static int mark_level(const struct search *search, uint8_t level, const struct levels *levels) {
  const int64_t vertices = search->vertices, behind = search->block->nodes - vertices;
  if (level >= levels->stride) {
    mark_sources(search->block, level, levels->stride, levels->of);
    TRY(exchange_marks(search->comm, level, levels->of, vertices));
  }
  if (!is_star(search)) return OK;
  mark_hyperedges(search->block, level, levels->of);
  return exchange_marks(search->comm, level, levels->of + vertices, behind);
}

/* Entries of a row that a product up to that level reads: on the way to the row, and of a hyperedge on the
 * way back to its vertices. */
static int64_t entries_of(const struct search *search, int64_t row, int level, const uint8_t *of) {
  const struct graph *block = search->block;
  int64_t count = of[block->first + row] <= level ? block->start[row + 1] - block->start[row] : 0;
  for (int64_t e = block->start[row]; is_star(search) && e < block->start[row + 1]; e++)
    count += of[block->col[e]] <= level;
  return count;
}

/* Shares of the nodes up to that level, and of the arcs. */
static int measure(const struct search *search, int level, struct levels *levels) {
  const struct graph *block = search->block;
  const struct comm *comm = search->comm;
  const int64_t last = graph_block(search->vertices, comm->size, comm->rank + 1);
  int64_t nodes = 0, arcs = 0;
#pragma omp parallel for schedule(static) reduction(+ : nodes)
  for (int64_t v = graph_block(search->vertices, comm->size, comm->rank); v < last; v++)
    nodes += levels->of[v] <= level;
#pragma omp parallel for schedule(static) reduction(+ : arcs)
  for (int64_t i = 0; i < block->rows; i++) arcs += entries_of(search, i, level, levels->of);
  int64_t sum[] = {nodes, arcs, block->edges << is_star(search)}; /* the last: of all arcs */
  TRY(comm_reduce(search->comm, sum, 3, NUMBER_INT64, REDUCE_SUM));
  levels->rows[level] = (double)sum[0] / (double)search->vertices;
  levels->arcs[level] = sum[2] > 0 ? (double)sum[1] / (double)sum[2] : 1;
  return OK;
}

int levels_find(struct comm *comm, struct dataset *dataset, const struct graph *block, int64_t split,
                int64_t most, int64_t sums, int stride, struct levels *levels) {
  const struct search search = {comm, block, dataset->nodes};
  levels->stride = stride;
  levels->vertices = dataset->nodes;
  TRY(comm_agree(comm, mark_split(dataset, block->nodes, split, levels)));
  while (levels->count < smaller(most * stride, LEVELS_MOST)) {
    const uint8_t level = (uint8_t)levels->count;
    TRY(mark_level(&search, level, levels));
    TRY(measure(&search, level, levels));
    levels->closed = level >= stride && levels->rows[level] == levels->rows[level - stride];
    if (levels->closed || levels->rows[level] > NEARLY_ALL) break;
    levels->count++;
  }
  levels->summed = (int)smaller(sums * stride, levels->count);
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < block->nodes; v++)
    if (levels->of[v] > levels->count) levels->of[v] = (uint8_t)levels->count;
  return OK;
}

static double arcs_at(const struct levels *levels, int64_t level) {
  if (level < levels->count) return levels->arcs[level];
  return levels->closed ? levels->arcs[levels->count - 1] : 1;
}

double levels_share(const struct levels *levels, int first, int64_t most, int64_t sums, double top) {
  double work = 0, all = 0;
  if (sums == 0) return levels->count > first ? levels->rows[first] : 1;
  for (int64_t h = 0; h < sums; h++) {
    const double width = h == 0 ? top : 1;
    work += width * (h < most ? arcs_at(levels, first + h * levels->stride) : 1);
    all += width;
  }
  return work / all;
}

/* Behind the nodes of the loss stand all that an evaluation needs one hop further up. */
double levels_added(const struct levels *levels, int64_t most, int64_t sums, double top) {
  double work = 0, all = top;
  for (int64_t h = 1; h < sums; h++, all++)
    if (levels->stride == 2 && h < most) work += arcs_at(levels, 2 * h - 1);
  return work / all;
}

/* Whether the sum h hops below the loss has rows of that level. */
static int is_summed(const struct levels *levels, int64_t most, int64_t hops, int level) {
  if (hops < most && hops * levels->stride < levels->count) return level <= hops * levels->stride;
  return !levels->closed || hops >= most || level < levels->count;
}

struct row_work levels_work(const struct levels *levels, int64_t most, int64_t sums, double top) {
  enum { LEAST = 8 }; /* of all sums, one in so many */
  struct row_work work = {.level = levels->of};
  int64_t topmost = larger(1, (int64_t)(top * ROW_WORK_SUM)), all = topmost + (sums - 1) * ROW_WORK_SUM;
  for (int level = 0; level <= levels->count; level++) {
    work.times[level] = all / LEAST;
    for (int64_t h = 0; h < sums; h++)
      if (is_summed(levels, most, h, level)) work.times[level] += h ? ROW_WORK_SUM : topmost;
  }
  return work;
}

enum { SORTS = 2 * (LEVELS_MOST + 1) };

/* Hyperedges of all levels stand behind the vertices. */
static int sort_of(const struct levels *levels, int64_t node) {
  return levels->of[node] + (node < levels->vertices ? 0 : LEVELS_MOST + 1);
}

/* Each thread moves a piece: level by level to where those before it, and pieces before its own, end. */
static void order_part(const struct levels *levels, int64_t *order, int64_t nodes, int64_t *scratch,
                       int64_t (*at)[SORTS]) {
  const int pieces = omp_get_max_threads();
  memset(at, 0, (size_t)pieces * sizeof *at);
#pragma omp parallel for schedule(static, 1)
  for (int p = 0; p < pieces; p++)
    for (int64_t i = graph_block(nodes, pieces, p); i < graph_block(nodes, pieces, p + 1); i++)
      at[p][sort_of(levels, order[i])]++;
  int64_t next = 0;
  for (int sort = 0; sort < SORTS; sort++) {
    for (int p = 0; p < pieces; p++) {
      const int64_t count = at[p][sort];
      at[p][sort] = next;
      next += count;
    }
  }
#pragma omp parallel for schedule(static, 1)
  for (int p = 0; p < pieces; p++)
    for (int64_t i = graph_block(nodes, pieces, p); i < graph_block(nodes, pieces, p + 1); i++)
      scratch[at[p][sort_of(levels, order[i])]++] = order[i];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < nodes; i++) order[i] = scratch[i];
}

int levels_order(const struct levels *levels, int parts, const int64_t *offset, int64_t *order) {
  FREED int64_t *scratch = NULL;
  FREED int64_t(*at)[SORTS] = NULL;
  int64_t most = 0;
  for (int p = 0; p < parts; p++) most = larger(most, offset[p + 1] - offset[p]);
  TRY(memory_arrays("an order by levels", ROOM(&scratch, most), ROOM(&at, omp_get_max_threads())));
  for (int p = 0; p < parts; p++)
    order_part(levels, order + offset[p], offset[p + 1] - offset[p], scratch, at);
  return OK;
}
