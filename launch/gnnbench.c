/* gnnbench: times single operations; see gnnbench.h. */
#include "launch/gnnbench.h"

#include <string.h>

#include "launch/program.h"

static const struct command {
  const char *name;
  int (*run)(struct bench *bench);
  const char *help;
} commands[] = {
    {"spmm", gnnbench_spmm, "Y = A X: a sparse matrix times a dense one"},
    {"gemm", gnnbench_gemm, "C = A B and its weight gradient A^T C"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fprintf(out, "usage: gnnbench COMMAND [OPTION]...\n\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].help);
  fprintf(out, "\ngnnbench COMMAND --help lists the options; gnnbench --version says what this build is.\n");
}

static int run(const struct command *command, const struct bench_options *options) {
  struct bench bench = {0};
  int code = bench_open(&bench, options);
  if (code == OK) {
    bench_print_head(&bench);
    code = command->run(&bench);
  }
  bench_close(&bench);
  return code;
}

static int dispatch(int argc, char **argv) {
  const struct command *command = NULL;
  struct bench_options options;
  int help = 0;
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[1], commands[i].name) == 0) command = &commands[i];
  }
  if (!command) FAIL(BAD_INPUT, "unknown command \"%s\"; allowed: spmm, gemm", argv[1]);
  TRY(bench_options_read(&options, argc - 1, argv + 1, &help));
  return help ? OK : run(command, &options);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return BAD_INPUT;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return OK;
  }
  if (strcmp(argv[1], "--version") == 0) {
    print_version("gnnbench");
    return OK;
  }
  int code = dispatch(argc, argv);
  error_print(stderr, "gnnbench");
  return code;
}
