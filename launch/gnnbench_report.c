#include <stdio.h>
#include <stdlib.h>

#include "launch/gnnbench.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/profile.h"
#include "runtime/random.h"

int bench_open(struct bench *bench, const struct bench_options *options) {
  bench->options = options;
  TRY(device_open(&bench->device, options->device, 0, 1, options->threads));
  return kernels_open(&bench->kernels, &bench->device, options->precision);
}

void bench_close(struct bench *bench) {
  kernels_close(&bench->kernels);
  device_close(&bench->device);
}

static const struct philox_key noise_key = {{2026, 11}};

/* Element i of stream `seed`, in [-1, 1) and exact in float. */
static double noise(uint64_t seed, int64_t i) {
  return 2 * (double)random_unit(random_block(noise_key, (uint64_t)i, seed).word[0]) - 1;
}

static void *element(void *data, enum dtype dtype, int64_t i) {
  return (char *)data + i * dtype_bytes(dtype);
}

int bench_matrix_init(struct bench *bench, struct bench_matrix *m, int64_t rows, int64_t cols,
                      uint64_t seed) {
  *m = (struct bench_matrix){.tensor = tensor_of(NULL, bench->kernels.dtype, rows, cols)};
  int64_t bytes = tensor_bytes(m->tensor);
  enum dtype dtype = bench->kernels.dtype;
  TRY(memory_alloc(&m->host, bytes, "benchmark matrix"));
  TRY(device_alloc(&bench->device, bytes, &m->tensor.data, "benchmark matrix"));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows * cols; i++) {
    if (dtype == F64)
      *(double *)element(m->host, dtype, i) = noise(seed, i);
    else
      *(float *)element(m->host, dtype, i) = (float)noise(seed, i);
  }
  return device_upload(&bench->device, STREAM_COMPUTE, m->tensor.data, m->host, bytes);
}

int bench_matrix_download(struct bench *bench, struct bench_matrix *m) {
  TRY(device_download(&bench->device, STREAM_COMPUTE, m->host, m->tensor.data, tensor_bytes(m->tensor)));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

void bench_matrix_free(struct bench *bench, struct bench_matrix *m) {
  free(m->host);
  device_release(&bench->device, m->tensor.data);
  *m = (struct bench_matrix){0};
}

double bench_value(const struct bench_matrix *m, int64_t i, int64_t j) {
  const void *at = element(m->host, m->tensor.dtype, i * m->tensor.stride + j);
  return m->tensor.dtype == F64 ? *(const double *)at : (double)*(const float *)at;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Milliseconds of one of `times` runs back to back. */
static int clock_runs(struct bench *bench, int (*run)(struct kernels *k, const void *op), const void *op,
                      int times, double *ms) {
  TRY(device_synchronize(&bench->device, STREAM_COMPUTE));
  double start = profile_clock();
  for (int i = 0; i < times; i++) TRY(run(&bench->kernels, op));
  TRY(device_synchronize(&bench->device, STREAM_COMPUTE));
  *ms = (profile_clock() - start) * 1e3 / times;
  return OK;
}

/* Runs in a measurement: enough that starting and noticing the end do not count. */
static int times_of(const struct bench *bench, double ms) {
  enum { LEAST_MS = 4, MOST = 200 };
  if (bench->device.ops->on_host || ms >= LEAST_MS) return 1;
  return ms * MOST > LEAST_MS ? (int)(LEAST_MS / ms) + 1 : MOST;
}

int bench_time(struct bench *bench, int (*run)(struct kernels *k, const void *op), const void *op,
               struct bench_row *row) {
  double ms[BENCH_REPS] = {0};
  int reps = bench->options->reps, times = 1;
  for (int warm = 0; warm < 2; warm++) TRY(clock_runs(bench, run, op, 1, &ms[0]));
  times = times_of(bench, ms[0]);
  for (int i = 0; i < reps; i++) TRY(clock_runs(bench, run, op, times, &ms[i]));
  qsort(ms, (size_t)reps, sizeof *ms, by_value);
  row->median = reps % 2 ? ms[reps / 2] : (ms[reps / 2 - 1] + ms[reps / 2]) / 2;
  row->min = ms[0];
  row->max = ms[reps - 1];
  return OK;
}

void bench_print_head(const struct bench *bench) {
  if (bench->options->json) return;
  printf("%s, %d threads, %s, %d runs\n", bench->device.name, bench->device.threads,
         precision_name[bench->kernels.precision], bench->options->reps);
  printf("%-8s %-40s %10s %10s %10s %8s %9s %9s  %s\n", "op", "shape", "median ms", "min", "max", "GB/s",
         "GFLOP/s", "error", "beside");
}

static void print_json(const struct bench *bench, const struct bench_row *row, double gbytes, double gflops) {
  printf("{\"op\": \"%s\", \"shape\": \"%s\", \"precision\": \"%s\", \"threads\": %d, \"ms\": %.6g, "
         "\"ms_min\": %.6g, \"ms_max\": %.6g, \"gbytes_per_s\": %.6g, \"gflops\": %.6g, \"error\": %.3g",
         row->name, row->shape, precision_name[bench->kernels.precision], bench->device.threads, row->median,
         row->min, row->max, gbytes, gflops, row->error);
  if (row->peer)
    printf(", \"peer\": \"%s\", \"peer_ms\": %.6g, \"peer_ratio\": %.4g", row->peer, row->peer_median,
           row->peer_median / row->median);
  printf("}\n");
}

void bench_print(const struct bench *bench, const struct bench_row *row) {
  double gbytes = row->bytes / row->median / 1e6, gflops = row->flops / row->median / 1e6;
  if (bench->options->json) {
    print_json(bench, row, gbytes, gflops);
  } else {
    printf("%-8s %-40s %10.4f %10.4f %10.4f %8.2f %9.2f %9.1e", row->name, row->shape, row->median, row->min,
           row->max, gbytes, gflops, row->error);
    if (row->peer) printf("  %s %.4f ms, x%.2f", row->peer, row->peer_median, row->peer_median / row->median);
    printf("\n");
  }
  fflush(stdout);
}
