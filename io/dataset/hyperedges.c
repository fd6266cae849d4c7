#include "io/dataset/hyperedges.h"

#include "runtime/base/base.h"

void hyperedges_init(struct hyperedges *h) {
  *h = (struct hyperedges){.lowest = INT64_MAX, .highest = -1};
}

void hyperedges_free(struct hyperedges *h) {
  free_all(h->start, h->vertex);
  *h = (struct hyperedges){0};
}

int hyperedges_add(struct hyperedges *h, int64_t vertex) {
  if (h->filled == h->room) {
    int64_t room = 2 * h->room + 1024, bytes = (int64_t)sizeof *h->vertex;
    TRY(memory_grow(&h->vertex, h->filled * bytes, room * bytes, "vertices of hyperedges"));
    h->room = room;
  }
  h->vertex[h->filled++] = vertex;
  if (vertex < h->lowest) h->lowest = vertex;
  if (vertex > h->highest) h->highest = vertex;
  return OK;
}

int hyperedges_end(struct hyperedges *h) {
  if (h->count + 1 >= h->capacity) {
    int64_t capacity = 2 * h->capacity + 1024, bytes = (int64_t)sizeof *h->start;
    int64_t used = h->capacity ? h->count + 1 : 0;
    TRY(memory_grow(&h->start, used * bytes, capacity * bytes, "hyperedges"));
    h->capacity = capacity;
  }
  h->start[++h->count] = h->filled;
  return OK;
}

int hyperedges_build(struct hyperedges *h, int64_t base, int64_t nodes, int64_t *rows, int64_t **start,
                     int32_t **vertex) {
  int64_t at = 0;
  *rows = 0;
  TRY(memory_arrays("hyperedges", ROOM(start, h->count + 1)));
  TRY(memory_arrays("vertices of hyperedges", ROOM(vertex, h->filled)));
  for (int64_t e = 0; e < h->count; e++) {
    int64_t count = h->start[e + 1] - h->start[e];
    for (int64_t i = 0; i < count; i++) {
      int64_t id = h->vertex[h->start[e] + i];
      if (id < base || id - base >= nodes)
        FAIL(BAD_INPUT, "hyperedge %lld has vertex %lld; %lld to %lld are allowed", (long long)e,
             (long long)id, (long long)base, (long long)(base + nodes - 1));
      (*vertex)[at + i] = (int32_t)(id - base);
    }
    int64_t kept = sort_distinct(*vertex + at, count);
    h->repeated += count - kept;
    h->empty += kept == 0;
    h->single += kept == 1;
    if (kept == 0) continue;
    at += kept;
    (*start)[++*rows] = at;
  }
  return OK;
}
