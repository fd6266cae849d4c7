/* gnnbench spmm --ablate: what each technique brings to a product: the same product without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/loss.h"
#include "kernels/ops/sparse.h"
#include "launch/bench/bench.h"
#include "partition/order/order.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/device/arena.h"
#include "runtime/profile/profile.h"

/* The graph at hand, and its nodes renamed: at random, then by the order that is found from there. */
struct ablation {
  const char *name;
  struct csr graph, shuffled, ordered;
  double order_seconds;
  struct layout *layout;
  struct bench_matrix x, y;
  void *bias;          /* real [width] */
  int64_t *id;         /* [rows] 0, 1, ...: of dropout */
  struct loss_op loss; /* of products whose columns are classes */
  struct arena arena;  /* of the loss */
};

/* What ends the product: nothing; bias and ReLU in the same kernel or in one of their own; these with
 * dropout; bias and cross entropy likewise. */
enum ablated_epilogue {
  EPILOGUE_NONE,
  EPILOGUE_FUSED,
  EPILOGUE_APART,
  EPILOGUE_DROP_FUSED,
  EPILOGUE_DROP_APART,
  EPILOGUE_LOSS_FUSED,
  EPILOGUE_LOSS_APART
};

struct product {
  struct spmm spmm;
  struct epilogue epilogue;
  struct loss_op loss;
  enum ablated_epilogue epilogue_kind;
};

static int run_product(struct kernels *k, const void *context) {
  const struct product *product = context;
  TRY(op_spmm(k, &product->spmm));
  switch (product->epilogue_kind) {
  case EPILOGUE_APART:
  case EPILOGUE_DROP_APART:
    return op_epilogue(k, &product->epilogue);
  case EPILOGUE_LOSS_FUSED:
    return op_sum_losses(k, &product->loss);
  case EPILOGUE_LOSS_APART:
    return op_cross_entropy(k, &product->loss);
  default:
    return OK;
  }
}

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Node order[i] becomes node i. */
static int rename_nodes(const struct csr *m, const int64_t *order, int32_t *place, struct csr *to) {
  TRY(csr_init(to, m->rows, m->cols, m->nnz, 0));
  for (int64_t i = 0; i < m->rows; i++) {
    place[order[i]] = (int32_t)i;
    to->start[i + 1] = to->start[i] + m->start[order[i] + 1] - m->start[order[i]];
  }
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t from = m->start[order[i]], count = to->start[i + 1] - to->start[i];
    for (int64_t e = 0; e < count; e++) to->col[to->start[i] + e] = place[m->col[from + e]];
    qsort(to->col + to->start[i], (size_t)count, sizeof *to->col, by_value);
  }
  return OK;
}

static int rename_by(const struct csr *m, const int64_t *order, struct csr *to) {
  int32_t *place = NULL;
  TRY(memory_alloc(&place, m->rows * (int64_t)sizeof *place, "places of nodes"));
  int code = rename_nodes(m, order, place, to);
  free(place);
  return code;
}

static int shuffle(const struct csr *m, struct csr *to) {
  const struct philox_key key = random_key(1, 0, 0, RANDOM_SHUFFLE);
  int64_t *order = NULL;
  TRY(memory_alloc(&order, m->rows * (int64_t)sizeof *order, "permutation"));
  for (int64_t i = 0; i < m->rows; i++) {
    struct philox_block block = random_block(key, (uint64_t)i, 0);
    int64_t j = (int64_t)random_below(block.word[0], block.word[1], (uint64_t)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  int code = rename_by(m, order, to);
  free(order);
  return code;
}

/* The order "cluster" of the whole as one part. */
static int find_order(struct bench *bench, struct ablation *a) {
  struct csr *m = &a->shuffled;
  struct graph graph = {.nodes = m->rows, .rows = m->rows, .edges = m->nnz, .start = m->start, .col = m->col};
  struct partition partition = {0};
  struct progress progress = progress_of(&bench->comm);
  struct order_input input = {&progress, &graph, m, 1, 512};
  double began = profile_clock();
  int code = partition_init(&partition, 1, m->rows);
  if (code == OK) {
    partition.offset[1] = m->rows;
    code = order_nodes(&input, ORDER_CLUSTER, &partition);
  }
  a->order_seconds = profile_clock() - began;
  if (code == OK) code = rename_by(m, partition.order, &a->ordered);
  partition_free(&partition);
  return code;
}

static int measure(struct bench *bench, struct ablation *a, const struct csr *m, enum layout_tiers tiers,
                   enum ablated_epilogue epilogue_kind, double *ms) {
  struct layout_plan plan = {.tiers = tiers, .width = a->x.tensor.cols};
  struct bench_row row = {0};
  layout_free(&bench->kernels, a->layout);
  a->layout = NULL;
  TRY(layout_init(&bench->kernels, m, &plan, &a->layout));
  const int loses = epilogue_kind == EPILOGUE_LOSS_FUSED || epilogue_kind == EPILOGUE_LOSS_APART;
  const struct tensor y = loses ? a->loss.logits : a->y.tensor;
  struct product product = {
      .spmm = {.a = a->layout, .x = a->x.tensor, .y = y}, .loss = a->loss, .epilogue_kind = epilogue_kind};
  product.epilogue = (struct epilogue){.z = y, .bias = a->bias, .y = y};
  if (!loses) product.epilogue.activation = ACTIVATION_RELU;
  if (epilogue_kind == EPILOGUE_DROP_FUSED || epilogue_kind == EPILOGUE_DROP_APART)
    product.epilogue.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), a->id);
  if (epilogue_kind == EPILOGUE_LOSS_FUSED) product.epilogue.loss = &product.loss;
  if (epilogue_kind == EPILOGUE_FUSED || epilogue_kind == EPILOGUE_DROP_FUSED || loses)
    product.spmm.epilogue = &product.epilogue;
  TRY(bench_time(bench, run_product, &product, &row));
  *ms = row.median;
  return OK;
}

static void print_line(const struct bench *bench, const struct ablation *a, const char *technique,
                       double with, double without) {
  const char *precision = precision_name[bench->kernels.precision];
  if (bench->options->json)
    printf(
        "{\"op\": \"spmm ablate\", \"graph\": \"%s\", \"precision\": \"%s\", \"width\": %lld, \"technique\": "
        "\"%s\", \"ms\": %.6g, \"ms_without\": %.6g}\n",
        a->name, precision, (long long)a->x.tensor.cols, technique, with, without);
  else
    printf("%-18s %-5s %5lld  %-28s %9.4f %9.4f  x%.2f\n", a->name, precision, (long long)a->x.tensor.cols,
           technique, with, without, without / with);
  fflush(stdout);
}

enum {
  CHOSEN,
  FUSED,
  APART,
  DROP_FUSED,
  DROP_APART,
  LOSS_FUSED,
  LOSS_APART,
  GATHER,
  CONDENSED,
  UNSORTED,
  SHUFFLED,
  ORDERED,
  CASES
};

static int compare(struct bench *bench, struct ablation *a) {
  const struct {
    const struct csr *m;
    enum layout_tiers tiers;
    enum ablated_epilogue epilogue_kind;
  } of[CASES] = {[CHOSEN] = {&a->graph, LAYOUT_AUTO, EPILOGUE_NONE},
                 [FUSED] = {&a->graph, LAYOUT_AUTO, EPILOGUE_FUSED},
                 [APART] = {&a->graph, LAYOUT_AUTO, EPILOGUE_APART},
                 [DROP_FUSED] = {&a->graph, LAYOUT_AUTO, EPILOGUE_DROP_FUSED},
                 [DROP_APART] = {&a->graph, LAYOUT_AUTO, EPILOGUE_DROP_APART},
                 [LOSS_FUSED] = {&a->graph, LAYOUT_AUTO, EPILOGUE_LOSS_FUSED},
                 [LOSS_APART] = {&a->graph, LAYOUT_AUTO, EPILOGUE_LOSS_APART},
                 [GATHER] = {&a->graph, LAYOUT_GATHER, EPILOGUE_NONE},
                 [CONDENSED] = {&a->graph, LAYOUT_WINDOWS, EPILOGUE_NONE},
                 [UNSORTED] = {&a->graph, LAYOUT_GATHER_IN_ORDER, EPILOGUE_NONE},
                 [SHUFFLED] = {&a->shuffled, LAYOUT_AUTO, EPILOGUE_NONE},
                 [ORDERED] = {&a->ordered, LAYOUT_AUTO, EPILOGUE_NONE}};
  double ms[CASES] = {0};
  char order[64];
  for (int i = 0; i < CASES; i++) TRY(measure(bench, a, of[i].m, of[i].tiers, of[i].epilogue_kind, &ms[i]));
  snprintf(order, sizeof order, "order found in %.1f s", a->order_seconds);
  print_line(bench, a, "tiles, as chosen", ms[CHOSEN], ms[GATHER]);
  print_line(bench, a, "condensed windows, all of it", ms[CONDENSED], ms[GATHER]);
  print_line(bench, a, "rows sorted in windows", ms[GATHER], ms[UNSORTED]);
  print_line(bench, a, "order as given", ms[CHOSEN], ms[SHUFFLED]);
  print_line(bench, a, order, ms[ORDERED], ms[SHUFFLED]);
  print_line(bench, a, "bias and ReLU fused", ms[FUSED], ms[APART]);
  print_line(bench, a, "no bias and ReLU at all", ms[CHOSEN], ms[FUSED]);
  print_line(bench, a, "these and dropout fused", ms[DROP_FUSED], ms[DROP_APART]);
  print_line(bench, a, "none of the three at all", ms[CHOSEN], ms[DROP_FUSED]);
  print_line(bench, a, "cross entropy fused", ms[LOSS_FUSED], ms[LOSS_APART]);
  return OK;
}

/* Everything that a loss of all rows reads and leaves, and the ids of dropout. */
static void plan_loss(const struct bench *bench, struct ablation *a, int64_t classes) {
  const struct kernels *k = &bench->kernels;
  struct arena *arena = &a->arena;
  int64_t rows = a->graph.rows, words = rows * (int64_t)sizeof(int32_t);
  a->loss = (struct loss_op){.count = rows, .scale = 1 / (double)rows};
  a->loss.logits = arena_tensor(arena, k->real, rows, classes);
  a->loss.grad = arena_tensor(arena, k->dtype, rows, classes);
  a->loss.label = a->loss.counted = arena_take(arena, words);
  a->loss.rows = arena_take(arena, words);
  a->loss.row_loss = arena_take(arena, rows * dtype_bytes(k->real));
  a->loss.loss = arena_take(arena, (int64_t)sizeof *a->loss.loss);
  a->id = arena_take(arena, rows * (int64_t)sizeof *a->id);
}

static int upload_all(struct bench *bench, const void *from, int64_t bytes, const void *to) {
  TRY(device_upload(&bench->device, STREAM_COMPUTE, (void *)to, from, bytes));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

static int fill_loss(struct bench *bench, struct ablation *a, int64_t *id) {
  int64_t rows = a->graph.rows, words = rows * (int64_t)sizeof(int32_t);
  int32_t *number = (int32_t *)id;
  for (int64_t v = 0; v < rows; v++) number[v] = (int32_t)v;
  TRY(upload_all(bench, number, words, a->loss.rows));
  for (int64_t v = 0; v < rows; v++) number[v] = (int32_t)(v % a->loss.logits.cols);
  TRY(upload_all(bench, number, words, a->loss.label));
  for (int64_t v = 0; v < rows; v++) id[v] = v;
  return upload_all(bench, id, rows * (int64_t)sizeof *id, a->id);
}

static int make_loss(struct bench *bench, struct ablation *a, int64_t classes) {
  int64_t *id = NULL;
  a->arena = arena_measure(&bench->device);
  plan_loss(bench, a, classes);
  TRY(arena_allocate(&a->arena, "logits, labels and ids"));
  plan_loss(bench, a, classes);
  TRY(memory_alloc(&id, a->graph.rows * (int64_t)sizeof *id, "ids"));
  int code = fill_loss(bench, a, id);
  free(id);
  return code;
}

static int measure_width(struct bench *bench, struct ablation *a, int64_t width) {
  TRY(bench_matrix_init(bench, &a->x, a->graph.cols, width, 1));
  TRY(bench_matrix_init(bench, &a->y, a->graph.rows, width, 2));
  TRY(device_alloc(&bench->device, width * dtype_bytes(bench->kernels.real), &a->bias, "bias"));
  TRY(make_loss(bench, a, width));
  return compare(bench, a);
}

static void forget_width(struct bench *bench, struct ablation *a) {
  layout_free(&bench->kernels, a->layout);
  bench_matrix_free(bench, &a->x);
  bench_matrix_free(bench, &a->y);
  device_release(&bench->device, a->bias);
  arena_free(&a->arena);
  a->layout = NULL;
  a->bias = NULL;
}

static int measure_graph(struct bench *bench, struct ablation *a) {
  static const int64_t usual[] = {32, 64, 128, 256};
  const struct bench_options *options = bench->options;
  TRY(bench_graph_of(a->name, &a->graph));
  if (a->graph.weight) FAIL(BAD_INPUT, "%s: --ablate takes graphs without weights", a->name);
  TRY(shuffle(&a->graph, &a->shuffled));
  TRY(find_order(bench, a));
  for (int w = 0; w < (options->any_width ? 4 : options->widths); w++) {
    int code = measure_width(bench, a, options->any_width ? usual[w] : options->width[w]);
    forget_width(bench, a);
    TRY(code);
  }
  return OK;
}

int gnnbench_spmm_ablate(struct bench *bench) {
  const struct bench_options *options = bench->options;
  int graphs = options->sparse.graphs;
  while (options->sparse.graphs == 0 && bench_synthetic_name(graphs)) graphs++;
  if (!options->json)
    printf("%-18s %-5s %5s  %-28s %9s %9s\n", "graph", "", "width", "technique", "ms", "without");
  for (int g = 0; g < graphs; g++) {
    struct ablation a = {.name = options->sparse.graphs ? options->sparse.graph[g] : bench_synthetic_name(g)};
    int code = measure_graph(bench, &a);
    csr_free(&a.graph);
    csr_free(&a.shuffled);
    csr_free(&a.ordered);
    TRY(code);
  }
  return OK;
}
