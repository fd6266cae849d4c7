/* gnnbench spmm --all: each graph, width and precision by every tier alone and as the cost model chooses. */
#include "kernels/cost/cost_models.h"
#include "kernels/format/condensed.h"
#include "kernels/format/layout.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "launch/bench/bench.h"
#include "runtime/profile/profile.h"

enum { GATHER, TILES, WINDOWS, SELECTOR, AUTO, TIERS, SAMPLE = 200 /* rows checked */ };
static const enum layout_tiers tiers[TIERS] = {LAYOUT_GATHER, LAYOUT_TILES, LAYOUT_WINDOWS, LAYOUT_SELECTOR,
                                               LAYOUT_AUTO};

/* One line of the table. */
struct line {
  char graph[64];
  enum precision precision;
  int64_t width;
  double ms[TIERS], making[TIERS];    /* of a product, of making its layout */
  double copying;                     /* of making the one of all tiers, in copies to the device */
  double in_tiles, in_windows;        /* shares of the arcs, of auto */
  double predicted, predicted_gather; /* ms */
  double peer, error;
};

/* What is kept from line to line: layouts, as equal ones serve equally. */
struct all {
  struct csr *graph;
  struct density density;
  struct bench_peer peer;
  struct layout *layout[TIERS];
  double making[TIERS]; /* ms of these */
  struct bench_matrix x, y;
  struct line *line;
  int lines;
};

BENCH_RUN(spmm)

static void product_row(const void *context, int64_t v, double *row) {
  const struct all *all = context;
  const struct csr *m = all->graph;
  for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
    double w = m->weight ? (double)m->weight[e] : 1;
    for (int64_t j = 0; j < all->y.tensor.cols; j++) row[j] += w * bench_value(&all->x, m->col[e], j);
  }
}

/* The matrices of a precision and a width. */
static int make_matrices(struct bench *bench, struct all *all, enum precision precision, int64_t width) {
  TRY(bench_kernels(bench, precision));
  TRY(bench_matrix_noise(bench, &all->x, bench->kernels.dtype, all->graph->cols, width, 1));
  return bench_matrix_alloc(bench, &all->y, bench->kernels.dtype, all->graph->rows, width);
}

static const struct cost_model *model_of(const struct bench *bench) {
  return bench->device.ops->on_host ? &cost_model_cpu : cost_model_of(bench->device.name);
}

/* All layouts depend on the width but that of condensed windows. */
static int is_kept(const struct all *all, int t) {
  return t == WINDOWS && all->layout[t];
}

static int find_layout(struct bench *bench, struct all *all, int t, int64_t width) {
  const struct layout_plan plan = {.tiers = tiers[t], .width = width};
  if (is_kept(all, t)) return OK;
  layout_free(&bench->kernels, all->layout[t]);
  all->layout[t] = NULL;
  double begun = profile_clock();
  TRY(layout_init(&bench->kernels, all->graph, &plan, &all->layout[t]));
  all->making[t] = 1e3 * (profile_clock() - begun);
  return OK;
}

static int measure_layout(struct bench *bench, struct all *all, int t, struct line *line) {
  struct bench_row row = {0};
  struct spmm op = {.a = all->layout[t], .x = all->x.tensor, .y = all->y.tensor};
  TRY(bench_time(bench, run_spmm, &op, &row));
  line->ms[t] = row.median;
  return bench_compare(bench, &(struct bench_check){&all->y, product_row, all, SAMPLE}, &line->error);
}

static int are_equal(const struct layout *a, const struct layout *b) {
  return a->tile_entries == b->tile_entries && a->windows == b->windows &&
         a->window_blocks == b->window_blocks && a->window_entries == b->window_entries;
}

/* A layout that is equal to one before it takes its time. */
static int measure_tiers(struct bench *bench, struct all *all, struct line *line) {
  for (int t = 0; t < TIERS; t++) {
    int same = 0;
    TRY(find_layout(bench, all, t, line->width));
    while (!are_equal(all->layout[same], all->layout[t])) same++;
    if (same == t)
      TRY(measure_layout(bench, all, t, line));
    else
      line->ms[t] = line->ms[same];
    line->making[t] = all->making[t];
    if (t == AUTO) line->copying = 1e3 * all->layout[t]->copying;
  }
  double arcs = fmax(1, (double)all->graph->nnz);
  line->in_tiles = (double)all->layout[AUTO]->tile_entries / arcs;
  line->in_windows = (double)all->layout[AUTO]->window_entries / arcs;
  return OK;
}

static void predict(struct bench *bench, struct all *all, struct line *line) {
  const struct cost_model *model = model_of(bench);
  const struct layout *layout = all->layout[AUTO];
  const struct row_segments_plan cuts = {line->width * dtype_bytes(bench->kernels.dtype), 0, 0};
  struct cost_case c = {model, line->precision, line->width, all->graph->weight != NULL,
                        row_segments_foresee(all->graph, &cuts)};
  struct choice choice = cost_divided(&c, &all->density, layout->least);
  const struct window_choice windows = {.windows = layout->windows,
                                        .blocks = layout->window_blocks,
                                        .arcs = layout->window_entries,
                                        .vectors = layout->vectors};
  double threads = model->of_a_thread ? bench->threads : 1;
  line->predicted = 1e3 * cost_product_seconds(&c, &all->density, layout->least, &windows) / threads;
  line->predicted_gather = 1e3 * choice.gather_seconds / threads;
}

static void print_json(const struct line *line) {
  printf("{\"op\": \"spmm all\", \"graph\": \"%s\", \"precision\": \"%s\", \"width\": %lld, \"gather_ms\": "
         "%.6g, "
         "\"tiles_ms\": %.6g, \"windows_ms\": %.6g, \"selector_ms\": %.6g, \"auto_ms\": %.6g, "
         "\"predicted_ms\": %.6g, "
         "\"predicted_gather_ms\": %.6g, \"in_tiles\": %.4g, \"in_windows\": %.4g, \"making_ms\": %.4g, "
         "\"copying_ms\": %.4g, \"making_windows_ms\": %.4g, "
         "\"peer_ms\": %.6g, "
         "\"peer_ratio\": %.4g, \"error\": %.3g}\n",
         line->graph, precision_name[line->precision], (long long)line->width, line->ms[GATHER],
         line->ms[TILES], line->ms[WINDOWS], line->ms[SELECTOR], line->ms[AUTO], line->predicted,
         line->predicted_gather, line->in_tiles, line->in_windows, line->making[AUTO], line->copying,
         line->making[WINDOWS], line->peer, line->peer / line->ms[AUTO], line->error);
}

static void print_line(const struct bench *bench, const struct line *line) {
  char peer[32] = "-";
  if (bench->options->json) {
    print_json(line);
  } else {
    if (line->peer > 0) snprintf(peer, sizeof peer, "%.4f %6.2f", line->peer, line->peer / line->ms[AUTO]);
    printf("%-16s %-5s %5lld %8.4f %8.4f %8.4f %8.4f %8.4f %8.4f %5.1f%% %5.1f%% %7.1f %6.1f %8.1e "
           "%15s\n",
           line->graph, precision_name[line->precision], (long long)line->width, line->ms[GATHER],
           line->ms[TILES], line->ms[WINDOWS], line->ms[SELECTOR], line->ms[AUTO], line->predicted,
           100 * line->in_tiles, 100 * line->in_windows, line->making[AUTO], line->copying, line->error,
           peer);
  }
  fflush(stdout);
}

static int measure_line(struct bench *bench, struct all *all, const char *graph, enum precision precision,
                        int64_t width, double peer) {
  struct line *line = &all->line[all->lines++];
  *line = (struct line){.precision = precision, .width = width, .peer = peer};
  const char *slash = strrchr(graph, '/');
  snprintf(line->graph, sizeof line->graph, "%.60s", slash ? slash + 1 : graph);
  TRY(make_matrices(bench, all, precision, width));
  TRY(measure_tiers(bench, all, line));
  predict(bench, all, line);
  print_line(bench, line);
  return OK;
}

/* The precisions that were asked for, or bf16 and fp32 where the device has them. */
static int is_wanted(const struct bench *bench, enum precision precision) {
  if (!bench->options->any_precision) return precision == bench->options->precision;
  return precision == PRECISION_FP32 || (precision == PRECISION_BF16 && !bench->device.ops->on_host);
}

/* The other library in fp32, whatever ours is; then ours. */
static int measure_width(struct bench *bench, struct all *all, const char *graph, int64_t width) {
  struct bench_row row = {0};
  int first = bench->owned_count, code = OK;
  if (all->peer.ops) {
    TRY(make_matrices(bench, all, PRECISION_FP32, width));
    TRY(bench_peer_time(bench, &all->peer, &all->x, &all->y, &row));
    bench_forget(bench, first);
  }
  for (int p = 0; precision_name[p] && code == OK; p++) {
    if (is_wanted(bench, (enum precision)p))
      code = measure_line(bench, all, graph, (enum precision)p, width, row.peer_median);
    bench_forget(bench, first);
  }
  return code;
}

static int measure_graph(struct bench *bench, struct all *all, const char *graph) {
  const struct bench_options *options = bench->options;
  TRY(bench_graph_of(bench, graph, &all->graph));
  if (options->sparse.weighted) TRY(bench_weigh(all->graph));
  TRY(tiles_density(all->graph, bench->device.threads, &all->density));
  TRY(bench_peer_open(bench, all->graph, &all->peer));
  for (int w = 0; w < options->widths; w++) TRY(measure_width(bench, all, graph, options->width[w]));
  return OK;
}

/* Over all lines of a precision: the geometric mean over the other library, how many are slower than it, how
 * far auto is above the fastest layout and above the gather, and how far off predictions are. */
struct summary {
  int cases, near, far, peers, slower,
      predicted; /* near: within NEAR; far: beyond FAR; predicted: within OFF */
  double logs, tier, gather, off;
};
static const double NEAR = .03, FAR = .1, OFF = .25;

static void add_line(struct summary *s, const struct line *l) {
  double ms = l->ms[AUTO], fastest = fmin(fmin(l->ms[GATHER], l->ms[TILES]), l->ms[WINDOWS]);
  double off = fabs(l->predicted / ms - 1), above = ms / fastest - 1;
  if (l->peer > 0) s->logs += log(l->peer / ms);
  s->peers += l->peer > 0;
  s->slower += l->peer > 0 && l->peer < ms;
  s->tier = fmax(s->tier, above);
  s->near += above <= NEAR;
  s->far += above > FAR;
  s->gather = fmax(s->gather, ms / l->ms[GATHER] - 1);
  s->off = fmax(s->off, off);
  s->predicted += off <= OFF;
  s->cases++;
}

static void print_summary_json(const struct summary *s, enum precision precision) {
  printf(
      "{\"op\": \"spmm choice\", \"precision\": \"%s\", \"cases\": %d, \"within_3\": %d, \"above_10\": %d, "
      "\"above_most\": %.3g, \"predicted_within_25\": %d, \"predicted_most_off\": %.3g}\n",
      precision_name[precision], s->cases, s->near, s->far, 100 * s->tier, s->predicted, 100 * s->off);
}

static void print_summary(const struct all *all, enum precision precision, int json) {
  struct summary s = {0};
  for (int i = 0; i < all->lines; i++)
    if (all->line[i].precision == precision) add_line(&s, &all->line[i]);
  if (s.cases == 0) return;
  if (json) {
    print_summary_json(&s, precision);
    return;
  }
  printf("%s: auto above the fastest tier by %.1f%% at most, above the gather by %.1f%%; within 3%% of the "
         "fastest in %d of %d cases; predicted within %.0f%%, within 25%% in %d",
         precision_name[precision], 100 * s.tier, 100 * s.gather, s.near, s.cases, 100 * s.off, s.predicted);
  if (s.peers)
    printf("; the other library takes x%.2f in the geometric mean, %d of %d below 1", exp(s.logs / s.peers),
           s.slower, s.peers);
  printf("\n");
}

int gnnbench_spmm_all(struct bench *bench) {
  static struct all all; /* large */
  const struct bench_options *options = bench->options;
  const char *graph;
  TRY(bench_array(bench, &all.line, BENCH_GRAPHS * BENCH_WIDTHS * 8));
  if (!options->json)
    printf("%-16s %-5s %5s %8s %8s %8s %8s %8s %8s %6s %6s %7s %6s %8s %15s\n", "graph", "", "width",
           "gather", "tiles", "windows", "selector", "auto", "model", "tiles", "wind.", "made", "copied",
           "error", "beside");
  for (int g = 0, first = bench->owned_count; (graph = bench_graph_name(options, g)); g++) {
    int code = measure_graph(bench, &all, graph);
    for (int t = 0; t < TIERS; t++) layout_free(&bench->kernels, all.layout[t]);
    bench_forget(bench, first);
    all = (struct all){.line = all.line, .lines = all.lines};
    TRY(code);
  }
  for (int p = 0; precision_name[p]; p++) print_summary(&all, (enum precision)p, options->json);
  return OK;
}
