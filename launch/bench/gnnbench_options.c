#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launch/bench/bench.h"
#include "runtime/base/error.h"

enum {
  OF_KERNELS = BENCH_SPMM | BENCH_GEMM | BENCH_UPDATE | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM |
               BENCH_HYPER,
  OF_GRAPHS = BENCH_SPMM | BENCH_REDUCE | BENCH_ATTENTION | BENCH_SDDMM,
  OPS = OF_KERNELS | BENCH_EXCHANGE,
  RUNS = OPS | BENCH_CALIBRATE,
  EVERY = RUNS | BENCH_EPOCH
};

/* Every option, the commands that have it, and what --help says of it. */
/* clang-format off */
static const struct {
  int commands;
  struct option option;
  const char *value, *help;
} table[] = {
    {OF_GRAPHS, {"dataset", 1, NULL, 'f'}, "FILE.h5", "graph of a dataset; else a random one:"},
    {BENCH_EXCHANGE, {"dataset", 1, NULL, 'f'}, "FILE.h5", "halo of a dataset's partition; else equal rows at random:"},
    {BENCH_EXCHANGE, {"rows", 1, NULL, 'R'}, "N", "rows from each rank to each other (131072)"},
    {BENCH_EXCHANGE, {"method", 1, NULL, 'm'}, "M", "partition of the dataset: metis, block or random (metis)"},
    {BENCH_HYPER, {"dataset", 1, NULL, 'f'}, "FILE.h5", "hypergraph of a dataset; else a random one:"},
    {BENCH_HYPER, {"nodes", 1, NULL, 'n'}, "N", "vertices (200000)"},
    {BENCH_HYPER, {"hyperedges", 1, NULL, 'y'}, "M", "hyperedges, whose sizes follow a power law (100000)"},
    {BENCH_HYPER, {"incidences", 1, NULL, 'I'}, "I", "sum of their sizes, to a few in a hundred (822549)"},
    {BENCH_HYPER, {"huge", 1, NULL, 'u'}, "K", "one hyperedge of K vertices more (none)"},
    {BENCH_HYPER, {"scaled", 0, NULL, 'S'}, "", "as HGNN has it: D_v^-1/2 B D_e^-1 B^T D_v^-1/2, factored"},
    {BENCH_HYPER, {"width", 1, NULL, 'w'}, "W,...", "columns of the dense matrix (32,64,128,256)"},
    {OF_KERNELS & ~BENCH_HYPER, {"nodes", 1, NULL, 'n'}, "N", "rows (100000)"},
    {OF_GRAPHS, {"degree", 1, NULL, 'd'}, "D", "neighbours of a row (20)"},
    {BENCH_SPMM, {"layout", 1, NULL, 'L'}, "auto|gather|tiles|windows", "tiers of the matrix, on GPUs (auto)"},
    {BENCH_SPMM, {"all", 0, NULL, 'A'}, "", "each graph, width and precision by every tier alone and as chosen"},
    {BENCH_SPMM, {"ablate", 0, NULL, 'B'}, "", "what each technique brings: order, sorted rows, tiles, condensed windows, fused ends"},
    {BENCH_SPMM, {"graph", 1, NULL, 'g'}, "NAME,...", "of these two: arxiv-like, amazon0601-like, reddit-like, products-like, rmat,\n                         community-power, or datasets (all made ones)"},
    {BENCH_CALIBRATE, {"out", 1, NULL, 'o'}, "FILE.toml", "where they are kept (~/.config/gnntrain/constants.toml); - prints them alone"},
    {BENCH_SPMM, {"weighted", 0, NULL, 'W'}, "", "arcs that have no weights are given some"},
    {BENCH_SPMM, {"scaled", 0, NULL, 'S'}, "", "as a GCN has it: D^-1/2 (A + I) D^-1/2, factored"},
    {OPS & ~BENCH_HYPER, {"width", 1, NULL, 'w'}, "W,...", "columns of the dense matrix (16,64,128; --all and --ablate: 32,64,128,256)"},
    {BENCH_ATTENTION, {"heads", 1, NULL, 'H'}, "H", "heads side by side, which divide the width (8)"},
    {BENCH_GEMM, {"inner", 1, NULL, 'i'}, "K", "columns of the left matrix (128)"},
    {BENCH_EPOCH, {"set", 1, NULL, 's'}, "KEY=VALUE", "change a setting of the configuration; may be repeated"},
    {RUNS, {"device", 1, NULL, 'D'}, "auto|cpu|cuda", "where it runs (auto)"},
    {OF_KERNELS, {"precision", 1, NULL, 'p'}, "P", "fp32, fp32-strict, tf32, bf16 or fp64, where the device has it (fp32)"},
    {BENCH_EXCHANGE, {"precision", 1, NULL, 'p'}, "P", "fp32, bf16 or fp64 (each that the device has)"},
    {RUNS, {"threads", 1, NULL, 't'}, "T", "host threads a rank (the processors it is bound to)"},
    {EVERY, {"reps", 1, NULL, 'r'}, "R", "measured runs, or epochs (10)"},
    {EVERY, {"json", 0, NULL, 'j'}, "", "one JSON object a line"},
    {EVERY, {"help", 0, NULL, 'h'}, "", "this text"},
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
    snprintf(left, sizeof left, "--%s %s", table[i].option.name, table[i].value);
    printf("  %-22s %s\n", left, table[i].help);
  }
  printf("\n%s", notes[command]);
}

/* A whole number in [low, high] from the whole text. */
static int number(const char *option, const char *text, int64_t low, int64_t high, int64_t *value) {
  char *end = NULL;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno || *value < low || *value > high)
    FAIL(BAD_INPUT, "--%s: \"%s\" is not a whole number from %lld to %lld", option, text, (long long)low,
         (long long)high);
  return OK;
}

static int small_number(const char *option, const char *text, int high, int *value) {
  int64_t wide = 0;
  TRY(number(option, text, 1, high, &wide));
  *value = (int)wide;
  return OK;
}

static int read_graphs(struct bench_options *options, char *text) {
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->sparse.graphs == BENCH_GRAPHS) FAIL(BAD_INPUT, "--graph: at most %d graphs", BENCH_GRAPHS);
    options->sparse.graph[options->sparse.graphs++] = part;
  }
  if (options->sparse.graphs == 0)
    FAIL(BAD_INPUT, "--graph: no graph given; for example --graph arxiv-like,mine.h5");
  return OK;
}

static int read_widths(struct bench_options *options, char *text) {
  options->any_width = 0;
  options->widths = 0;
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->widths == BENCH_WIDTHS) FAIL(BAD_INPUT, "--width: at most %d widths", BENCH_WIDTHS);
    TRY(number("width", part, 1, 1 << 20, &options->width[options->widths++]));
  }
  if (options->widths == 0) FAIL(BAD_INPUT, "--width: no width given; for example --width 16,64");
  return OK;
}

static int read_precision(struct bench_options *options, const char *text) {
  options->any_precision = 0;
  for (int p = 0; precision_name[p]; p++) {
    if (strcmp(text, precision_name[p]) != 0) continue;
    options->precision = (enum precision)p;
    return OK;
  }
  FAIL(BAD_INPUT, "--precision: \"%s\" is none of fp32, fp32-strict, tf32, bf16, fp64", text);
}

static int read_tiers(struct bench_options *options, const char *text) {
  static const char *const names[] = {"auto", "gather", "tiles", "windows"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    options->sparse.tiers = (enum layout_tiers)i;
    return OK;
  }
  FAIL(BAD_INPUT, "--layout: \"%s\" is none of auto, gather, tiles, windows", text);
}

static int read_setting(struct bench_options *options, const char *text) {
  if (options->epoch.set_count == BENCH_SETTINGS)
    FAIL(BAD_INPUT, "--set: more than %d settings", BENCH_SETTINGS);
  options->epoch.set[options->epoch.set_count++] = text;
  return OK;
}

/* Options that are a whole number, and where it goes. */
static const struct {
  int letter;
  const char *name;
  int64_t low, high;
  size_t place;
} numbers[] = {
    {'n', "nodes", 1, INT32_MAX, offsetof(struct bench_options, nodes)},
    {'R', "rows", 1, 1 << 28, offsetof(struct bench_options, exchange.rows)},
    {'d', "degree", 0, 1 << 20, offsetof(struct bench_options, degree)},
    {'y', "hyperedges", 1, INT32_MAX, offsetof(struct bench_options, hyper.hyperedges)},
    {'I', "incidences", 1, (int64_t)1 << 40, offsetof(struct bench_options, hyper.incidences)},
    {'u', "huge", 1, INT32_MAX, offsetof(struct bench_options, hyper.huge)},
    {'i', "inner", 1, 1 << 20, offsetof(struct bench_options, inner)},
    {'H', "heads", 1, 64, offsetof(struct bench_options, heads)},
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

/* *known: the letter is that of a number. */
static int read_number(struct bench_options *options, int letter, int *known) {
  for (int i = 0; i < NUMBERS; i++) {
    if (numbers[i].letter != letter) continue;
    *known = 1;
    return number(numbers[i].name, optarg, numbers[i].low, numbers[i].high,
                  (int64_t *)((char *)options + numbers[i].place));
  }
  return OK;
}

/* Keeps an option's text, or sets its flag: 0 where the letter is of neither. */
static int keep_text(struct bench_options *options, int letter) {
  const char **text = letter == 'f'   ? &options->dataset
                      : letter == 'm' ? &options->exchange.method
                      : letter == 'D' ? &options->device
                      : letter == 'o' ? &options->out
                                      : NULL;
  int *flag = letter == 'A'   ? &options->sparse.all
              : letter == 'B' ? &options->sparse.ablate
              : letter == 'S' ? &options->sparse.scaled
              : letter == 'W' ? &options->sparse.weighted
              : letter == 'j' ? &options->json
                              : NULL;
  if (text) *text = optarg;
  if (flag) *flag = 1;
  return text || flag;
}

static int read_option(struct bench_options *options, int letter, char **argv) {
  int known = 0;
  TRY(read_number(options, letter, &known));
  if (known || keep_text(options, letter)) return OK;
  switch (letter) {
  case 't':
    return small_number("threads", optarg, 4096, &options->threads);
  case 'r':
    return small_number("reps", optarg, BENCH_REPS, &options->reps);
  case 's':
    return read_setting(options, optarg);
  case 'w':
    return read_widths(options, optarg);
  case 'p':
    return read_precision(options, optarg);
  case 'L':
    return read_tiers(options, optarg);
  case 'g':
    return read_graphs(options, optarg);
  default:
    FAIL(BAD_INPUT, "unknown or incomplete option \"%s\"; see gnnbench %s --help", argv[optind - 1], argv[0]);
  }
}

static const char *name_of(int letter) {
  int i = 0;
  while (table[i].option.val != letter) i++;
  return table[i].option.name;
}

/* Options that say nothing beside another, or without it. */
static int check_together(const char *given) {
  static const struct {
    const char *letters;
    int other, beside;
  } rules[] = {{"ndyIR", 'f', 1}, {"ndfLS", 'A', 1}, {"ndfLSW", 'B', 1}, {"m", 'f', 0}};
  for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
    for (const char *letter = rules[r].letters; *letter; letter++) {
      if (!given[(int)*letter] || given[rules[r].other] != rules[r].beside) continue;
      const char *name = name_of(*letter), *other = name_of(rules[r].other);
      if (!rules[r].beside) FAIL(BAD_INPUT, "--%s goes with --%s", name, other);
      FAIL(BAD_INPUT, "--%s would be passed over beside --%s; one of them is allowed", name, other);
    }
  }
  return OK;
}

/* What is left over is the configuration of epoch, and nothing else. */
static int read_rest(struct bench_options *options, enum bench_command command, int argc, char **argv) {
  if (command == BENCH_EPOCH && optind < argc) options->epoch.config = argv[optind++];
  if (optind < argc)
    FAIL(BAD_INPUT, "\"%s\" is not an option; see gnnbench %s --help", argv[optind], argv[0]);
  if (command == BENCH_EPOCH && !options->epoch.config)
    FAIL(BAD_INPUT, "which configuration? gnnbench epoch CONFIG.toml [OPTION]...");
  return OK;
}

static void set_hyper_defaults(struct bench_options *options) {
  options->nodes = 200000;
  options->hyper.hyperedges = 100000;
  options->hyper.incidences = 822549;
  options->widths = 4;
  for (int i = 0; i < 4; i++) options->width[i] = 32 << i;
}

int bench_options_read(struct bench_options *options, enum bench_command command, int argc, char **argv,
                       int *help) {
  struct option long_options[OPTIONS + 1] = {{0}};
  *options = (struct bench_options){.nodes = 100000, .degree = 20, .width = {16, 64, 128}, .widths = 3};
  options->command = command;
  if (command == BENCH_HYPER) set_hyper_defaults(options);
  options->heads = 8;
  options->inner = 128;
  options->exchange.rows = 131072;
  options->exchange.method = "metis";
  options->device = "auto";
  options->any_precision = options->any_width = 1;
  options->reps = 10;
  for (int i = 0, known = 0; i < OPTIONS; i++) {
    if (table[i].commands & (int)command) long_options[known++] = table[i].option;
  }
  opterr = 0;
  char given[128] = {0};
  int letter;
  while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (letter == 'h') {
      print_help(command, argv[0]);
      *help = 1;
      return OK;
    }
    TRY(read_option(options, letter, argv));
    given[letter] = 1;
  }
  TRY(check_together(given));
  return read_rest(options, command, argc, argv);
}
