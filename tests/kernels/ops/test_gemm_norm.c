#include "tests/kernels/products.h"

/* Rows of A and of z are the same over and over; where it is far down, there are more than a GPU has in hand
 * at a time. */
enum { NEAR = 1500, FAR = 20001, VAST = 2400001, PERIOD = 499, IN_A_ROW = 40 };

struct norm_case {
  int64_t n, inner, inner2, pad; /* inner2: terms of a second product; 0: none */
  int far;
};

static const struct norm_case norm_cases[] = {
    {256, 40, 0, -1, 1},  {256, 128, 0, -1, 0}, {256, 256, 0, -1, 1}, {128, 128, 0, -1, 0},
    {128, 64, 0, -2, 0},  {64, 33, 0, -1, 1},   {40, 64, 0, -1, 0},   {47, 100, 0, -2, 0},
    {100, 47, 0, -1, 1},  {136, 22, 0, -1, 0},  {300, 20, 0, -1, 0},  {136, 20, 41, -1, 0},
    {41, 17, 20, -1, 0},  {100, 50, 0, 1, 0},   {17, 300, 0, 3, 0},   {256, 100, 0, -1, 0},
    {128, 256, 0, -1, 0}, {7, 5, 0, -1, 0},
};
enum { NORM_CASES = sizeof norm_cases / sizeof norm_cases[0] };

static int64_t rows_of(const struct kernels *k, const struct norm_case *c) {
  return c->far && !k->device->ops->on_host ? FAR : NEAR;
}

/* One period of the product; kind: 2 where B is transposed. */
static struct product product_of_case(struct kernels *k, const struct norm_case *c, int64_t far, int kind,
                                      double *a, struct product *period) {
  rounded(k, a, PERIOD * c->inner);
  struct product p = product_of(k, repeated(a, c->inner, far, PERIOD), noise_block(2, c->inner * c->n), far,
                                c->n, c->inner, kind, c->pad);
  double *a2 = rounded(k, noise_block(7, PERIOD * c->inner2), PERIOD * c->inner2);
  if (c->inner2 > 0)
    add_second(k, &p, repeated(a2, c->inner2, far, PERIOD), noise_block(8, c->inner2 * c->n), c->inner2,
               c->pad);
  *period = (struct product){.m = PERIOD, .n = c->n, .inner = c->inner, .tb = p.tb, .a = a, .b = p.b};
  period->inner2 = c->inner2;
  period->a2 = a2;
  period->b2 = p.b2;
  return p;
}

/* offset: of A's first column, so that columns of C lie that far from 0 at most. */
static void check_moments(struct kernels *k, const struct norm_case *c, double offset) {
  int64_t far = rows_of(k, c), n = c->n;
  double *a = noise_block(1, PERIOD * c->inner), *zero = host_block(n * 8),
         *expected = host_block(PERIOD * n * 8);
  double *sum = host_block(n * 8), *squares = host_block(n * 8);
  for (int64_t i = 0; i < PERIOD; i++) a[i * c->inner] = offset;
  struct product period, p = product_of_case(k, c, far, 0, a, &period);
  p.op.c = result(k, k->dtype, NULL, far, n, c->pad);
  struct column_moments moments = {.x = p.op.c, .sum = reals(k, zero, n), .squares = reals(k, zero, n)};
  p.op.moments = &moments;
  assert_ok(op_gemm(k, &p.op));
  double *z = values_of(k, p.op.c), tolerance = tolerance_of(k) + product_tolerance(k);
  compute(&period, expected, 1);
  assert_all_close(z, repeated(expected, n, far, PERIOD), far * n, tolerance);
  for (int64_t i = 0; i < far * n; i++) sum[i % n] += z[i];
  for (int64_t i = 0; i < far * n; i++) {
    double difference = z[i] - sum[i % n] / (double)far;
    squares[i % n] += difference * difference;
  }
  assert_all_close(doubles(k, moments.sum, n), sum, n, real_tolerance(k));
  assert_all_close(doubles(k, moments.squares, n), squares, n, real_tolerance(k));
  free_blocks(k->device);
}

static void moments_of_products(struct kernels *k) {
  for (int i = 0; i < NORM_CASES; i++) {
    check_moments(k, &norm_cases[i], i % 2 ? .5 : 1000);
    if (!norm_cases[i].far) check_moments(k, &norm_cases[i], i % 2 ? 1000 : .5);
  }
}

TEST(moments_of_a_product_are_those_of_what_it_wrote) {
  on_every_table(moments_of_products);
}

/* A batch norm and a ReLU below a product, and what must come out of the way back. */
struct below {
  int64_t far, n;
  double *z, *mean, *rstd, *gain, *shift; /* z: of a period */
  double *dn, *dz, *sum, *product;        /* likewise dn and dz; sums of dn and of dn xhat over all rows */
  struct epilogue epilogue;
  struct epilogue_backward back;
};

/* No n comes near 0, where rounding may change its sign. */
static void set_norm(struct kernels *k, struct below *b) {
  b->z = integer_block(3, PERIOD * b->n);
  b->mean = host_block(b->n * 8);
  b->rstd = host_block(b->n * 8);
  b->gain = host_block(b->n * 8);
  b->shift = host_block(b->n * 8);
  for (int64_t j = 0; j < b->n; j++) {
    b->mean[j] = .5 + (double)(j % 3);
    b->rstd[j] = .5;
    b->gain[j] = (j % 5 == 4 ? -1 : 1) * (1 + (double)(j % 2));
    b->shift[j] = .125 * (double)(j % 4 - 1);
  }
  b->epilogue = (struct epilogue){.norm = NORM_BATCH, .activation = ACTIVATION_RELU};
  b->epilogue.mean = reals(k, b->mean, b->n);
  b->epilogue.rstd = reals(k, b->rstd, b->n);
  b->epilogue.gain = reals(k, b->gain, b->n);
  b->epilogue.shift = reals(k, b->shift, b->n);
}

static void compute_below(struct below *b, const double *dy) {
  b->dn = host_block(PERIOD * b->n * 8);
  b->dz = host_block(PERIOD * b->n * 8);
  b->sum = host_block(b->n * 8);
  b->product = host_block(b->n * 8);
  for (int64_t i = 0; i < PERIOD * b->n; i++) {
    int64_t j = i % b->n;
    double xhat = (b->z[i] - b->mean[j]) * b->rstd[j];
    b->dn[i] = xhat * b->gain[j] + b->shift[j] > 0 ? dy[i] : 0;
    b->sum[j] += times(i / b->n, b->far, PERIOD) * b->dn[i];
    b->product[j] += times(i / b->n, b->far, PERIOD) * b->dn[i] * xhat;
  }
  for (int64_t i = 0; i < PERIOD * b->n; i++) {
    int64_t j = i % b->n;
    double xhat = (b->z[i] - b->mean[j]) * b->rstd[j];
    double correction = (b->sum[j] + xhat * b->product[j]) / (double)b->far;
    b->dz[i] = b->gain[j] * b->rstd[j] * (b->dn[i] - correction);
  }
}

static void check_sums(struct kernels *k, const struct below *b, double tolerance) {
  assert_all_close(doubles(k, b->back.shift_grad, b->n), b->sum, b->n, tolerance);
  assert_all_close(doubles(k, b->back.gain_grad, b->n), b->product, b->n, tolerance);
}

/* The product, its z and its gradients; c->pad: of dn as well, of which `period` becomes one period. */
static struct product product_below(struct kernels *k, const struct norm_case *c, struct below *b,
                                    struct product *period) {
  double *a = noise_block(1, PERIOD * c->inner), *dy = host_block(PERIOD * c->n * 8);
  struct product p = product_of_case(k, c, b->far, 2, a, period);
  compute(period, dy, 1);
  set_norm(k, b);
  compute_below(b, dy);
  b->epilogue.z = result(k, k->dtype, repeated(b->z, c->n, b->far, PERIOD), b->far, c->n, c->pad);
  b->epilogue.y = result(k, k->dtype, NULL, b->far, c->n, c->pad);
  p.op.c = result(k, k->dtype, NULL, b->far, c->n, c->pad);
  b->back = (struct epilogue_backward){.forward = &b->epilogue, .dy = p.op.c, .dz = p.op.c};
  b->back.shift_grad = reals(k, dy, c->n);
  b->back.gain_grad = reals(k, dy, c->n);
  p.op.backward = &b->back;
  return p;
}

/* dn and its sums in one product; then its sums alone, and dz by the same product again. */
static void check_below(struct kernels *k, const struct norm_case *c) {
  struct below b = {.far = rows_of(k, c), .n = c->n};
  struct product period, p = product_below(k, c, &b, &period);
  struct tensor out = p.op.c;
  double tolerance = 3 * tolerance_of(k) + product_tolerance(k);
  double of_sums = k->dtype == k->real ? tolerance : sqrt((double)b.far) * tolerance;
  assert_ok(op_gemm(k, &p.op));
  assert_all_close(values_of(k, out), repeated(b.dn, c->n, b.far, PERIOD), b.far * c->n, tolerance);
  check_sums(k, &b, of_sums);
  p.op.sums_alone = 1;
  assert_ok(op_gemm(k, &p.op));
  check_sums(k, &b, of_sums);
  struct batch_norm_backward norm = {.forward = &b.epilogue, .dz = out, .count = b.far};
  norm.sum_dn = b.back.shift_grad;
  norm.sum_dn_xhat = b.back.gain_grad;
  struct epilogue_backward again = b.back;
  again.shift_grad = again.gain_grad = NULL;
  p.op.sums_alone = 0;
  p.op.backward = &again;
  p.op.norm = &norm;
  assert_ok(op_gemm(k, &p.op));
  assert_all_close(values_of(k, out), repeated(b.dz, c->n, b.far, PERIOD), b.far * c->n, 2 * tolerance);
  free_blocks(k->device);
}

static void below_products(struct kernels *k) {
  for (int i = 0; i < NORM_CASES; i++) check_below(k, &norm_cases[i]);
}

TEST(a_product_takes_the_way_back_through_a_batch_norm_below) {
  on_every_table(below_products);
}

/* So many rows, those of `few` over and over. */
static struct tensor grown(struct kernels *k, struct tensor few, int64_t rows) {
  int64_t pitch = few.stride * dtype_bytes(few.dtype);
  struct tensor many = few;
  many.rows = rows;
  many.data = device_block(k, NULL, rows * pitch);
  assert_ok(device_copy(k->device, STREAM_COMPUTE, many.data, few.data, few.rows * pitch));
  for (int64_t done = few.rows, more; done < rows; done += more) {
    more = done < rows - done ? done : rows - done;
    assert_ok(
        device_copy(k->device, STREAM_COMPUTE, (char *)many.data + done * pitch, many.data, more * pitch));
  }
  return many;
}

/* A GPU reads some gigabytes for each product: there, copies overtake one another. */
static void check_in_a_row(struct kernels *k, const struct norm_case *c) {
  int64_t rows = k->device->ops->on_host ? NEAR : VAST;
  struct below b = {.far = PERIOD, .n = c->n};
  struct product period, p = product_below(k, c, &b, &period);
  double *sum = NULL, *product = NULL;
  p.op.a = grown(k, p.op.a, rows);
  p.op.c = b.back.dy = b.back.dz = grown(k, p.op.c, rows);
  b.epilogue.z = grown(k, b.epilogue.z, rows);
  b.epilogue.y = p.op.c; /* not read */
  for (int i = 0; i < (k->device->ops->on_host ? 2 : IN_A_ROW); i++) {
    p.op.sums_alone = i % 2;
    assert_ok(op_gemm(k, &p.op));
    double *sum_now = doubles(k, b.back.shift_grad, c->n), *product_now = doubles(k, b.back.gain_grad, c->n);
    if (i == 0) sum = sum_now, product = product_now;
    assert_memory_equal(sum_now, sum, (size_t)c->n * 8);
    assert_memory_equal(product_now, product, (size_t)c->n * 8);
  }
  free_blocks(k->device);
}

static void in_a_row(struct kernels *k) {
  check_in_a_row(k, &(struct norm_case){256, 256, 0, -1, 1});
  check_in_a_row(k, &(struct norm_case){128, 128, 0, -1, 1});
  check_in_a_row(k, &(struct norm_case){136, 100, 0, -1, 1});
}

TEST(many_products_in_a_row_repeat_bit_by_bit) {
  on_every_table(in_a_row);
}
