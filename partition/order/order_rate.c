#include "partition/order/order_rate.h"

#include "runtime/base/base.h"

/* Times the mean of arcs from which a window always counts. */
enum { HEAVY = 2 };

struct rating {
  const struct graph *graph;
  struct order_view view;
  int64_t step;
  int32_t *made;        /* places of columns, where the caller has none */
  const int32_t *place; /* the same, or the caller's; NULL: columns are places */
  uint64_t *mark;       /* a bit a place: in the halo of the shard at hand */
  int32_t *below;       /* [words] marks before each word */
  int64_t halo, cut;    /* rows that the shard at hand receives, and arcs that lead out of it */
};

static void rating_free(struct rating *r) {
  free_all(r->made, r->mark, r->below);
}

static int64_t row_at(struct order_view view, int64_t i) {
  return view.order ? view.order[i] : i;
}

static int32_t place_of(const struct rating *r, int32_t column) {
  return r->place ? r->place[column] : column;
}

/* Places of shard p. */
static int64_t begin_of(const struct rating *r, int p) {
  return r->view.first + r->view.offset[p];
}

static int is_inside(const struct rating *r, int p, int32_t place) {
  return place >= begin_of(r, p) && place < begin_of(r, p + 1);
}

/* Whether the only shard has all nodes. */
static int is_whole(struct order_view view) {
  return view.parts == 1 && view.offset[1] == view.nodes;
}

static int64_t words_of(const struct rating *r) {
  return r->view.nodes / 64 + 1;
}

static int rating_init(struct rating *r) {
  const struct order_view *view = &r->view;
  const int64_t rows = view->offset[view->parts];
  r->place = view->place;
  if (view->order && !view->place) {
    TRY(memory_arrays("rating of an order", ROOM(&r->made, rows)));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) r->made[view->order[i]] = (int32_t)(view->first + i);
    r->place = r->made;
  }
  if (is_whole(*view)) return OK;
  return memory_arrays("rating of an order", ROOM(&r->mark, words_of(r)), ROOM(&r->below, words_of(r)));
}

/* Marks the places of shard p's halo and counts them. */
static void mark_halo(struct rating *r, int p) {
  const struct graph *g = r->graph;
  int64_t cut = 0;
  for (int64_t w = 0; w < words_of(r); w++) r->mark[w] = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : cut)
  for (int64_t i = r->view.offset[p]; i < r->view.offset[p + 1]; i++) {
    const int64_t row = row_at(r->view, i);
    for (int64_t e = g->start[row]; e < g->start[row + 1]; e++) {
      int32_t place = place_of(r, g->col[e]);
      if (is_inside(r, p, place)) continue;
      uint64_t bit = (uint64_t)1 << (place & 63);
      cut++;
      if (__atomic_load_n(&r->mark[place >> 6], __ATOMIC_RELAXED) & bit) continue;
#pragma omp atomic
      r->mark[place >> 6] |= bit;
    }
  }
  r->cut = cut;
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
  if (is_inside(r, p, place)) return (place - begin_of(r, p)) / TILE_COLS;
  uint64_t before = r->mark[place >> 6] & (((uint64_t)1 << (place & 63)) - 1);
  return segments(r->view.offset[p + 1] - r->view.offset[p]) +
         (r->below[place >> 6] + __builtin_popcountll(before)) / TILE_COLS;
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
      int64_t v = row_at(view, i);
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
    int mine = memory_alloc(&last, graph->nodes * (int64_t)sizeof *last, "rating of an order");
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
  int32_t *touched; /* segments with arcs, and one place more */
  struct density sampled, whole;
};

static int64_t window_end(const struct rating *r, int p, int64_t first) {
  return smaller(first + TILE_ROWS, r->view.offset[p + 1]);
}

static int64_t arcs_of(const struct rating *r, int64_t first, int64_t end) {
  const struct graph *g = r->graph;
  int64_t arcs = 0;
  for (int64_t i = first; i < end; i++) {
    const int64_t row = row_at(r->view, i);
    arcs += g->start[row + 1] - g->start[row];
  }
  return arcs;
}

static void count_window(const struct rating *r, int p, int64_t first, struct counting *c,
                         struct density *density) {
  const struct graph *g = r->graph;
  int64_t end = window_end(r, p, first), touched = 0;
  for (int64_t i = first; i < end; i++) {
    const int64_t row = row_at(r->view, i);
    for (int64_t e = g->start[row]; e < g->start[row + 1]; e++) {
      if (g->col[e] == g->first + row) continue;
      int64_t segment = segment_of(r, p, place_of(r, g->col[e]));
      c->touched[touched] = (int32_t)segment; /* kept when it is new; a branch would be guessed wrong */
      touched += c->arcs[segment]++ == 0;
    }
  }
  int64_t most = 0;
  for (int64_t t = 0; t < touched; t++) {
    int32_t *arcs = &c->arcs[c->touched[t]];
    density_count(density, *arcs);
    most = larger(most, *arcs);
    *arcs = 0;
  }
  if (most) density_count_window(density, most);
}

/* Windows of many arcs are few and hold much: all of them count. Of the others every step-th does. */
static void look_at(const struct rating *r, int p, int64_t w, int64_t mean, struct counting *c) {
  int64_t first = r->view.offset[p] + w * TILE_ROWS;
  int heavy = r->step > 1 && arcs_of(r, first, window_end(r, p, first)) > HEAVY * mean;
  if (heavy)
    count_window(r, p, first, c, &c->whole);
  else if (w % r->step == r->step / 2)
    count_window(r, p, first, c, &c->sampled);
}

static void density_scale(struct density *density, int64_t times) {
  for (int b = 0; b < DENSITY_BINS; b++) {
    density->cells[b] *= times;
    density->arcs[b] *= times;
    density->windows[b] *= times;
  }
}

static int counting_init(struct counting *c, int64_t columns) {
  return memory_arrays("rating of an order", ROOM(&c->arcs, columns), ROOM(&c->touched, columns + 1));
}

/* Looks at the windows of shard p. */
static int look_at_all(const struct rating *r, int p, struct density *density) {
  const int64_t first = r->view.offset[p], own = r->view.offset[p + 1] - first;
  const int64_t windows = (own + TILE_ROWS - 1) / TILE_ROWS;
  const int64_t mean = windows ? arcs_of(r, first, first + own) / windows : 0;
  int code = OK;
  density->rows += own;
  density->cols += own + r->halo;
#pragma omp parallel
  {
    struct counting counting = {0};
    int mine = counting_init(&counting, segments(own) + segments(r->halo));
#pragma omp for schedule(dynamic, 8)
    for (int64_t w = 0; w < windows; w++)
      if (mine == OK) look_at(r, p, w, mean, &counting);
    density_scale(&counting.sampled, r->step);
#pragma omp critical(density)
    {
      density_add(density, &counting.sampled);
      density_add(density, &counting.whole);
      if (mine != OK) code = mine;
    }
    free_all(counting.arcs, counting.touched);
  }
  if (code != OK) FAIL(code, "out of memory: no room to rate an order of %lld nodes", (long long)own);
  return OK;
}

int64_t order_rate_step(int64_t nodes, int64_t windows) {
  return nodes / TILE_ROWS / windows + 1;
}

static int rate_part(struct rating *r, int p, struct density *density, struct order_counts *counts) {
  if (r->mark) mark_halo(r, p);
  if (counts) {
    counts->cut += r->cut;
    counts->halo[p] = r->halo;
    counts->nnz[p] = arcs_of(r, r->view.offset[p], r->view.offset[p + 1]);
  }
  return look_at_all(r, p, density);
}

int order_rate(const struct graph *graph, struct order_view view, int64_t step, struct density *density,
               struct order_counts *counts) {
  ENDED_BY(rating_free) struct rating rating = {.graph = graph, .view = view, .step = step};
  *density = (struct density){0};
  if (counts) counts->cut = 0;
  TRY(rating_init(&rating));
  for (int p = 0; p < view.parts; p++) TRY(rate_part(&rating, p, density, counts));
  return OK;
}
