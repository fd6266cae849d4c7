/* cost_windows: which windows of 16 rows go to tensor cores with their columns moved together
 * (kernels/format/condensed.h), and what that saves against the gather.
 *
 * A condensed window fetches a row of X once for each of its distinct columns, blocks of sixteen at a time;
 * the gather once for each arc, those that follow the first from the caches. Columns that the gather fetches
 * from afar are fetched from afar by both, so that a rule is about near arcs alone, of which it knows the
 * share.
 *
 * Column vectors (runtime.layout = "vectors") are taken one by one, in windows of 8 rows, each that has
 * entries enough. No price decides that; what they take is foreseen from the prices of windows. */
#ifndef KERNELS_COST_COST_WINDOWS_H
#define KERNELS_COST_COST_WINDOWS_H

#include "kernels/cost/cost_model.h"

enum { CONDENSED_ROWS = 16, CONDENSED_COLS = 16 };

/* Picoseconds on the whole device. A window is taken where arcs * arc > blocks * block + window, and windows
 * at all where together they save more than `margin` beyond what they cost `once`, and `chain` for each block
 * of the mean window. Where they take `all` arcs, what the gather of them takes to start is saved as well. */
struct window_rule {
  double arc, block, window, once, chain, margin;
  double all, start;
  /* learned: a window is taken where bias + sparsity s + columns c is above 0, s the share of zeros once it
   * is condensed, c its distinct columns in thousands and at most 1; prices are as above. */
  int learned;
  double bias, sparsity, columns;
  /* Not 0: windows have VECTOR_ROWS rows, and of each the columns with so many arcs are taken; blocks are of
   * VECTOR_ROWS of these. */
  int64_t vectors;
};

/* The rule of a product with X of `cols` rows for the arcs that `choice` gathers: those of them that are near
 * are saved. block 0: the device has no such windows. */
struct window_rule cost_window_rule(const struct cost_case *c, int64_t cols, const struct choice *choice);

/* The same prices, with the choice that HC-SpMM makes (Li et al., ICDE 2025): by a logistic regression, here
 * fitted to which of the two was faster on an H100, for windows of known sparsity and columns. */
struct window_rule cost_selector_rule(const struct cost_case *c, int64_t cols, const struct choice *choice);

/* Column vectors of at least `threshold` arcs. Prices are halves of those of windows: a block has half the
 * columns, and a window half the rows. Where arcs have cosines, every arc that is taken is saved, from near
 * or afar, since its arithmetic takes longer than its fetch; and a window's sums take four times as long.
 * With that, epochs of AGNN in 32 columns on three graphs, at thresholds of 1 to 3, are foretold within 16%.
 */
struct window_rule cost_vectors_rule(const struct cost_case *c, int64_t cols, const struct choice *choice,
                                     int64_t threshold);

/* The rule that takes every window that has an arc. */
extern const struct window_rule window_rule_all;

static inline int64_t blocks_of_columns(int64_t columns) {
  return (columns + CONDENSED_COLS - 1) / CONDENSED_COLS;
}

/* Rows of the windows that it is about, and columns of their blocks. */
static inline int window_side(const struct window_rule *rule) {
  return rule->vectors > 0 ? (int)VECTOR_ROWS : (int)CONDENSED_ROWS;
}

/* What a rule says of a window. */
int cost_window(const struct window_rule *rule, double arcs, double columns);

/* Windows with arcs, by octaves of their distinct columns and by their density once condensed. */
enum { COLUMN_OCTAVES = 32, CONDENSED_SHARES = 65 };
struct condensing {
  int64_t before; /* blocks of 16 x 16 with an arc, columns as they stand */
  int64_t windows[COLUMN_OCTAVES][CONDENSED_SHARES], arcs[COLUMN_OCTAVES][CONDENSED_SHARES],
      columns[COLUMN_OCTAVES][CONDENSED_SHARES], blocks[COLUMN_OCTAVES][CONDENSED_SHARES];
};

void condensing_window(struct condensing *condensing, int64_t arcs, int64_t columns, int64_t before);
void condensing_add(struct condensing *sum, const struct condensing *part);
void condensing_multiply(struct condensing *condensing, int64_t factor);

/* Windows that are taken, and seconds of them against the gather (negative: saved). */
struct window_choice {
  int64_t windows, blocks, arcs, columns;
  double seconds;
  int64_t vectors; /* not 0: column vectors of so many arcs and more */
};

/* What taking these costs against the gather. */
double cost_windows_seconds(const struct window_rule *rule, int64_t windows, int64_t blocks, int64_t arcs);

/* Whether the gather with the windows `instead` is faster than tiles with those `beside` them. */
int cost_windows_replace(const struct choice *tiles, const struct window_choice *beside,
                         const struct choice *gather, const struct window_choice *instead);

/* Seconds of a product whose cells of `least` arcs and more are tiles, beside windows of these counts. */
double cost_product_seconds(const struct cost_case *c, const struct density *density, int64_t least,
                            const struct window_choice *windows);

/* Every window that the rule takes, or none where they save too little. */
struct window_choice cost_windows(const struct window_rule *rule, const struct condensing *condensing);
/* Every window that it takes, whatever that saves. */
struct window_choice cost_windows_taken(const struct window_rule *rule, const struct condensing *condensing);
/* All of them. */
struct window_choice cost_windows_all(const struct window_rule *rule, const struct condensing *condensing);

#endif
