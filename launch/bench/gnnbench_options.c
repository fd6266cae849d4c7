#include <errno.h>
#include <getopt.h>
#include <stddef.h>

#include "launch/bench/bench.h"

enum {
  OF_KERNELS = BENCH_SPMM | BENCH_GEMM | BENCH_UPDATE | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM |
               BENCH_HYPER,
  OF_GRAPHS = BENCH_SPMM | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM,
  OPS = OF_KERNELS | BENCH_EXCHANGE,
  RUNS = OPS | BENCH_CALIBRATE,
  EVERY = RUNS | BENCH_EPOCH
};

/* An option of some commands, and what --help says of it. */
struct known {
  int commands;
  const char *name, *value, *help; /* value "": it takes none */
  int (*read)(struct bench_options *options, const struct known *known, char *text);
  size_t place;      /* in struct bench_options, of what `read` sets */
  int64_t low, high; /* of a whole number */
};

/* A whole number in [low, high] from the whole text. */
static int whole_number(const struct known *known, const char *text, int64_t *value) {
  char *end = NULL;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno || *value < known->low || *value > known->high)
    FAIL(BAD_INPUT, "--%s: \"%s\" is not a whole number from %lld to %lld", known->name, text,
         (long long)known->low, (long long)known->high);
  return OK;
}

static int number(struct bench_options *options, const struct known *known, char *text) {
  return whole_number(known, text, (int64_t *)((char *)options + known->place));
}

static int flag(struct bench_options *options, const struct known *known, char *text) {
  (void)text;
  *(int *)((char *)options + known->place) = 1;
  return OK;
}

static int text(struct bench_options *options, const struct known *known, char *given) {
  *(const char **)((char *)options + known->place) = given;
  return OK;
}

static int graphs(struct bench_options *options, const struct known *known, char *text) {
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->sparse.graphs == BENCH_GRAPHS)
      FAIL(BAD_INPUT, "--%s: at most %d graphs", known->name, BENCH_GRAPHS);
    options->sparse.graph[options->sparse.graphs++] = part;
  }
  if (options->sparse.graphs == 0)
    FAIL(BAD_INPUT, "--%s: no graph given; for example --graph arxiv-like,mine.h5", known->name);
  return OK;
}

static int widths(struct bench_options *options, const struct known *known, char *text) {
  options->widths = 0;
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->widths == BENCH_WIDTHS)
      FAIL(BAD_INPUT, "--%s: at most %d widths", known->name, BENCH_WIDTHS);
    TRY(whole_number(known, part, &options->width[options->widths++]));
  }
  if (options->widths == 0) FAIL(BAD_INPUT, "--%s: no width given; for example --width 16,64", known->name);
  return OK;
}

static int precision(struct bench_options *options, const struct known *known, char *text) {
  options->any_precision = 0;
  for (int p = 0; precision_name[p]; p++) {
    if (strcmp(text, precision_name[p]) != 0) continue;
    options->precision = (enum precision)p;
    return OK;
  }
  FAIL(BAD_INPUT, "--%s: \"%s\" is none of fp32, fp32-strict, tf32, bf16, fp64", known->name, text);
}

static int tiers(struct bench_options *options, const struct known *known, char *text) {
  static const char *const names[] = {"auto", "gather", "tiles", "windows"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    options->sparse.tiers = (enum layout_tiers)i;
    return OK;
  }
  FAIL(BAD_INPUT, "--%s: \"%s\" is none of auto, gather, tiles, windows", known->name, text);
}

static int setting(struct bench_options *options, const struct known *known, char *text) {
  if (options->epoch.set_count == BENCH_SETTINGS)
    FAIL(BAD_INPUT, "--%s: more than %d settings", known->name, BENCH_SETTINGS);
  options->epoch.set[options->epoch.set_count++] = text;
  return OK;
}

/* clang-format off */
#define AT(field) offsetof(struct bench_options, field)
static const struct known table[] = {
    {OF_GRAPHS, "dataset", "FILE.h5", "graph of a dataset; else a random one:", text, AT(dataset), 0, 0},
    {BENCH_EXCHANGE, "dataset", "FILE.h5", "halo of a dataset's partition; else equal rows at random:", text, AT(dataset), 0, 0},
    {BENCH_EXCHANGE, "rows", "N", "rows from each rank to each other (131072)", number, AT(exchange.rows), 1, 1 << 28},
    {BENCH_EXCHANGE, "method", "M", "partition of the dataset: metis, block or random (metis)", text, AT(exchange.method), 0, 0},
    {BENCH_HYPER, "dataset", "FILE.h5", "hypergraph of a dataset; else a random one:", text, AT(dataset), 0, 0},
    {BENCH_HYPER, "nodes", "N", "vertices (200000)", number, AT(nodes), 1, INT32_MAX},
    {BENCH_HYPER, "hyperedges", "M", "hyperedges, whose sizes follow a power law (100000)", number, AT(hyper.hyperedges), 1, INT32_MAX},
    {BENCH_HYPER, "incidences", "I", "sum of their sizes, to a few in a hundred (822549)", number, AT(hyper.incidences), 1, (int64_t)1 << 40},
    {BENCH_HYPER, "huge", "K", "one hyperedge of K vertices more (none)", number, AT(hyper.huge), 1, INT32_MAX},
    {BENCH_HYPER, "scaled", "", "as HGNN has it: D_v^-1/2 B D_e^-1 B^T D_v^-1/2, factored", flag, AT(sparse.scaled), 0, 0},
    {BENCH_HYPER, "width", "W,...", "columns of the dense matrix (32,64,128,256)", widths, 0, 1, 1 << 20},
    {OF_KERNELS & ~BENCH_HYPER, "nodes", "N", "rows (100000)", number, AT(nodes), 1, INT32_MAX},
    {OF_GRAPHS, "degree", "D", "neighbours of a row (20)", number, AT(degree), 0, 1 << 20},
    {BENCH_SPMM, "layout", "auto|gather|tiles|windows", "tiers of the matrix, on GPUs (auto)", tiers, 0, 0, 0},
    {BENCH_SPMM, "all", "", "each graph, width and precision by every tier alone and as chosen", flag, AT(sparse.all), 0, 0},
    {BENCH_SPMM, "ablate", "", "what each technique brings: order, sorted rows, tiles, condensed windows, fused ends", flag, AT(sparse.ablate), 0, 0},
    {BENCH_SPMM, "graph", "NAME,...", "of these two: arxiv-like, amazon0601-like, reddit-like, products-like, rmat,\n                         community-power, or datasets (all made ones)", graphs, 0, 0, 0},
    {BENCH_CALIBRATE, "out", "FILE.toml", "where they are kept (~/.config/gnntrain/constants.toml); - prints them alone", text, AT(out), 0, 0},
    {BENCH_SPMM, "weighted", "", "arcs that have no weights are given some", flag, AT(sparse.weighted), 0, 0},
    {BENCH_SPMM, "scaled", "", "as a GCN has it: D^-1/2 (A + I) D^-1/2, factored", flag, AT(sparse.scaled), 0, 0},
    {OPS & ~BENCH_HYPER, "width", "W,...", "columns of the dense matrix (16,64,128; --all and --ablate: 32,64,128,256)", widths, 0, 1, 1 << 20},
    {BENCH_ATTENTION, "heads", "H", "heads side by side, which divide the width (8)", number, AT(heads), 1, 64},
    {BENCH_GEMM, "inner", "K", "columns of the left matrix (128)", number, AT(inner), 1, 1 << 20},
    {BENCH_EPOCH, "set", "KEY=VALUE", "change a setting of the configuration; may be repeated", setting, 0, 0, 0},
    {RUNS, "device", "auto|cpu|cuda", "where it runs (auto)", text, AT(device), 0, 0},
    {OF_KERNELS, "precision", "P", "fp32, fp32-strict, tf32, bf16 or fp64, where the device has it (fp32)", precision, 0, 0, 0},
    {BENCH_EXCHANGE, "precision", "P", "fp32, bf16 or fp64 (each that the device has)", precision, 0, 0, 0},
    {RUNS, "threads", "T", "host threads a rank (the processors it is bound to)", number, AT(threads), 1, 4096},
    {EVERY, "reps", "R", "measured runs, or epochs (10)", number, AT(reps), 1, BENCH_REPS},
    {EVERY, "json", "", "one JSON object a line", flag, AT(json), 0, 0},
    {EVERY, "help", "", "this text", NULL, 0, 0, 0},
};
/* clang-format on */
enum { OPTIONS = sizeof table / sizeof table[0] };

/* clang-format off */
static const char *const notes[] = {
    [BENCH_SPMM] =
        "GB/s counts each gathered row and each matrix once. On a GPU it is compared with 10,300 GB/s, the most that\n"
        "the L2 cache of an H200 delivers: every gathered row comes from there or through it, save for those that an\n"
        "SM's own cache still holds, which is what shares above 100% mean. The error is the largest difference from a\n"
        "double reference on the same (rounded) numbers over its largest value, on up to 1000 rows. Beside it: the\n"
        "other library's fastest fp32 CSR algorithm, preprocessing done; with --scaled it multiplies the matrix written\n"
        "out, self loops and values included.\n"
        "--all: ms by the gather, tiles, condensed windows and auto, and as the model predicts for auto; shares of the\n"
        "arcs in tiles and condensed windows; the share of windows of which a logistic regression says what the model\n"
        "says, and the ms that its choice costs more; ms of making auto's layout; the error; the other library.\n",
    [BENCH_CALIBRATE] =
        "Times products of made matrices of known density: empty rows, rows that share columns, columns at random near\n"
        "and far, condensed windows, full tiles; solves for the constants of the cost model, prints them and keeps them\n"
        "in the file, where gnntrain finds them (runtime.constants). Then it times cells of .1 to 50% density both ways\n"
        "and says how often the model with these constants takes the faster tier (within 5%: either), and windows of 5\n"
        "to 70% the same for condensed ones, from which a logistic regression learns to choose beside the model.\n",
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
        "A row a width and form: both steps over whole rows; by panels of 128, 256, 512 bytes, whose sums of hyperedges\n"
        "alone are kept between the steps; fused over pairs of vertices, without those sums, where there are up to 64\n"
        "Mi of them; and what the cost rule takes of the first and the last. A processor has one form. GB/s counts a\n"
        "gathered row for each incidence in each step and both results once, whatever the form moves, and is compared\n"
        "with 10,300 GB/s as spmm has it. Scratch is what a form keeps beside its operands. The error is the largest\n"
        "difference from a double reference over its largest value, on up to 1000 rows. Beside it: two products by the\n"
        "other library, fp32, each by its fastest algorithm; with --scaled of matrices with values. The gradient is the\n"
        "same operation.\n",
    [BENCH_EXCHANGE] =
        "Two ranks or more: mpirun -n 4 gnnbench exchange. A run packs the rows and brings them into the halo; on a GPU\n"
        "runs are recorded once and replayed, as epochs are. GB/s counts what leaves the rank that sends most, rows\n"
        "padded to 32 bytes as in training, and is compared with 330 GB/s, what an all-to-all brings out of each GPU\n"
        "over NVLink on one host. Every received number is checked. Beside it: the transport's own all-to-all of equal\n"
        "contiguous blocks of as many bytes, the faster of its collective call and of grouped messages.\n",
    [BENCH_EPOCH] =
        "Trains as gnntrain does, in three passes: epochs as they are; then profiled, queued op by op; then profiled\n"
        "without overlap, for each part alone. An epoch is forward, backward and optimiser. The bound is max(pack +\n"
        "exchange, own part) and all other parts, each alone; the last row says how the epoch stands to it.\n",
};
/* clang-format on */

static void print_help(enum bench_command command, const char *name) {
  printf("usage: gnnbench %s%s [OPTION]...\n\n", name, command == BENCH_EPOCH ? " CONFIG.toml" : "");
  for (int i = 0; i < OPTIONS; i++) {
    if (!(table[i].commands & (int)command)) continue;
    char left[64];
    snprintf(left, sizeof left, "--%s %s", table[i].name, table[i].value);
    printf("  %-22s %s\n", left, table[i].help);
  }
  printf("\n%s", notes[command]);
}

static int is_given(const char given[OPTIONS], const char *name) {
  for (int i = 0; i < OPTIONS; i++)
    if (given[i] && strcmp(table[i].name, name) == 0) return 1;
  return 0;
}

/* Options that say nothing beside another, or without it. */
static int check_together(const char given[OPTIONS]) {
  static const struct {
    const char *name, *other;
    int beside;
  } rules[] = {{"nodes", "dataset", 1},      {"degree", "dataset", 1}, {"hyperedges", "dataset", 1},
               {"incidences", "dataset", 1}, {"rows", "dataset", 1},   {"nodes", "all", 1},
               {"degree", "all", 1},         {"dataset", "all", 1},    {"layout", "all", 1},
               {"scaled", "all", 1},         {"nodes", "ablate", 1},   {"degree", "ablate", 1},
               {"dataset", "ablate", 1},     {"layout", "ablate", 1},  {"scaled", "ablate", 1},
               {"weighted", "ablate", 1},    {"method", "dataset", 0}};
  for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
    const char *name = rules[r].name, *other = rules[r].other;
    if (!is_given(given, name) || is_given(given, other) != rules[r].beside) continue;
    if (!rules[r].beside) FAIL(BAD_INPUT, "--%s goes with --%s", name, other);
    FAIL(BAD_INPUT, "--%s would be passed over beside --%s; one of them is allowed", name, other);
  }
  return OK;
}

/* What is left over is the configuration of epoch, and nothing else. */
static int read_rest(struct bench_options *options, int argc, char **argv) {
  int of_epoch = options->command == BENCH_EPOCH;
  if (of_epoch && optind < argc) options->epoch.config = argv[optind++];
  if (optind < argc)
    FAIL(BAD_INPUT, "\"%s\" is not an option; see gnnbench %s --help", argv[optind], argv[0]);
  if (of_epoch && !options->epoch.config)
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
  enum { FIRST = 256 }; /* of the numbers by which options are told apart */
  struct option long_options[OPTIONS + 1] = {{0}};
  char given[OPTIONS] = {0};
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
  for (int i = 0, known = 0; i < OPTIONS; i++) {
    if (table[i].commands & (int)command)
      long_options[known++] = (struct option){table[i].name, table[i].value[0] != '\0', NULL, FIRST + i};
  }
  opterr = 0;
  for (int which; (which = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
    const struct known *known = &table[which - FIRST];
    if (which < FIRST)
      FAIL(BAD_INPUT, "unknown or incomplete option \"%s\"; see gnnbench %s --help", argv[optind - 1],
           argv[0]);
    if (!known->read) {
      print_help(command, argv[0]);
      *help = 1;
      return OK;
    }
    TRY(known->read(options, known, optarg));
    given[which - FIRST] = 1;
  }
  set_widths(options);
  TRY(check_together(given));
  return read_rest(options, argc, argv);
}
