#include "launch/bench/bench.h"
#include "runtime/config/options.h"

enum {
  OF_KERNELS = BENCH_SPMM | BENCH_GEMM | BENCH_UPDATE | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM |
               BENCH_HYPER,
  OF_GRAPHS = BENCH_SPMM | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM,
  OPS = OF_KERNELS | BENCH_EXCHANGE,
  RUNS = OPS | BENCH_CALIBRATE,
  EVERY = RUNS | BENCH_EPOCH
};

static int graphs(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->sparse.graphs == BENCH_GRAPHS)
      FAIL(BAD_INPUT, "--%s: at most %d graphs", known->name, BENCH_GRAPHS);
    options->sparse.graph[options->sparse.graphs++] = part;
  }
  if (options->sparse.graphs == 0)
    FAIL(BAD_INPUT, "--%s: no graph given; for example --graph arxiv-like,mine.h5", known->name);
  return OK;
}

static int widths(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  options->widths = 0;
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->widths == BENCH_WIDTHS)
      FAIL(BAD_INPUT, "--%s: at most %d widths", known->name, BENCH_WIDTHS);
    TRY(option_whole(known, part, &options->width[options->widths++]));
  }
  if (options->widths == 0) FAIL(BAD_INPUT, "--%s: no width given; for example --width 16,64", known->name);
  return OK;
}

static int precision(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  options->any_precision = 0;
  for (int p = 0; precision_name[p]; p++) {
    if (strcmp(text, precision_name[p]) != 0) continue;
    options->precision = (enum precision)p;
    return OK;
  }
  FAIL(BAD_INPUT, "--%s: \"%s\" is none of fp32, fp32-strict, tf32, bf16, fp64", known->name, text);
}

static int tiers(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  for (int i = 0; layout_name[i]; i++) {
    if (strcmp(text, layout_name[i]) != 0) continue;
    options->sparse.tiers = (enum layout_tiers)i;
    return OK;
  }
  FAIL(BAD_INPUT, "--%s: \"%s\" is none of auto, gather, tiles, windows, selector, csr, vectors", known->name,
       text);
}

/* Those that attention has. */
static int attention_tiers(void *of, const struct option *known, char *text) {
  static const enum layout_tiers had[] = {LAYOUT_AUTO, LAYOUT_GATHER, LAYOUT_TILES, LAYOUT_VECTORS};
  struct bench_options *options = of;
  for (size_t i = 0; i < sizeof had / sizeof had[0]; i++) {
    if (strcmp(text, layout_name[had[i]]) != 0) continue;
    options->sparse.tiers = had[i];
    return OK;
  }
  FAIL(BAD_INPUT, "--%s: \"%s\" is none of auto, gather, tiles, vectors", known->name, text);
}

static int setting(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  if (options->epoch.set_count == BENCH_SETTINGS)
    FAIL(BAD_INPUT, "--%s: more than %d settings", known->name, BENCH_SETTINGS);
  options->epoch.set[options->epoch.set_count++] = text;
  return OK;
}

static int rank_of(void *of, const struct option *known, char *text) {
  struct bench_options *options = of;
  int rank = 0, ranks = 0, length = 0;
  const int read = sscanf(text, "%9d/%9d%n", &rank, &ranks, &length);
  if (read != 2 || text[length] != '\0' || rank < 0 || rank >= ranks)
    FAIL(BAD_INPUT, "--%s %s: a rank of so many is wanted, as 0/8; the first is 0", known->name, text);
  options->epoch.rank = rank;
  options->epoch.ranks = ranks;
  return OK;
}

/* clang-format off */
#define AT(field) offsetof(struct bench_options, field)
static const struct option table[] = {
    {"dataset", "FILE.h5", "graph of a dataset; else a random one:", OPTION_TEXT, AT(dataset), 0, 0, NULL, OF_GRAPHS, NULL},
    {"dataset", "FILE.h5", "halo of a dataset's partition; else equal rows at random:", OPTION_TEXT, AT(dataset), 0, 0, NULL, BENCH_EXCHANGE, NULL},
    {"rows", "N", "rows from each rank to each other (131072)", OPTION_WHOLE, AT(exchange.rows), 1, 1 << 28, NULL, BENCH_EXCHANGE, NULL},
    {"messages", NULL, "the transport's messages alone, as runtime.exchange = \"messages\"", OPTION_FLAG, AT(exchange.messages), 0, 0, NULL, BENCH_EXCHANGE, NULL},
    {"method", "M", "partition of the dataset: metis, block or random (metis)", OPTION_TEXT, AT(exchange.method), 0, 0, NULL, BENCH_EXCHANGE, NULL},
    {"dataset", "FILE.h5", "hypergraph of a dataset; else a random one:", OPTION_TEXT, AT(dataset), 0, 0, NULL, BENCH_HYPER, NULL},
    {"nodes", "N", "vertices (200000)", OPTION_WHOLE, AT(nodes), 1, INT32_MAX, NULL, BENCH_HYPER, NULL},
    {"hyperedges", "M", "hyperedges, whose sizes follow a power law (100000)", OPTION_WHOLE, AT(hyper.hyperedges), 1, INT32_MAX, NULL, BENCH_HYPER, NULL},
    {"incidences", "I", "sum of their sizes, to a few in a hundred (822549)", OPTION_WHOLE, AT(hyper.incidences), 1, 0x1p40, NULL, BENCH_HYPER, NULL},
    {"huge", "K", "one hyperedge of K vertices more (none)", OPTION_WHOLE, AT(hyper.huge), 1, INT32_MAX, NULL, BENCH_HYPER, NULL},
    {"scaled", NULL, "as HGNN has it: D_v^-1/2 B D_e^-1 B^T D_v^-1/2, factored", OPTION_FLAG, AT(sparse.scaled), 0, 0, NULL, BENCH_HYPER, NULL},
    {"width", "W,...", "columns of the dense matrix (32,64,128,256)", OPTION_READ, 0, 1, 1 << 20, widths, BENCH_HYPER, NULL},
    {"nodes", "N", "rows (100000)", OPTION_WHOLE, AT(nodes), 1, INT32_MAX, NULL, OF_KERNELS & ~BENCH_HYPER, NULL},
    {"degree", "D", "neighbours of a row (20)", OPTION_WHOLE, AT(degree), 0, 1 << 20, NULL, OF_GRAPHS, NULL},
    {"layout", "auto|gather|tiles|windows|selector|csr|vectors", "tiers of the matrix, on GPUs (auto)", OPTION_READ, 0, 0, 0, tiers, BENCH_SPMM, NULL},
    {"layout", "auto|gather|tiles|vectors", "tiers of the arcs of gat and agnn, vectors of agnn alone, on GPUs; beside others the gather alone (auto)", OPTION_READ, 0, 0, 0, attention_tiers, BENCH_ATTENTION, NULL},
    {"threshold", "N", "of --layout vectors: non-zeros of a column in 8 rows that tensor cores take, 1 to 8 (8)", OPTION_WHOLE, AT(sparse.threshold), 1, VECTOR_ROWS, NULL, BENCH_SPMM | BENCH_ATTENTION, NULL},
    {"all", NULL, "each graph, width and precision by every tier alone and as chosen", OPTION_FLAG, AT(sparse.all), 0, 0, NULL, BENCH_SPMM, NULL},
    {"ablate", NULL, "what each technique brings: order, sorted rows, tiles, condensed windows, fused ends, csr, vectors", OPTION_FLAG, AT(sparse.ablate), 0, 0, NULL, BENCH_SPMM, NULL},
    {"graph", "NAME,...", "of these two: arxiv-like, amazon0601-like, reddit-like, products-like, rmat,\n                         community-power, cliques, small ones as hubs-300k-16 (even, near or hubs; 10k, 30k, 100k,\n                         300k or 1m arcs; degree 4, 16 or 64), or datasets (all made ones)", OPTION_READ, 0, 0, 0, graphs, BENCH_SPMM, NULL},
    {"out", "FILE.toml", "where they are kept (~/.config/gnntrain/constants.toml); - prints them alone", OPTION_TEXT, AT(out), 0, 0, NULL, BENCH_CALIBRATE, NULL},
    {"weighted", NULL, "arcs that have no weights are given some", OPTION_FLAG, AT(sparse.weighted), 0, 0, NULL, BENCH_SPMM, NULL},
    {"scaled", NULL, "as a GCN has it: D^-1/2 (A + I) D^-1/2, factored", OPTION_FLAG, AT(sparse.scaled), 0, 0, NULL, BENCH_SPMM, NULL},
    {"width", "W,...", "columns of the dense matrix (16,64,128; --all and --ablate: 32,64,128,256)", OPTION_READ, 0, 1, 1 << 20, widths, OPS & ~BENCH_HYPER, NULL},
    {"heads", "H", "heads side by side, which divide the width (8)", OPTION_WHOLE, AT(heads), 1, 64, NULL, BENCH_ATTENTION, NULL},
    {"inner", "K", "columns of the left matrix (128)", OPTION_WHOLE, AT(inner), 1, 1 << 20, NULL, BENCH_GEMM, NULL},
    {"set", "KEY=VALUE", "change a setting of the configuration; may be repeated", OPTION_READ, 0, 0, 0, setting, BENCH_EPOCH, NULL},
    {"as", "RANK/RANKS", "one rank of so many alone, without the others: 0/8", OPTION_READ, 0, 0, 0, rank_of, BENCH_EPOCH, NULL},
    {"network", "NETWORK", "of --as: inside a host, between hosts, ranks of a host (nvlink,400gbit,8)", OPTION_TEXT, AT(epoch.network), 0, 0, NULL, BENCH_EPOCH, NULL},
    {"device", "auto|cpu|cuda", "where it runs (auto)", OPTION_TEXT, AT(device), 0, 0, NULL, RUNS, NULL},
    {"precision", "P", "fp32, fp32-strict, tf32, bf16 or fp64, where the device has it (fp32)", OPTION_READ, 0, 0, 0, precision, OF_KERNELS, NULL},
    {"precision", "P", "fp32, bf16 or fp64 (each that the device has)", OPTION_READ, 0, 0, 0, precision, BENCH_EXCHANGE, NULL},
    {"threads", "T", "host threads a rank (the processors it is bound to)", OPTION_WHOLE, AT(threads), 1, 4096, NULL, RUNS, NULL},
    {"reps", "R", "measured runs, or epochs (10)", OPTION_WHOLE, AT(reps), 1, BENCH_REPS, NULL, EVERY, NULL},
    {"json", NULL, "one JSON object a line", OPTION_FLAG, AT(json), 0, 0, NULL, EVERY, NULL},
    {0}
};
/* clang-format on */

/* clang-format off */
static const char *const notes[] = {
    [BENCH_SPMM] =
        "GB/s counts each gathered row and each matrix once. On a GPU it is compared with 10,300 GB/s, the most that\n"
        "the L2 cache of an H200 delivers: every gathered row comes from there or through it, save for those that an\n"
        "SM's own cache still holds, which is what shares above 100% mean. The error is the largest difference from a\n"
        "double reference on the same (rounded) numbers over its largest value, on up to 1000 rows. Beside it: the\n"
        "other library's fastest fp32 CSR algorithm, preprocessing done; with --scaled it multiplies the matrix written\n"
        "out, self loops and values included.\n"
        "--all: ms by the gather, tiles, condensed windows, those that the selector takes, and auto, and as the model\n"
        "predicts for auto; shares of the arcs in tiles and condensed windows; ms of making auto's layout; the error;\n"
        "the other library. Then a line a precision: how far auto is above the fastest tier, and in how many cases\n"
        "within 3%, above 10%; and how far off predictions are.\n"
        "--ablate: ms with a technique, ms without it, and their ratio. Of csr, plain compressed rows: with and without\n"
        "GE-SpMM's caching of ids in shared memory (CRC) and its 2 or 4 groups of 32 columns a warp (CWM), beside auto.\n"
        "Of vectors, beside auto: Libra's threshold, the non-zeros of a column in 8 rows from which on tensor cores take it.\n",
    [BENCH_CALIBRATE] =
        "Times products of the made graphs of spmm --all by each tier and fits the constants of the cost model to them\n"
        "by least squares; those of tiles and of arcs with weights come from made matrices of known density, those of\n"
        "products with weights from epochs of made graphs. Prints them, and how many products they repeat within 25%,\n"
        "and keeps them in the file, where gnntrain finds them (runtime.constants). It takes a minute\n"
        "or two. How often the tier that they choose is the fastest is what spmm --all says. mpirun -n 2 gnnbench\n"
        "calibrate, with any number of ranks, measures the exchange in place of all that: inside a host or, with a\n"
        "rank on each of several, between them; gnntrain --plan reckons with it.\n",
    [BENCH_GEMM] =
        "GB/s counts each matrix once; the error is the largest difference from a double reference over its largest\n"
        "value, on some of the elements.\n",
    [BENCH_UPDATE] =
        "GB/s counts what must be read and written, rows padded to 32 bytes as in training, and is compared with\n"
        "4200 GB/s, what an H200 copies. The error is the largest difference from a double reference over its largest value,\n"
        "on up to 1000 rows and, of column sums, some columns.\n",
    [BENCH_REDUCE] =
        "GB/s counts each gathered row and each matrix once, of the gradient the gathered rows of winners alone; rows\n"
        "of the gradient itself are read where something was won. The error is the largest difference from a double\n"
        "reference over its largest value, on up to 1000 rows.\n",
    [BENCH_ATTENTION] =
        "Every arc gathers a row and a number a head forward, three numbers backward: their GB/s are compared with\n"
        "10,300 GB/s, as spmm has it; the passes over rows, messages, terms and sums of gradients, with 4200 GB/s. The\n"
        "error is the largest difference from a double reference over its largest value, on some rows. Attention by\n"
        "cosines is measured over as wide rows in one head.\n",
    [BENCH_SDDMM] =
        "GB/s counts a row for each arc, the other matrix once and the scores, and is compared with 10,300 GB/s, as\n"
        "spmm has it. The error is the largest difference from a double reference over its largest value, on the arcs\n"
        "of up to 1000 rows. Beside it: the other library's SDDMM in fp32, preprocessing done.\n",
    [BENCH_HYPER] =
        "First what the host takes to cut the hypergraph for the form \"split\": vertices of a piece, thread blocks, and\n"
        "the share of the rows read that no block reads again. Then a row a width and form: both steps over whole rows;\n"
        "by panels of 128, 256, 512 bytes, whose sums of hyperedges alone are kept between the steps; fused over pairs\n"
        "of vertices, without those sums, where there are up to 64 Mi of them; split, with those sums in the shared\n"
        "memory of thread blocks that own vertices; and what the cost rule takes of whole rows and pairs. A processor\n"
        "has the first, named auto, and split. GB/s counts a gathered row for each incidence in each step and both\n"
        "results once, whatever the form moves, and is compared with 10,300 GB/s as spmm has it. Predicted is what the\n"
        "cost rule says of a GPU. Scratch is what a form keeps beside its operands. The error is the largest difference\n"
        "from a double reference over its largest value, on up to 1000 rows. Beside it: two products by the other\n"
        "library, fp32, each by its fastest algorithm; with --scaled of matrices with values. The gradient is the same\n"
        "operation.\n",
    [BENCH_EXCHANGE] =
        "Two ranks or more: mpirun -n 4 gnnbench exchange. A run brings rows into the halo: GPUs of one host store\n"
        "them there, others pack them and send messages; on a GPU runs are recorded once and replayed, as epochs are.\n"
        "Between hosts of several ranks rows of a dataset go to a host once, and on from there; with --messages each goes\n"
        "from rank to rank.\n"
        "GB/s counts what leaves the rank that sends most, rows padded to 32 bytes as in training, and is compared with\n"
        "330 GB/s, what an all-to-all brings out of each GPU over NVLink on one host. Every received number is checked.\n"
        "Beside it: the transport's own all-to-all of equal contiguous blocks of as many bytes, the faster of its\n"
        "collective call and of grouped messages.\n",
    [BENCH_EPOCH] =
        "Trains as gnntrain does, in three passes: epochs as they are; then profiled, queued op by op; then profiled\n"
        "without overlap, for each part alone. An epoch is forward, backward and optimiser. The bound is max(pack +\n"
        "exchange, own part) and all other parts, each alone; the last row says how the epoch stands to it.\n"
        "--as: the graph is divided among so many ranks, and one of them trains its share as if the others were there;\n"
        "its messages do not travel, but last as long as the network needs for them. The grid\n"
        "is the one that so many ranks would take.\n",
};
/* clang-format on */

static void print_help(const struct options *options) {
  const unsigned command = options->commands;
  printf("usage: %s%s [OPTION]...\n\n", options->command, command == BENCH_EPOCH ? " CONFIG.toml" : "");
  options_print(options, 22);
  printf("  %-22s %s\n\n%s", "--help ", "this text", notes[command]);
}

/* Options that say nothing beside another, or without it. */
static int check_together(const struct options *given) {
  static const struct {
    const char *name, *other;
    int beside;
  } rules[] = {{"nodes", "dataset", 1},      {"degree", "dataset", 1}, {"hyperedges", "dataset", 1},
               {"incidences", "dataset", 1}, {"rows", "dataset", 1},   {"nodes", "all", 1},
               {"degree", "all", 1},         {"dataset", "all", 1},    {"layout", "all", 1},
               {"scaled", "all", 1},         {"nodes", "ablate", 1},   {"degree", "ablate", 1},
               {"dataset", "ablate", 1},     {"layout", "ablate", 1},  {"scaled", "ablate", 1},
               {"weighted", "ablate", 1},    {"method", "dataset", 0}, {"network", "as", 0}};
  for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
    const char *name = rules[r].name, *other = rules[r].other;
    if (!options_given(given, name) || options_given(given, other) != rules[r].beside) continue;
    if (!rules[r].beside) FAIL(BAD_INPUT, "--%s goes with --%s", name, other);
    FAIL(BAD_INPUT, "--%s would be passed over beside --%s; one of them is allowed", name, other);
  }
  return OK;
}

static int check_threshold(const struct bench_options *options) {
  if (options->sparse.threshold == 0 || options->sparse.tiers == LAYOUT_VECTORS) return OK;
  FAIL(BAD_INPUT, "--threshold goes with --layout vectors");
}

/* What is left over is the configuration of epoch, and nothing else. */
static int take_words(struct bench_options *options, const struct options *given) {
  int taken = options->command == BENCH_EPOCH;
  if (taken) options->epoch.config = given->word[0];
  if (given->words > taken)
    FAIL(BAD_INPUT, "\"%s\" is not an option; see %s --help", given->word[taken], given->command);
  if (taken && !options->epoch.config)
    FAIL(BAD_INPUT, "which configuration? gnnbench epoch CONFIG.toml [OPTION]...");
  return OK;
}

static void set_widths(struct bench_options *options) {
  int tables = options->command == BENCH_HYPER || options->sparse.all || options->sparse.ablate;
  static const int64_t usual[2][4] = {{16, 64, 128}, {32, 64, 128, 256}};
  if (options->widths > 0) return;
  memcpy(options->width, usual[tables], sizeof usual[tables]);
  options->widths = 3 + tables;
}

int bench_options_read(struct bench_options *options, enum bench_command command, int argc, char **argv,
                       int *help) {
  char name[32];
  struct options given = {
      .command = name, .option = table, .commands = command, .into = options, .print_help = print_help};
  snprintf(name, sizeof name, "gnnbench %.16s", argv[0]);
  *options = (struct bench_options){.command = command, .nodes = 100000, .degree = 20, .heads = 8};
  if (command == BENCH_HYPER) options->nodes = 200000;
  options->hyper.hyperedges = 100000;
  options->hyper.incidences = 822549;
  options->inner = 128;
  options->exchange.rows = 131072;
  options->exchange.method = "metis";
  options->device = "auto";
  options->any_precision = 1;
  options->reps = 10;
  TRY(options_read(&given, argc, argv));
  *help = given.help;
  if (given.help) return OK;
  set_widths(options);
  TRY(check_together(&given));
  TRY(check_threshold(options));
  return take_words(options, &given);
}
