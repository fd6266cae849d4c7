#include <stdarg.h>

#include "launch/bench/bench.h"
#include "runtime/profile/profile.h"

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return COMPARE(x, y);
}

void bench_spread(double *ms, int count, struct bench_row *row) {
  qsort(ms, (size_t)count, sizeof *ms, by_value);
  row->median = count % 2 ? ms[count / 2] : (ms[count / 2 - 1] + ms[count / 2]) / 2;
  row->min = ms[0];
  row->max = ms[count - 1];
}

/* What a measurement does: `times` runs back to back, queued one by one or replayed. */
struct work {
  bench_run *run;
  const void *op;
  int times;
  struct device_graph *graph;
};

static int queue(struct bench *bench, const struct work *work) {
  if (work->graph) return device_replay(&bench->device, STREAM_COMPUTE, work->graph);
  for (int i = 0; i < work->times; i++) TRY(work->run(&bench->kernels, work->op));
  return OK;
}

/* Milliseconds of a run, on the rank that takes longest. */
static int clock_runs(struct bench *bench, const struct work *work, double *ms) {
  TRY(device_synchronize(&bench->device, STREAM_COMPUTE));
  TRY(comm_barrier(&bench->comm));
  double start = profile_clock();
  TRY(queue(bench, work));
  TRY(device_synchronize(&bench->device, STREAM_COMPUTE));
  *ms = (profile_clock() - start) * 1e3 / work->times;
  return comm_max_double(&bench->comm, ms);
}

/* Runs in a measurement: enough that starting and noticing the end do not count. */
static int times_of(const struct bench *bench, double ms) {
  enum { LEAST_MS = 4, MOST = 200 };
  if (bench->device.ops->on_host || ms >= LEAST_MS) return 1;
  return ms * MOST > LEAST_MS ? (int)(LEAST_MS / ms) + 1 : MOST;
}

static int record(struct bench *bench, struct work *work) {
  struct device_graph *graph = NULL;
  if (!bench->records || !device_can_capture(&bench->device)) return OK;
  TRY(device_capture_begin(&bench->device, STREAM_COMPUTE));
  int code = queue(bench, work);
  int ended = device_capture_end(&bench->device, STREAM_COMPUTE, &graph);
  work->graph = graph;
  return code == OK ? ended : code;
}

static int time_work(struct bench *bench, struct work *work, struct bench_row *row) {
  double ms[BENCH_REPS] = {0};
  int reps = (int)bench->options->reps;
  for (int warm = 0; warm < 2; warm++) TRY(clock_runs(bench, work, &ms[0]));
  work->times = times_of(bench, ms[0]);
  TRY(comm_agree(&bench->comm, record(bench, work)));
  if (work->graph) TRY(clock_runs(bench, work, &ms[0])); /* the first replay uploads it */
  for (int i = 0; i < reps; i++) TRY(clock_runs(bench, work, &ms[i]));
  bench_spread(ms, reps, row);
  return OK;
}

int bench_time(struct bench *bench, bench_run *run, const void *op, struct bench_row *row) {
  struct work work = {run, op, 1, NULL};
  int code = time_work(bench, &work, row);
  device_graph_free(&bench->device, work.graph);
  return code;
}

int bench_compare(struct bench *bench, const struct bench_check *check, double *error) {
  const struct tensor *t = &check->of->tensor;
  int64_t step = t->rows / check->sample + 1;
  double largest = 0, difference = 0;
  TRY(bench_matrix_download(bench, check->of, step));
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t i = 0; i < t->rows; i += step) {
    double *row = calloc((size_t)t->cols, sizeof *row);
    if (!row) abort();
    check->row(check->context, i, row);
    for (int64_t j = 0; j < t->cols; j++) {
      largest = fmax(largest, fabs(row[j]));
      difference = fmax(difference, fabs(row[j] - bench_value(check->of, i, j)));
    }
    free(row);
  }
  *error = fmax(*error, largest > 0 ? difference / largest : difference);
  return OK;
}

int bench_measure(struct bench *bench, struct bench_row *row, bench_run *run, const void *op,
                  const struct bench_check *check) {
  TRY(bench_time(bench, run, op, row));
  if (check) TRY(bench_compare(bench, check, &row->error));
  bench_print(bench, row);
  return OK;
}

struct bench_row bench_row_of(const struct bench *bench, const char *name, double limit, const char *shape,
                              ...) {
  struct bench_row row = {.name = name, .error = -1};
  va_list values;
  va_start(values, shape);
  vsnprintf(row.shape, sizeof row.shape, shape, values);
  va_end(values);
  if (bench->device.ops && !bench->device.ops->on_host) row.limit = limit;
  return row;
}

struct bench_row bench_graph_row(const struct bench *bench, const char *name, const struct csr *m,
                                 int64_t width, const char *more) {
  return bench_row_of(bench, name, BENCH_L2_LIMIT, "%lldx%lld nnz %lld width %lld%s", (long long)m->rows,
                      (long long)m->cols, (long long)m->nnz, (long long)width, more);
}

/* Tables of their own begin with their own heads. */
static int has_own_table(const struct bench *bench) {
  return bench->options->sparse.all || bench->options->sparse.ablate ||
         bench->options->command == BENCH_CALIBRATE;
}

void bench_print_head(struct bench *bench, const struct device *device) {
  bench->threads = device->threads;
  if (bench->options->json || bench->comm.rank != 0) return;
  char ranks[32] = "";
  if (bench->comm.size > 1) snprintf(ranks, sizeof ranks, "%d ranks of ", bench->comm.size);
  printf("%s, %s%d threads, %d runs\n", device->name, ranks, device->threads, (int)bench->options->reps);
  if (has_own_table(bench)) return;
  printf("%-10s %-40s %-11s %10s %10s %10s %8s %6s %9s %9s  %s\n", "op", "shape", "precision", "median ms",
         "min", "max", "GB/s", "limit", "GFLOP/s", "error", "beside");
}

static const char *precision_of(const struct bench *bench, const struct bench_row *row) {
  return row->precision ? row->precision : precision_name[bench->kernels.precision];
}

static void print_json(const struct bench *bench, const struct bench_row *row, double gbytes, double gflops) {
  printf(
      "{\"op\": \"%s\", \"shape\": \"%s\", \"precision\": \"%s\", \"ranks\": %d, \"threads\": %d, \"ms\": "
      "%.6g, \"ms_min\": %.6g, \"ms_max\": %.6g, \"bytes\": %.0f, \"gbytes_per_s\": %.6g, \"gflops\": %.6g",
      row->name, row->shape, precision_of(bench, row), bench->comm.size, bench->threads, row->median,
      row->min, row->max, row->bytes, gbytes, gflops);
  if (row->limit > 0) printf(", \"limit_share\": %.4g", gbytes / row->limit);
  if (row->error >= 0) printf(", \"error\": %.3g", row->error);
  if (row->peer)
    printf(", \"peer\": \"%s\", \"peer_ms\": %.6g, \"peer_ratio\": %.4g", row->peer, row->peer_median,
           row->peer_median / row->median);
  if (row->predicted > 0) printf(", \"predicted_ms\": %.4g", row->predicted);
  if (row->scratch > 0) printf(", \"scratch\": %lld", (long long)row->scratch);
  if (row->share_name) printf(", \"%s\": %.4g", row->share_name, row->share);
  printf("}\n");
}

static void print_text(const struct bench *bench, const struct bench_row *row, double gbytes, double gflops) {
  char limit[16] = "-", error[16] = "-";
  if (row->limit > 0) snprintf(limit, sizeof limit, "%.0f%%", 100 * gbytes / row->limit);
  if (row->error >= 0) snprintf(error, sizeof error, "%.1e", row->error);
  printf("%-10s %-40s %-11s %10.4f %10.4f %10.4f %8.2f %6s %9.2f %9s", row->name, row->shape,
         precision_of(bench, row), row->median, row->min, row->max, gbytes, limit, gflops, error);
  if (row->peer) printf("  %s %.4f ms, x%.2f", row->peer, row->peer_median, row->peer_median / row->median);
  if (row->predicted > 0) printf("  predicted %.4f ms", row->predicted);
  if (row->scratch > 0) printf("  scratch %.1f MiB", (double)row->scratch / (1 << 20));
  if (row->share_name) printf("  %s %.0f%%", row->share_name, 100 * row->share);
  printf("\n");
}

void bench_print(const struct bench *bench, const struct bench_row *row) {
  double seconds = row->median / 1e3, gbytes = 0, gflops = 0;
  if (bench->comm.rank != 0) return;
  if (seconds > 0) {
    gbytes = row->bytes / seconds / 1e9;
    gflops = row->flops / seconds / 1e9;
  }
  if (bench->options->json)
    print_json(bench, row, gbytes, gflops);
  else
    print_text(bench, row, gbytes, gflops);
  fflush(stdout);
}
