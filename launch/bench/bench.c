#include "launch/bench/bench.h"

#include "runtime/device/device_list.h"

int bench_open(struct bench *bench) {
  struct comm *comm = &bench->comm;
  const struct bench_options *options = bench->options;
  char text[160];
  int threads = 1;
  TRY(comm_threads(comm, (int)options->threads, &threads, text, sizeof text));
  TRY(comm_agree(comm,
                 device_open(&bench->device, options->device, comm->local_rank, comm->local_size, threads)));
  return comm_attach(comm, &bench->device);
}

int bench_kernels(struct bench *bench, enum precision precision) {
  kernels_close(&bench->kernels);
  return kernels_open(&bench->kernels, &bench->device, precision);
}

void bench_close(struct bench *bench) {
  bench_forget(bench, 0);
  kernels_close(&bench->kernels);
  device_close(&bench->device);
}

void bench_own(struct bench *bench, void (*end)(struct bench *bench, void *what), void *what) {
  if (bench->owned_count == BENCH_OWNED) abort();
  bench->owned[bench->owned_count++] = (struct bench_owned){end, what};
}

void bench_forget(struct bench *bench, int first) {
  while (bench->owned_count > first) {
    const struct bench_owned *last = &bench->owned[--bench->owned_count];
    last->end(bench, last->what);
  }
}

int bench_each_width(struct bench *bench, int (*measure)(struct bench *bench, void *of, int64_t width),
                     void *of) {
  int first = bench->owned_count;
  for (int i = 0; i < bench->options->widths; i++) {
    int code = measure(bench, of, bench->options->width[i]);
    bench_forget(bench, first);
    TRY(code);
  }
  return OK;
}

static void end_host(struct bench *bench, void *what) {
  (void)bench;
  free(what);
}

static void end_device(struct bench *bench, void *what) {
  device_release(&bench->device, what);
}

static void end_csr(struct bench *bench, void *what) {
  csr_free(what);
  end_host(bench, what);
}

static void end_layout(struct bench *bench, void *what) {
  layout_free(&bench->kernels, what);
}

int bench_alloc(struct bench *bench, void **pointer, int64_t bytes) {
  TRY(memory_alloc(pointer, bytes, "benchmark"));
  bench_own(bench, end_host, *pointer);
  return OK;
}

int bench_upload(struct bench *bench, const void *from, int64_t bytes, void *to) {
  void **pointer = to;
  TRY(device_alloc(&bench->device, bytes, pointer, "benchmark"));
  bench_own(bench, end_device, *pointer);
  if (from) TRY(device_upload(&bench->device, STREAM_COMPUTE, *pointer, from, bytes));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

int bench_new_csr(struct bench *bench, struct csr **m) {
  TRY(memory_arrays("a matrix", ROOM(m, 1)));
  bench_own(bench, end_csr, *m);
  return OK;
}

int bench_csr(struct bench *bench, int64_t rows, int64_t cols, int64_t nnz, int weighted, struct csr **m) {
  TRY(bench_new_csr(bench, m));
  return csr_init(*m, rows, cols, nnz, weighted);
}

int bench_layout(struct bench *bench, const struct csr *m, enum layout_tiers tiers, int64_t width,
                 struct layout **layout) {
  return bench_layout_of(bench, m, &(struct layout_plan){.tiers = tiers, .width = width}, layout);
}

int bench_layout_of(struct bench *bench, const struct csr *m, const struct layout_plan *plan,
                    struct layout **layout) {
  TRY(layout_init(&bench->kernels, m, plan, layout));
  bench_own(bench, end_layout, *layout);
  return OK;
}
