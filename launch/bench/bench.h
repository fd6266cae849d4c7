/* bench: what the commands of gnnbench share. gnnbench times single operations of a device, the exchange
 * between ranks and whole epochs, and checks what can be checked against a reference in the same run. A
 * command is one file, gnnbench_<command>.c: it makes graphs and matrices, and hands each operation with its
 * row of the report and its reference to bench_measure. Under mpirun every rank takes part and rank 0
 * reports.
 *
 * What is made here belongs to the bench and ends with it, or with the width that it was made for
 * (bench_each_width): commands free nothing. */
#ifndef LAUNCH_BENCH_BENCH_H
#define LAUNCH_BENCH_BENCH_H

#include <math.h>

#include "kernels/ops/kernels.h"
#include "kernels/ops/peer.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/base.h"
#include "runtime/comm/comm.h"

enum {
  BENCH_WIDTHS = 32,
  BENCH_SETTINGS = 64,
  BENCH_GRAPHS = 64,
  BENCH_REPS = 1000,
  BENCH_OWNED = 256,
  BENCH_SAMPLE = 1000, /* rows checked */
  /* What a GPU's L2 cache delivers at most, GB/s: 660 M sectors of 32 bytes in 2.27 ms kept that of an H200
   * 90% busy; and what an H200 copies. */
  BENCH_L2_LIMIT = 10300,
  BENCH_COPY_LIMIT = 4200
};

enum bench_command {
  BENCH_SPMM = 1,
  BENCH_GEMM = 2,
  BENCH_EXCHANGE = 4,
  BENCH_EPOCH = 8,
  BENCH_UPDATE = 16,
  BENCH_CALIBRATE = 32,
  BENCH_REDUCE = 64,
  BENCH_ATTENTION = 128,
  BENCH_SDDMM = 256,
  BENCH_HYPER = 512
};

struct bench_options {
  enum bench_command command;
  const char *dataset; /* NULL: a random graph of `nodes` rows with `degree` neighbours each */
  int64_t nodes, degree;
  int64_t width[BENCH_WIDTHS]; /* columns of the dense matrix, a row of the report each */
  int widths;
  const char *out;             /* calibrate; NULL: where constants are looked for */
  struct {                     /* spmm; of hyper `scaled` */
    int all, ablate;           /* the table of tiers, of what each technique brings */
    char *graph[BENCH_GRAPHS]; /* of these two: names of made ones, or files; none: all made ones */
    int graphs;
    enum layout_tiers tiers;
    int64_t threshold; /* of LAYOUT_VECTORS; 0: VECTOR_THRESHOLD */
    int weighted;      /* arcs without weights are given some */
    int scaled;        /* between scales, as a layer has them */
  } sparse;
  int64_t heads; /* attention */
  struct {       /* without a dataset */
    int64_t hyperedges, incidences;
    int64_t huge; /* vertices of one hyperedge more; 0: none */
  } hyper;
  int64_t inner; /* gemm: columns of the left matrix */
  struct {
    int64_t rows;       /* from each rank to each other */
    const char *method; /* how the dataset is partitioned */
    int messages;       /* alone */
  } exchange;
  struct {
    const char *config;
    const char *set[BENCH_SETTINGS]; /* "section.key=VALUE" */
    int set_count;
    int64_t rank, ranks; /* --as; ranks 0: all that there are */
    const char *network; /* of these; NULL: plan_network's */
  } epoch;
  const char *device;
  enum precision precision;
  int any_precision;     /* none was named */
  int64_t threads, reps; /* threads 0: from the binding */
  int json;
};

/* Reads the arguments after the command. *help is set when --help was answered. Errors: BAD_INPUT. */
int bench_options_read(struct bench_options *options, enum bench_command command, int argc, char **argv,
                       int *help);

/* The ranks, the device and its kernels. */
struct bench {
  const struct bench_options *options;
  struct comm comm;
  struct device device;
  struct kernels kernels;
  int threads; /* of the device that the rows are of */
  int records; /* measurements are recorded and replayed, where the device can */
  struct bench_owned {
    void (*end)(struct bench *bench, void *what);
    void *what;
  } owned[BENCH_OWNED];
  int owned_count;
};
/* The device of this rank; comm is open. Collective. */
int bench_open(struct bench *bench);
/* The kernels of a precision, in place of those before. */
int bench_kernels(struct bench *bench, enum precision precision);
void bench_close(struct bench *bench);

/* `what` is the bench's from now on, which calls end(bench, what) when its time has come. */
void bench_own(struct bench *bench, void (*end)(struct bench *bench, void *what), void *what);
/* Ends all that the bench owns but the first so many, the last first. */
void bench_forget(struct bench *bench, int first);
/* Runs `measure` for each width; what it makes ends with it. */
int bench_each_width(struct bench *bench, int (*measure)(struct bench *bench, void *of, int64_t width),
                     void *of);

/* Memory of the bench: zeroed, for so many elements; on the device, with what is on the host unless that is
 * NULL. */
#define bench_array(bench, pointer, count) \
  bench_alloc(bench, (void **)(pointer), (count) * (int64_t)sizeof **(pointer))
int bench_alloc(struct bench *bench, void **pointer, int64_t bytes);
int bench_upload(struct bench *bench, const void *from, int64_t bytes, void *to);
int bench_new_csr(struct bench *bench, struct csr **m); /* zeroed; its arrays are the bench's, too */
int bench_csr(struct bench *bench, int64_t rows, int64_t cols, int64_t nnz, int weighted, struct csr **m);
int bench_layout(struct bench *bench, const struct csr *m, enum layout_tiers tiers, int64_t width,
                 struct layout **layout);
int bench_layout_of(struct bench *bench, const struct csr *m, const struct layout_plan *plan,
                    struct layout **layout);

/* A matrix on the device and on the host. */
struct bench_matrix {
  struct tensor tensor;
  void *host; /* of the same type and shape */
};

typedef double bench_element(const void *context, int64_t i, int64_t j);

/* Rows are padded as those of activations are. Zeros; elements; numbers in [-1, 1), the same for equal
 * seeds. */
int bench_matrix_alloc(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                       int64_t cols);
int bench_matrix_fill(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                      int64_t cols, bench_element *value, const void *context);
int bench_matrix_noise(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                       int64_t cols, uint64_t seed);
/* A column of reals without gaps, a number a row; value NULL: zeros. */
int bench_column(struct bench *bench, struct bench_matrix *m, int64_t rows, bench_element *value,
                 const void *context);
/* The same numbers in floats, which may be m itself. */
int bench_matrix_floats(struct bench *bench, const struct bench_matrix *m, struct tensor *floats);
/* Every so many rows of it, to the host. */
int bench_matrix_download(struct bench *bench, struct bench_matrix *m, int64_t step);
double bench_value(const struct bench_matrix *m, int64_t i, int64_t j);

/* The graph that the options name, or one of that name: a made one, else a dataset. */
int bench_graph(struct bench *bench, struct csr **m);
int bench_graph_of(struct bench *bench, const char *name, struct csr **m);
/* The graphs of a table: its number `which`, NULL behind the last. */
const char *bench_graph_name(const struct bench_options *options, int which);
/* Graphs made here, by number (NULL behind the last) and by name; the caller's. */
const char *bench_synthetic_name(int which);
int bench_is_synthetic(const char *name);
int bench_synthetic_graph(const char *name, struct csr *m);
/* Weights from -1 to 1 for arcs that have none, with more digits than bf16 holds. Errors: FAILED. */
int bench_weigh(struct csr *m);
/* The hypergraph that the options name: a row a hyperedge. */
int bench_hypergraph(struct bench *bench, struct csr **edges);

struct bench_row {
  const char *name; /* of the operation */
  char shape[96];
  const char *precision;   /* NULL: the kernels' */
  double median, min, max; /* ms */
  double bytes, flops;     /* moved and computed by one run */
  double limit;            /* GB/s that can be had at most; 0: not known */
  double error;            /* max |x - reference| / max |reference|; negative: not checked */
  const char *peer;        /* another library that did the same, NULL: none */
  double peer_median;      /* ms, of its fastest algorithm */
  double predicted;        /* ms, by a cost rule; 0: not said */
  int64_t scratch;         /* bytes of workspace that a run takes; 0: not said */
  const char *share_name;  /* a further number in [0, 1], NULL: none */
  double share;
};
/* limit: of a GPU. */
struct bench_row bench_row_of(const struct bench *bench, const char *name, double limit, const char *shape,
                              ...) __attribute__((format(printf, 4, 5)));
/* Of an operation that gathers from a graph: "8x8 nnz 20 width 4". */
struct bench_row bench_graph_row(const struct bench *bench, const char *name, const struct csr *m,
                                 int64_t width, const char *more);

/* An operation, and op_NAME as one. */
typedef int bench_run(struct kernels *k, const void *op);
#define BENCH_RUN(NAME)                                      \
  static int run_##NAME(struct kernels *k, const void *op) { \
    return op_##NAME(k, op);                                 \
  }

/* Runs `run` twice unmeasured and options.reps times on the clock, all ranks together and until the last has
 * ended; what is too short for the clock of a device that works on its own is repeated back to back within
 * each measurement, recorded and replayed as epochs are when bench->records is set. Collective. */
int bench_time(struct bench *bench, bench_run *run, const void *op, struct bench_row *row);
/* median, min and max of `count` measurements, which are sorted. */
void bench_spread(double *ms, int count, struct bench_row *row);

/* What an operation should have made: rows of `of`, which are zeros before, in double. */
struct bench_check {
  struct bench_matrix *of;
  void (*row)(const void *context, int64_t i, double *row);
  const void *context;
  int64_t sample; /* rows looked at, evenly spread */
};
/* Raises *error to the largest difference over the largest element. */
int bench_compare(struct bench *bench, const struct bench_check *check, double *error);
/* Times, compares unless `check` is NULL, and prints the row. */
int bench_measure(struct bench *bench, struct bench_row *row, bench_run *run, const void *op,
                  const struct bench_check *check);

/* What is measured on: the device, its threads, the ranks. */
void bench_print_head(struct bench *bench, const struct device *device);
void bench_print(const struct bench *bench, const struct bench_row *row);

/* A sparse matrix in another library's hands; ops NULL: there is none for this device. */
struct bench_peer {
  const struct peer_ops *ops;
  void *matrix;
};
int bench_peer_open(struct bench *bench, const struct csr *m, struct bench_peer *peer);

/* Measures y = m x, or x_v . y_u of its entries, in floats into row->peer and row->peer_median. */
int bench_peer_time(struct bench *bench, struct bench_peer *peer, const struct bench_matrix *x,
                    const struct bench_matrix *y, struct bench_row *row);
int bench_peer_time_scores(struct bench *bench, struct bench_peer *peer, const struct bench_matrix *x,
                           const struct bench_matrix *y, struct bench_row *row);

/* Attention by cosines over that graph: rows of the report for `gnnbench attention`. gather: its layout
 * without tiles. */
int bench_cosine(struct bench *bench, const struct csr *graph, struct layout *gather, int64_t width);

int gnnbench_spmm(struct bench *bench);
int gnnbench_spmm_all(struct bench *bench);
int gnnbench_spmm_ablate(struct bench *bench);
int gnnbench_calibrate(struct bench *bench);
int gnnbench_gemm(struct bench *bench);
int gnnbench_update(struct bench *bench);
int gnnbench_reduce(struct bench *bench);
int gnnbench_attention(struct bench *bench);
int gnnbench_sddmm(struct bench *bench);
int gnnbench_hyper(struct bench *bench);
int gnnbench_exchange(struct bench *bench);
int gnnbench_epoch(struct bench *bench);

#endif
