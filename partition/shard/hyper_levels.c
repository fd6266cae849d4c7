/* The parts of a hypergraph that belong to its levels, cut out of the whole. */
#include "partition/shard/hyper.h"
#include "runtime/base/base.h"

struct cutting {
  struct comm *comm;
  const struct directory *star;
  const struct levels *levels;
  struct hyper *hyper;
  int32_t *outer; /* [edges] number among the outer ones of own hyperedges in the order of the star */
};

static void cutting_free(struct cutting *c) {
  free(c->outer);
}

/* Inner and outer hyperedges each keep the order of the star. */
static int cutting_init(struct cutting *c) {
  const struct hyper *h = c->hyper;
  int64_t outer = 0;
  TRY(memory_arrays("outer hyperedges", ROOM(&c->outer, h->edges)));
  for (int64_t e = 0; e < h->edges; e++) {
    c->outer[e] = (int32_t)outer;
    outer += outer < h->outer && c->star->id[h->own + e] == h->vertices + h->edge_id[h->inner + outer];
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

/* The plan's rows keep their order, that of the whole's. */
static int add_part(const struct cutting *c, int vertex, int edge, struct hyper_part *part) {
  const struct hyper *h = c->hyper;
  struct halo *halo = &part->halo;
  TRY(comm_agree(c->comm, cut_part(c, vertex, edge, part)));
  TRY(halo_init(c->comm, c->star, halo));
  for (int64_t i = 0; i < halo->send_rows && h->travel == TRAVEL_HYPEREDGES; i++)
    halo->send_row[i] = c->outer[halo->send_row[i] - h->own];
  return comm_agree(c->comm, hyper_part_complete(h->travel, h->outer, part));
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

int hyper_add_levels(struct comm *comm, const struct directory *star, const struct levels *levels,
                     const struct shard_levels *shard, struct hyper *hyper) {
  ENDED_BY(cutting_free)
  struct cutting cutting = {.comm = comm, .star = star, .levels = levels, .hyper = hyper};
  if (shard->summed == 0) return OK;
  int code = memory_arrays("levels of a hypergraph", ROOM(&hyper->level, shard->summed));
  if (code == OK) hyper->levels = shard->summed;
  if (code == OK) code = cutting_init(&cutting);
  TRY(comm_agree(comm, code));
  for (int level = 0; level < hyper->levels; level++) TRY(add_level(&cutting, shard, level));
  return OK;
}
