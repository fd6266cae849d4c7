/* gnndata check */
#include "io/dataset_path.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/base.h"
#include "runtime/config/options.h"

static void print_help(const struct options *options) {
  (void)options;
  printf(
      "usage: gnndata check FILE.h5\n\n"
      "Verifies every invariant of a dataset: attributes, shapes and types, offsets, sorted rows without\n"
      "duplicates, ids in range, symmetric pattern and weights when directed = 0, finite values, labels and\n"
      "splits. Prints each violation with its place, at most 20 of a kind. Needs 8 bytes of memory a node, "
      "and\n"
      "the whole graph where it has to say what an undirected one lacks.\n\n"
      "Exit code: 0 no violation, 2 violations or not a dataset, 1 the file could not be read on.\n");
}

static void say(const char *violation, void *context) {
  (void)context;
  log_info("%s", violation);
}

/* ", 16 features" behind what is in text[256]; nothing of 0 things that a dataset need not have. */
static void add_count(char *text, int64_t count, const char *things) {
  size_t used = strlen(text);
  if (count > 0) snprintf(text + used, 256 - used, ", %lld %s", (long long)count, things);
}

static void print_ok(const struct dataset *d, const char *path) {
  char text[256] = "";
  add_count(text, d->hyperedges, "hyperedges");
  add_count(text, d->graphs, "graphs");
  if (d->has_features) add_count(text, d->features, "features");
  if (d->task != TASK_NONE) add_count(text, d->classes, "classes");
  log_info("%s: ok (%lld nodes, %lld arcs%s, %lld split%s)", path, (long long)d->nodes, (long long)d->edges,
           text, (long long)d->splits, d->splits == 1 ? "" : "s");
}

static int check(struct dataset *d, const char *path) {
  int64_t violations = 0;
  if (dataset_path_is_made(path))
    FAIL(BAD_INPUT,
         "%s: gnndata check looks into a file, and this dataset has none: it is made where it is read", path);
  TRY(h5_probe(path));
  TRY(dataset_open(d, path));
  TRY(dataset_check(d, say, NULL, &violations));
  fflush(stdout);
  if (violations > 0)
    FAIL(BAD_INPUT, "%s: %lld violation%s of the format", path, (long long)violations,
         violations == 1 ? "" : "s");
  print_ok(d, path);
  return OK;
}

int gnndata_check(int argc, char **argv) {
  static const struct option none[] = {{0}};
  ENDED_BY(dataset_close) struct dataset d = {0};
  struct options options = {.command = "gnndata check", .option = none, .print_help = print_help};
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  if (options.words != 1) FAIL(BAD_INPUT, "usage: gnndata check FILE.h5 (one file is expected)");
  return check(&d, options.word[0]);
}
