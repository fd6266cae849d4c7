#include "partition/order_rate.h"

#include <stdlib.h>

#include "runtime/error.h"
#include "runtime/memory.h"

struct rating {
  const struct graph *graph;
  struct order_view view;
  int64_t step;
  int32_t *place; /* [nodes] of a node in the order */
  uint64_t *mark; /* a bit a place: in the halo of the shard at hand */
  int32_t *below; /* [words] marks before each word */
  int64_t halo;   /* rows of the shard at hand */
};

static void rating_free(struct rating *r) {
  free(r->place);
  free(r->mark);
  free(r->below);
}

static int64_t words_of(const struct rating *r) {
  return r->view.nodes / 64 + 1;
}

static int rating_init(struct rating *r) {
  int64_t nodes = r->view.nodes;
  TRY(memory_alloc(&r->place, nodes * (int64_t)sizeof *r->place, "rating of an order"));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < nodes; i++) r->place[r->view.order[i]] = (int32_t)i;
  if (r->view.parts == 1) return OK;
  TRY(memory_alloc(&r->mark, words_of(r) * (int64_t)sizeof *r->mark, "rating of an order"));
  return memory_alloc(&r->below, words_of(r) * (int64_t)sizeof *r->below, "rating of an order");
}

/* Marks the places of shard p's halo and counts them. */
static void mark_halo(struct rating *r, int p) {
  const struct graph *g = r->graph;
  int64_t first = r->view.offset[p], last = r->view.offset[p + 1];
  for (int64_t w = 0; w < words_of(r); w++) r->mark[w] = 0;
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = first; i < last; i++) {
    int64_t v = r->view.order[i];
    for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) {
      int32_t place = r->place[g->col[e]];
      if (place >= first && place < last) continue;
      uint64_t bit = (uint64_t)1 << (place & 63);
      if (__atomic_load_n(&r->mark[place >> 6], __ATOMIC_RELAXED) & bit) continue;
#pragma omp atomic
      r->mark[place >> 6] |= bit;
    }
  }
  r->halo = 0;
  for (int64_t w = 0; w < words_of(r); w++) {
    r->below[w] = (int32_t)r->halo;
    r->halo += __builtin_popcountll(r->mark[w]);
  }
}

static int64_t segments(int64_t columns) {
  return (columns + TILE_COLS - 1) / TILE_COLS;
}

/* Which 64 columns of shard p's [own | halo] a place falls in; the halo begins a segment. */
static int64_t segment_of(const struct rating *r, int p, int32_t place) {
  int64_t first = r->view.offset[p], last = r->view.offset[p + 1];
  if (place >= first && place < last) return (place - first) / TILE_COLS;
  uint64_t before = r->mark[place >> 6] & (((uint64_t)1 << (place & 63)) - 1);
  return segments(last - first) + (r->below[place >> 6] + __builtin_popcountll(before)) / TILE_COLS;
}

enum { SHORT_WINDOW = 16 };

/* Arcs and different columns of the windows of shard p; last[u]: the window that had column u last, from 1.
 */
static void measure_windows(const struct graph *g, struct order_view view, int p, int32_t *last,
                            int32_t *window, int64_t *arcs, int64_t *columns) {
#pragma omp for schedule(dynamic, 64)
  for (int64_t first = view.offset[p]; first < view.offset[p + 1]; first += SHORT_WINDOW) {
    ++*window;
    for (int64_t i = first; i < first + SHORT_WINDOW && i < view.offset[p + 1]; i++) {
      int64_t v = view.order[i];
      *arcs += g->start[v + 1] - g->start[v];
      for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) {
        *columns += last[g->col[e]] != *window;
        last[g->col[e]] = *window;
      }
    }
  }
}

int order_intensity(const struct graph *graph, struct order_view view, double *intensity) {
  int64_t arcs = 0, columns = 0;
  int code = OK;
#pragma omp parallel reduction(+ : arcs, columns)
  {
    int32_t *last = NULL, window = 0;
    int mine = memory_alloc(&last, view.nodes * (int64_t)sizeof *last, "rating of an order");
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
#pragma omp barrier
    if (code == OK)
      for (int p = 0; p < view.parts; p++) measure_windows(graph, view, p, last, &window, &arcs, &columns);
    free(last);
  }
  if (code != OK) FAIL(code, "out of memory: no room to rate an order of %lld nodes", (long long)view.nodes);
  *intensity = columns ? (double)arcs / (double)columns : 1;
  return OK;
}

/* What a thread counts in. */
struct counting {
  int32_t *arcs;    /* of each segment, 0 between windows */
  int32_t *touched; /* segments with arcs */
  struct density density;
};

static void count_window(const struct rating *r, int p, int64_t first, struct counting *c) {
  const struct graph *g = r->graph;
  int64_t end = r->view.offset[p + 1], touched = 0;
  if (first + TILE_ROWS < end) end = first + TILE_ROWS;
  for (int64_t i = first; i < end; i++) {
    int64_t v = r->view.order[i];
    for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) {
      if (g->col[e] == v) continue;
      int64_t segment = segment_of(r, p, r->place[g->col[e]]);
      if (c->arcs[segment]++ == 0) c->touched[touched++] = (int32_t)segment;
    }
  }
  int64_t most = 0;
  for (int64_t t = 0; t < touched; t++) {
    int32_t *arcs = &c->arcs[c->touched[t]];
    density_count(&c->density, *arcs);
    if (*arcs > most) most = *arcs;
    *arcs = 0;
  }
  if (most) density_count_window(&c->density, most);
}

static int counting_init(struct counting *c, int64_t columns) {
  TRY(memory_alloc(&c->arcs, columns * (int64_t)sizeof *c->arcs, "rating of an order"));
  return memory_alloc(&c->touched, columns * (int64_t)sizeof *c->touched, "rating of an order");
}

static int rate_part(struct rating *r, int p, struct density *density) {
  int64_t first = r->view.offset[p], own = r->view.offset[p + 1] - first;
  int64_t windows = (own + TILE_ROWS - 1) / TILE_ROWS;
  int code = OK;
  if (r->view.parts > 1) mark_halo(r, p);
  density->rows += own;
  density->cols += own + r->halo;
#pragma omp parallel
  {
    struct counting counting = {0};
    int mine = counting_init(&counting, segments(own) + segments(r->halo));
#pragma omp for schedule(dynamic, 8)
    for (int64_t w = r->step / 2; w < windows; w += r->step)
      if (mine == OK) count_window(r, p, first + w * TILE_ROWS, &counting);
#pragma omp critical(density)
    {
      density_add(density, &counting.density);
      if (mine != OK) code = mine;
    }
    free(counting.arcs);
    free(counting.touched);
  }
  if (code != OK) FAIL(code, "out of memory: no room to rate an order of %lld nodes", (long long)own);
  return OK;
}

static int rate_parts(struct rating *r, struct density *density) {
  *density = (struct density){0};
  TRY(rating_init(r));
  for (int p = 0; p < r->view.parts; p++) TRY(rate_part(r, p, density));
  density->cols /= r->view.parts;
  for (int b = 0; b < DENSITY_BINS; b++) {
    density->cells[b] *= r->step;
    density->arcs[b] *= r->step;
    density->windows[b] *= r->step;
  }
  return OK;
}

int order_rate(const struct graph *graph, struct order_view view, int64_t step, struct density *density) {
  struct rating rating = {.graph = graph, .view = view, .step = step};
  int code = rate_parts(&rating, density);
  rating_free(&rating);
  return code;
}
