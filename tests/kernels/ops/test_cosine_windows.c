/* Attention by cosines whose arcs lie in dense tiles or column vectors, where a device has them, beside
 * double loops. */
#include "kernels/format/layout.h"
#include "tests/kernels/cosines.h"

/* Rows that end within 16 columns, at them, and behind. */
static const int64_t widths[] = {1, 7, 16, 31, 32, 47, 64};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

/* The last one is so high that rows are summed arc by arc. */
static const double betas[] = {-1.25, 0, 1.5, 60};
enum { BETAS = sizeof betas / sizeof betas[0] };

/* All arcs in tiles, or in vectors; or those that make a tile, or a vector of three. */
static const struct layout_plan all[] = {{.tiers = LAYOUT_TILES_ALL},
                                         {.tiers = LAYOUT_VECTORS, .vector_threshold = 1}};
static const struct layout_plan some[] = {{.tiers = LAYOUT_TILES},
                                          {.tiers = LAYOUT_VECTORS, .vector_threshold = 3}};
enum { TIERS = 2 };

static void set_tiers(const struct layout_plan *of) {
  plan_of_arcs = *of;
  plan_of_arcs.width = 64;
  plan_of_arcs.scores = (struct arc_scores){1, 1};
}

/* By each of them; processors take arcs as they are. */
static void in_tiers(struct kernels *k, const struct layout_plan *of, void (*check)(struct kernels *k)) {
  for (int t = 0; t < (k->device->ops->on_host ? 1 : TIERS); t++) {
    set_tiers(&of[t]);
    check(k);
  }
}

/* Of all widths and betas; some of them on a processor, where test_cosine sees to the others. */
static void check_all(struct kernels *k, void (*check)(struct kernels *k, int64_t pad)) {
  const int apart = k->device->ops->on_host ? BETAS + 1 : 1;
  set_graph(300, 75, .3, 0);
  for (int i = 0; i < WIDTHS * BETAS; i += apart) {
    width = widths[i / BETAS];
    beta = betas[i % BETAS];
    check(k, i % 2 ? OWN_GAPS : 1);
  }
}

static void forward_of_all(struct kernels *k) {
  check_all(k, check_forward);
}

static void forward(struct kernels *k) {
  in_tiers(k, all, forward_of_all);
}

TEST(windows_of_two_parts_make_one_softmax) {
  on_every_table(forward);
}

static void check_gradients(struct kernels *k, int64_t pad) {
  check_backward(k, COSINE_IN, 1, pad);
  check_backward(k, COSINE_OUT, 1, OWN_GAPS);
  check_backward(k, COSINE_IN | COSINE_OUT, 1, 1);
  check_backward(k, COSINE_IN | COSINE_OUT, 0, OWN_GAPS);
  free_blocks(k->device);
}

static void backward_of_all(struct kernels *k) {
  check_all(k, check_gradients);
}

static void backward(struct kernels *k) {
  in_tiers(k, all, backward_of_all);
}

TEST(gradients_come_from_windows_of_both_parts) {
  on_every_table(backward);
}

/* Some cells have arcs enough for a tile, some columns for a vector, those of the others are gathered; long
 * rows among them. */
static void mix_some(struct kernels *k) {
  thin = 1;
  beta = 1.5;
  set_graph(700, 90, .4, 1);
  for (width = 16; width <= 64; width *= 2) {
    check_forward(k, OWN_GAPS);
    check_gradients(k, OWN_GAPS);
  }
  thin = 0;
}

static void mix(struct kernels *k) {
  in_tiers(k, some, mix_some);
}

TEST(windows_and_gathered_arcs_are_put_together) {
  on_every_table(mix);
}

/* So many columns in the halo that windows of it are two pieces. */
static void long_windows_of_all(struct kernels *k) {
  beta = 1.5;
  set_graph(130, 8500, .02, 0);
  width = 41;
  check_forward(k, OWN_GAPS);
  check_gradients(k, OWN_GAPS);
}

static void long_windows(struct kernels *k) {
  in_tiers(k, all, long_windows_of_all);
}

TEST(pieces_of_a_window_are_put_together) {
  on_every_table(long_windows);
}

/* What one part leaves of each row, the columns being the rows' nodes; spoilt: of these on the device. */
static void check_part(struct kernels *k, const double *x, const double *spoilt, int self) {
  struct csr m;
  struct layout *layout, *products;
  struct layout_plan of_products = plan_of_arcs;
  double *y = host_block(own * width * 8), *log_sum = host_block(own * 8);
  of_products.scores = (struct arc_scores){0};
  make_part(&m, 0, own, 0);
  assert_ok(layout_init(k, &m, &plan_of_arcs, &layout));
  assert_ok(layout_init(k, &m, &of_products, &products));
  assert_int_equal(layout->tiles, k->dtype == BF16 ? products->tiles : 0);
  assert_int_equal(layout->window_entries, k->dtype == BF16 ? products->window_entries : 0);
  struct cosine_rows rows = {
      .x = padded_matrix(k, spoilt, own, width, OWN_GAPS),
      .message = padded_matrix(k, NULL, own, cosine_message_cols(k, width, 0), OWN_GAPS)};
  struct cosine_attention op = {.a = layout,
                                .message = rows.message,
                                .rows = rows.message,
                                .beta = reals(k, &beta, 1),
                                .self = self,
                                .log_sum = real_matrix(k, NULL, own, 1),
                                .y = padded_matrix(k, NULL, own, width, OWN_GAPS)};
  assert_ok(op_cosine_rows(k, &rows));
  assert_ok(op_cosine_attention(k, &op));
  expect_forward(x, own, self, y, log_sum);
  double *result = values_of(k, op.y), *log_sums = values_of(k, op.log_sum);
  for (int64_t v = 0; v < own; v++) {
    const int reached = rare >= 0 && ((v == rare && self) || v == 9);
    for (int64_t i = v * width; i < (v + 1) * width && reached; i++) {
      assert_true(!isfinite(result[i]));
      result[i] = y[i];
    }
    if (isinf(log_sum[v])) assert_true(log_sums[v] == log_sum[v]);
    if (isinf(log_sum[v]) || reached) log_sums[v] = log_sum[v] = 0;
  }
  assert_all_close(result, y, own * width, 2 * tolerance_of(k));
  assert_all_close(log_sums, log_sum, own, weights_tolerance(k, k->real));
  layout_free(k, layout);
  layout_free(k, products);
  csr_free(&m);
}

/* x of column `rare`, which one row alone asks for, is not finite on the device. */
static void rare_columns_of_all(struct kernels *k) {
  set_graph(200, 0, .3, 0);
  beta = 1.5;
  for (int i = 0; i < WIDTHS; i++) {
    width = widths[i];
    double *x = nodes_block(k), *spoilt = host_block(own * width * 8);
    rare = -1;
    check_part(k, x, x, 0); /* rows without arcs */
    rare = 70;
    memcpy(spoilt, x, (size_t)(own * width) * sizeof *x);
    for (int64_t j = 0; j < width; j++) spoilt[rare * width + j] = j % 3 ? NAN : INFINITY;
    check_part(k, x, spoilt, 1);
  }
  rare = -1;
}

static void rare_columns(struct kernels *k) {
  in_tiers(k, all, rare_columns_of_all);
}

TEST(numbers_that_are_not_finite_reach_rows_with_an_arc_alone) {
  on_every_table(rare_columns);
}
