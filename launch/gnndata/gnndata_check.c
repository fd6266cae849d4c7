/* gnndata check */
#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "launch/gnndata/gnndata_commands.h"
#include "launch/options.h"
#include "runtime/base/base.h"

static void print_help(const struct options *options) {
  (void)options;
  printf(
      "usage: gnndata check FILE.h5\n\n"
      "Verifies every invariant of a dataset: attributes, shapes and types, offsets, sorted rows without\n"
      "duplicates, ids in range, symmetric pattern and weights when directed = 0, finite values, labels and\n"
      "splits. Prints each violation with its place, at most 20 of a kind. Holds the whole graph in "
      "memory.\n\n"
      "Exit code: 0 no violation, 2 violations or not a dataset, 1 the file could not be read on.\n");
}

static void say(const char *violation, void *context) {
  (void)context;
  printf("%s\n", violation);
}

static void print_ok(const struct dataset *d, const char *path) {
  printf("%s: ok (%lld nodes, %lld arcs", path, (long long)d->nodes, (long long)d->edges);
  if (d->hyperedges > 0) printf(", %lld hyperedges", (long long)d->hyperedges);
  if (d->has_features) printf(", %lld features", (long long)d->features);
  if (d->has_labels) printf(", %lld classes", (long long)d->classes);
  printf(", %lld split%s)\n", (long long)d->splits, d->splits == 1 ? "" : "s");
}

static int check(struct dataset *d, const char *path) {
  int64_t violations = 0;
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
