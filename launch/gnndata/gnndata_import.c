/* gnndata import: foreign graph files become a dataset. */
#include "io/file/path_check.h"
#include "io/import/import_read.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/base.h"
#include "runtime/config/options.h"
#include "runtime/profile/profile_clock.h"

/* clang-format off */
static const struct option table[] = {
#define FLAG(field, name, help) {name, NULL, help, OPTION_FLAG, offsetof(struct import_options, field), 0, 0, NULL, 0, NULL}
#define TEXT(field, help) {#field, "WHAT", help, OPTION_TEXT, offsetof(struct import_options, field), 0, 0, NULL, 0, NULL}
#define COLUMN(field, help) {#field, "COLUMN", help, OPTION_TEXT, offsetof(struct import_options, column.field), 0, 0, NULL, 0, NULL}
#define COUNT(field, value, least, most, help) \
  {#field, value, help, OPTION_WHOLE, offsetof(struct import_options, field), least, most, NULL, 0, NULL}
    FLAG(undirected, "undirected", "store every arc in both directions, of two weights the larger"),
    FLAG(drop_self_loops, "drop-self-loops", "leave arcs from a node to itself out"),
    FLAG(weights, "weights", "keep edge values as weights (duplicates are summed)"),
    TEXT(features, "FILE.npy [nodes, F], FILE.npz (scipy CSR), FILE.csv (a row a node), random:F or degree:F (a one in the\n"
                   "                         column of the node's degree, the last one for all above);\n"
                   "                         of a table A,B,... (columns of numbers) or all"),
    FLAG(binarize, "binarize", "every feature that is not 0 becomes 1"),
    TEXT(labels, "FILE (\"label\" or \"id label\" a line), FILE.npy or random:C"),
    TEXT(split, "FILE (train, val, test or none a line), FILE.npz (train_idx ...: rows of the dataset,\n"
                "                         or train_mask ..., train_masks ...),\n"
                "                         random:TRAIN,VAL (fractions) or per-class:TRAIN,VAL (counts); the rest is test;\n"
                "                         folds:K (K splits: each tests on a fold, validates on the next, trains on the others);\n"
                "                         of a table the COLUMN that has train, val, test or nothing"),
    COUNT(splits, "N", 1, 1000, "make N random splits (default 1)"),
    COUNT(nodes, "N", 1, INT32_MAX, "the ids of an edge list are 0 .. N-1, nodes without arcs included; vertices of a hypergraph"),
    COUNT(seed, "K", 0, 0x1p63, "of everything random (default 0)"),
    {"memory", "GIB", "of arcs that wait to be sorted; more of them wait in a file beside OUT.h5, gone at the end\n"
                "                         (default: a third of what is free)", OPTION_REAL,
     offsetof(struct import_options, memory), .001, 0x1p20, NULL, 0, NULL},
    COLUMN(id, "of a table: the ids of the nodes, any text (default: its first column)"),
    COLUMN(label, "of a table: the labels, whole numbers or texts; an empty one is none. A,B,...: several a node, of 0 and 1"),
    COLUMN(weight, "of a table: the weights of the edges"),
    COLUMN(from, "of a table: the ids that edges come from (default: the first column of EDGES)"),
    COLUMN(to, "of a table: the ids that they lead to (default: the next one)"),
    {0}};
/* clang-format on */

static void print_help(const struct options *options) {
  printf("usage: gnndata import FORMAT INPUT OUT.h5 [OPTION]...\n"
         "       gnndata import table NODES EDGES OUT.h5 [OPTION]...\n\n"
         "Makes the folder of OUT.h5 where it is missing, replaces another dataset there and no other file; "
         "what\n"
         "is read is never written to.\n\n"
         "Formats (text files may be gzip-compressed, lines may end in CRLF):\n");
  for (const struct import_format *f = import_formats; f->name; f++) printf("  %-22s %s\n", f->name, f->help);
  printf("\nOptions (anywhere on the line):\n");
  options_print(options, 22);
  printf("  %-22s %s\n", "-h, --help", "this text");
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
      import->options->output, (long long)source->nodes, (long long)source->hyper.edges,
      (long long)source->hyper.start[source->hyper.edges], (long long)source->features,
      (long long)source->classes, source->task == TASK_MULTILABEL ? " (multilabel)" : "", splits,
      (long long)import->unlabelled);
}

static void print_summary(const struct import *import) {
  const struct dataset_source *source = &import->source;
  const struct edges *edges = &import->edges;
  char splits[160], graphs[48] = "";
  print_splits(import, splits, sizeof splits);
  if (source->graphs.start) snprintf(graphs, sizeof graphs, "%lld graphs, ", (long long)source->graphs.count);
  if (source->hyper.start) {
    print_hypergraph(import, splits);
    return;
  }
  if (edges->unequal)
    log_warn("%s: %lld edges have another weight each way: both got the larger one", import->options->input,
             (long long)edges->unequal);
  log_info(
      "%s: %s%lld nodes, %lld arcs, %s%s, %lld features, %lld classes%s, %s; dropped %lld self loops, %lld "
      "duplicates, %lld unlabelled nodes of splits; added %lld reverse arcs",
      import->options->output, graphs, (long long)source->nodes, (long long)source->start[source->nodes],
      source->directed ? "directed" : "undirected", source->weight ? ", weighted" : "",
      (long long)source->features, (long long)source->classes,
      source->task == TASK_MULTILABEL ? " (multilabel)" : "", splits, (long long)edges->loops,
      (long long)edges->duplicates, (long long)import->unlabelled, (long long)edges->mirrored);
}

/* Of an import that took its time. */
static void print_times(const struct import *import, double written) {
  if (import->read + import->sorted + written < 1) return;
  log_info("read in %.1f s, sorted in %.1f s, written in %.1f s; %s of memory at most", import->read,
           import->sorted, written, memory_text(memory_peak(), (char[16]){0}));
}

/* FORMAT INPUT OUT.h5, or table NODES EDGES OUT.h5. */
static int take_words(const struct options *options, struct import_options *chosen) {
  const char *const *word = options->word;
  int tables = 0;
  for (const struct import_format *f = import_formats; f->name && options->words > 0; f++)
    if (strcmp(f->name, word[0]) == 0) tables = f->tables;
  const int words = 3 + tables;
  const char *expected = tables ? "table NODES EDGES OUT.h5" : "FORMAT INPUT OUT.h5";
  if (options->words > words && words < 4)
    FAIL(BAD_INPUT, "one argument too many: \"%s\"; expected %s", word[words], expected);
  if (options->words > words) FAIL(BAD_INPUT, "one argument too many; expected %s", expected);
  if (options->words < words)
    FAIL(BAD_INPUT, "expected %s, found %d of them; see --help", expected, options->words);
  chosen->format = word[0];
  chosen->input = word[1];
  chosen->edges = tables ? word[2] : NULL;
  chosen->output = word[words - 1];
  return OK;
}

int gnndata_import(int argc, char **argv) {
  struct import_options chosen = {.splits = 1};
  struct options options = {
      .command = "gnndata import", .option = table, .into = &chosen, .print_help = print_help};
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  TRY(take_words(&options, &chosen));
  TRY(import_check_output(&chosen));
  ENDED_BY(import_free) struct import import = {0};
  TRY(import_read(&import, &chosen));
  TRY(make_folder_of(chosen.output));
  double begin = profile_clock();
  TRY(dataset_write(&import.source, chosen.output));
  print_times(&import, profile_clock() - begin);
  print_summary(&import);
  return OK;
}
