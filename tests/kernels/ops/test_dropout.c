#include "tests/kernels/every_table.h"

#include "kernels/ops/elementwise.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"

static const int64_t widths[] = {1, 3, 7, 8, 16, 17, 41, 64, 100, 128, 602};
enum { WIDTHS = sizeof widths / sizeof widths[0], EPOCH = 1234 };

static struct dropout half(struct kernels *k, const int64_t *id) {
  (void)k;
  return dropout_of(.5, random_key(3, 0, 1, RANDOM_DROPOUT_HIDDEN), id);
}

static void own_bits_of(struct kernels *k, double rate) {
  enum { ROWS = 37 };
  struct dropout op = dropout_of(rate, random_key(3, 0, 1, RANDOM_DROPOUT_HIDDEN), global_ids(k, ROWS));
  const struct dropout expected = in_table(k, op);
  static const int64_t pads[] = {3, OWN_GAPS, WIDE_GAPS};
  for (int i = 0; i < 3 * WIDTHS; i++) {
    int64_t width = widths[i / 3];
    double *x = rounded(k, noise_block(1, ROWS * width), ROWS * width);
    struct tensor y = padded_matrix(k, x, ROWS, width, pads[i % 3]);
    assert_ok(op_dropout(k, y, &op, y));
    double *actual = values_of(k, y);
    for (int64_t e = 0; e < ROWS * width; e++)
      assert_true(actual[e] ==
                  element(k->dtype, dropped(&expected, EPOCH, global_id(e / width), e % width, x[e])));
  }
}

static void own_bits(struct kernels *k) {
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  own_bits_of(k, .5);
  own_bits_of(k, .1);
  own_bits_of(k, .99);
  own_bits_of(k, .999999); /* next to 1 of 65536 ths */
}

TEST(every_element_follows_its_own_bits) {
  on_every_table(own_bits);
}

/* The rows in another order, as another partition would have them. */
static void reordered(struct kernels *k) {
  enum { ROWS = 50, WIDTH = 20 };
  int64_t id[2][ROWS];
  double *x = rounded(k, noise_block(1, ROWS * WIDTH), ROWS * WIDTH), *turned = host_block(ROWS * WIDTH * 8);
  for (int v = 0; v < ROWS; v++) {
    id[0][v] = v;
    id[1][v] = ROWS - 1 - v;
    memcpy(turned + v * WIDTH, x + (ROWS - 1 - v) * WIDTH, WIDTH * 8);
  }
  struct dropout op[2];
  double *y[2];
  for (int i = 0; i < 2; i++) {
    op[i] = half(k, device_block(k, id[i], sizeof id[i]));
    struct tensor to = matrix(k, NULL, ROWS, WIDTH);
    assert_ok(op_dropout(k, matrix(k, i ? turned : x, ROWS, WIDTH), &op[i], to));
    y[i] = values_of(k, to);
  }
  for (int v = 0; v < ROWS; v++)
    assert_memory_equal(y[0] + v * WIDTH, y[1] + (ROWS - 1 - v) * WIDTH, WIDTH * 8);
}

TEST(the_mask_belongs_to_the_global_id) {
  on_every_table(reordered);
}

static double kept_share(struct kernels *k, const struct dropout *op, uint32_t epoch, double *mean) {
  enum { ROWS = 2000, WIDTH = 100 };
  set_scalars(k, (struct scalars){.epoch = epoch});
  double *one = host_block(ROWS * WIDTH * 8), kept = 0, sum = 0;
  for (int64_t i = 0; i < ROWS * WIDTH; i++) one[i] = 1;
  struct tensor y = matrix(k, NULL, ROWS, WIDTH);
  assert_ok(op_dropout(k, matrix(k, one, ROWS, WIDTH), op, y));
  double *actual = values_of(k, y);
  for (int64_t i = 0; i < ROWS * WIDTH; i++) {
    kept += actual[i] != 0;
    sum += actual[i];
  }
  *mean = sum / (ROWS * WIDTH);
  return kept / (ROWS * WIDTH);
}

/* 200,000 draws: four deviations are below 0.0045. */
static void rates(struct kernels *k) {
  static const double rate[] = {0, .1, .5, .9};
  const int64_t *id = global_ids(k, 2000);
  for (int i = 0; i < 4; i++) {
    struct dropout op = dropout_of(rate[i], random_key(3, 0, 1, RANDOM_DROPOUT_INPUT), id);
    double mean = 0;
    assert_close(kept_share(k, &op, 5, &mean), 1 - rate[i], .0045);
    assert_close(mean, 1, .0045 / (1 - rate[i]));
  }
}

TEST(the_rate_is_kept_and_the_mean_too) {
  on_every_table(rates);
}

static void epochs_differ(struct kernels *k) {
  enum { ROWS = 10, WIDTH = 64 };
  struct dropout op = half(k, global_ids(k, ROWS));
  double *x = noise_block(1, ROWS * WIDTH), *y[2];
  for (uint32_t epoch = 0; epoch < 2; epoch++) {
    set_scalars(k, (struct scalars){.epoch = epoch});
    struct tensor to = matrix(k, NULL, ROWS, WIDTH);
    assert_ok(op_dropout(k, matrix(k, x, ROWS, WIDTH), &op, to));
    y[epoch] = values_of(k, to);
  }
  assert_memory_not_equal(y[0], y[1], ROWS * WIDTH * 8);
}

TEST(another_epoch_draws_another_mask) {
  on_every_table(epochs_differ);
}

enum { NODES = 30, FEATURES = 500, DENSITY = 13 };

static void make_features(struct csr *m) {
  assert_ok(csr_init(m, NODES, FEATURES, NODES * DENSITY, 1));
  for (int64_t e = 0; e < m->nnz; e++) {
    m->col[e] = (int32_t)(e % DENSITY * 37 + e / DENSITY % 7);
    m->weight[e] = (float)noise(1, e);
  }
  for (int64_t v = 0; v <= NODES; v++) m->start[v] = v * DENSITY;
}

/* The product of a layout with the identity: its values as a dense matrix. */
static double *dense(struct kernels *k, struct layout *layout, int64_t rows, int64_t cols) {
  double *identity = host_block(cols * cols * 8);
  for (int64_t i = 0; i < cols; i++) identity[i * cols + i] = 1;
  struct tensor y = matrix(k, NULL, rows, cols);
  assert_ok(op_spmm(k, &(struct spmm){.a = layout, .x = matrix(k, identity, cols, cols), .y = y}));
  return values_of(k, y);
}

/* Of a value, and of its product with the dropout's scale, which is a float but on the table of doubles. */
static const double roundings[] = {[F32] = 2e-7, [BF16] = 2. / 256, [F64] = 1e-15};

static void sparse(struct kernels *k, double rate) {
  struct csr m = {0}, t = {0};
  struct layout *x = NULL, *y = NULL, *tx = NULL, *ty = NULL;
  make_features(&m);
  assert_ok(csr_transpose(&m, &t, NULL));
  assert_ok(layout_init(k, &m, NULL, &x));
  assert_ok(layout_share(k, x, &y));
  assert_ok(layout_init(k, &t, NULL, &tx));
  assert_ok(layout_share(k, tx, &ty));
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  struct dropout op = dropout_of(rate, random_key(3, 0, 0, RANDOM_DROPOUT_INPUT), global_ids(k, NODES));
  const struct dropout as_table = in_table(k, op);
  assert_ok(op_sparse_dropout(k, &(struct sparse_dropout){x, y, 0, op}));
  assert_ok(op_sparse_dropout(k, &(struct sparse_dropout){tx, ty, 1, op}));
  double *by_node = dense(k, y, NODES, FEATURES), *by_feature = dense(k, ty, FEATURES, NODES);
  double *whole = dense(k, x, NODES, FEATURES);
  for (int64_t v = 0; v < NODES; v++) {
    for (int64_t j = 0; j < FEATURES; j++) {
      double expected = dropped(&as_table, EPOCH, global_id(v), j, whole[v * FEATURES + j]);
      assert_close(by_node[v * FEATURES + j], expected, roundings[k->dtype] * fabs(expected));
      assert_true(by_feature[j * NODES + v] == by_node[v * FEATURES + j]);
    }
  }
  layout_free(k, x);
  layout_free(k, y);
  layout_free(k, tx);
  layout_free(k, ty);
  csr_free(&m);
  csr_free(&t);
}

static void sparse_rates(struct kernels *k) {
  sparse(k, .5);
  sparse(k, .1);
  sparse(k, 0);
}

TEST(sparse_features_drop_as_dense_ones_do_also_transposed) {
  on_every_table(sparse_rates);
}
