#include "partition/multilevel/pattern_block.h"

#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

struct arc {
  int32_t row, col;
};

struct spreading {
  const struct graph *held;
  int64_t row, edge;
  int back; /* the arc went to the owner of its row already */
  struct arc *arc;
  int64_t arcs, room;
};

static void spreading_free(struct spreading *s) {
  free(s->arc);
}

static int put(struct row_shuffle *shuffle, const struct graph *held, int64_t row, int64_t col) {
  struct arc *arc = row_shuffle_put(shuffle, graph_block_of(held->nodes, shuffle->comm->size, row));
  if (arc) *arc = (struct arc){(int32_t)row, (int32_t)col};
  return arc != NULL;
}

static int send_arcs(struct row_shuffle *shuffle, void *context) {
  struct spreading *s = context;
  const struct graph *held = s->held;
  for (; s->row < held->rows; s->row++) {
    const int64_t row = held->first + s->row;
    for (; s->edge < held->start[s->row + 1]; s->edge++) {
      const int32_t col = held->col[s->edge];
      if (row == col) continue;
      if (!s->back && !put(shuffle, held, row, col)) return OK;
      s->back = 1;
      if (!put(shuffle, held, col, row)) return OK;
      s->back = 0;
    }
  }
  shuffle->ended = 1;
  return OK;
}

static int take_arcs(const void *records, int64_t count, void *context) {
  struct spreading *s = context;
  const int64_t bytes = sizeof *s->arc;
  if (s->arcs + count > s->room) {
    s->room = larger(s->arcs + count, s->room + s->room / 2);
    TRY(memory_grow(&s->arc, s->arcs * bytes, s->room * bytes, "arcs of a pattern"));
  }
  memcpy(s->arc + s->arcs, records, (size_t)(count * bytes));
  s->arcs += count;
  return OK;
}

/* Arcs by row, whatever their order. */
static int group_arcs(const struct spreading *s, int64_t first, struct csr *pattern) {
  FREED int64_t *next = NULL;
  TRY(memory_arrays("pattern of the graph", ROOM(&pattern->start, pattern->rows + 1),
                    ROOM(&next, pattern->rows), ROOM(&pattern->col, s->arcs)));
  for (int64_t i = 0; i < s->arcs; i++) pattern->start[s->arc[i].row - first + 1]++;
  for (int64_t v = 0; v < pattern->rows; v++) {
    next[v] = pattern->start[v];
    pattern->start[v + 1] += pattern->start[v];
  }
  for (int64_t i = 0; i < s->arcs; i++) pattern->col[next[s->arc[i].row - first]++] = s->arc[i].col;
  return OK;
}

/* Rows ascend, and what both directions have is there once. */
static int sort_rows(struct csr *pattern) {
  FREED int64_t *length = NULL;
  TRY(memory_arrays("row lengths", ROOM(&length, pattern->rows)));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < pattern->rows; v++)
    length[v] = sort_distinct(pattern->col + pattern->start[v], pattern->start[v + 1] - pattern->start[v]);
  int64_t kept = 0;
  for (int64_t v = 0; v < pattern->rows; v++) {
    memmove(pattern->col + kept, pattern->col + pattern->start[v], (size_t)length[v] * sizeof *pattern->col);
    pattern->start[v] = kept;
    kept += length[v];
  }
  pattern->start[pattern->rows] = pattern->nnz = kept;
  return OK;
}

static int make_rows(const struct comm *comm, struct spreading *s, struct csr *pattern) {
  const int64_t nodes = s->held->nodes, first = graph_block(nodes, comm->size, comm->rank);
  *pattern = (struct csr){.rows = graph_block(nodes, comm->size, comm->rank + 1) - first, .cols = nodes};
  TRY(group_arcs(s, first, pattern));
  spreading_free(s);
  s->arc = NULL;
  return sort_rows(pattern);
}

int pattern_block(struct comm *comm, const struct graph *held, struct csr *pattern) {
  ENDED_BY(spreading_free) struct spreading s = {.held = held};
  TRY(row_shuffle_exchange(comm, sizeof(struct arc), send_arcs, take_arcs, &s));
  return comm_agree(comm, make_rows(comm, &s, pattern));
}
