/* gnnbench: times operations, exchanges and epochs; see bench.h. */
#include "launch/bench/bench.h"

#include "launch/program.h"
#include "runtime/profile/profile.h"

static const struct command {
  const char *name;
  enum bench_command command;
  int (*run)(struct bench *bench);
  const char *help;
} commands[] = {
    {"spmm", BENCH_SPMM, gnnbench_spmm, "Y = A X: a sparse matrix times a dense one"},
    {"calibrate", BENCH_CALIBRATE, gnnbench_calibrate,
     "constants of the cost model of sparse products on this GPU"},
    {"gemm", BENCH_GEMM, gnnbench_gemm, "the three products of a linear layer: H W, H^T dZ, dZ W^T"},
    {"update", BENCH_UPDATE, gnnbench_update, "element-wise passes, column sums, losses and gathers"},
    {"reduce", BENCH_REDUCE, gnnbench_reduce,
     "sum, mean, largest and smallest of neighbours, and the gradient"},
    {"attention", BENCH_ATTENTION, gnnbench_attention,
     "graph attention, forward and backward, and the passes around it"},
    {"sddmm", BENCH_SDDMM, gnnbench_sddmm, "a scalar product for each arc: the scores of attention alone"},
    {"hyper", BENCH_HYPER, gnnbench_hyper, "Y = B B^T X: sums over the hyperedges of a hypergraph and back"},
    {"exchange", BENCH_EXCHANGE, gnnbench_exchange,
     "halo rows between ranks, beside the transport's own all-to-all"},
    {"epoch", BENCH_EPOCH, gnnbench_epoch,
     "epochs of a configuration and their parts, beside the shortest they allow"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fprintf(out,
          "usage: gnnbench COMMAND [OPTION]...\n       mpirun -n RANKS gnnbench COMMAND [OPTION]...\n\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
  fprintf(out, "\ngnnbench COMMAND --help lists the options; gnnbench --version says what this build is.\n");
}

static int run(const struct command *command, struct bench *bench) {
  if (command->command == BENCH_EPOCH) return command->run(bench); /* the job opens the device */
  TRY(bench_open(bench));
  if (command->command == BENCH_EXCHANGE) return command->run(bench); /* of several precisions */
  TRY(comm_agree(&bench->comm, bench_kernels(bench, bench->options->precision)));
  bench_print_head(bench, &bench->device);
  return command->run(bench);
}

static int find_command(const char *name, const struct command **command) {
  char names[128] = "";
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(name, commands[i].name) == 0) {
      *command = &commands[i];
      return OK;
    }
    strcat(strcat(names, i ? ", " : ""), commands[i].name);
  }
  FAIL(BAD_INPUT, "unknown command \"%s\"; allowed: %s", name, names);
}

/* usage: what reading the command line gave. */
static int run_on_ranks(const struct command *command, const struct bench_options *options, int usage,
                        int *argc, char ***argv) {
  static struct bench bench;
  bench.options = options;
  int code = comm_open(&bench.comm, argc, argv);
  log_open(0); /* rows alone on stdout */
  if (code == OK) code = comm_agree(&bench.comm, usage);
  if (code == OK) code = run(command, &bench);
  error_print(stderr, "gnnbench");
  if (code != OK && bench.comm.size != 1 && !error_is_agreed())
    comm_abort(&bench.comm, code); /* the others do not know yet */
  bench_close(&bench);
  comm_close(&bench.comm);
  profile_free();
  return code;
}

static int run_program(int argc, char **argv) {
  const struct command *command = NULL;
  static struct bench_options options;
  int help = 0, code;
  if (program_answers(argc, argv, "gnnbench", print_help, &code)) return code;
  code = find_command(argv[1], &command);
  if (code == OK) code = bench_options_read(&options, command->command, argc - 1, argv + 1, &help);
  return help ? OK : run_on_ranks(command, &options, code, &argc, &argv);
}

int main(int argc, char **argv) {
  int code = program_start();
  if (code != OK) error_print(stderr, "gnnbench");
  return program_end(code == OK ? run_program(argc, argv) : code, "gnnbench");
}
