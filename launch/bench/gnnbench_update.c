#include "kernels/ops/elementwise.h"
#include "kernels/ops/loss.h"
#include "launch/bench/bench.h"

enum { CHECKED_COLUMNS = 8 };

/* What the passes over matrices of one width work on. */
struct passes {
  struct bench *bench;
  struct bench_matrix a, b, out; /* activations: z or y, dy, and what is made of them */
  struct bench_matrix logits, bias, sums, squares;
  int64_t *id, *device_id; /* [nodes] the same on the host and on the device */
  /* [nodes / 2] rows to gather, [nodes], and a list of all rows, which serves as labels too */
  int32_t *index, *label, *device_index, *device_label, *device_rows;
  double *loss; /* on the device */
  struct dropout dropout;
};

static double kept(const struct passes *p, int64_t i, int64_t j) {
  if (p->dropout.threshold == 0) return 1;
  struct philox_block counter = {{(uint32_t)i, (uint32_t)((uint64_t)i >> 32), (uint32_t)(j / 8), 0}};
  uint32_t word = philox(counter, p->dropout.key).word[j % 8 / 2];
  return (j % 2 ? word >> 16 : word & 0xFFFF) >= p->dropout.threshold ? (double)p->dropout.scale : 0;
}

/* The reference of each pass in double. */
static void updated(const void *context, int64_t i, double *row) {
  const struct passes *p = context;
  for (int64_t j = 0; j < p->a.tensor.cols; j++)
    row[j] = fmax(bench_value(&p->a, i, j) + bench_value(&p->bias, 0, j), 0) * kept(p, i, j);
}

/* From y, in which what was dropped reads as 0. */
static double gradient(const struct passes *p, int64_t i, int64_t j) {
  double scale = p->dropout.threshold > 0 ? (double)p->dropout.scale : 1;
  return bench_value(&p->a, i, j) > 0 ? bench_value(&p->b, i, j) * scale : 0;
}

static void gradients(const void *context, int64_t i, double *row) {
  const struct passes *p = context;
  for (int64_t j = 0; j < p->a.tensor.cols; j++) row[j] = gradient(p, i, j);
}

static double element(const struct passes *p, int64_t i, int64_t j) {
  return bench_value(&p->a, i, j);
}

static void gathered(const void *context, int64_t i, double *row) {
  const struct passes *p = context;
  for (int64_t j = 0; j < p->a.tensor.cols; j++) row[j] = bench_value(&p->a, p->index[i], j);
}

static void loss_gradients(const void *context, int64_t i, double *row) {
  const struct passes *p = context;
  double sum = 0;
  for (int64_t j = 0; j < p->logits.tensor.cols; j++) sum += row[j] = exp(bench_value(&p->logits, i, j));
  for (int64_t j = 0; j < p->logits.tensor.cols; j++) row[j] = row[j] / sum - (p->label[i] == j);
}

/* Some of the column sums beside those of `term`, over the sum of what was added. */
static int compare_sums(struct passes *p, double (*term)(const struct passes *p, int64_t i, int64_t j),
                        double *error) {
  int64_t rows = p->a.tensor.rows, cols = p->a.tensor.cols;
  TRY(bench_matrix_download(p->bench, &p->sums, 1));
  for (int64_t j = 0; j < cols; j += cols / CHECKED_COLUMNS + 1) {
    double sum = 0, size = 0;
#pragma omp parallel for reduction(+ : sum, size) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
      sum += term(p, i, j);
      size += fabs(term(p, i, j));
    }
    *error = fmax(*error, fabs(bench_value(&p->sums, 0, j) - sum) / fmax(size, 1));
  }
  return OK;
}

/* A pass: its name, what is said of its shape, the bytes it moves, its rows and sums of columns; either may
 * be NULL. */
struct pass {
  const char *name, *what;
  double bytes;
  struct bench_check *rows;
  double (*sums)(const struct passes *p, int64_t i, int64_t j);
};

static int measure(struct passes *p, bench_run *run, const void *op, const struct pass *pass) {
  struct bench *bench = p->bench;
  const struct tensor shape = pass->rows ? pass->rows->of->tensor : p->a.tensor;
  struct bench_row row = bench_row_of(bench, pass->name, BENCH_COPY_LIMIT, "%lldx%lld %s",
                                      (long long)shape.rows, (long long)shape.cols, pass->what);
  row.bytes = pass->bytes;
  TRY(bench_time(bench, run, op, &row));
  if (pass->rows) TRY(bench_compare(bench, pass->rows, &row.error));
  if (pass->sums) TRY(compare_sums(p, pass->sums, &row.error));
  bench_print(bench, &row);
  return OK;
}

BENCH_RUN(epilogue)
BENCH_RUN(epilogue_backward)
BENCH_RUN(column_sums)
BENCH_RUN(column_moments)
BENCH_RUN(gather)
BENCH_RUN(cross_entropy)

static void set_dropout(struct passes *p, double rate) {
  p->dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), p->device_id);
}

static int measure_epilogue(struct passes *p, double rate) {
  double matrix = (double)tensor_bytes(p->a.tensor), ids = rate > 0 ? 8 * (double)p->a.tensor.rows : 0;
  set_dropout(p, rate);
  struct epilogue op = {.z = p->a.tensor, .y = p->out.tensor, .dropout = p->dropout};
  op.bias = p->bias.tensor.data;
  op.activation = ACTIVATION_RELU;
  return measure(p, run_epilogue, &op,
                 &(struct pass){"update", rate > 0 ? "bias relu dropout" : "bias relu", 2 * matrix + ids,
                                &(struct bench_check){&p->out, updated, p, BENCH_SAMPLE}, NULL});
}

static int measure_backward(struct passes *p, double rate, int sums) {
  double matrix = (double)tensor_bytes(p->a.tensor);
  set_dropout(p, rate);
  struct epilogue forward = {.z = p->a.tensor, .y = p->a.tensor, .dropout = p->dropout};
  forward.activation = ACTIVATION_RELU;
  struct epilogue_backward op = {.forward = &forward, .dy = p->b.tensor, .dz = p->out.tensor};
  if (sums) op.bias_grad = p->sums.tensor.data;
  const char *what = rate > 0 ? "relu dropout sums" : sums ? "relu sums" : "relu";
  return measure(p, run_epilogue_backward, &op,
                 &(struct pass){"backward", what, 3 * matrix,
                                &(struct bench_check){&p->out, gradients, p, BENCH_SAMPLE},
                                sums ? gradient : NULL});
}

static int measure_sums(struct passes *p) {
  double bytes = (double)tensor_bytes(p->a.tensor);
  struct column_sums sums = {.x = p->a.tensor, .out = p->sums.tensor.data};
  struct column_moments moments = {p->a.tensor, p->sums.tensor.data, p->squares.tensor.data};
  TRY(measure(p, run_column_sums, &sums, &(struct pass){"sums", "of columns", bytes, NULL, element}));
  return measure(p, run_column_moments, &moments,
                 &(struct pass){"moments", "of columns", bytes, NULL, element});
}

static int measure_gather(struct passes *p) {
  struct bench_matrix half = p->out;
  half.tensor.rows = p->a.tensor.rows / 2;
  struct gather op = {.x = p->a.tensor, .rows = p->device_index, .y = half.tensor};
  double bytes = 2 * (double)tensor_bytes(half.tensor) + 4 * (double)half.tensor.rows;
  return measure(p, run_gather, &op,
                 &(struct pass){"gather", "random rows", bytes,
                                &(struct bench_check){&half, gathered, p, BENCH_SAMPLE}, NULL});
}

static int measure_loss(struct passes *p) {
  struct loss_op op = {.logits = p->logits.tensor, .grad = p->out.tensor, .scale = 1, .loss = p->loss};
  op.label = p->device_label;
  op.rows = p->device_rows;
  op.count = op.logits.rows;
  double bytes = (double)(tensor_bytes(op.logits) + tensor_bytes(op.grad)) + 8 * (double)op.count;
  return measure(p, run_cross_entropy, &op,
                 &(struct pass){"loss", "cross entropy", bytes,
                                &(struct bench_check){&p->out, loss_gradients, p, BENCH_SAMPLE}, NULL});
}

static int make_lists(struct bench *bench, struct passes *p, int64_t nodes, int64_t width) {
  TRY(bench_array(bench, &p->id, nodes));
  TRY(bench_array(bench, &p->index, nodes / 2));
  TRY(bench_array(bench, &p->label, nodes));
  for (int64_t i = 0; i < nodes; i++) p->id[i] = p->label[i] = (int32_t)i;
  TRY(bench_upload(bench, p->label, nodes * 4, &p->device_rows));
  for (int64_t i = 0; i < nodes; i++) p->label[i] = (int32_t)(i * 31 % width);
  for (int64_t i = 0; i < nodes / 2; i++)
    p->index[i] = (int32_t)(((uint64_t)i * 0x9E3779B97F4A7C15u >> 20) % (uint64_t)nodes);
  TRY(bench_upload(bench, p->id, nodes * 8, &p->device_id));
  TRY(bench_upload(bench, p->index, nodes / 2 * 4, &p->device_index));
  return bench_upload(bench, p->label, nodes * 4, &p->device_label);
}

static int measure_all(struct bench *bench, void *of, int64_t width) {
  struct passes *p = of;
  int64_t nodes = bench->options->nodes;
  enum dtype dtype = bench->kernels.dtype, real = bench->kernels.real;
  TRY(bench_matrix_noise(bench, &p->a, dtype, nodes, width, 1));
  TRY(bench_matrix_noise(bench, &p->b, dtype, nodes, width, 2));
  TRY(bench_matrix_alloc(bench, &p->out, dtype, nodes, width));
  TRY(bench_matrix_noise(bench, &p->logits, real, nodes, width, 4));
  TRY(bench_matrix_noise(bench, &p->bias, real, 1, width, 3));
  TRY(bench_matrix_alloc(bench, &p->sums, real, 1, width));
  TRY(bench_matrix_alloc(bench, &p->squares, real, 1, width));
  TRY(bench_upload(bench, NULL, 8, &p->loss));
  TRY(make_lists(bench, p, nodes, width));
  for (int dropout = 0; dropout < 2; dropout++) TRY(measure_epilogue(p, dropout * .5));
  TRY(measure_backward(p, 0, 0));
  for (int dropout = 0; dropout < 2; dropout++) TRY(measure_backward(p, dropout * .5, 1));
  TRY(measure_sums(p));
  TRY(measure_gather(p));
  return measure_loss(p);
}

int gnnbench_update(struct bench *bench) {
  bench->records = 1;
  return bench_each_width(bench, measure_all, &(struct passes){.bench = bench});
}
