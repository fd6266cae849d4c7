/* every_table: runs a test on each compiled device in each precision, two threads. Numbers go to the device
 * and come back as doubles: matrices of activations as k->dtype (rounded, where that is bf16), what else
 * there is as k->real. Whatever a test allocated here is freed after it. */
#ifndef TESTS_KERNELS_EVERY_TABLE_H
#define TESTS_KERNELS_EVERY_TABLE_H

#include "kernels/ops/elementwise.h"
#include "kernels/ops/kernels.h"
#include "runtime/base/memory.h"
#include "runtime/device/device_list.h"
#include "tests/check.h"

enum { BLOCKS = 4096 };

static struct {
  void *host[BLOCKS], *device[BLOCKS];
  int hosts, devices;
} blocks;

static inline void *host_block(int64_t bytes) {
  assert_true(blocks.hosts < BLOCKS);
  assert_ok(memory_alloc(&blocks.host[blocks.hosts], bytes, "test"));
  return blocks.host[blocks.hosts++];
}

static inline void *device_block(struct kernels *k, const void *from, int64_t bytes) {
  assert_true(blocks.devices < BLOCKS);
  void *block = NULL;
  assert_ok(device_alloc(k->device, bytes, &block, "test"));
  blocks.device[blocks.devices++] = block;
  if (from) assert_ok(device_upload(k->device, STREAM_COMPUTE, block, from, bytes));
  return block;
}

static inline void free_blocks(struct device *device) {
  while (blocks.hosts > 0) free(blocks.host[--blocks.hosts]);
  while (blocks.devices > 0) device_release(device, blocks.device[--blocks.devices]);
}

/* Whether tables of that device take part: those of GNNTRAIN_TEST_DEVICE, else all whose device is there.
 * Ends the program as skipped when the device asked for is missing. */
static inline int takes_part(const char *name) {
  const char *wanted = getenv("GNNTRAIN_TEST_DEVICE");
  if (wanted && strcmp(wanted, name) != 0) return 0;
  for (int i = 0; device_list[i]; i++) {
    if (strcmp(device_list[i]->name, name) == 0 && device_list[i]->available() > 0) return 1;
  }
  if (wanted) {
    printf("this machine has no device \"%s\"\n", name);
    fflush(stdout);
    exit(77);
  }
  return 0;
}

static inline void on_table(const struct kernel_ops *ops, enum precision precision,
                            void (*test)(struct kernels *k)) {
  struct device device = {0};
  struct kernels k = {0};
  assert_ok(device_open(&device, ops->device, 0, 1, 2));
  assert_ok(kernels_open(&k, &device, precision));
  assert_ptr_equal(k.ops, ops);
  test(&k);
  free_blocks(&device);
  kernels_close(&k);
  device_close(&device);
}

/* GNNTRAIN_TEST_PRECISION, which must be one; NULL: not set. */
static inline const char *wanted_precision(void) {
  const char *wanted = getenv("GNNTRAIN_TEST_PRECISION");
  int p = 0;
  while (wanted && precision_name[p] && strcmp(wanted, precision_name[p]) != 0) p++;
  if (wanted && !precision_name[p]) fail_msg("GNNTRAIN_TEST_PRECISION: there is no precision \"%s\"", wanted);
  return wanted;
}

/* Whether the table serves it and GNNTRAIN_TEST_PRECISION, where that is set, names it. */
static inline int serves(const struct kernel_ops *ops, int precision) {
  const char *wanted = wanted_precision();
  return ops->precisions >> precision & 1 && (!wanted || strcmp(wanted, precision_name[precision]) == 0);
}

/* Calls test(k) for every table that takes part, in one precision of each: for ops that are alike in the
 * others. */
static inline void on_every_type(void (*test)(struct kernels *k)) {
  for (int i = 0; kernel_list[i]; i++) {
    int p = 0;
    if (!takes_part(kernel_list[i]->device)) continue;
    while (precision_name[p] && !serves(kernel_list[i], p)) p++;
    if (precision_name[p]) on_table(kernel_list[i], (enum precision)p, test);
  }
}

/* The same in every precision that a table serves, if the precision changes what is computed: nothing in
 * kernels/cpu asks for it, so that a table of the processor is tested in one. */
static inline void on_every_table(void (*test)(struct kernels *k)) {
  for (int i = 0; kernel_list[i]; i++) {
    int on_processor = strcmp(kernel_list[i]->device, "cpu") == 0;
    if (!takes_part(kernel_list[i]->device)) continue;
    for (int p = 0; precision_name[p]; p++) {
      if (!serves(kernel_list[i], p)) continue;
      on_table(kernel_list[i], (enum precision)p, test);
      if (on_processor) break;
    }
  }
}

/* The allowed error, relative to the size of what is summed: of reals, and of elements of that type. */
static inline double real_tolerance(const struct kernels *k) {
  return k->real == F64 ? 1e-12 : 1e-5;
}

static inline double tolerance_in(const struct kernels *k, enum dtype dtype) {
  return real_tolerance(k) + (dtype == BF16 ? 1.0 / 256 : 0);
}

static inline double tolerance_of(const struct kernels *k) {
  return tolerance_in(k, k->dtype);
}

/* Numbers in [-1, 1) that a float holds exactly, the same for equal seeds. */
static inline double noise(uint64_t seed, int64_t i) {
  return 2.0 * (double)random_unit(random_block((struct philox_key){{7, 9}}, (uint64_t)i, seed).word[0]) - 1;
}

static inline double *noise_block(uint64_t seed, int64_t count) {
  double *value = host_block(count * 8);
  for (int64_t i = 0; i < count; i++) value[i] = noise(seed, i);
  return value;
}

/* Factors of rows, which any type holds. */
static inline double *row_factors(int64_t rows) {
  double *factor = host_block(rows * 8);
  for (int64_t v = 0; v < rows; v++) factor[v] = .25 * (double)(1 + v % 7);
  return factor;
}

/* Small integers in [-4, 4]: sums of them are exact in every type. */
static inline double *integer_block(uint64_t seed, int64_t count) {
  double *value = host_block(count * 8);
  for (int64_t i = 0; i < count; i++) value[i] = floor(noise(seed, i) * 4.5 + 0.5);
  return value;
}

/* What an element of that type holds of a number. */
static inline double element(enum dtype dtype, double value) {
  if (dtype == BF16) return (double)float_of_bf16(bf16_of_float((float)value));
  return dtype == F64 ? value : (double)(float)value;
}

/* Rounds count numbers to what matrices of the table hold, so that a reference starts from the same. */
static inline double *rounded(const struct kernels *k, double *value, int64_t count) {
  for (int64_t i = 0; i < count; i++) value[i] = element(k->dtype, value[i]);
  return value;
}

/* count doubles as elements of that type on the device, and back. */
static inline void *elements(struct kernels *k, enum dtype dtype, const double *value, int64_t count) {
  if (dtype == F64) return device_block(k, value, count * 8);
  char *narrow = host_block(count * dtype_bytes(dtype));
  for (int64_t i = 0; i < count; i++) {
    float x = (float)value[i];
    uint16_t half = bf16_of_float(x);
    memcpy(narrow + i * dtype_bytes(dtype), dtype == F32 ? (void *)&x : &half, (size_t)dtype_bytes(dtype));
  }
  return device_block(k, narrow, count * dtype_bytes(dtype));
}

static inline double *elements_of(struct kernels *k, enum dtype dtype, const void *from, int64_t count) {
  int64_t bytes = count * dtype_bytes(dtype);
  char *narrow = host_block(bytes);
  double *wide = host_block(count * 8);
  assert_ok(device_download(k->device, STREAM_COMPUTE, narrow, from, bytes));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  for (int64_t i = 0; i < count; i++) {
    const char *at = narrow + i * dtype_bytes(dtype);
    float x;
    uint16_t half;
    memcpy(dtype == F64   ? (void *)&wide[i]
           : dtype == F32 ? (void *)&x
                          : &half,
           at, (size_t)dtype_bytes(dtype));
    if (dtype != F64) wide[i] = (double)(dtype == F32 ? x : float_of_bf16(half));
  }
  return wide;
}

/* The same as the table's reals. */
static inline void *reals(struct kernels *k, const double *value, int64_t count) {
  return elements(k, k->real, value, count);
}

static inline double *doubles(struct kernels *k, const void *from, int64_t count) {
  return elements_of(k, k->real, from, count);
}

/* Paddings with wide loads: as tensor_stride pads, where the gaps are the matrix's own, and more than that.
 */
enum { OWN_GAPS = -1, WIDE_GAPS = -2 };

static inline int64_t padded_stride(enum dtype dtype, int64_t cols, int64_t pad) {
  if (pad >= 0) return cols + pad;
  return tensor_stride(dtype, cols) + (pad == WIDE_GAPS ? tensor_stride(dtype, 1) : 0);
}

/* A matrix on the device whose rows lie `pad` elements further apart than they are long; the gaps hold 99.
 * values NULL: all 99. */
static inline struct tensor padded_matrix_of(struct kernels *k, enum dtype dtype, const double *value,
                                             int64_t rows, int64_t cols, int64_t pad) {
  int64_t stride = padded_stride(dtype, cols, pad);
  double *wide = host_block(rows * stride * 8);
  for (int64_t i = 0; i < rows * stride; i++) {
    int64_t row = i / stride, col = i % stride;
    wide[i] = value && col < cols ? value[row * cols + col] : 99;
  }
  struct tensor t = {elements(k, dtype, wide, rows * stride), dtype, rows, cols, stride};
  return t;
}

static inline struct tensor padded_matrix(struct kernels *k, const double *value, int64_t rows, int64_t cols,
                                          int64_t pad) {
  return padded_matrix_of(k, k->dtype, value, rows, cols, pad);
}

static inline struct tensor matrix(struct kernels *k, const double *value, int64_t rows, int64_t cols) {
  return padded_matrix(k, value, rows, cols, 0);
}

static inline struct tensor real_matrix(struct kernels *k, const double *value, int64_t rows, int64_t cols) {
  return padded_matrix_of(k, k->real, value, rows, cols, 0);
}

/* Bits of what is above 0 in a matrix of the table's type. */
static inline struct tensor signs_of(struct kernels *k, struct tensor x) {
  const int64_t bytes = (x.cols + 7) / 8;
  void *const bits = device_block(k, memset(host_block(x.rows * bytes), 0xA5, (size_t)(x.rows * bytes)),
                                  x.rows * bytes);
  struct signs op = {.x = x, .of = tensor_of(bits, BITS, x.rows, bytes)};
  assert_ok(op_signs(k, &op));
  return op.of;
}

/* The padding that puts rows of any type at multiples of 32 bytes. */
static inline int64_t whole_rows(int64_t cols) {
  return tensor_stride(BF16, cols) - cols;
}

/* The matrix's values, [rows, cols]; gaps that are not its own must be untouched. */
static inline double *values_of(struct kernels *k, struct tensor t) {
  double *wide = elements_of(k, t.dtype, t.data, t.rows * t.stride);
  double *value = host_block(t.rows * t.cols * 8);
  for (int64_t i = 0; i < t.rows * t.stride; i++) {
    int64_t row = i / t.stride, col = i % t.stride;
    if (col < t.cols)
      value[row * t.cols + col] = wide[i];
    else
      assert_true(t.stride == tensor_stride(t.dtype, t.cols) || wide[i] == 99);
  }
  return value;
}

/* |actual - expected| <= tolerance max|expected| (at least 1). */
static inline void assert_all_close(const double *actual, const double *expected, int64_t count,
                                    double tolerance) {
  double size = 1;
  for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(expected[i]));
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(actual[i] - expected[i]) <= tolerance * size))
      fail_msg("element %ld: %.12g, expected %.12g", (long)i, actual[i], expected[i]);
  }
}

/* Each element of a matrix of activations is off by at most tolerance and its own rounding. */
static inline void assert_all_rounded(const struct kernels *k, const double *actual, const double *expected,
                                      int64_t count, double tolerance) {
  double rounding = k->dtype == BF16 ? 1.0 / 256 : 0;
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(actual[i] - expected[i]) <= tolerance + rounding * fabs(expected[i])))
      fail_msg("element %ld: %.12g, expected %.12g", (long)i, actual[i], expected[i]);
  }
}

static inline void assert_all_equal(const double *actual, const double *expected, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (actual[i] != expected[i])
      fail_msg("element %ld: %.17g, expected %.17g", (long)i, actual[i], expected[i]);
  }
}

static inline void set_scalars(struct kernels *k, struct scalars scalars) {
  assert_ok(device_upload(k->device, STREAM_COMPUTE, k->scalars, &scalars, (int64_t)sizeof scalars));
}

/* Global ids of local rows: distinct, large, in no order. */
static inline int64_t global_id(int64_t v) {
  return (v * 7919 + 13) % 100003 + ((int64_t)1 << 33);
}

static inline const int64_t *global_ids(struct kernels *k, int64_t rows) {
  int64_t *id = host_block(rows * 8);
  for (int64_t v = 0; v < rows; v++) id[v] = global_id(v);
  return device_block(k, id, rows * 8);
}

/* A dropout whose wide_scale is what a table of k's kind multiplies by. */
static inline struct dropout in_table(const struct kernels *k, struct dropout op) {
  if (k->dtype != F64) op.wide_scale = (double)op.scale;
  return op;
}

/* Dropout of one element as ops.h defines it, by one call of Philox. */
static inline double dropped(const struct dropout *op, uint32_t epoch, int64_t id, int64_t column, double x) {
  if (op->threshold == 0) return x;
  struct philox_block counter = {
      {(uint32_t)id, (uint32_t)((uint64_t)id >> 32), (uint32_t)(column / 8), epoch}};
  uint32_t word = philox(counter, op->key).word[column % 8 / 2];
  uint32_t bits = column % 2 ? word >> 16 : word & 0xFFFF;
  return bits >= op->threshold ? x * op->wide_scale : 0;
}

#endif
