#include "kernels/cost/cost_windows.h"

#include <math.h>

/* What condensed windows have to save of the gather's time, and beyond what tiles save. */
static const double WINDOW_MARGIN = .08, BEYOND_TILES = .1;

/* Times what a window's sums take, where arcs have cosines. */
static const double COSINE_WINDOW = 4;

/* Blocks that a warp takes at most (kernels/cuda/layout/condensed.h). */
static const double PIECE = 128;

const struct window_rule window_rule_all = {.arc = 1};

struct window_rule cost_window_rule(const struct cost_case *c, int64_t cols, const struct choice *choice) {
  const struct cost_model *m = c->model;
  struct cost_rates rates = cost_rates_of(c, cols);
  enum cost_element e = cost_element_of(c);
  double width = (double)c->width, block = cost_at_width(m->block[e], width);
  double arcs = choice->near_arcs + choice->far_arcs;
  if (block > 0) block = cost_weighted(c, m->block_weighted[e], block, width);
  if (block <= 0 || c->precision == PRECISION_FP64) return (struct window_rule){0};
  return (struct window_rule){.arc = arcs > 0 ? choice->near_arcs / arcs * rates.near : 0,
                              .block = block,
                              .window = CONDENSED_ROWS * rates.merge_window,
                              .once = m->start.kernel + (choice->tiles > 0 ? 0 : rates.planes),
                              .chain = m->start.block,
                              .margin = WINDOW_MARGIN * choice->gather_seconds * 1e12,
                              .all = arcs,
                              .start = cost_rows_start(c)};
}

struct window_rule cost_vectors_rule(const struct cost_case *c, int64_t cols, const struct choice *choice,
                                     int64_t threshold) {
  const double share = (double)VECTOR_ROWS / CONDENSED_ROWS;
  struct window_rule rule = cost_window_rule(c, cols, choice);
  rule.block *= share;
  rule.window *= share;
  rule.chain *= share;
  rule.vectors = threshold;
  if (!c->model->pass.has_cosines) return rule;
  rule.arc = rule.all > 0 ? (choice->near_seconds + choice->far_seconds) * 1e12 / rule.all : 0;
  rule.window *= COSINE_WINDOW;
  return rule;
}

/* The regression's weights at the widths of the tables of rates, of bf16 and of floats. */
static const double selector_bias[][COST_WIDTHS] = {{9.49, 18.5, 11.4, 11.4, 11.4},
                                                    {5.05, 10.6, 6.01, 10.5, 10.5}};
static const double selector_sparsity[][COST_WIDTHS] = {{-17.1, -30.7, -20.3, -20.7, -20.7},
                                                        {-11.9, -20.6, -14.4, -20.1, -20.1}};
static const double selector_columns[][COST_WIDTHS] = {{7.12, 7.22, 4.52, 6.21, 6.21},
                                                       {5.56, 7.06, 5.41, 5.3, 5.3}};

struct window_rule cost_selector_rule(const struct cost_case *c, int64_t cols, const struct choice *choice) {
  const enum cost_element e = cost_element_of(c);
  const double width = (double)c->width;
  struct window_rule rule = cost_window_rule(c, cols, choice);
  rule.learned = 1;
  rule.bias = cost_at_width(selector_bias[e], width);
  rule.sparsity = cost_at_width(selector_sparsity[e], width);
  rule.columns = cost_at_width(selector_columns[e], width);
  return rule;
}

int cost_windows_replace(const struct choice *tiles, const struct window_choice *beside,
                         const struct choice *gather, const struct window_choice *instead) {
  return instead->windows > 0 &&
         gather->seconds * (1 + BEYOND_TILES) + instead->seconds < tiles->seconds + beside->seconds;
}

static int is_selected(const struct window_rule *rule, double arcs, double columns) {
  const double sparsity = 1 - arcs / (CONDENSED_ROWS * columns);
  return rule->bias + rule->sparsity * sparsity + rule->columns * fmin(columns, 1000) / 1000 > 0;
}

int cost_window(const struct window_rule *rule, double arcs, double columns) {
  if (rule->learned) return is_selected(rule, arcs, columns);
  double blocks = ceil(columns / CONDENSED_COLS);
  return arcs * rule->arc > blocks * rule->block + rule->window;
}

void condensing_window(struct condensing *c, int64_t arcs, int64_t columns, int64_t before) {
  int octave = 63 - __builtin_clzll((unsigned long long)columns);
  int64_t share = arcs * (CONDENSED_SHARES - 1) / (CONDENSED_ROWS * columns);
  if (octave >= COLUMN_OCTAVES) octave = COLUMN_OCTAVES - 1;
  if (share >= CONDENSED_SHARES) share = CONDENSED_SHARES - 1; /* arcs that are there twice */
  c->before += before;
  c->windows[octave][share]++;
  c->arcs[octave][share] += arcs;
  c->columns[octave][share] += columns;
  c->blocks[octave][share] += blocks_of_columns(columns);
}

enum { NUMBERS = sizeof(struct condensing) / sizeof(int64_t) }; /* all of it, and no padding */

void condensing_add(struct condensing *sum, const struct condensing *part) {
  int64_t *to = &sum->before;
  const int64_t *from = &part->before;
  for (int i = 0; i < NUMBERS; i++) to[i] += from[i];
}

void condensing_multiply(struct condensing *condensing, int64_t factor) {
  int64_t *number = &condensing->before;
  for (int i = 0; i < NUMBERS; i++) number[i] *= factor;
}

double cost_windows_seconds(const struct window_rule *rule, int64_t windows, int64_t blocks, int64_t arcs) {
  if (windows == 0) return 0;
  double chain = fmin((double)blocks / (double)windows, PIECE) * rule->chain;
  double start = (double)arcs + .5 >= rule->all ? rule->start : 0;
  return (rule->once + chain - start + (double)windows * rule->window + (double)blocks * rule->block -
          (double)arcs * rule->arc) *
         1e-12;
}

double cost_product_seconds(const struct cost_case *c, const struct density *density, int64_t least,
                            const struct window_choice *windows) {
  const struct choice choice = cost_divided(c, density, least);
  const struct window_rule rule = windows->vectors > 0
                                      ? cost_vectors_rule(c, density->cols, &choice, windows->vectors)
                                      : cost_window_rule(c, density->cols, &choice);
  return choice.seconds + cost_windows_seconds(&rule, windows->windows, windows->blocks, windows->arcs);
}

/* The mean window of a bin decides for all of them. */
struct mean {
  double arcs, columns;
};

static struct mean mean_of(const struct condensing *c, int octave, int share) {
  double windows = (double)c->windows[octave][share];
  return (struct mean){(double)c->arcs[octave][share] / windows, (double)c->columns[octave][share] / windows};
}

static void take_bin(struct window_choice *choice, const struct condensing *c, int octave, int share) {
  choice->windows += c->windows[octave][share];
  choice->blocks += c->blocks[octave][share];
  choice->arcs += c->arcs[octave][share];
  choice->columns += c->columns[octave][share];
}

#define FOR_BINS(c, o, s)                                                                              \
  for (int bin_ = 0; bin_ < COLUMN_OCTAVES * CONDENSED_SHARES; bin_++)                                 \
    for (int o = bin_ / CONDENSED_SHARES, s = bin_ % CONDENSED_SHARES, once_ = (c)->windows[o][s] > 0; \
         once_; once_ = 0)

/* Counts of a sample stand for all arcs that the rule is about. */
static struct window_choice price(const struct window_rule *rule, const struct condensing *c,
                                  struct window_choice choice) {
  int64_t counted = 0;
  FOR_BINS(c, o, s) counted += c->arcs[o][s];
  double times = rule->all > 0 && counted > 0 ? rule->all / (double)counted : 1;
  choice.windows = llround((double)choice.windows * times);
  choice.blocks = llround((double)choice.blocks * times);
  choice.arcs = llround((double)choice.arcs * times);
  choice.columns = llround((double)choice.columns * times);
  choice.seconds = cost_windows_seconds(rule, choice.windows, choice.blocks, choice.arcs);
  return choice;
}

struct window_choice cost_windows_taken(const struct window_rule *rule, const struct condensing *c) {
  struct window_choice choice = {0};
  FOR_BINS(c, o, s) {
    struct mean mean = mean_of(c, o, s);
    if (cost_window(rule, mean.arcs, mean.columns)) take_bin(&choice, c, o, s);
  }
  return price(rule, c, choice);
}

struct window_choice cost_windows(const struct window_rule *rule, const struct condensing *c) {
  const struct window_choice choice = cost_windows_taken(rule, c);
  return -choice.seconds > rule->margin * 1e-12 ? choice : (struct window_choice){0};
}

struct window_choice cost_windows_all(const struct window_rule *rule, const struct condensing *c) {
  struct window_choice choice = {0};
  FOR_BINS(c, o, s) take_bin(&choice, c, o, s);
  return price(rule, c, choice);
}
