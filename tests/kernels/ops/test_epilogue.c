#include "kernels/ops/elementwise.h"
#include "tests/kernels/every_table.h"

enum { EPOCH = 77, LIMIT = 64 * 602 };

/* A layer's epilogue with everything in host memory, in double; NULL: absent. */
struct host_epilogue {
  int64_t rows, cols;
  enum norm norm;
  enum activation activation;
  double *z, *bias, *gain, *shift, *residual;
  double *scale;          /* of rows: of y forward, of dz backward; NULL: none */
  struct dropout dropout; /* id not used: row v has global_id(v) */
  int in_place, padded;   /* padded: OWN_GAPS, WIDE_GAPS or at any place */
};

static double activated(enum activation activation, double n) {
  if (n > 0 || activation == ACTIVATION_NONE) return n;
  return activation == ACTIVATION_RELU ? 0 : activation == ACTIVATION_ELU ? expm1(n) : .01 * n;
}

/* Mean and 1 / deviation of `count` values that lie `step` apart. */
static void statistics(const double *u, int64_t count, int64_t step, double *mean, double *rstd) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) sum += u[i * step];
  *mean = sum / (double)count;
  for (int64_t i = 0; i < count; i++) squares += pow(u[i * step] - *mean, 2);
  *rstd = 1 / sqrt(squares / (double)count + 1e-5);
}

static void host_forward(const struct host_epilogue *h, double *y) {
  static double u[LIMIT];
  int64_t rows = h->rows, cols = h->cols;
  for (int64_t i = 0; i < rows * cols; i++) u[i] = h->z[i] + (h->bias ? h->bias[i % cols] : 0);
  for (int64_t v = 0; v < rows; v++) {
    for (int64_t j = 0; j < cols; j++) {
      int64_t i = v * cols + j;
      double n = u[i], mean = 0, rstd = 1;
      if (h->norm == NORM_LAYER) statistics(u + v * cols, cols, 1, &mean, &rstd);
      if (h->norm == NORM_BATCH) statistics(u + j, rows, cols, &mean, &rstd);
      if (h->norm != NORM_NONE) n = (n - mean) * rstd * h->gain[j] + h->shift[j];
      double a = activated(h->activation, n) + (h->residual ? h->residual[i] : 0);
      y[i] = dropped(&h->dropout, EPOCH, global_id(v), j, a) * (h->scale ? h->scale[v] : 1);
    }
  }
}

static struct host_epilogue make(struct kernels *k, int64_t rows, int64_t cols, enum norm norm,
                                 enum activation activation, int residual, int drop, int in_place) {
  struct host_epilogue h = {.rows = rows, .cols = cols, .norm = norm, .activation = activation};
  h.z = rounded(k, noise_block(1, rows * cols), rows * cols);
  h.bias = noise_block(2, cols);
  h.gain = noise_block(3, cols);
  h.shift = noise_block(4, cols);
  h.residual = residual ? rounded(k, noise_block(5, rows * cols), rows * cols) : NULL;
  h.dropout = dropout_of(drop ? .3 : 0, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), NULL);
  h.in_place = in_place;
  return h;
}

/* Calls check for every combination that struct epilogue allows. */
static void every_combination(struct kernels *k, int64_t rows, int64_t cols,
                              void (*check)(struct kernels *k, struct host_epilogue *h)) {
  for (enum norm norm = NORM_NONE; norm <= NORM_LAYER; norm++) {
    for (enum activation a = ACTIVATION_NONE; a <= ACTIVATION_LEAKY_RELU; a++) {
      for (int bits = 0; bits < 24; bits++) {
        int residual = bits & 1, drop = bits >> 1 & 1, in_place = bits >> 2 & 1;
        if (in_place && (norm != NORM_NONE || residual)) continue;
        struct host_epilogue h = make(k, rows, cols, norm, a, residual, drop, in_place);
        h.padded = -(bits >> 3);
        if (bits >> 3 != 1) h.scale = row_factors(rows);
        check(k, &h);
        free_blocks(k->device);
      }
    }
  }
}

static int64_t padding(const struct host_epilogue *h, int64_t otherwise) {
  return h->padded ? h->padded : otherwise;
}

/* The same on the device, statistics of a batch norm included, and run. */
static struct epilogue run_forward(struct kernels *k, const struct host_epilogue *h) {
  int64_t rows = h->rows, cols = h->cols, statistic = h->norm == NORM_BATCH ? cols : rows;
  struct epilogue op = {.z = padded_matrix(k, h->z, rows, cols, padding(h, 3)), .norm = h->norm};
  op.epsilon = 1e-5;
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  op.bias = reals(k, h->bias, cols);
  op.gain = reals(k, h->gain, cols);
  op.shift = reals(k, h->shift, cols);
  op.mean = reals(k, host_block(statistic * 8), statistic);
  op.rstd = reals(k, host_block(statistic * 8), statistic);
  if (h->norm == NORM_BATCH) { /* of u, so the bias moves into z */
    double *mean = host_block(cols * 8), *rstd = host_block(cols * 8);
    double *u = host_block(rows * cols * 8);
    for (int64_t i = 0; i < rows * cols; i++) u[i] = h->z[i] + h->bias[i % cols];
    for (int64_t j = 0; j < cols; j++) statistics(u + j, rows, cols, &mean[j], &rstd[j]);
    op.mean = reals(k, mean, cols);
    op.rstd = reals(k, rstd, cols);
  }
  op.activation = h->activation;
  if (h->residual) op.residual = padded_matrix(k, h->residual, rows, cols, padding(h, 0));
  op.dropout = h->dropout;
  op.dropout.id = global_ids(k, rows);
  if (h->scale) op.scale = reals(k, h->scale, rows);
  op.y = h->in_place ? op.z : padded_matrix(k, NULL, rows, cols, padding(h, 1));
  assert_ok(op_epilogue(k, &op));
  return op;
}

static void check_forward(struct kernels *k, struct host_epilogue *h) {
  double *expected = host_block(h->rows * h->cols * 8);
  host_forward(h, expected);
  struct epilogue op = run_forward(k, h);
  assert_all_close(values_of(k, op.y), expected, h->rows * h->cols, tolerance_of(k));
}

static void forward(struct kernels *k) {
  static const int64_t widths[] = {1, 3, 8, 17, 64, 100, 602};
  for (int i = 0; i < 7; i++) every_combination(k, 5, widths[i], check_forward);
  every_combination(k, 0, 8, check_forward);
}

TEST(forward_follows_the_formula_in_every_combination) {
  on_every_table(forward);
}

/* d(sum_i weight_i y_i) / d(*at) by central differences. */
static double difference(const struct host_epilogue *h, double *at, const double *weight) {
  static double y[2][LIMIT];
  const double step = 1e-5, old = *at;
  *at = old + step;
  host_forward(h, y[0]);
  *at = old - step;
  host_forward(h, y[1]);
  *at = old;
  double sum = 0;
  for (int64_t i = 0; i < h->rows * h->cols; i++) sum += weight[i] * (y[0][i] - y[1][i]);
  return sum / (2 * step);
}

/* Of many elements every 23rd. */
static void check_gradient(struct kernels *k, const struct host_epilogue *h, double *of, int64_t count,
                           const double *weight, const double *actual, enum dtype dtype) {
  double *expected = host_block(count * 8);
  memcpy(expected, actual, (size_t)count * 8);
  for (int64_t i = 0; i < count; i += count < 100 ? 1 : 23) expected[i] = difference(h, of + i, weight);
  assert_all_close(actual, expected, count, k->real == F64 ? 1e-8 : 2 * tolerance_in(k, dtype));
}

static void finish_batch_norm(struct kernels *k, struct epilogue_backward *back) {
  struct batch_norm_backward op = {.forward = back->forward, .dz = back->dz, .count = back->dz.rows};
  op.sum_dn = back->shift_grad;
  op.sum_dn_xhat = back->gain_grad;
  assert_ok(op_batch_norm_backward(k, &op));
}

static void check_backward(struct kernels *k, struct host_epilogue *h) {
  int64_t rows = h->rows, cols = h->cols;
  double *scale = h->norm == NORM_BATCH ? NULL : h->scale;
  h->scale = NULL;
  struct epilogue op = run_forward(k, h);
  double *weight = rounded(k, noise_block(9, rows * cols), rows * cols), *none = host_block(cols * 8);
  enum dtype sums = h->in_place ? k->dtype : k->real; /* of gradients from a rounded y, or from z */
  struct tensor dy = padded_matrix(k, weight, rows, cols, padding(h, 2));
  struct epilogue_backward back = {.forward = &op, .dy = dy, .dz = dy, .bias_grad = reals(k, none, cols)};
  if (h->norm != NORM_NONE) {
    back.shift_grad = reals(k, none, cols);
    back.gain_grad = reals(k, none, cols);
  }
  if (h->residual) back.residual_grad = padded_matrix(k, NULL, rows, cols, padding(h, 0));
  if (scale) back.scale = reals(k, scale, rows);
  assert_ok(op_epilogue_backward(k, &back));
  if (h->norm == NORM_BATCH) finish_batch_norm(k, &back);
  double *dz = values_of(k, dy);
  for (int64_t i = 0; i < rows * cols; i++) dz[i] /= scale ? scale[i / cols] : 1;
  check_gradient(k, h, h->z, rows * cols, weight, dz, k->dtype);
  if (h->norm != NORM_BATCH)
    check_gradient(k, h, h->bias, cols, weight, doubles(k, back.bias_grad, cols), sums);
  if (h->norm != NORM_NONE) {
    check_gradient(k, h, h->shift, cols, weight, doubles(k, back.shift_grad, cols), sums);
    check_gradient(k, h, h->gain, cols, weight, doubles(k, back.gain_grad, cols), sums);
  }
  if (h->residual)
    check_gradient(k, h, h->residual, rows * cols, weight, values_of(k, back.residual_grad), k->dtype);
}

static void backward(struct kernels *k) {
  every_combination(k, 5, 11, check_backward);
  for (enum norm norm = NORM_NONE; norm <= NORM_LAYER; norm++) {
    struct host_epilogue h = make(k, 6, 270, norm, ACTIVATION_ELU, 0, 0, norm == NORM_NONE);
    check_backward(k, &h);
  }
}

TEST(gradients_are_those_of_central_differences) {
  on_every_table(backward);
}

/* Rows enough for every thread to see several: dz and its sums, which are of what is not rounded yet. */
static void check_tall(struct kernels *k, int64_t rows, int64_t cols, int drop, int signs) {
  int64_t count = rows * cols;
  double *y = integer_block(1, count), *dy = rounded(k, noise_block(2, count), count);
  double *dz = host_block(count * 8), *sum = host_block(cols * 8);
  struct epilogue forward = {.activation = ACTIVATION_RELU, .z = padded_matrix(k, y, rows, cols, 8)};
  forward.y = forward.z;
  forward.dropout = dropout_of(drop ? .3 : 0, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), NULL);
  forward.dropout.id = global_ids(k, rows);
  for (int64_t i = 0; i < count; i++) {
    dz[i] = y[i] > 0 ? dy[i] * (drop ? forward.dropout.wide_scale : 1) : 0;
    sum[i % cols] += dz[i];
  }
  struct epilogue_backward op = {.forward = &forward, .dy = padded_matrix(k, dy, rows, cols, 8)};
  if (signs) op.signs = signs_of(k, forward.y);
  if (signs) forward.z = forward.y = op.dy; /* are not read */
  op.dz = padded_matrix(k, NULL, rows, cols, 8);
  op.bias_grad = reals(k, sum, cols);
  assert_ok(op_epilogue_backward(k, &op));
  assert_all_rounded(k, values_of(k, op.dz), dz, count, 1e-6);
  assert_all_close(doubles(k, op.bias_grad, cols), sum, cols, 1e-6);
  free_blocks(k->device);
}

static void tall(struct kernels *k) {
  for (int signs = 0; signs < 2; signs++) {
    check_tall(k, 20011, 24, 0, signs);
    check_tall(k, 20011, 24, 1, signs);
    check_tall(k, 5003, 256, 1, signs);
  }
  check_tall(k, 1001, 13, 1, 1);
}

TEST(gradients_of_many_rows_add_up) {
  on_every_table(tall);
}

/* The last layer: real logits, gradients as activations; z is of no use to the way back. */
static void logits(struct kernels *k) {
  enum { ROWS = 9, COLS = 20 };
  double *z = noise_block(1, ROWS * COLS), *bias = noise_block(2, COLS), *sum = host_block(COLS * 8);
  double *dy = rounded(k, noise_block(3, ROWS * COLS), ROWS * COLS), *y = host_block(ROWS * COLS * 8);
  for (int i = 0; i < ROWS * COLS; i++) {
    y[i] = z[i] + bias[i % COLS];
    sum[i % COLS] += dy[i];
  }
  struct epilogue forward = {.z = padded_matrix_of(k, k->real, z, ROWS, COLS, 12)};
  forward.y = forward.z;
  forward.bias = reals(k, bias, COLS);
  assert_ok(op_epilogue(k, &forward));
  assert_all_close(values_of(k, forward.y), y, ROWS * COLS, real_tolerance(k));
  struct epilogue_backward op = {.forward = &forward, .dy = padded_matrix(k, dy, ROWS, COLS, 12)};
  op.dz = op.dy;
  assert_ok(op_epilogue_backward(k, &op));
  op.bias_grad = reals(k, bias, COLS);
  assert_ok(op_epilogue_backward(k, &op));
  op.dz = matrix(k, NULL, ROWS, COLS);
  op.residual_grad = padded_matrix(k, NULL, ROWS, COLS, 3);
  assert_ok(op_epilogue_backward(k, &op));
  assert_all_close(doubles(k, op.bias_grad, COLS), sum, COLS, real_tolerance(k));
  assert_all_equal(values_of(k, op.dy), dy, ROWS * COLS);
  assert_all_equal(values_of(k, op.dz), dy, ROWS * COLS);
  assert_all_equal(values_of(k, op.residual_grad), dy, ROWS * COLS);
}

TEST(the_end_of_the_last_layer_takes_real_logits) {
  on_every_table(logits);
}

/* Without rows the sums over the rows are zero. */
static void no_rows(struct kernels *k) {
  struct host_epilogue h = make(k, 0, 4, NORM_NONE, ACTIVATION_RELU, 0, 0, 1);
  struct epilogue op = run_forward(k, &h);
  struct epilogue_backward back = {.forward = &op, .dy = op.z, .dz = op.z};
  back.bias_grad = reals(k, noise_block(1, 4), 4);
  assert_ok(op_epilogue_backward(k, &back));
  assert_all_equal(doubles(k, back.bias_grad, 4), host_block(4 * 8), 4);
}

TEST(sums_over_no_rows_are_zero) {
  on_every_table(no_rows);
}

static void not_a_number(struct kernels *k) {
  struct host_epilogue h = make(k, 2, 3, NORM_NONE, ACTIVATION_RELU, 0, 0, 0);
  h.z[4] = (double)NAN;
  struct epilogue op = run_forward(k, &h);
  double *y = values_of(k, op.y);
  for (int i = 0; i < 6; i++) assert_int_equal(isnan(y[i]) != 0, i == 4);
}

TEST(a_nan_is_not_hidden_by_an_activation) {
  on_every_table(not_a_number);
}

static void check_signs(struct kernels *k, int64_t rows, int64_t cols, int64_t pad) {
  const int64_t bytes = (cols + 7) / 8;
  double *x = integer_block(3, rows * cols);
  if (rows * cols > 0) x[0] = (double)NAN;
  const struct tensor signs = signs_of(k, padded_matrix(k, x, rows, cols, pad));
  uint8_t *bits = host_block(rows * bytes + 1);
  assert_ok(device_download(k->device, STREAM_COMPUTE, bits, signs.data, rows * bytes));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < 8 * bytes; j++)
      assert_int_equal(bits[i * bytes + j / 8] >> j % 8 & 1, j < cols && x[i * cols + j] > 0);
  free_blocks(k->device);
}

static void all_signs(struct kernels *k) {
  static const int64_t widths[] = {1, 7, 8, 20, 64, 602};
  for (int i = 0; i < 6; i++) {
    check_signs(k, 37, widths[i], OWN_GAPS);
    check_signs(k, 3, widths[i], 1);
  }
  check_signs(k, 0, 8, 0);
}

TEST(signs_are_bits_of_what_is_above_0) {
  on_every_table(all_signs);
}
