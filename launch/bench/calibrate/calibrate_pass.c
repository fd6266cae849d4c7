/* Constants of passes over whole matrices (struct cost_pass): from products of tall matrices with weights, a
 * narrow one, which memory decides, and a wide one, which its operations decide. */
#include "kernels/ops/gemm.h"
#include "launch/bench/calibrate/calibration.h"

enum { TALL = 1 << 20, SHORT = 1 << 10, NARROW = 64, WIDE = 512 };

BENCH_RUN(gemm)

/* H [rows, cols] W [cols, cols], and its seconds. */
static int time_product(struct bench *bench, int64_t rows, int64_t cols, struct op_work *work,
                        double *seconds) {
  const enum dtype dtype = bench->kernels.dtype;
  const int first = bench->owned_count;
  struct bench_matrix h, w, y;
  struct bench_row row = {0};
  TRY(bench_matrix_alloc(bench, &h, dtype, rows, cols));
  TRY(bench_matrix_alloc(bench, &w, dtype, cols, cols));
  TRY(bench_matrix_alloc(bench, &y, dtype, rows, cols));
  const struct gemm op = {.a = h.tensor, .b = w.tensor, .c = y.tensor};
  *work = gemm_work(&op, 0);
  TRY(bench_time(bench, run_gemm, &op, &row));
  *seconds = row.median / 1e3;
  bench_forget(bench, first);
  return OK;
}

/* Seconds are start + bytes byte + flops flop. */
static int find_pass(struct calibration *c, enum precision precision, double *flop) {
  struct cost_pass *pass = &c->model.pass;
  struct op_work small, narrow, wide;
  double started, moved, computed;
  TRY(bench_kernels(c->bench, precision));
  TRY(time_product(c->bench, SHORT, NARROW, &small, &started));
  TRY(time_product(c->bench, TALL, NARROW, &narrow, &moved));
  TRY(time_product(c->bench, TALL, WIDE, &wide, &computed));
  const double a = moved - started, b = computed - started;
  const double of_flop = (b * narrow.bytes - a * wide.bytes) /
                         (wide.flops * narrow.bytes - narrow.flops * wide.bytes);
  *flop = fmax(of_flop, 0) * 1e12;
  if (precision != PRECISION_BF16) return OK;
  pass->byte = fmax((a - narrow.flops * fmax(of_flop, 0)) / narrow.bytes, 0) * 1e12;
  pass->start = started * 1e12;
  return OK;
}

int calibrate_passes(struct calibration *c) {
  struct cost_pass *pass = &c->model.pass;
  TRY(find_pass(c, PRECISION_BF16, &pass->flop_bf16));
  TRY(find_pass(c, PRECISION_TF32, &pass->flop_tf32));
  TRY(find_pass(c, PRECISION_FP32, &pass->flop_fp32));
  printf("passes over matrices: %.3g us, then %.3g ps a byte and, of a product, %.3g, %.3g, %.3g fs an "
         "operation in bf16, tf32, fp32\n",
         pass->start / 1e6, pass->byte, 1e3 * pass->flop_bf16, 1e3 * pass->flop_tf32, 1e3 * pass->flop_fp32);
  return OK;
}
