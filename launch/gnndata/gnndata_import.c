/* gnndata import: foreign graph files become a dataset. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/path_check.h"
#include "io/import/import_read.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

enum kind { FLAG, TEXT, COUNT };

static const struct option {
  const char *name, *value, *help;
  enum kind kind;
  size_t offset;
  int64_t low, high;
} options[] = {
#define FIELD(field) offsetof(struct import_options, field)
    {"--undirected", NULL, "store every arc in both directions, of two weights the larger", FLAG,
     FIELD(undirected), 0, 0},
    {"--drop-self-loops", NULL, "leave arcs from a node to itself out", FLAG, FIELD(drop_self_loops), 0, 0},
    {"--weights", NULL, "keep edge values as weights (duplicates are summed)", FLAG, FIELD(weights), 0, 0},
    {"--features", "WHAT", "FILE.npy [nodes, F], FILE.npz (scipy CSR), FILE.csv (a row a node) or random:F",
     TEXT, FIELD(features), 0, 0},
    {"--binarize", NULL, "every feature that is not 0 becomes 1", FLAG, FIELD(binarize), 0, 0},
    {"--labels", "WHAT", "FILE (\"label\" or \"id label\" a line), FILE.npy or random:C", TEXT, FIELD(labels),
     0, 0},
    {"--split", "WHAT",
     "FILE (train, val, test or none a line), FILE.npz (train_idx ...: rows of the dataset,\n"
     "                         or train_mask ..., train_masks ...),\n"
     "                         random:TRAIN,VAL (fractions) or per-class:TRAIN,VAL (counts); the rest is "
     "test",
     TEXT, FIELD(split), 0, 0},
    {"--splits", "N", "make N random splits (default 1)", COUNT, FIELD(splits), 1, 1000},
    {"--nodes", "N",
     "the ids of an edge list are 0 .. N-1, nodes without arcs included; vertices of a hypergraph", COUNT,
     FIELD(nodes), 1, INT32_MAX},
    {"--seed", "K", "of everything random (default 0)", COUNT, FIELD(seed), 0, INT64_MAX},
#undef FIELD
};
enum { OPTIONS = sizeof options / sizeof options[0] };

static void print_help(void) {
  printf("usage: gnndata import FORMAT INPUT OUT.h5 [OPTION]...\n\n"
         "Makes the folder of OUT.h5 where it is missing, replaces another dataset there and no other file; "
         "what\n"
         "is read is never written to.\n\n"
         "Formats (text files may be gzip-compressed, lines may end in CRLF):\n");
  for (const struct import_format *f = import_formats; f->name; f++) printf("  %-22s %s\n", f->name, f->help);
  printf("\nOptions (anywhere on the line):\n");
  for (int i = 0; i < OPTIONS; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s %s", options[i].name, options[i].value ? options[i].value : "");
    printf("  %-22s %s\n", name, options[i].help);
  }
  printf("  %-22s %s\n", "-h, --help", "this text");
}

static const struct option *find_option(const char *argument) {
  size_t length = strcspn(argument, "=");
  for (int i = 0; i < OPTIONS; i++) {
    if (strlen(options[i].name) == length && strncmp(options[i].name, argument, length) == 0)
      return &options[i];
  }
  return NULL;
}

static int set_option(struct import_options *into, const struct option *option, const char *value) {
  char *field = (char *)into + option->offset;
  if (option->kind == FLAG) *(int *)field = 1;
  if (option->kind == TEXT) *(const char **)field = value;
  if (option->kind != COUNT) return OK;
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (end == value || *end || errno || number < option->low || number > option->high)
    FAIL(BAD_INPUT, "%s: expected a whole number from %lld to %lld, found \"%s\"", option->name,
         (long long)option->low, (long long)option->high, value);
  *(int64_t *)field = number;
  return OK;
}

/* Takes argv[*i], and the value behind it when the option has one. */
static int read_option(struct import_options *into, int argc, char **argv, int *i) {
  const struct option *option = find_option(argv[*i]);
  if (!option) FAIL(BAD_INPUT, "unknown option \"%s\"; gnndata import --help lists them", argv[*i]);
  const char *value = strchr(argv[*i], '=');
  if (value && option->kind == FLAG) FAIL(BAD_INPUT, "%s takes no value", option->name);
  if (value) return set_option(into, option, value + 1);
  if (option->kind != FLAG && *i + 1 == argc) FAIL(BAD_INPUT, "%s needs a value", option->name);
  if (option->kind != FLAG) value = argv[++*i];
  return set_option(into, option, value);
}

static int read_arguments(struct import_options *into, int argc, char **argv) {
  const char *positional[3];
  int count = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      TRY(read_option(into, argc, argv, &i));
    } else if (count < 3) {
      positional[count++] = argv[i];
    } else {
      FAIL(BAD_INPUT, "one argument too many: \"%s\"; expected FORMAT INPUT OUT.h5", argv[i]);
    }
  }
  if (count < 3) FAIL(BAD_INPUT, "expected FORMAT INPUT OUT.h5, found %d of them; see --help", count);
  into->format = positional[0];
  into->input = positional[1];
  into->output = positional[2];
  return OK;
}

static void print_splits(const struct import *import, char *text, size_t size) {
  const struct dataset_source *source = &import->source;
  if (source->splits == 0) {
    snprintf(text, size, "no split");
    return;
  }
  const int64_t *count = source->split[0].count;
  snprintf(text, size, "%lld split%s (%lld train, %lld val, %lld test)", (long long)source->splits,
           source->splits == 1 ? "" : "s", (long long)count[SPLIT_TRAIN], (long long)count[SPLIT_VAL],
           (long long)count[SPLIT_TEST]);
}

static void print_hypergraph(const struct import *import, const char *splits) {
  const struct dataset_source *source = &import->source;
  log_info(
      "%s: %lld vertices, %lld hyperedges, %lld incidences, %lld features, %lld classes%s, %s; dropped %lld "
      "unlabelled vertices of splits",
      import->options->output, (long long)source->nodes, (long long)source->hyperedges,
      (long long)source->hyper_start[source->hyperedges], (long long)source->features,
      (long long)source->classes, source->task == TASK_MULTILABEL ? " (multilabel)" : "", splits,
      (long long)import->unlabelled);
}

static void print_summary(const struct import *import) {
  const struct dataset_source *source = &import->source;
  const struct edges *edges = &import->edges;
  char splits[160];
  print_splits(import, splits, sizeof splits);
  if (source->hyper_start) {
    print_hypergraph(import, splits);
    return;
  }
  if (edges->unequal)
    log_warn("%s: %lld edges have another weight each way: both got the larger one", import->options->input,
             (long long)edges->unequal);
  log_info(
      "%s: %lld nodes, %lld arcs, %s%s, %lld features, %lld classes%s, %s; dropped %lld self loops, %lld "
      "duplicates, %lld unlabelled nodes of splits; added %lld reverse arcs",
      import->options->output, (long long)source->nodes, (long long)source->start[source->nodes],
      source->directed ? "directed" : "undirected", source->weight ? ", weighted" : "",
      (long long)source->features, (long long)source->classes,
      source->task == TASK_MULTILABEL ? " (multilabel)" : "", splits, (long long)edges->loops,
      (long long)edges->duplicates, (long long)import->unlabelled, (long long)edges->mirrored);
}

int gnndata_import(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
      print_help();
      return OK;
    }
  }
  struct import_options chosen = {.splits = 1};
  TRY(read_arguments(&chosen, argc, argv));
  TRY(import_check_output(&chosen));
  struct import import;
  int code = import_read(&import, &chosen);
  if (code == OK) code = make_folder_of(chosen.output);
  if (code == OK) code = dataset_write(&import.source, chosen.output);
  if (code == OK) print_summary(&import);
  import_free(&import);
  return code;
}
