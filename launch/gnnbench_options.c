#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "launch/gnnbench.h"
#include "runtime/error.h"

static const struct option long_options[] = {{"dataset", required_argument, NULL, 'f'},
                                             {"nodes", required_argument, NULL, 'n'},
                                             {"degree", required_argument, NULL, 'd'},
                                             {"width", required_argument, NULL, 'w'},
                                             {"inner", required_argument, NULL, 'i'},
                                             {"device", required_argument, NULL, 'D'},
                                             {"precision", required_argument, NULL, 'p'},
                                             {"threads", required_argument, NULL, 't'},
                                             {"reps", required_argument, NULL, 'r'},
                                             {"json", no_argument, NULL, 'j'},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

static void print_help(const char *command) {
  printf("usage: gnnbench %s [OPTION]...\n\n"
         "  --dataset FILE.h5      graph of a dataset; else a random one:\n"
         "  --nodes N              rows (100000)\n"
         "  --degree D             neighbours of a row (20)\n"
         "  --width W,...          columns of the dense matrix (16,64,128)\n"
         "  --inner K              gemm: columns of the left matrix (128)\n"
         "  --device auto|cpu|cuda where it runs (auto)\n"
         "  --precision P          fp32, fp32-strict, tf32, bf16 or fp64, where the device has it (fp32)\n"
         "  --threads T            host threads (the processors of this process)\n"
         "  --reps R               measured runs (10)\n"
         "  --json                 one JSON object a line\n\n"
         "GB/s counts each gathered row and each matrix once; the error is the largest difference from a\n"
         "double reference over its largest value, on up to 1000 rows.\n",
         command);
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

static int read_widths(struct bench_options *options, char *text) {
  options->widths = 0;
  for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    if (options->widths == BENCH_WIDTHS) FAIL(BAD_INPUT, "--width: at most %d widths", BENCH_WIDTHS);
    TRY(number("width", part, 1, 1 << 20, &options->width[options->widths++]));
  }
  if (options->widths == 0) FAIL(BAD_INPUT, "--width: no width given; for example --width 16,64");
  return OK;
}

static int read_precision(struct bench_options *options, const char *text) {
  for (int p = 0; precision_name[p]; p++) {
    if (strcmp(text, precision_name[p]) != 0) continue;
    options->precision = (enum precision)p;
    return OK;
  }
  FAIL(BAD_INPUT, "--precision: \"%s\" is none of fp32, fp32-strict, tf32, bf16, fp64", text);
}

static int read_option(struct bench_options *options, int letter, char **argv) {
  int64_t value = 0;
  switch (letter) {
  case 'f':
    options->dataset = optarg;
    return OK;
  case 'n':
    return number("nodes", optarg, 1, INT32_MAX, &options->nodes);
  case 'd':
    return number("degree", optarg, 0, 1 << 20, &options->degree);
  case 'w':
    return read_widths(options, optarg);
  case 'i':
    return number("inner", optarg, 1, 1 << 20, &options->inner);
  case 'D':
    options->device = optarg;
    return OK;
  case 'p':
    return read_precision(options, optarg);
  case 't':
    TRY(number("threads", optarg, 1, 4096, &value));
    options->threads = (int)value;
    return OK;
  case 'r':
    TRY(number("reps", optarg, 1, BENCH_REPS, &value));
    options->reps = (int)value;
    return OK;
  case 'j':
    options->json = 1;
    return OK;
  default:
    FAIL(BAD_INPUT, "unknown or incomplete option \"%s\"; see gnnbench %s --help", argv[optind - 1], argv[0]);
  }
}

static int processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int bench_options_read(struct bench_options *options, int argc, char **argv, int *help) {
  *options = (struct bench_options){.nodes = 100000, .degree = 20, .width = {16, 64, 128}, .widths = 3};
  options->inner = 128;
  options->device = "auto";
  options->threads = processors();
  options->reps = 10;
  opterr = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (letter == 'h') {
      print_help(argv[0]);
      *help = 1;
      return OK;
    }
    TRY(read_option(options, letter, argv));
  }
  if (optind < argc)
    FAIL(BAD_INPUT, "\"%s\" is not an option; see gnnbench %s --help", argv[optind], argv[0]);
  return OK;
}
