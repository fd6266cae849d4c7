#include "kernels/ops/elementwise.h"
#include "kernels/ops/loss.h"
#include "tests/kernels/sparse_products.h"

/* A product with an update of every part. */
struct updated {
  const struct csr *m;
  const struct layout *a;
  int64_t width;
  enum norm norm;
  int in_place, residual, added; /* added: and rows are scaled before */
  int all;                       /* rows finish, scaled ones */
};

static struct epilogue make_epilogue(struct kernels *k, const struct updated *u, enum dtype type,
                                     struct tensor z) {
  int64_t rows = z.rows, width = z.cols;
  struct epilogue epilogue = {.z = z, .norm = u->norm, .activation = ACTIVATION_RELU, .epsilon = 1e-5};
  epilogue.bias = reals(k, noise_block(2, width), width);
  epilogue.gain = reals(k, noise_block(3, width), width);
  epilogue.shift = reals(k, noise_block(4, width), width);
  epilogue.mean = reals(k, host_block(rows * 8), rows);
  epilogue.rstd = reals(k, host_block(rows * 8), rows);
  epilogue.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), global_ids(k, rows));
  epilogue.y = u->in_place ? z : padded_matrix_of(k, type, NULL, rows, width, whole_rows(width));
  if (u->residual)
    epilogue.residual = padded_matrix_of(k, type, rounded(k, noise_block(9, rows * width), rows * width),
                                         rows, width, whole_rows(width));
  return epilogue;
}

/* How far a row's sums may move where they are rounded on their way to the norm, doubled by the dropout. */
static double rounding_of_row(const double *sum, int64_t width, enum dtype type) {
  double largest = 0;
  for (int64_t j = 0; j < width && type == BF16; j++) largest = fmax(largest, fabs(sum[j]));
  return 2 * largest / 256;
}

/* Factors that cost no bits. */
static void *halves_and_twos(struct kernels *k, int64_t rows) {
  double *factor = host_block(rows * 8);
  for (int64_t v = 0; v < rows; v++) factor[v] = v % 3 ? .5 : 2;
  return reals(k, factor, rows);
}

/* The sums past what is done to them before the update. */
static struct tensor finished_sums(struct kernels *k, const struct updated *u, struct spmm op) {
  struct tensor z = padded_matrix_of(k, k->real, NULL, op.y.rows, u->width, whole_rows(u->width));
  struct tensor added = op.added;
  op.y = z;
  op.added.data = NULL;
  assert_ok(op_spmm(k, &op));
  if (added.data) assert_ok(op_add(k, &(struct add){.x = added, .factor = 1, .accumulate = 1, .y = z}));
  return z;
}

/* The fused result against the bare sums in reals and an update of their own, on rows that finish; the others
 * keep the bare sums. */
static void check_epilogue(struct kernels *k, const struct updated *u, enum dtype type) {
  int64_t rows = u->m->rows, cols = u->m->cols, width = u->width, count = rows * width;
  int apart = type != k->real;
  uint8_t *flag = host_block(rows);
  for (int64_t v = 0; v < rows; v++) flag[v] = !u->all && v % 4 == 2;
  struct tensor x = padded_matrix(k, noise_block(1, cols * width), cols, width, whole_rows(width));
  struct tensor bare = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  assert_ok(op_spmm(k, &(struct spmm){.a = u->a, .x = x, .y = bare}));
  double *sum = result_of(k, bare);
  struct spmm op = {.a = u->a, .x = x, .y = bare};
  if (u->added || u->all) op.row_scale = halves_and_twos(k, rows);
  if (u->added) op.added = padded_matrix(k, noise_block(7, count), rows, width, whole_rows(width));
  struct epilogue alone = make_epilogue(k, u, k->real, finished_sums(k, u, op));
  double *z = result_of(k, alone.z);
  if (!u->all) op.has_halo = device_block(k, flag, rows);
  op.y = padded_matrix_of(k, type, NULL, rows, width, whole_rows(width));
  if (apart) op.sums = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  struct epilogue fused = make_epilogue(k, u, type, op.y);
  op.epilogue = &fused;
  assert_ok(op_spmm(k, &op));
  assert_ok(op_epilogue(k, &alone));
  double *rest = result_of(k, apart ? op.sums : op.y);
  double *actual = result_of(k, fused.y), *expected = result_of(k, alone.y);
  double *mean[2] = {doubles(k, fused.mean, rows), doubles(k, alone.mean, rows)};
  double *rstd[2] = {doubles(k, fused.rstd, rows), doubles(k, alone.rstd, rows)};
  double tolerance = u->norm == NORM_NONE ? 0 : 8 * tolerance_in(k, type);
  double moved = 0;
  for (int64_t i = 0; i < count; i++) {
    if (i % width == 0 && tolerance > 0) moved = rounding_of_row(z + i, width, type) * rstd[1][i / width];
    if (flag[i / width])
      assert_true(rest[i] == sum[i]);
    else if (tolerance == 0)
      assert_true(actual[i] == element(type, expected[i]));
    else
      assert_close(actual[i], expected[i], tolerance + moved);
  }
  for (int64_t v = 0; v < rows && u->norm == NORM_LAYER; v++) {
    if (flag[v]) continue;
    double rounding = rounding_of_row(z + v * width, width, type);
    assert_close(mean[0][v], mean[1][v], tolerance + rounding);
    assert_close(rstd[0][v], rstd[1][v], (tolerance + rounding * rstd[1][v]) * fmax(1, rstd[1][v]));
  }
  free_blocks(k->device);
}

/* Rows that finish end with the gradient of a ReLU below, and of its dropout, from what it kept, or from the
 * signs of that. */
static void check_below(struct kernels *k, const struct updated *u, int signs) {
  int64_t rows = u->m->rows, cols = u->m->cols, width = u->width, count = rows * width;
  uint8_t *flag = host_block(rows);
  for (int64_t v = 0; v < rows; v++) flag[v] = v % 4 == 2;
  double *kept = rounded(k, noise_block(8, count), count);
  struct tensor x = padded_matrix(k, noise_block(1, cols * width), cols, width, whole_rows(width));
  struct spmm op = {.a = u->a, .x = x};
  op.y = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  assert_ok(op_spmm(k, &op));
  double *bare = result_of(k, op.y);
  if (u->added) op.row_scale = halves_and_twos(k, rows);
  if (u->added) op.added = padded_matrix(k, noise_block(7, count), rows, width, whole_rows(width));
  double *sum = result_of(k, finished_sums(k, u, op));
  op.has_halo = device_block(k, flag, rows);
  op.y = padded_matrix(k, NULL, rows, width, whole_rows(width));
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  struct tensor saved = padded_matrix(k, kept, rows, width, whole_rows(width));
  struct epilogue forward = {.z = saved, .activation = ACTIVATION_RELU, .y = saved};
  struct epilogue_backward below = {.forward = &forward, .dy = op.y, .dz = op.y};
  if (u->in_place)
    forward.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), global_ids(k, rows));
  if (signs) below.signs = signs_of(k, saved);
  if (signs) forward.z = forward.y = op.y; /* are not read */
  op.below = &below;
  assert_true(op_spmm_takes_epilogue(&below));
  assert_ok(op_spmm(k, &op));
  double *rest = result_of(k, op.sums.data ? op.sums : op.y), *actual = result_of(k, op.y);
  for (int64_t i = 0; i < count; i++) {
    if (flag[i / width])
      assert_true(rest[i] == bare[i]);
    else
      assert_true(actual[i] == element(k->dtype, kept[i] > 0 ? sum[i] * (u->in_place ? 2 : 1) : 0));
  }
  free_blocks(k->device);
}

/* What comes along with the sums against a loss of its own, for the same logits. */
struct losses {
  double *row, *gradient; /* [rows], [rows, classes] */
  double total;
};

static struct losses losses_of(struct kernels *k, const struct loss_op *op) {
  struct losses found = {.row = doubles(k, op->row_loss, op->logits.rows),
                         .gradient = result_of(k, op->grad)};
  assert_ok(device_download(k->device, STREAM_COMPUTE, &found.total, op->loss, sizeof found.total));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  return found;
}

/* Labels of rows that count, -1 of every `each`-th; these rows are listed in *rows. */
static int32_t *label_rows(int64_t nodes, int64_t classes, int64_t each, int32_t *rows, int64_t *count) {
  int32_t *label = host_block(nodes * 4);
  for (int64_t v = 0; v < nodes; v++) {
    label[v] = v % each == 1 ? -1 : (int32_t)(v * 5 % classes);
    if (label[v] >= 0) rows[(*count)++] = (int32_t)v;
  }
  return label;
}

static struct loss_op make_loss(struct kernels *k, struct tensor logits, int64_t each) {
  int64_t nodes = logits.rows, count = 0;
  int32_t *rows = host_block(nodes * 4), *label = label_rows(nodes, logits.cols, each, rows, &count);
  struct loss_op op = {.logits = logits, .count = count, .scale = 1.0 / 50};
  op.label = op.counted = device_block(k, label, nodes * 4);
  op.rows = device_block(k, rows, nodes * 4);
  op.loss = device_block(k, NULL, 8);
  op.grad_scale = reals(k, row_factors(nodes), nodes);
  op.row_loss = reals(k, host_block(nodes * 8), nodes);
  op.grad = padded_matrix(k, NULL, nodes, logits.cols, whole_rows(logits.cols));
  return op;
}

static int is_rest(int64_t v) {
  return v % 4 == 2;
}

/* The rows of m that come in a second product, as on several ranks. */
static void make_rest(const struct csr *m, struct csr *rest) {
  int64_t rows = 0, at = 0;
  for (int64_t v = 0; v < m->rows; v++) rows += is_rest(v);
  assert_ok(csr_init(rest, rows, m->cols, m->nnz, m->weight != NULL));
  rest->row = calloc((size_t)rows, sizeof *rest->row);
  rows = 0;
  for (int64_t v = 0; v < m->rows; v++) {
    if (!is_rest(v)) continue;
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++, at++) {
      rest->col[at] = m->col[e];
      if (m->weight) rest->weight[at] = m->weight[e];
    }
    rest->row[rows++] = (int32_t)v;
    rest->start[rows] = at;
  }
  rest->nnz = at;
}

static void multiply_in_two(struct kernels *k, struct spmm op, const struct layout *rest) {
  uint8_t *flag = host_block(op.y.rows);
  for (int64_t v = 0; v < op.y.rows; v++) flag[v] = (uint8_t)is_rest(v);
  op.has_halo = device_block(k, flag, op.y.rows);
  assert_ok(op_spmm(k, &op));
  op.has_halo = NULL;
  op.accumulate = 1;
  op.a = rest;
  assert_ok(op_spmm(k, &op));
}

/* The bias is drawn from [-most, most]. */
static void check_loss(struct kernels *k, const struct updated *u, const struct layout *rest, double most) {
  int64_t rows = u->m->rows, cols = u->m->cols, width = u->width;
  double tolerance = k->real == F64 ? 1e-12 : 4e-6;
  struct tensor x = padded_matrix(k, noise_block(1, cols * width), cols, width, whole_rows(width));
  double *bias = noise_block(2, width);
  for (int64_t j = 0; j < width; j++) bias[j] *= most;
  struct epilogue epilogue = {.bias = reals(k, bias, width), .norm = u->norm, .epsilon = 1e-5};
  epilogue.mean = reals(k, host_block(rows * 8), rows);
  epilogue.rstd = reals(k, host_block(rows * 8), rows);
  struct spmm op = {.a = u->a, .x = x, .epilogue = &epilogue, .row_scale = halves_and_twos(k, rows)};
  if (u->added) op.added = padded_matrix(k, noise_block(7, rows * width), rows, width, whole_rows(width));
  struct losses found[2];
  for (int along = 0; along < 2; along++) {
    op.y = epilogue.z = epilogue.y = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
    struct loss_op loss = make_loss(k, op.y, u->in_place ? 3 : 1000);
    epilogue.loss = along ? &loss : NULL;
    if (rest)
      multiply_in_two(k, op, rest);
    else
      assert_ok(op_spmm(k, &op));
    assert_ok(along ? op_sum_losses(k, &loss) : op_cross_entropy(k, &loss));
    found[along] = losses_of(k, &loss);
  }
  double sum = 0, largest = 0;
  for (int64_t v = 0; v < rows; v++) {
    sum += found[1].row[v] / 50;
    largest = fmax(largest, found[1].row[v]);
    if (u->in_place && v % 3 == 1) assert_true(found[1].row[v] == 0);
  }
  assert_true(largest > .1);
  if (isfinite(sum)) {
    assert_close(found[1].total, sum, tolerance * fmax(1, sum));
    assert_close(found[1].total, found[0].total, tolerance * fmax(1, sum));
  } else {
    assert_true(isinf(found[1].total));
  }
  assert_all_rounded(k, found[1].gradient, found[0].gradient, rows * width, tolerance);
  free_blocks(k->device);
}

/* Rows within one panel of threads, at its end, and wider; all of them count, or not; in one product or two.
 */
static void fused_loss(struct kernels *k) {
  static const int64_t some[] = {2, 7, 16, 30, 40, 41, 47, 64, 100, 128, 200, 300};
  for (int kind = 0; kind < kinds_of(k); kind++) {
    for (int weighted = 0; weighted < (kind % 4 == 0 ? 2 : 1); weighted++) {
      struct csr m = {0}, rest = {0};
      struct layout *a = NULL, *b = NULL;
      make_csr(&m, &kinds[kind], weighted);
      make_rest(&m, &rest);
      assert_ok(make_layout(k, &m, &kinds[kind], &a));
      assert_ok(make_layout(k, &rest, &kinds[kind], &b));
      for (int i = 0; i < 12 * 4; i++) {
        struct updated u = {&m,    a,          some[i / 4], i / 4 == 5 ? NORM_LAYER : NORM_NONE,
                            i & 1, i >> 1 & 1, i / 4 & 1,   0};
        check_loss(k, &u, i >> 1 & 1 ? b : NULL, 1);
        if (i < 4 * 4 && u.norm == NORM_NONE) check_loss(k, &u, NULL, 3e38); /* differences overflow */
      }
      layout_free(k, a);
      layout_free(k, b);
      csr_free(&m);
      csr_free(&rest);
    }
  }
}

TEST(the_loss_of_rows_comes_along_with_their_logits) {
  on_every_table(fused_loss);
}

static void fused_epilogue(struct kernels *k) {
  static const int64_t some[] = {3, 30, 41, 100, 200, 602};
  enum dtype type[2];
  int types = result_types(k, type);
  set_scalars(k, (struct scalars){.epoch = 3});
  for (int kind = 0; kind < kinds_of(k); kind++) {
    struct csr m = {0};
    struct layout *a = NULL;
    make_csr(&m, &kinds[kind], 0);
    assert_ok(make_layout(k, &m, &kinds[kind], &a));
    for (int i = 0; i < 6 * 8; i++) {
      struct updated u = {&m,         a,          some[i / 8],     i & 1 ? NORM_LAYER : NORM_NONE,
                          i >> 1 & 1, i >> 2 & 1, (i / 8 + i) & 1, 0};
      for (int t = 0; t < types; t++) check_epilogue(k, &u, type[t]);
      for (int signs = 0; signs < 2 && u.norm == NORM_NONE && !u.residual; signs++) check_below(k, &u, signs);
      u.added = 0;
      u.all = 1;
      for (int t = 0; t < types && u.in_place && !u.residual; t++) check_epilogue(k, &u, type[t]);
    }
    layout_free(k, a);
    csr_free(&m);
  }
}

TEST(update_and_layer_norm_end_the_rows_that_finish) {
  on_every_type(fused_epilogue);
}
