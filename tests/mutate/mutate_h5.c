/* mutate_h5 [--count N] [--seed S] [--first I] [--case NAME] [--verbose]: changes one to three things in a
 * file of a sound training, which stays sound HDF5, and lets gnntrain have it: set-up, two epochs, resume,
 * evaluation, prediction, in a child process. `sound/` in this folder is what the trainings left; `work/` is
 * where a copy is changed. Mutation I of a seed is the same wherever it is made. Whatever a file says, the
 * program must end in time without a signal, with an exit code that its case allows, one sentence where that
 * is not 0, nothing half written and, where a resume is refused, with the run's folder as it was. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/mutate/mutate.h"

int gnntrain_main(int argc, char **argv); /* launch/gnntrain/gnntrain.c's */

enum { ARGUMENTS = 24, CPU_SECONDS = 60, WALL_SECONDS = 300, TEXT = 65536, CHANGES = 3 };

/* A file may truly say that its features are so many that no machine has room for their weights. Sanitizers
 * have a limit of their own: their shadow memory is terabytes of address space. */
static void limit_memory(void) {
#ifndef __SANITIZE_ADDRESS__
  const rlim_t most = (rlim_t)3 << 30;
  setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
#endif
}

/* What is changed, and what is done with it. */
struct use {
  const char *name, *file, *arguments;
  int may_refuse; /* exit code 2; else the program goes on without the file */
  int may_fail;   /* exit code 1: a loss that grows without end, or no memory for the size that a file says */
  int share;      /* of all mutations, in hundredths */
};

static const struct use uses[] = {
    {"dataset", "ring.h5", "run.toml --set log.dir=fresh --epochs 2 --set dataset.path=ring.h5", 1, 1, 20},
    {"dataset.ids", "ids.h5", "run.toml --set log.dir=fresh --epochs 2 --set dataset.path=ids.h5", 1, 1, 6},
    {"dataset.sparse", "sparse.h5", "run.toml --set log.dir=fresh --epochs 2 --set dataset.path=sparse.h5", 1,
     1, 8},
    {"dataset.hyper", "hyper.h5", "hyper.toml --set log.dir=fresh --epochs 2", 1, 1, 10},
    {"dataset.predict", "ids.h5", "run.toml --set dataset.path=ids.h5 --predict ids/best.h5 --out fresh.h5",
     1, 0, 6},
    {"resume", "run/checkpoints/epoch-0-4.h5", "run.toml --set log.dir=run --resume --epochs 6", 1, 1, 18},
    {"resume.runs", "runs/checkpoints/epoch-1-2.h5",
     "run.toml --set log.dir=runs --set train.runs=3 --resume=runs/checkpoints/epoch-1-2.h5", 1, 1, 7},
    {"resume.best", "run/best.h5", "run.toml --set log.dir=run --resume --epochs 6", 0, 0, 3},
    {"resume.earlier", "runs/checkpoints/epoch-0-4.h5",
     "run.toml --set log.dir=runs --set train.runs=3 --resume=runs/checkpoints/epoch-1-2.h5", 0, 0, 4},
    {"evaluate", "run/best.h5", "run.toml --set log.dir=run --eval run/best.h5", 1, 0, 4},
    {"predict", "run/checkpoints/epoch-0-4.h5",
     "run.toml --set log.dir=run --predict run/checkpoints/epoch-0-4.h5 --out fresh.h5", 1, 0, 3},
    {"export", "run/checkpoints/epoch-0-4.h5", "--export run/checkpoints/epoch-0-4.h5 --out fresh.npz", 1, 1,
     2},
    {"partition", "ring.h5.parts", "run.toml --set log.dir=fresh --epochs 2", 0, 0, 7},
    {"predictions", "out.h5", "run.toml --set log.dir=run --predict run/best.h5 --out out.h5", 1, 0, 2},
};
enum { USES = sizeof uses / sizeof uses[0] };

/* The models that a mutated graph is for, one after the other. */
static const char *const models[] = {
    "model.type=gcn",         "model.type=sage",        "model.type=gin",        "model.type=gat",
    "model.type=mlp",         "model.aggregator=gcn",   "model.norm_edges=row",  "train.metric=roc_auc",
    "partition.method=block", "partition.order=degree", "dataset.normalize=row", "runtime.precision=fp64",
    "partition.order=loa"};

struct options {
  int64_t count, first, seed;
  const char *only;
  int verbose;
};

struct outcome {
  int code, sent; /* exit code; signal */
  char out[TEXT], err[TEXT], changes[1500];
};

/* How many ended with 0, 2 and 1, and what was wrong. */
struct totals {
  int64_t done[USES], refused[USES], failed[USES], wrong;
};

static void read_text(const char *path, char text[TEXT]) {
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(text, 1, TEXT - 1, file) : 0;
  text[length] = '\0';
  if (file) fclose(file);
}

static void redirect(const char *path, int to) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || dup2(file, to) < 0) _exit(3);
  close(file);
}

static _Noreturn void child(const struct use *use, const char *model) {
  char words[600], *argv[ARGUMENTS] = {"gnntrain"};
  int argc = 1;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  redirect("out.txt", STDOUT_FILENO);
  redirect("err.txt", STDERR_FILENO);
  setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_SECONDS, CPU_SECONDS});
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  limit_memory();
  snprintf(words, sizeof words, "%s%s%s", use->arguments, model ? " --set " : "", model ? model : "");
  for (char *word = strtok(words, " "); word && argc < ARGUMENTS - 1; word = strtok(NULL, " "))
    argv[argc++] = word;
  if (chdir("work") != 0) _exit(3);
  exit(gnntrain_main(argc, argv));
}

/* Waits for the child, which is killed when it takes too long. */
static int wait_for(pid_t pid) {
  int status = 0;
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  for (time_t deadline = time(NULL) + WALL_SECONDS; waitpid(pid, &status, WNOHANG) == 0;) {
    if (time(NULL) > deadline) kill(pid, SIGKILL);
    sigtimedwait(&ended, NULL, &(struct timespec){1, 0});
  }
  return status;
}

static void run(const struct use *use, const char *model, struct outcome *outcome) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) child(use, model);
  int status = pid > 0 ? wait_for(pid) : 0;
  outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome->sent = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  read_text("out.txt", outcome->out);
  read_text("err.txt", outcome->err);
}

static int lines_of(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

/* What is wrong with how it ended; NULL: nothing. */
static const char *judge(const struct use *use, const struct outcome *outcome) {
  int fails = outcome->code == 1 && use->may_fail &&
              (strstr(outcome->err, " is not finite (") || strstr(outcome->err, "over a million times") ||
               strstr(outcome->err, "out of memory"));
  if (outcome->sent)
    return outcome->sent == SIGKILL || outcome->sent == SIGXCPU ? "did not end" : "ended by a signal";
  if (strstr(outcome->err, "ERROR: AddressSanitizer") || strstr(outcome->err, "runtime error"))
    return "a sanitizer's report";
  if (outcome->code == 0) return strstr(outcome->err, "gnntrain: ") ? "an error and exit code 0" : NULL;
  if (!fails && outcome->code != 2) return "exit code";
  if (outcome->code == 2 && !use->may_refuse) return "refused, though it can go on without the file";
  if (strncmp(outcome->err, "gnntrain: ", 10) != 0) return "no sentence";
  return outcome->code == 2 && lines_of(outcome->err) != 1 ? "not one sentence" : NULL;
}

static uint64_t hash_dataset(const struct use *use) {
  char path[600];
  snprintf(path, sizeof path, "work/%s", strncmp(use->name, "dataset", 7) == 0 ? use->file : "ring.h5");
  return file_hash(path);
}

/* What is wrong with what it left. The dataset is never written to. */
static const char *judge_files(const struct use *use, const struct outcome *outcome,
                               const uint64_t before[2]) {
  int reads = strstr(use->arguments, "--eval") || strstr(use->arguments, "--export") ||
              (strstr(use->arguments, "--predict") && outcome->code);
  int resumes = strstr(use->arguments, "--resume") != NULL;
  if (tree_find_temporary("work")[0]) return "a temporary file was left";
  if (hash_dataset(use) != before[0]) return "the dataset was changed";
  if ((reads || (resumes && outcome->code == 2)) && tree_hash("work", "run") != before[1])
    return "the run's folder was changed";
  return NULL;
}

static void mutate(const struct use *use, struct chance *chance, struct outcome *outcome) {
  char path[1200], said[450];
  snprintf(path, sizeof path, "work/%s", use->file);
  if (strcmp(use->file, "ring.h5.parts") == 0) {
    struct tree parts;
    tree_read(&parts, path);
    snprintf(path + strlen(path), 600, "/%s", parts.file[chance_below(chance, parts.files)].path);
    tree_free(&parts);
  }
  int64_t changes = 1 + (chance_below(chance, 3) == 0) * chance_below(chance, CHANGES);
  outcome->changes[0] = '\0';
  for (int tries = 0, made = 0; made < changes && tries < 50; tries++) {
    if (!mutate_file(path, chance, said, sizeof said)) continue;
    size_t used = strlen(outcome->changes);
    snprintf(outcome->changes + used, sizeof outcome->changes - used, "%s%s", made++ ? "; " : "", said);
  }
}

static const struct use *choose(struct chance *chance, const char *only) {
  int64_t at = chance_below(chance, 100), use = 0;
  while (use < USES - 1 && at >= uses[use].share) at -= uses[use++].share;
  for (int64_t u = 0; only && u < USES; u++) {
    if (strcmp(uses[u].name, only) == 0) use = u;
  }
  return &uses[use];
}

static void mutation(const struct options *options, const struct tree *sound, int64_t index,
                     struct totals *totals) {
  static struct outcome outcome; /* large */
  struct chance chance = {(uint64_t)options->seed * 1000003u + (uint64_t)index * 0x2545f4914f6cdd1du};
  chance_bits(&chance);
  const struct use *use = choose(&chance, options->only);
  const char *model = NULL;
  tree_write(sound, "work");
  mutate(use, &chance, &outcome);
  if (strncmp(use->name, "dataset", 7) == 0 && !strstr(use->name, "predict") && !strstr(use->name, "hyper"))
    model = models[chance_below(&chance, sizeof models / sizeof models[0])];
  uint64_t before[2] = {hash_dataset(use), tree_hash("work", "run")};
  run(use, model, &outcome);
  const char *wrong = judge(use, &outcome);
  if (!wrong) wrong = judge_files(use, &outcome, before);
  int64_t *count = outcome.code == 0 ? totals->done : outcome.code == 2 ? totals->refused : totals->failed;
  count[use - uses]++;
  totals->wrong += wrong != NULL;
  if (wrong || options->verbose)
    printf("%s%s: mutation %lld of %s (%s%s%s): exit code %d, signal %d\n%.1500s\n", wrong ? "WRONG: " : "",
           wrong ? wrong : "good", (long long)index, use->name, outcome.changes, model ? "; " : "",
           model ? model : "", outcome.code, outcome.sent, outcome.err);
}

static int read_options(struct options *options, int argc, char **argv) {
  *options = (struct options){.count = 1000, .seed = 1};
  for (int i = 1; i < argc; i++) {
    int64_t value = i + 1 < argc ? atoll(argv[i + 1]) : 0;
    if (strcmp(argv[i], "--verbose") == 0)
      options->verbose = 1;
    else if (i + 1 < argc && strcmp(argv[i], "--count") == 0)
      options->count = value, i++;
    else if (i + 1 < argc && strcmp(argv[i], "--first") == 0)
      options->first = value, i++;
    else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
      options->seed = value, i++;
    else if (i + 1 < argc && strcmp(argv[i], "--case") == 0)
      options->only = argv[++i];
    else
      return 0;
  }
  return 1;
}

static void print_totals(const struct totals *totals) {
  int64_t done = 0, refused = 0, failed = 0;
  printf("%-16s %9s %9s %9s\n", "case", "went on", "refused", "failed");
  for (int u = 0; u < USES; u++) {
    printf("%-16s %9lld %9lld %9lld\n", uses[u].name, (long long)totals->done[u],
           (long long)totals->refused[u], (long long)totals->failed[u]);
    done += totals->done[u], refused += totals->refused[u], failed += totals->failed[u];
  }
  printf("%-16s %9lld %9lld %9lld\n%lld mutations, %lld wrong\n", "all", (long long)done, (long long)refused,
         (long long)failed, (long long)(done + refused + failed), (long long)totals->wrong);
}

int main(int argc, char **argv) {
  struct options options;
  struct tree sound;
  static struct totals totals;
  sigset_t ended;
  if (!read_options(&options, argc, argv)) {
    fprintf(stderr, "usage: mutate_h5 [--count N] [--seed S] [--first I] [--case NAME] [--verbose]\n");
    return 2;
  }
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, NULL);
  tree_read(&sound, "sound");
  for (int64_t i = 0; i < options.count; i++) mutation(&options, &sound, options.first + i, &totals);
  tree_free(&sound);
  print_totals(&totals);
  return totals.wrong ? 1 : 0;
}
