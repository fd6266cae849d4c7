/* The parts of a hypergraph that belong to its levels, cut out of the whole. */
#include "partition/shard/hyper_part.h"
#include "runtime/base/base.h"

/* What is cut, and by which nodes of the star peers ask for rows that travel. */
struct cutting {
  struct comm *comm;
  const struct partition *expansion;
  const struct levels *levels;
  struct hyper *hyper;
  int32_t *local; /* [nodes of the star] the row that is sent of own vertices, or of own outer hyperedges */
  int64_t *id;    /* [of these rows] */
};

static void cutting_free(struct cutting *c) {
  free_all(c->local, c->id);
}

static int cutting_init(struct cutting *c) {
  const struct hyper *h = c->hyper;
  const int vertices = h->travel == TRAVEL_VERTICES;
  const int64_t count = vertices ? h->own : h->outer, nodes = c->expansion->nodes;
  const int64_t *own = c->expansion->order + c->expansion->offset[c->comm->rank];
  TRY(memory_arrays("rows that travel", ROOM(&c->local, nodes), ROOM(&c->id, count)));
  for (int64_t v = 0; v < nodes; v++) c->local[v] = -1;
  for (int64_t i = 0; i < count; i++) {
    c->id[i] = vertices ? own[i] : h->vertices + h->edge_id[h->inner + i];
    c->local[c->id[i]] = (int32_t)i;
  }
  return OK;
}

/* Own hyperedges [first, first + count) up to that level, the first ones. */
static int64_t edges_up_to(const struct cutting *c, int64_t first, int64_t count, int level) {
  int64_t low = first, high = first + count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (c->levels->of[c->hyper->vertices + c->hyper->edge_id[middle]] <= level)
      low = middle + 1;
    else
      high = middle;
  }
  return low - first;
}

/* Rows of the whole's `partial` whose nodes are up to that level, in columns [0, cols), where they have
 * some. */
static int cut_partial(const struct cutting *c, int level, int64_t cols, struct hyper_part *part) {
  const struct hyper_part *all = &c->hyper->all;
  const struct csr *from = &all->partial;
  int64_t rows = 0, nnz = 0;
  FREED int64_t *taken = NULL; /* [from->rows] entries */
  TRY(memory_arrays("rows that travel", ROOM(&taken, from->rows)));
  for (int64_t r = 0; r < from->rows; r++) {
    if (c->levels->of[all->halo.id[r]] > level) continue;
    taken[r] = csr_entry_from(from->col, from->start[r], from->start[r + 1], cols) - from->start[r];
    rows += taken[r] > 0;
    nnz += taken[r];
  }
  TRY(csr_init(&part->partial, rows, cols, nnz, 0));
  TRY(memory_arrays("halo ids", ROOM(&part->halo.id, rows)));
  part->halo.rows = rows;
  rows = nnz = 0;
  for (int64_t r = 0; r < from->rows; r++) {
    if (taken[r] == 0) continue;
    memcpy(part->partial.col + nnz, from->col + from->start[r], (size_t)taken[r] * sizeof *from->col);
    part->halo.id[rows++] = all->halo.id[r];
    part->partial.start[rows] = nnz += taken[r];
  }
  return OK;
}

/* part: its vertices, inner and outer are set. vertex, edge: the levels that these go up to. */
static int cut_part(const struct cutting *c, int vertex, int edge, struct hyper_part *part) {
  const struct hyper_part *all = &c->hyper->all;
  const int vertices_travel = c->hyper->travel == TRAVEL_VERTICES;
  TRY(csr_cut(&all->inner_edges, part->inner, part->vertices, &part->inner_edges));
  TRY(csr_cut(&all->outer_own, part->outer, part->vertices, &part->outer_own));
  return vertices_travel ? cut_partial(c, vertex, part->outer, part)
                         : cut_partial(c, edge, part->vertices, part);
}

static int add_part(const struct cutting *c, int vertex, int edge, struct hyper_part *part) {
  struct comm *comm = c->comm;
  TRY(comm_agree(comm, cut_part(c, vertex, edge, part)));
  TRY(halo_init(comm, c->expansion->part, c->local, c->id, &part->halo));
  return comm_agree(comm, hyper_part_complete(c->hyper, part));
}

static int add_level(const struct cutting *c, const struct shard_levels *shard, int level) {
  const struct hyper *h = c->hyper;
  const int next = shard_level_below(shard, level, shard->count);
  struct hyper_level *to = &h->level[level];
  to->rows = (struct hyper_part){.vertices = shard->of[level].rows,
                                 .inner = edges_up_to(c, 0, h->inner, level),
                                 .outer = edges_up_to(c, h->inner, h->outer, level)};
  to->all = to->rows;
  to->all.vertices = next < shard->count ? shard->of[next].rows : h->own;
  TRY(add_part(c, level, level, &to->rows));
  return add_part(c, next, level, &to->all);
}

int hyper_add_levels(struct comm *comm, const struct partition *expansion, const struct levels *levels,
                     const struct shard_levels *shard, struct hyper *hyper) {
  ENDED_BY(cutting_free)
  struct cutting cutting = {.comm = comm, .expansion = expansion, .levels = levels, .hyper = hyper};
  if (shard->summed == 0) return OK;
  int code = memory_arrays("levels of a hypergraph", ROOM(&hyper->level, shard->summed));
  if (code == OK) hyper->levels = shard->summed;
  if (code == OK) code = cutting_init(&cutting);
  TRY(comm_agree(comm, code));
  for (int level = 0; level < hyper->levels; level++) TRY(add_level(&cutting, shard, level));
  return OK;
}
