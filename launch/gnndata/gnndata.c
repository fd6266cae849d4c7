/* gnndata: makes, imports and inspects dataset files. */
#include "launch/gnndata/gnndata_commands.h"

#include "io/file/path_check.h"
#include "launch/program.h"
#include "runtime/comm/comm.h"

static const struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help;
} commands[] = {
    {"import", gnndata_import,
     "turn tables, edge lists, npz, KONECT, MatrixMarket or METIS files into a dataset"},
    {"synth", gnndata_synth, "make a community graph with planted labels and features"},
    {"info", gnndata_info, "say what a dataset holds"},
    {"check", gnndata_check, "verify every invariant of a dataset"},
    {"partition", gnndata_partition, "partition a dataset ahead of a run"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fprintf(out, "usage: gnndata COMMAND [ARGUMENT]...\n\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
  fprintf(
      out,
      "\ngnndata COMMAND --help lists the command's options; gnndata --version says what this build is.\n");
}

static int dispatch(int argc, char **argv) {
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
  }
  FAIL(BAD_INPUT, "unknown command \"%s\"; allowed: import, synth, info, check, partition", argv[1]);
}

static int run(int argc, char **argv) {
  int threads, code;
  if (program_answers(argc, argv, "gnndata", print_help, &code)) return code;
  code = threads_of_environment(&threads);
  if (code == OK) code = limits_threads(0);
  if (code == OK) code = dispatch(argc, argv);
  error_print(stderr, "gnndata");
  return code;
}

/* Nobody reads any more: it ends as other programs do, and leaves nothing half-written. */
static void end_unread(int number) {
  atomic_write_remove_named();
  signal(number, SIG_DFL);
  raise(number);
}

int main(int argc, char **argv) {
  signal(SIGPIPE, end_unread);
  int code = program_start();
  if (code != OK) error_print(stderr, "gnndata");
  return program_end(code == OK ? run(argc, argv) : code, "gnndata");
}
