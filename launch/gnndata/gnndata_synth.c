/* gnndata synth */
#include <inttypes.h>

#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "io/synth/synth.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/base.h"
#include "runtime/config/options.h"
#include "runtime/profile/profile.h"

/* clang-format off */
static const struct option table[] = {
#define ROW(name, value, kind, field, least, most, fallback, help) \
  {name, value, help, OPTION_##kind, offsetof(struct synth, field), least, most, NULL, 0, fallback}
    ROW("nodes", "N", WHOLE, nodes, 2, 2147483647, "", "number of nodes"),
    ROW("degree", "MEAN", REAL, degree, 1e-3, 1e6, "", "mean arcs a node, after duplicates are gone"),
    ROW("features", "F", WHOLE, features, 1, 1048576, "", "features a node"),
    ROW("classes", "C", WHOLE, classes, 2, DATASET_CLASSES, "", "number of classes"),
    ROW("community-size", "S", WHOLE, community_size, 2, 2147483647, "nodes / (4 classes), 2 to 1000", "nodes a community; communities are ranges of ids"),
    ROW("community-power", "B", REAL, community_power, 1e-3, 10, "equal sizes", "draw the sizes from s^-B between S / 10 and 10 S"),
    ROW("inside", "SHARE", REAL, inside, 0, 1, "0.75", "share of the edges inside the source's community"),
    ROW("power", "A", REAL, power, 0, 1, "0.45", "weight of a node is (u + 1e-3)^-A, u uniform"),
    ROW("hyperedges", "M", WHOLE, hyperedges, 1, 2147483647, "a graph", "make a hypergraph of M hyperedges; --degree is the mean of a vertex's hyperedges"),
    ROW("size-power", "B", REAL, size_power, 0, 1, "0.6", "size of a hyperedge is in proportion to (u + 1e-3)^-B, u uniform"),
    ROW("rmat", NULL, FLAG, rmat, 0, 1, "off", "R-MAT edges (.57, .19, .19, .05); communities carry labels only"),
    ROW("shuffle", NULL, FLAG, shuffle, 0, 1, "off", "rename the nodes at random"),
    ROW("signal", "LENGTH", REAL, signal, 0, 1000, "1.7", "length of a class's mean; the noise is 1"),
    ROW("label-noise", "SHARE", REAL, label_noise, 0, 1, "0.03", "share of the labels that are wrong"),
    ROW("train", "SHARE", REAL, train, 0, 1, "0.1", "share of the nodes to train on"),
    ROW("val", "SHARE", REAL, val, 0, 1, "0.1", "share to validate on"),
    ROW("test", "SHARE", REAL, test, 0, 1, "the rest", "share to test on; other nodes are in no part"),
    ROW("seed", "K", WHOLE, seed, 0, 9007199254740992, "1", "another seed, another graph"),
    {0}};
/* clang-format on */

static void print_help(const struct options *options) {
  printf("usage: gnndata synth OUT.h5 --nodes N --degree MEAN --features F --classes C [OPTION]...\n\n"
         "Makes a graph or a hypergraph of communities with planted labels and features. Equal options give\n"
         "equal bytes. The folder of OUT.h5 is made where it is missing; another dataset there is replaced,\n"
         "and no other file.\n\n");
  options_print(options, 20);
}

/* What is missing, or would be passed over. */
static int check(const struct options *options) {
  if (options->words > 1)
    FAIL(BAD_INPUT, "two output files, %s and %s; allowed: one", options->word[0], options->word[1]);
  if (options->words == 0)
    FAIL(BAD_INPUT, "no output file; usage: gnndata synth OUT.h5 --nodes N --degree MEAN ...");
  for (const struct option *o = table; o->name; o++) {
    if (o->fallback[0] == '\0' && !options_given(options, o->name))
      FAIL(BAD_INPUT, "--%s %s is missing: %s", o->name, o->value, o->help);
  }
  if (options_given(options, "size-power") && !options_given(options, "hyperedges"))
    FAIL(BAD_INPUT, "--size-power goes with --hyperedges; a graph has none");
  for (int i = 0; i < 2 && options_given(options, "rmat"); i++) {
    const char *name = i == 0 ? "inside" : "power";
    if (options_given(options, name))
      FAIL(BAD_INPUT, "--%s does not go with --rmat, whose edges know of no communities or weights", name);
  }
  return OK;
}

static int make_and_write(const struct synth *synth, struct dataset_source *source,
                          struct synth_features *features, const char *path) {
  double begin = profile_clock();
  TRY(synth_make(synth, source, features));
  double made = profile_clock();
  TRY(make_folder_of(path));
  TRY(dataset_write(source, path));
  if (source->hyper_start) {
    double incidences = (double)source->hyper_start[source->hyperedges];
    log_info("%s: %" PRId64 " vertices (mean degree %.2f), %" PRId64 " hyperedges (mean size %.2f), %.0f "
             "incidences, %" PRId64 " features, %" PRId64 " classes; made in %.1f s, written in %.1f s",
             path, source->nodes, incidences / (double)source->nodes, source->hyperedges,
             incidences / (double)source->hyperedges, incidences, source->features, source->classes,
             made - begin, profile_clock() - made);
    return OK;
  }
  log_info("%s: %" PRId64 " nodes, %" PRId64 " arcs (mean degree %.2f), %" PRId64 " features, %" PRId64
           " classes; made in %.1f s, written in %.1f s",
           path, source->nodes, source->start[source->nodes],
           (double)source->start[source->nodes] / (double)source->nodes, source->features, source->classes,
           made - begin, profile_clock() - made);
  return OK;
}

int gnndata_synth(int argc, char **argv) {
  struct synth synth;
  ENDED_BY(dataset_source_free) struct dataset_source source = {0};
  ENDED_BY(synth_features_free) struct synth_features features = {0};
  struct options options = {
      .command = "gnndata synth", .option = table, .into = &synth, .print_help = print_help};
  synth_default(&synth);
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  TRY(check(&options));
  TRY(path_check_writable(options.word[0], (const char *[]){NULL}));
  TRY(h5_check_replaced(options.word[0], dataset_format, "dataset"));
  stem_of(options.word[0], synth.name, sizeof synth.name);
  return make_and_write(&synth, &source, &features, options.word[0]);
}
