/* gnnbench spmm --ablate: what each technique brings to a product: the same product without it. Then plain
 * compressed rows by GE-SpMM, with and without its techniques, and column vectors by Libra, from each number
 * of non-zeros on, beside the layout that is chosen. */
#include "kernels/ops/elementwise.h"
#include "kernels/ops/loss.h"
#include "launch/bench/bench.h"
#include "partition/order/order.h"
#include "runtime/profile/profile.h"

/* The graph at hand, and its nodes renamed: at random, then by the order that is found from there. */
enum graphs { GIVEN, SHUFFLED, ORDERED, GRAPHS };

struct ablation {
  const char *name;
  struct csr *graph[GRAPHS];
  double order_seconds;
  struct bench_matrix x, y, bias, logits, grad, row_loss;
  int64_t *id;         /* [rows] 0, 1, ..., on the device: of dropout */
  struct loss_op loss; /* of products whose columns are classes */
};

/* What follows a product, in the same kernel or in one of its own: bias and ReLU, then dropout; or bias and
 * cross entropy. */
enum ends { BIAS = 1, DROPS = 2, LOSES = 4, APART = 8 };

static const struct {
  enum graphs graph;
  enum layout_tiers tiers;
  int ends;
} cases[] = {{GIVEN, LAYOUT_AUTO, 0},
             {GIVEN, LAYOUT_GATHER, 0},
             {GIVEN, LAYOUT_WINDOWS, 0},
             {GIVEN, LAYOUT_GATHER_IN_ORDER, 0},
             {SHUFFLED, LAYOUT_AUTO, 0},
             {ORDERED, LAYOUT_AUTO, 0},
             {GIVEN, LAYOUT_AUTO, BIAS},
             {GIVEN, LAYOUT_AUTO, BIAS | APART},
             {GIVEN, LAYOUT_AUTO, BIAS | DROPS},
             {GIVEN, LAYOUT_AUTO, BIAS | DROPS | APART},
             {GIVEN, LAYOUT_AUTO, BIAS | LOSES},
             {GIVEN, LAYOUT_AUTO, BIAS | LOSES | APART}};
enum { CHOSEN, GATHERED, CONDENSED, UNSORTED, IN_NO_ORDER, IN_FOUND_ORDER, PLAIN };
enum { FUSED = PLAIN, FOLLOWED, DROP_FUSED, DROP_FOLLOWED, LOSS_FUSED, LOSS_FOLLOWED, CASES };

static const struct {
  const char *technique; /* NULL: the order that was found */
  int with, without;
} lines[] = {{"tiles, as chosen", CHOSEN, GATHERED},
             {"condensed windows, all of it", CONDENSED, GATHERED},
             {"rows sorted in windows", GATHERED, UNSORTED},
             {"order as given", CHOSEN, IN_NO_ORDER},
             {NULL, IN_FOUND_ORDER, IN_NO_ORDER},
             {"bias and ReLU fused", FUSED, FOLLOWED},
             {"no bias and ReLU at all", CHOSEN, FUSED},
             {"these and dropout fused", DROP_FUSED, DROP_FOLLOWED},
             {"none of the three at all", CHOSEN, DROP_FUSED},
             {"cross entropy fused", LOSS_FUSED, LOSS_FOLLOWED}};
enum { LINES = sizeof lines / sizeof lines[0] };

/* CRC: ids pass through shared memory; CWM: groups of 32 columns that a warp sums at once. */
static const struct {
  const char *technique;
  int groups, uncached;
} ways_of_csr[] = {{"csr", 1, 1},        {"csr, CRC", 1, 0},
                   {"csr, CWM 2", 2, 1}, {"csr, CRC, CWM 2", 2, 0},
                   {"csr, CWM 4", 4, 1}, {"csr, CRC, CWM 4", 4, 0}};
enum { WAYS_OF_CSR = sizeof ways_of_csr / sizeof ways_of_csr[0] };

struct product {
  struct spmm spmm;
  struct epilogue epilogue;
  struct loss_op loss;
  int ends;
};

static int run_product(struct kernels *k, const void *context) {
  const struct product *product = context;
  TRY(op_spmm(k, &product->spmm));
  if (product->ends & LOSES)
    return product->ends & APART ? op_cross_entropy(k, &product->loss) : op_sum_losses(k, &product->loss);
  return product->ends & APART ? op_epilogue(k, &product->epilogue) : OK;
}

/* Node order[i] becomes node i. */
static int rename_nodes(struct bench *bench, const struct csr *m, const int64_t *order, struct csr **made) {
  int32_t *place = NULL;
  TRY(bench_array(bench, &place, m->rows));
  TRY(bench_csr(bench, m->rows, m->cols, m->nnz, 0, made));
  const struct csr *to = *made;
  for (int64_t i = 0; i < m->rows; i++) {
    place[order[i]] = (int32_t)i;
    to->start[i + 1] = to->start[i] + m->start[order[i] + 1] - m->start[order[i]];
  }
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t from = m->start[order[i]], count = to->start[i + 1] - to->start[i];
    for (int64_t e = 0; e < count; e++) to->col[to->start[i] + e] = place[m->col[from + e]];
    qsort(to->col + to->start[i], (size_t)count, sizeof *to->col, compare_int32);
  }
  return OK;
}

static int shuffle(struct bench *bench, const struct csr *m, struct csr **to) {
  const struct philox_key key = random_key(1, 0, 0, RANDOM_SHUFFLE);
  int64_t *order = NULL;
  TRY(bench_array(bench, &order, m->rows));
  for (int64_t i = 0; i < m->rows; i++) {
    struct philox_block block = random_block(key, (uint64_t)i, 0);
    int64_t j = (int64_t)random_below(block.word[0], block.word[1], (uint64_t)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  return rename_nodes(bench, m, order, to);
}

/* The order "cluster" of the whole as one part. */
static int find_order(struct bench *bench, struct ablation *a) {
  struct csr *m = a->graph[SHUFFLED];
  struct graph graph = {.nodes = m->rows, .rows = m->rows, .edges = m->nnz, .start = m->start, .col = m->col};
  struct partition partition = {0};
  struct progress progress = progress_of(&bench->comm);
  struct order_input input = order_input_of(&progress, &graph, m, 1, 512);
  double began = profile_clock();
  int code = partition_init(&partition, 1, m->rows);
  if (code == OK) {
    partition.offset[1] = m->rows;
    code = order_nodes(&input, ORDER_CLUSTER, &partition);
  }
  a->order_seconds = profile_clock() - began;
  if (code == OK) code = rename_nodes(bench, m, partition.order, &a->graph[ORDERED]);
  partition_free(&partition);
  return code;
}

static int measure(struct bench *bench, struct ablation *a, enum graphs graph, struct layout_plan plan,
                   int ends, double *ms) {
  struct bench_row row = {0};
  struct layout *layout = NULL;
  const int first = bench->owned_count;
  plan.width = a->x.tensor.cols;
  TRY(bench_layout_of(bench, a->graph[graph], &plan, &layout));
  const struct tensor y = ends & LOSES ? a->logits.tensor : a->y.tensor;
  struct product product = {.spmm = {.a = layout, .x = a->x.tensor, .y = y}, .loss = a->loss, .ends = ends};
  product.epilogue = (struct epilogue){.z = y, .bias = a->bias.tensor.data, .y = y};
  if (!(ends & LOSES)) product.epilogue.activation = ACTIVATION_RELU;
  if (ends & DROPS)
    product.epilogue.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), a->id);
  if (ends & LOSES && !(ends & APART)) product.epilogue.loss = &product.loss;
  if (ends & LOSES || (ends & BIAS && !(ends & APART))) product.spmm.epilogue = &product.epilogue;
  int code = bench_time(bench, run_product, &product, &row);
  bench_forget(bench, first);
  *ms = row.median;
  return code;
}

static void print_line(const struct bench *bench, const struct ablation *a, const char *technique,
                       double with, double without) {
  const char *precision = precision_name[bench->kernels.precision];
  long long width = a->x.tensor.cols;
  if (bench->options->json)
    printf("{\"op\": \"spmm ablate\", \"graph\": \"%s\", \"precision\": \"%s\", \"width\": %lld, "
           "\"technique\": \"%s\", \"ms\": %.6g, \"ms_without\": %.6g}\n",
           a->name, precision, width, technique, with, without);
  else
    printf("%-18s %-5s %5lld  %-28s %9.4f %9.4f  x%.2f\n", a->name, precision, width, technique, with,
           without, without / with);
  fflush(stdout);
}

static int measure_csr(struct bench *bench, struct ablation *a, double chosen) {
  for (int i = 0; i < WAYS_OF_CSR; i++) {
    const struct layout_plan plan = {
        .tiers = LAYOUT_CSR, .csr_groups = ways_of_csr[i].groups, .csr_uncached = ways_of_csr[i].uncached};
    double ms = 0;
    TRY(measure(bench, a, GIVEN, plan, 0, &ms));
    print_line(bench, a, ways_of_csr[i].technique, ms, chosen);
  }
  return OK;
}

static int measure_vectors(struct bench *bench, struct ablation *a, double chosen) {
  for (int threshold = 1; threshold <= VECTOR_ROWS; threshold++) {
    const struct layout_plan plan = {.tiers = LAYOUT_VECTORS, .vector_threshold = threshold};
    char technique[32];
    double ms = 0;
    snprintf(technique, sizeof technique, "vectors %d", threshold);
    TRY(measure(bench, a, GIVEN, plan, 0, &ms));
    print_line(bench, a, technique, ms, chosen);
  }
  return OK;
}

/* Everything that a loss of all rows reads and leaves, and the ids of dropout. */
static int make_loss(struct bench *bench, struct ablation *a, int64_t classes) {
  int64_t rows = a->graph[GIVEN]->rows, *id = NULL;
  int32_t *number = NULL, *listed = NULL, *label = NULL;
  TRY(bench_array(bench, &id, rows));
  TRY(bench_array(bench, &number, rows));
  for (int64_t v = 0; v < rows; v++) id[v] = number[v] = (int32_t)v;
  TRY(bench_upload(bench, id, rows * (int64_t)sizeof *id, &a->id));
  TRY(bench_upload(bench, number, rows * (int64_t)sizeof *number, &listed));
  for (int64_t v = 0; v < rows; v++) number[v] = (int32_t)(v % classes);
  TRY(bench_upload(bench, number, rows * (int64_t)sizeof *number, &label));
  TRY(bench_matrix_alloc(bench, &a->logits, bench->kernels.real, rows, classes));
  TRY(bench_matrix_alloc(bench, &a->grad, bench->kernels.dtype, rows, classes));
  TRY(bench_column(bench, &a->row_loss, rows, NULL, NULL));
  a->loss = (struct loss_op){.logits = a->logits.tensor, .grad = a->grad.tensor, .count = rows};
  a->loss.scale = 1 / (double)rows;
  a->loss.label = a->loss.counted = label;
  a->loss.rows = listed;
  a->loss.row_loss = a->row_loss.tensor.data;
  return bench_upload(bench, NULL, (int64_t)sizeof *a->loss.loss, &a->loss.loss);
}

static int measure_width(struct bench *bench, void *of, int64_t width) {
  struct ablation *a = of;
  double ms[CASES] = {0};
  char order[64];
  TRY(bench_matrix_noise(bench, &a->x, bench->kernels.dtype, a->graph[GIVEN]->cols, width, 1));
  TRY(bench_matrix_alloc(bench, &a->y, bench->kernels.dtype, a->graph[GIVEN]->rows, width));
  TRY(bench_matrix_alloc(bench, &a->bias, bench->kernels.real, 1, width));
  TRY(make_loss(bench, a, width));
  for (int i = 0; i < CASES; i++) {
    const struct layout_plan plan = {.tiers = cases[i].tiers};
    TRY(measure(bench, a, cases[i].graph, plan, cases[i].ends, &ms[i]));
  }
  snprintf(order, sizeof order, "order found in %.1f s", a->order_seconds);
  for (int i = 0; i < LINES; i++)
    print_line(bench, a, lines[i].technique ? lines[i].technique : order, ms[lines[i].with],
               ms[lines[i].without]);
  TRY(measure_csr(bench, a, ms[CHOSEN]));
  return measure_vectors(bench, a, ms[CHOSEN]);
}

static int measure_graph(struct bench *bench, struct ablation *a) {
  TRY(bench_graph_of(bench, a->name, &a->graph[GIVEN]));
  if (a->graph[GIVEN]->weight) FAIL(BAD_INPUT, "%s: --ablate takes graphs without weights", a->name);
  TRY(shuffle(bench, a->graph[GIVEN], &a->graph[SHUFFLED]));
  TRY(find_order(bench, a));
  return bench_each_width(bench, measure_width, a);
}

int gnnbench_spmm_ablate(struct bench *bench) {
  struct ablation a = {0};
  if (!bench->options->json)
    printf("%-18s %-5s %5s  %-28s %9s %9s\n", "graph", "", "width", "technique", "ms", "without");
  for (int g = 0; (a.name = bench_graph_name(bench->options, g)); g++) {
    int code = measure_graph(bench, &a);
    bench_forget(bench, 0);
    TRY(code);
  }
  return OK;
}
