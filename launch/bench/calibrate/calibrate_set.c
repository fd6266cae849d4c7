/* gnnbench calibrate: products of the made graphs by each tier, and the constants that repeat them. */
#include "kernels/format/tiles.h"
#include "launch/bench/calibrate/calibration.h"

enum { TIERS = 3 };
static const enum layout_tiers tiers[TIERS] = {LAYOUT_GATHER, LAYOUT_TILES, LAYOUT_WINDOWS};

/* What was measured; the samples of a graph point to its density. */
struct set {
  struct density *density; /* [graphs] */
  struct cost_sample *sample;
  int graphs, samples;
};

static int measure_width(struct calibration *c, struct set *set, const struct csr *m,
                         struct density *density) {
  int first = set->samples;
  double fastest = INFINITY;
  for (int t = 0; t < TIERS; t++) {
    struct cost_sample *sample = &set->sample[set->samples];
    TRY(calibrate_measure(c, m, tiers[t], sample));
    if (sample->seconds > 0) fastest = fmin(fastest, set->sample[set->samples++].seconds);
  }
  for (int i = first; i < set->samples; i++) {
    set->sample[i].density = density;
    set->sample[i].fastest = fastest;
  }
  return OK;
}

static int measure_graph(struct calibration *c, struct set *set, int g) {
  const int first = c->bench->owned_count;
  struct csr *m = NULL;
  TRY(bench_graph_of(c->bench, bench_synthetic_name(g), &m));
  TRY(tiles_density(m, c->bench->device.threads, &set->density[g]));
  for (int e = 0; e < COST_ELEMENTS; e++) {
    TRY(calibrate_element(c, e));
    for (c->width = 0; c->width < COST_WIDTHS; c->width++) TRY(measure_width(c, set, m, &set->density[g]));
  }
  bench_forget(c->bench, first);
  return OK;
}

/* Of the fastest tier of each product. */
static void print_quality(const struct cost_model *model, const struct set *set) {
  int right = 0, all = 0;
  double most = 0;
  for (int i = 0; i < set->samples; i++) {
    if (set->sample[i].seconds > set->sample[i].fastest) continue;
    double off = fabs(cost_fit_ratio(model, &set->sample[i]) - 1);
    all++;
    right += off <= .25;
    most = fmax(most, off);
  }
  printf(
      "%d products of %d made graphs by each tier: the fastest is predicted within 25%% in %d of %d cases, "
      "within %.0f%% in all\n",
      set->samples, set->graphs, right, all, 100 * most);
}

int calibrate_fit(struct calibration *c) {
  struct set set = {0};
  while (bench_synthetic_name(set.graphs)) set.graphs++;
  TRY(bench_array(c->bench, &set.density, set.graphs));
  TRY(bench_array(c->bench, &set.sample, set.graphs * COST_ELEMENTS * COST_WIDTHS * TIERS));
  for (int g = 0; g < set.graphs; g++) TRY(measure_graph(c, &set, g));
  TRY(cost_fit(&c->model, set.sample, set.samples));
  print_quality(&c->model, &set);
  return OK;
}
