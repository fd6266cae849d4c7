/* Whether the products by wgmma give the bits that cuBLASLt and the ends run after it give, on this GPU and
 * in this build: on small integers, whose sums are exact in every type. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/gemm/gemm.h"
#include "runtime/base/memory.h"

enum {
  ROWS = 600,
  TERMS = 640,
  COLS = 256,
  LONG_ROWS = 100000,
  LONG_COLS = 16,
  VALUES = LONG_ROWS * LONG_COLS
};

/* Each matrix of a case is the beginning of one of these blocks. */
struct check {
  struct kernels *k;
  void *a, *b, *saved, *c, *bias, *sums, *id; /* on the device */
  void *host, *c_of[2], *sums_of[2];          /* numbers to start from; results of both ways */
  uint32_t seed;
  int same;
};

/* -1, 0 and 1 without a pattern: sums stay below 256, which bf16 holds. */
static void fill(void *to, enum dtype dtype, uint32_t seed) {
  for (int64_t i = 0; i < VALUES; i++) {
    uint32_t mixed = ((uint32_t)i + seed) * 0x9E3779B9u;
    float value = (float)((int)((mixed ^ mixed >> 15) * 0x85EBCA6Bu >> 16) % 3 - 1);
    if (dtype == F32)
      ((float *)to)[i] = value;
    else
      ((uint16_t *)to)[i] = bf16_of_float(value);
  }
}

static int take(struct check *check, enum dtype dtype, int64_t count, void **block) {
  struct device *device = check->k->device;
  const int64_t bytes = count * dtype_bytes(dtype);
  fill(check->host, dtype, check->seed += VALUES);
  TRY(device_alloc(device, bytes, block, "check of matrix products"));
  TRY(device_upload(device, STREAM_COMPUTE, *block, check->host, bytes));
  return device_synchronize(device, STREAM_COMPUTE);
}

static int start(struct check *check) {
  const int64_t bytes = VALUES * (int64_t)sizeof(float);
  TRY(memory_alloc(&check->host, bytes, "check of matrix products"));
  for (int i = 0; i < 2; i++) {
    TRY(memory_alloc(&check->c_of[i], TERMS * COLS * (int64_t)sizeof(float), "check of matrix products"));
    TRY(memory_alloc(&check->sums_of[i], COLS * (int64_t)sizeof(float), "check of matrix products"));
  }
  TRY(take(check, check->k->dtype, VALUES, &check->a));
  TRY(take(check, check->k->dtype, VALUES, &check->b));
  TRY(take(check, check->k->dtype, ROWS * COLS, &check->saved));
  TRY(take(check, F32, TERMS * COLS, &check->c));
  TRY(take(check, F32, COLS, &check->bias));
  TRY(take(check, F32, COLS, &check->sums));
  TRY(device_alloc(check->k->device, ROWS * (int64_t)sizeof(int64_t), &check->id,
                   "check of matrix products"));
  return OK;
}

static void finish(struct check *check) {
  void *blocks[] = {check->a, check->b, check->saved, check->c, check->bias, check->sums, check->id};
  for (int i = 0; i < 7; i++) device_release(check->k->device, blocks[i]);
  for (int i = 0; i < 2; i++) {
    free(check->c_of[i]);
    free(check->sums_of[i]);
  }
  free(check->host);
}

/* The product both ways, from the same old C. */
static int compare(struct check *check, const struct gemm *op) {
  struct cuda_state *state = check->k->impl;
  struct device *device = check->k->device;
  const int64_t bytes = tensor_bytes(op->c), sums = COLS * (int64_t)sizeof(float);
  for (int ours = 0; ours < 2; ours++) {
    state->has_wgmma = ours;
    TRY(device_clear(device, STREAM_COMPUTE, check->sums, sums));
    TRY(device_clear(device, STREAM_COMPUTE, op->c.data, bytes));
    int code = cuda_gemm(check->k, op);
    state->has_wgmma = 1;
    TRY(code);
    TRY(device_download(device, STREAM_COMPUTE, check->c_of[ours], op->c.data, bytes));
    TRY(device_download(device, STREAM_COMPUTE, check->sums_of[ours], check->sums, sums));
  }
  TRY(device_synchronize(device, STREAM_COMPUTE));
  check->same &= memcmp(check->c_of[0], check->c_of[1], (size_t)bytes) == 0 &&
                 memcmp(check->sums_of[0], check->sums_of[1], (size_t)sums) == 0;
  return OK;
}

/* A second product of other values in the same shapes, where sums stay small. */
static int compare_both(struct check *check, const struct gemm *op) {
  struct gemm pair = *op;
  TRY(compare(check, op));
  if (op->a.cols > COLS) return OK;
  pair.a2 = op->a;
  pair.a2.data = check->saved;
  pair.b2 = op->b;
  pair.b2.data = check->a;
  return compare(check, &pair);
}

/* H W with the epilogue of a layer, dZ W^T with that of the layer below, both also with twice the terms in
 * two products; H^T dZ. */
static int compare_layer(struct check *check, int64_t terms, int64_t cols) {
  enum dtype dtype = check->k->dtype;
  struct tensor h = tensor_padded(check->a, dtype, ROWS, terms),
                c = tensor_padded(check->c, dtype, ROWS, cols);
  struct tensor w = tensor_padded(check->b, dtype, terms, cols),
                dz = tensor_padded(check->b, dtype, ROWS, cols);
  struct epilogue epilogue = {.z = c, .bias = check->bias, .activation = ACTIVATION_RELU, .y = c};
  epilogue.dropout = dropout_of(.5, (struct philox_key){{1, 2}}, check->id);
  struct gemm product = {.a = h, .b = w, .c = c, .epilogue = &epilogue};
  TRY(compare_both(check, &product));
  struct epilogue below = epilogue;
  below.bias = NULL;
  below.z = below.y = tensor_padded(check->saved, dtype, ROWS, cols);
  struct epilogue_backward back = {.forward = &below, .dy = c, .dz = c, .bias_grad = check->sums};
  w = tensor_padded(check->b, dtype, cols, terms);
  product = (struct gemm){.a = h, .b = w, .transpose_b = 1, .c = c, .backward = &back};
  TRY(compare_both(check, &product));
  c = tensor_padded(check->c, F32, terms, cols);
  return compare(check, &(struct gemm){.a = h, .transpose_a = 1, .b = dz, .c = c});
}

static int compare_all(struct check *check) {
  static const int64_t cols[] = {41, 64, 128, 256}, terms[] = {40, 200, TERMS};
  check->same = 1;
  for (int i = 0; i < 12 && check->same; i++) TRY(compare_layer(check, terms[i / 4], cols[i % 4]));
  struct tensor a = tensor_padded(check->a, check->k->dtype, LONG_ROWS, LONG_COLS), b = a;
  b.data = check->b;
  struct tensor c = tensor_padded(check->c, F32, LONG_COLS, LONG_COLS);
  return compare(check, &(struct gemm){.a = a, .transpose_a = 1, .b = b, .c = c});
}

int cuda_gemm_check(struct kernels *k, int *same) {
  struct check check = {.k = k};
  int code = start(&check);
  if (code == OK) code = compare_all(&check);
  *same = check.same;
  finish(&check);
  return code;
}
