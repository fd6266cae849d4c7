/* gnnbench: times single operations of a device and checks each against a double reference in the same run.
 * A command is one file, gnnbench_<command>.c; they share options, graph, clock and report. */
#ifndef LAUNCH_GNNBENCH_H
#define LAUNCH_GNNBENCH_H

#include "kernels/ops.h"
#include "kernels/peer.h"

enum { BENCH_WIDTHS = 32, BENCH_REPS = 1000, BENCH_SAMPLE = 1000 /* rows checked */ };

struct bench_options {
  const char *dataset; /* NULL: a random graph of `nodes` rows with `degree` neighbours each */
  int64_t nodes, degree;
  int64_t width[BENCH_WIDTHS]; /* columns of the dense matrix, a row of the report each */
  int widths;
  int64_t inner; /* gemm: columns of the left matrix */
  const char *device;
  enum precision precision;
  int threads, reps, json;
};

/* Reads the arguments after the command. *help is set when --help was answered. Errors: BAD_INPUT. */
int bench_options_read(struct bench_options *options, int argc, char **argv, int *help);

/* The device and its kernels. */
struct bench {
  const struct bench_options *options;
  struct device device;
  struct kernels kernels;
};
int bench_open(struct bench *bench, const struct bench_options *options);
void bench_close(struct bench *bench);

/* A matrix on the device and on the host. */
struct bench_matrix {
  struct tensor tensor;
  void *host; /* of the same type and shape */
};

/* Filled with numbers in [-1, 1), the same for equal seeds. */
int bench_matrix_init(struct bench *bench, struct bench_matrix *m, int64_t rows, int64_t cols, uint64_t seed);
int bench_matrix_download(struct bench *bench, struct bench_matrix *m);
double bench_value(const struct bench_matrix *m, int64_t i, int64_t j);
void bench_matrix_free(struct bench *bench, struct bench_matrix *m);

/* The graph that the options name; its arrays belong to the caller. */
int bench_graph(const struct bench_options *options, struct csr *m);

struct bench_row {
  const char *name; /* of the operation */
  char shape[96];
  double median, min, max; /* ms */
  double bytes, flops;     /* moved and computed by one run */
  double error;            /* max |x - reference| / max |reference| */
  const char *peer;        /* another library that did the same, NULL: none */
  double peer_median;      /* ms, of its fastest algorithm */
};

/* Runs `run` twice unmeasured and options.reps times on the clock; what is too short for the clock of a
 * device that works on its own is repeated back to back within each measurement. */
int bench_time(struct bench *bench, int (*run)(struct kernels *k, const void *op), const void *op,
               struct bench_row *row);
void bench_print_head(const struct bench *bench);
void bench_print(const struct bench *bench, const struct bench_row *row);

/* A sparse matrix in another library's hands; ops NULL: there is none for this device. */
struct bench_peer {
  const struct peer_ops *ops;
  void *matrix;
};
int bench_peer_open(struct bench *bench, const struct csr *m, struct bench_peer *peer);
void bench_peer_close(struct bench *bench, struct bench_peer *peer);

/* Measures y = m x into row->peer and row->peer_median. */
int bench_peer_time(struct bench *bench, struct bench_peer *peer, struct tensor x, struct tensor y,
                    struct bench_row *row);

int gnnbench_spmm(struct bench *bench);
int gnnbench_gemm(struct bench *bench);

#endif
