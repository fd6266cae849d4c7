/* Attention by terms whose arcs lie in dense tiles, where a device has them, beside double loops. */
#include "kernels/format/layout.h"
#include "tests/kernels/terms.h"

/* Heads of 16, 32 and 64 columns and of more, one of any width. */
static const struct {
  int64_t heads, each;
} shapes[] = {{8, 32}, {4, 64}, {8, 16}, {1, 41}, {1, 64}, {3, 48}, {2, 128}, {1, 100}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void set_shape(int s) {
  set_heads(shapes[s].heads, shapes[s].each);
  plan_of_arcs.width = width;
  plan_of_arcs.scores.heads = heads;
}

/* All of them, some on a processor, where test_attention sees to the others. */
static int shapes_apart(const struct kernels *k) {
  return k->device->ops->on_host ? 3 : 1;
}

static void set_tiers(enum layout_tiers tiers) {
  plan_of_arcs = (struct layout_plan){.tiers = tiers, .width = 64, .scores = {1, 0}};
}

static void forward(struct kernels *k) {
  set_tiers(LAYOUT_TILES_ALL);
  set_arcs(300, 75, .3, 0);
  for (int s = 0; s < SHAPES; s += shapes_apart(k)) {
    set_shape(s);
    check_forward(k, 2, 0, OWN_GAPS, s % 2);
    check_forward(k, 60, 0, OWN_GAPS, 1 - s % 2);
  }
}

TEST(tiles_of_two_parts_make_one_softmax) {
  on_every_table(forward);
}

/* Some cells have arcs enough for a tile, those of the others are gathered; long rows among them. */
static void tiles_and_gather(struct kernels *k) {
  set_tiers(LAYOUT_TILES);
  thin = 1;
  set_arcs(700, 90, .4, 1);
  for (int s = 0; s < 4; s++) {
    set_shape(s);
    check_forward(k, 2, 0, OWN_GAPS, 1);
    check_backward(k, width, 0, OWN_GAPS);
  }
  thin = 0;
}

TEST(tiles_and_gathered_arcs_are_put_together) {
  on_every_table(tiles_and_gather);
}

/* So many columns in the halo that windows of it are two pieces. */
static void long_windows(struct kernels *k) {
  set_tiers(LAYOUT_TILES_ALL);
  set_arcs(130, 8500, .02, 0);
  set_shape(3);
  check_forward(k, 2, 0, OWN_GAPS, 1);
  check_backward(k, width, 0, OWN_GAPS);
}

TEST(pieces_of_a_window_are_put_together) {
  on_every_table(long_windows);
}

static void backward(struct kernels *k) {
  set_tiers(LAYOUT_TILES_ALL);
  set_arcs(300, 75, .3, 0);
  for (int s = 0; s < SHAPES; s += shapes_apart(k)) {
    set_shape(s);
    check_backward(k, width, 0, OWN_GAPS);
    check_backward(k, each, 0, OWN_GAPS);
  }
}

TEST(gradients_come_from_tiles_of_both_parts) {
  on_every_table(backward);
}

/* Odd columns have scores e^72 times as high as even ones: relative to those the weights of rows that have
 * the latter alone vanish. */
static void low_rows(struct kernels *k) {
  set_tiers(LAYOUT_TILES_ALL);
  set_arcs(300, 75, .3, 0);
  even_rows = alternates = 1;
  for (int s = 0; s < SHAPES; s += shapes_apart(k)) {
    set_shape(s);
    check_forward(k, 60, 0, OWN_GAPS, 1);
  }
  even_rows = alternates = 0;
}

TEST(rows_far_below_the_highest_score_keep_their_weights) {
  on_every_table(low_rows);
}

/* One part, of rows that have an arc with themselves; x of column `rare` is NaN on the device alone. */
static void check_rare(struct kernels *k) {
  struct csr m;
  struct layout *layout, *products;
  const struct layout_plan of_products = {.tiers = plan_of_arcs.tiers, .width = width};
  double *x = rounded(k, noise_block(1, own * width), own * width);
  double *spoilt = host_block(own * width * 8);
  const struct terms terms = {terms_block(2, own, 2), terms_block(3, own, 2)};
  const struct scores scores = {&terms, score_of_terms};
  const struct dropout none = {0};
  struct expected e = expected_block();
  make_part(&m, 0, own, 0);
  assert_ok(layout_init(k, &m, &plan_of_arcs, &layout));
  assert_ok(layout_init(k, &m, &of_products, &products));
  assert_int_equal(layout->tiles, k->dtype == BF16 ? products->tiles : 0);
  assert_int_equal(layout->windows, 0);
  for (int64_t i = 0; i < own * heads; i++) expect_row(&none, x, &scores, i, &e);
  memcpy(spoilt, x, (size_t)(own * width) * sizeof *x);
  for (int64_t j = 0; j < width; j++) spoilt[rare * width + j] = j % 3 ? NAN : INFINITY;
  struct attention op = {.a = layout,
                         .heads = heads,
                         .x = padded_matrix(k, spoilt, own, width, OWN_GAPS),
                         .term = real_matrix(k, terms.term, own, heads),
                         .row_term = real_matrix(k, terms.row_term, own, heads),
                         .log_sum = real_matrix(k, NULL, own, heads),
                         .positive = padded_matrix(k, NULL, own, width, OWN_GAPS),
                         .share = real_matrix(k, NULL, own, heads),
                         .y = padded_matrix(k, NULL, own, width, OWN_GAPS)};
  op.self.x = op.x;
  op.self.term = op.term;
  assert_ok(op_attention(k, &op));
  double *y = values_of(k, op.y), *positive = values_of(k, op.positive);
  for (int64_t i = 0; i < own * width; i++) {
    const int64_t v = i / width;
    const int reached = v == rare || v == 9;
    if (reached) assert_true(!isfinite(y[i]));
    if (reached) y[i] = e.y[i], positive[i] = e.positive[i];
  }
  assert_all_close(y, e.y, own * width, mean_tolerance(k));
  assert_all_close(positive, e.positive, own * width, mean_tolerance(k));
  assert_all_close(values_of(k, op.log_sum), e.log_sum, own * heads, weights_tolerance(k));
  layout_free(k, layout);
  layout_free(k, products);
  csr_free(&m);
}

static void rare_columns(struct kernels *k) {
  set_tiers(LAYOUT_TILES_ALL);
  set_arcs(200, 0, .3, 0);
  rare = 70;
  for (int s = 0; s < SHAPES; s += shapes_apart(k)) {
    set_shape(s);
    check_rare(k);
  }
  rare = -1;
}

TEST(numbers_that_are_not_finite_reach_rows_with_an_arc_alone) {
  on_every_table(rare_columns);
}
