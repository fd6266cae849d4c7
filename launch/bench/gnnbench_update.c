#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/loss.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

enum { COPY_GBYTES = 4200, CHECKED_COLUMNS = 8 };

/* What the passes over matrices of one width work on. */
struct passes {
  struct bench *bench;
  struct bench_matrix a, b, out; /* activations: z or y, dy, and what is made of them */
  struct bench_matrix logits;
  void *bias, *sums, *squares; /* [width] */
  int64_t *id;                 /* [nodes] the same on the host and, behind it, on the device */
  int32_t *index, *label; /* [nodes / 2] rows to gather; [nodes], which serves as a list of all rows too */
  void *device_id, *device_index, *device_label, *device_rows;
  double *loss;
  struct dropout dropout;
};

/* Multiples of 1/128 in [-1, 1), exact in every type; `context` is one byte that tells matrices apart. */
static double value(const void *context, int64_t i, int64_t j) {
  uint64_t x = ((uint64_t)i * 4096 + (uint64_t)j + ((uint64_t) * (const uint8_t *)context << 56)) *
               0x9E3779B97F4A7C15u;
  return (double)((x ^ x >> 29) % 256) / 128 - 1;
}

static const uint8_t seed_a = 1, seed_b = 2, seed_bias = 3, seed_logits = 4;

static double kept(const struct passes *p, int64_t i, int64_t j) {
  if (p->dropout.threshold == 0) return 1;
  struct philox_block counter = {{(uint32_t)i, (uint32_t)((uint64_t)i >> 32), (uint32_t)(j / 8), 0}};
  uint32_t word = philox(counter, p->dropout.key).word[j % 8 / 2];
  return (j % 2 ? word >> 16 : word & 0xFFFF) >= p->dropout.threshold ? (double)p->dropout.scale : 0;
}

/* The reference of each pass in double. */
typedef double reference(const struct passes *p, int64_t i, int64_t j);

static double updated(const struct passes *p, int64_t i, int64_t j) {
  return fmax(value(&seed_a, i, j) + value(&seed_bias, 0, j), 0) * kept(p, i, j);
}

/* From y, in which what was dropped reads as 0. */
static double gradient(const struct passes *p, int64_t i, int64_t j) {
  double scale = p->dropout.threshold > 0 ? (double)p->dropout.scale : 1;
  return value(&seed_a, i, j) > 0 ? value(&seed_b, i, j) * scale : 0;
}

static double element(const struct passes *p, int64_t i, int64_t j) {
  (void)p;
  return value(&seed_a, i, j);
}

static double gathered(const struct passes *p, int64_t i, int64_t j) {
  return value(&seed_a, p->index[i], j);
}

static double loss_gradient(const struct passes *p, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t c = 0; c < p->logits.tensor.cols; c++) sum += exp(value(&seed_logits, i, c));
  return exp(value(&seed_logits, i, j)) / sum - (p->label[i] == j);
}

/* Largest difference of sampled rows of `out` from their reference, over the largest of these. */
static int compare_rows(struct passes *p, struct bench_matrix *out, reference *expected, double *error) {
  struct tensor t = out->tensor;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < t.rows; i += t.rows / BENCH_SAMPLE + 1) {
    int64_t bytes = t.cols * dtype_bytes(t.dtype), place = i * t.stride * dtype_bytes(t.dtype);
    TRY(device_download(&p->bench->device, STREAM_COMPUTE, (char *)out->host + place, (char *)t.data + place,
                        bytes));
    TRY(device_synchronize(&p->bench->device, STREAM_COMPUTE));
    for (int64_t j = 0; j < t.cols; j++) {
      double wanted = expected(p, i, j);
      largest = fmax(largest, fabs(wanted));
      difference = fmax(difference, fabs(bench_value(out, i, j) - wanted));
    }
  }
  *error = largest > 0 ? difference / largest : difference;
  return OK;
}

/* The same of some of the column sums, over the sum of what was added. */
static int compare_sums(struct passes *p, reference *expected, double *error) {
  enum dtype real = p->bench->kernels.real;
  int64_t rows = p->a.tensor.rows, cols = p->a.tensor.cols;
  struct bench_matrix sums = {.tensor = tensor_of(p->sums, real, 1, cols)};
  TRY(memory_alloc(&sums.host, tensor_bytes(sums.tensor), "column sums"));
  int code = bench_matrix_download(p->bench, &sums);
  for (int64_t j = 0; code == OK && j < cols; j += cols / CHECKED_COLUMNS + 1) {
    double sum = 0, size = 0;
#pragma omp parallel for reduction(+ : sum, size) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
      sum += expected(p, i, j);
      size += fabs(expected(p, i, j));
    }
    *error = fmax(*error, fabs(bench_value(&sums, 0, j) - sum) / fmax(size, 1));
  }
  free(sums.host);
  return code;
}

/* A pass: its name, what is said of its shape, what runs and with what, the bytes it moves, what it makes. */
struct pass {
  const char *name, *what;
  int (*run)(struct kernels *k, const void *op);
  const void *op;
  double bytes;
  struct bench_matrix *out; /* NULL: sums alone */
  reference *expected;
  int sums;
};

static int measure(struct passes *p, const struct pass *pass) {
  struct bench_row row = {.name = pass->name, .bytes = pass->bytes};
  if (!p->bench->device.ops->on_host) row.limit = COPY_GBYTES;
  const struct tensor shape = pass->out ? pass->out->tensor : p->a.tensor;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld %s", (long long)shape.rows, (long long)shape.cols,
           pass->what);
  TRY(bench_time(p->bench, pass->run, pass->op, &row));
  if (pass->out) TRY(compare_rows(p, pass->out, pass->expected, &row.error));
  if (pass->sums) TRY(compare_sums(p, pass->expected, &row.error));
  bench_print(p->bench, &row);
  return OK;
}

static int run_epilogue(struct kernels *k, const void *op) {
  return op_epilogue(k, op);
}

static int run_backward(struct kernels *k, const void *op) {
  return op_epilogue_backward(k, op);
}

static int run_column_sums(struct kernels *k, const void *op) {
  return op_column_sums(k, op);
}

static int run_column_moments(struct kernels *k, const void *op) {
  return op_column_moments(k, op);
}

static int run_gather(struct kernels *k, const void *op) {
  return op_gather(k, op);
}

static int run_cross_entropy(struct kernels *k, const void *op) {
  return op_cross_entropy(k, op);
}

static int measure_epilogue(struct passes *p, double rate) {
  double matrix = (double)tensor_bytes(p->a.tensor), ids = rate > 0 ? 8 * (double)p->a.tensor.rows : 0;
  p->dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), p->device_id);
  struct epilogue op = {.z = p->a.tensor, .y = p->out.tensor, .bias = p->bias, .dropout = p->dropout};
  op.activation = ACTIVATION_RELU;
  return measure(p, &(struct pass){"update", rate > 0 ? "bias relu dropout" : "bias relu", run_epilogue, &op,
                                   2 * matrix + ids, &p->out, updated, 0});
}

static int measure_backward(struct passes *p, double rate, int sums) {
  double matrix = (double)tensor_bytes(p->a.tensor);
  p->dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), p->device_id);
  struct epilogue forward = {.z = p->a.tensor, .y = p->a.tensor, .dropout = p->dropout};
  forward.activation = ACTIVATION_RELU;
  struct epilogue_backward op = {.forward = &forward, .dy = p->b.tensor, .dz = p->out.tensor};
  if (sums) op.bias_grad = p->sums;
  const char *what = rate > 0 ? "relu dropout sums" : sums ? "relu sums" : "relu";
  return measure(p, &(struct pass){"backward", what, run_backward, &op, 3 * matrix, &p->out, gradient, sums});
}

static int measure_sums(struct passes *p) {
  struct column_sums op = {.x = p->a.tensor, .out = p->sums};
  return measure(p, &(struct pass){"sums", "of columns", run_column_sums, &op,
                                   (double)tensor_bytes(p->a.tensor), NULL, element, 1});
}

static int measure_moments(struct passes *p) {
  struct column_moments op = {.x = p->a.tensor, .sum = p->sums, .squares = p->squares};
  return measure(p, &(struct pass){"moments", "of columns", run_column_moments, &op,
                                   (double)tensor_bytes(p->a.tensor), NULL, element, 1});
}

static int measure_gather(struct passes *p) {
  struct bench_matrix half = p->out;
  half.tensor.rows = p->a.tensor.rows / 2;
  struct gather op = {.x = p->a.tensor, .rows = p->device_index, .y = half.tensor};
  double bytes = 2 * (double)tensor_bytes(half.tensor) + 4 * (double)half.tensor.rows;
  return measure(p, &(struct pass){"gather", "random rows", run_gather, &op, bytes, &half, gathered, 0});
}

static int measure_loss(struct passes *p) {
  struct loss_op op = {.logits = p->logits.tensor, .grad = p->out.tensor, .scale = 1, .loss = p->loss};
  op.label = p->device_label;
  op.rows = p->device_rows;
  op.count = op.logits.rows;
  double bytes = (double)(tensor_bytes(op.logits) + tensor_bytes(op.grad)) + 8 * (double)op.count;
  return measure(
      p, &(struct pass){"loss", "cross entropy", run_cross_entropy, &op, bytes, &p->out, loss_gradient, 0});
}

static int upload(struct passes *p, const void *from, int64_t bytes, void **to) {
  TRY(device_alloc(&p->bench->device, bytes, to, "benchmark"));
  if (from) TRY(device_upload(&p->bench->device, STREAM_COMPUTE, *to, from, bytes));
  return device_synchronize(&p->bench->device, STREAM_COMPUTE);
}

static int make_lists(struct passes *p, int64_t nodes, int64_t width) {
  TRY(memory_alloc(&p->id, nodes * 8, "benchmark ids"));
  TRY(memory_alloc(&p->index, nodes / 2 * 4, "benchmark rows"));
  TRY(memory_alloc(&p->label, nodes * 4, "benchmark labels"));
  for (int64_t i = 0; i < nodes; i++) p->label[i] = (int32_t)i;
  TRY(upload(p, p->label, nodes * 4, &p->device_rows));
  for (int64_t i = 0; i < nodes; i++) {
    p->id[i] = i;
    p->label[i] = (int32_t)(i * 31 % width);
  }
  for (int64_t i = 0; i < nodes / 2; i++)
    p->index[i] = (int32_t)(((uint64_t)i * 0x9E3779B97F4A7C15u >> 20) % (uint64_t)nodes);
  TRY(upload(p, p->id, nodes * 8, &p->device_id));
  TRY(upload(p, p->index, nodes / 2 * 4, &p->device_index));
  return upload(p, p->label, nodes * 4, &p->device_label);
}

static int make(struct passes *p, int64_t nodes, int64_t width) {
  struct bench *bench = p->bench;
  struct bench_matrix bias = {0};
  TRY(bench_matrix_alloc(bench, &p->a, bench->kernels.dtype, nodes, width));
  TRY(bench_matrix_fill(bench, &p->a, value, &seed_a));
  TRY(bench_matrix_alloc(bench, &p->b, bench->kernels.dtype, nodes, width));
  TRY(bench_matrix_fill(bench, &p->b, value, &seed_b));
  TRY(bench_matrix_alloc(bench, &p->out, bench->kernels.dtype, nodes, width));
  TRY(bench_matrix_alloc(bench, &p->logits, bench->kernels.real, nodes, width));
  TRY(bench_matrix_fill(bench, &p->logits, value, &seed_logits));
  TRY(bench_matrix_alloc(bench, &bias, bench->kernels.real, 1, width));
  p->bias = bias.tensor.data;
  int code = bench_matrix_fill(bench, &bias, value, &seed_bias);
  free(bias.host);
  TRY(code);
  TRY(upload(p, NULL, width * dtype_bytes(bench->kernels.real), &p->sums));
  TRY(upload(p, NULL, width * dtype_bytes(bench->kernels.real), &p->squares));
  TRY(upload(p, NULL, 8, (void **)&p->loss));
  return make_lists(p, nodes, width);
}

static void release(struct passes *p) {
  void *const on_device[] = {p->bias,      p->squares,      p->sums,         p->loss,
                             p->device_id, p->device_index, p->device_label, p->device_rows};
  for (int i = 0; i < (int)(sizeof on_device / sizeof *on_device); i++)
    device_release(&p->bench->device, on_device[i]);
  bench_matrix_free(p->bench, &p->a);
  bench_matrix_free(p->bench, &p->b);
  bench_matrix_free(p->bench, &p->out);
  bench_matrix_free(p->bench, &p->logits);
  free(p->id);
  free(p->index);
  free(p->label);
}

static int measure_all(struct passes *p, int64_t width) {
  TRY(make(p, p->bench->options->nodes, width));
  for (int dropout = 0; dropout < 2; dropout++) TRY(measure_epilogue(p, dropout * .5));
  TRY(measure_backward(p, 0, 0));
  for (int dropout = 0; dropout < 2; dropout++) TRY(measure_backward(p, dropout * .5, 1));
  TRY(measure_sums(p));
  TRY(measure_moments(p));
  TRY(measure_gather(p));
  return measure_loss(p);
}

int gnnbench_update(struct bench *bench) {
  bench->records = 1;
  for (int i = 0; i < bench->options->widths; i++) {
    struct passes p = {.bench = bench};
    int code = measure_all(&p, bench->options->width[i]);
    release(&p);
    TRY(code);
  }
  return OK;
}
