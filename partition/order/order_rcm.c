/* Order "rcm": reverse Cuthill-McKee. Each connected piece of a shard is walked breadth first from a node at
 * its rim, neighbours of few arcs first (Cuthill and McKee 1969); the whole is turned around (George 1971).
 * The rim is found as George and Liu do: the lightest node of the last layer, while layers get more. */
#include "partition/order/order_kinds.h"
#include "runtime/base/base.h"

enum { ATTEMPTS = 4 };

struct walk {
  const struct csr *pattern;
  const int32_t *part;
  int32_t *degree;  /* [nodes] arcs inside the shard */
  int32_t *visited; /* [nodes] the last walk that came by, from 1; DONE: placed */
  int64_t *queue;   /* [nodes] */
  int64_t *seed;    /* [nodes] the shard's, those of few arcs first */
  int32_t walks;
};

enum { DONE = -1 };

static int inside(const struct walk *w, int64_t v, int32_t u) {
  return u != v && u < w->pattern->rows && w->part[u] == w->part[v];
}

static int by_degree(const void *left, const void *right, void *context) {
  const struct walk *w = context;
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return w->degree[a] != w->degree[b] ? COMPARE(w->degree[a], w->degree[b]) : COMPARE(a, b);
}

/* Walks from `from`; returns the nodes reached, *layers and *last: where the last layer begins in the queue.
 */
static int64_t layers_from(struct walk *w, int64_t from, int64_t *layers, int64_t *last) {
  int64_t end = 0, next = 0, layer_epilogue = 1;
  w->walks++;
  w->queue[end++] = from;
  w->visited[from] = w->walks;
  *layers = 1;
  *last = 0;
  while (next < end) {
    if (next == layer_epilogue) {
      ++*layers;
      *last = next;
      layer_epilogue = end;
    }
    int64_t v = w->queue[next++];
    for (int64_t e = w->pattern->start[v]; e < w->pattern->start[v + 1]; e++) {
      int32_t u = w->pattern->col[e];
      if (!inside(w, v, u) || w->visited[u] == w->walks) continue;
      w->visited[u] = w->walks;
      w->queue[end++] = u;
    }
  }
  return end;
}

static int64_t rim_of(struct walk *w, int64_t from) {
  int64_t layers, last, most = 0;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    int64_t reached = layers_from(w, from, &layers, &last);
    if (layers <= most) break;
    most = layers;
    for (int64_t i = last; i < reached; i++)
      if (i == last || w->degree[w->queue[i]] < w->degree[from]) from = w->queue[i];
  }
  return from;
}

/* Places the piece around `from` at order[at ...] and returns where it ends. */
static int64_t place_piece(struct walk *w, int64_t from, int64_t *order, int64_t at) {
  int64_t next = at;
  order[at++] = rim_of(w, from);
  w->visited[order[next]] = DONE;
  for (; next < at; next++) {
    int64_t v = order[next], first = at;
    for (int64_t e = w->pattern->start[v]; e < w->pattern->start[v + 1]; e++) {
      int32_t u = w->pattern->col[e];
      if (!inside(w, v, u) || w->visited[u] == DONE) continue;
      w->visited[u] = DONE;
      order[at++] = u;
    }
    qsort_r(order + first, (size_t)(at - first), sizeof *order, by_degree, w);
  }
  return at;
}

static void order_shard(struct walk *w, int64_t count, int64_t *order) {
  int64_t at = 0;
  for (int64_t i = 0; i < count; i++)
    if (w->visited[w->seed[i]] != DONE) at = place_piece(w, w->seed[i], order, at);
  for (int64_t i = 0; i < count / 2; i++) {
    int64_t moved = order[i];
    order[i] = order[count - 1 - i];
    order[count - 1 - i] = moved;
  }
}

static void walk_free(struct walk *w) {
  free_all(w->degree, w->visited, w->queue, w->seed);
}

static int walk_init(struct walk *w, int64_t nodes) {
  TRY(memory_arrays("order of nodes", ROOM(&w->degree, nodes), ROOM(&w->visited, nodes),
                    ROOM(&w->queue, nodes), ROOM(&w->seed, nodes)));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < nodes; v++)
    for (int64_t e = w->pattern->start[v]; e < w->pattern->start[v + 1]; e++)
      w->degree[v] += inside(w, v, w->pattern->col[e]);
  return OK;
}

int order_rcm(const struct order_input *input, struct partition *partition) {
  ENDED_BY(walk_free) struct walk walk = {.pattern = input->pattern, .part = partition->part};
  TRY(walk_init(&walk, partition->nodes));
  for (int p = 0; p < partition->parts; p++) {
    int64_t first = partition->offset[p], count = partition->offset[p + 1] - first;
    memcpy(walk.seed, partition->order + first, (size_t)count * sizeof *walk.seed);
    qsort_r(walk.seed, (size_t)count, sizeof *walk.seed, by_degree, &walk);
    order_shard(&walk, count, partition->order + first);
  }
  return OK;
}
