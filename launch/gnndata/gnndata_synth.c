/* gnndata synth */
#include <inttypes.h>

#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "io/synth/synth.h"
#include "io/synth/synth_options.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static void print_help(const struct options *options) {
  printf("usage: gnndata synth OUT.h5 --nodes N --degree MEAN --features F --classes C [OPTION]...\n\n"
         "Makes a graph or a hypergraph of communities with planted labels and features. Equal options give\n"
         "equal bytes. The folder of OUT.h5 is made where it is missing; another dataset there is replaced,\n"
         "and no other file.\n\n");
  options_print(options, 20);
}

static int check(const struct options *options) {
  if (options->words > 1)
    FAIL(BAD_INPUT, "two output files, %s and %s; allowed: one", options->word[0], options->word[1]);
  if (options->words == 0)
    FAIL(BAD_INPUT, "no output file; usage: gnndata synth OUT.h5 --nodes N --degree MEAN ...");
  return synth_options_check(options);
}

static int make_and_write(const struct synth *synth, struct dataset_source *source,
                          struct synth_features *features, const char *path) {
  double begin = profile_clock();
  TRY(synth_make(synth, source, features));
  double made = profile_clock();
  TRY(make_folder_of(path));
  TRY(dataset_write(source, path));
  if (source->hyper.start) {
    double incidences = (double)source->hyper.start[source->hyper.edges];
    log_info("%s: %" PRId64 " vertices (mean degree %.2f), %" PRId64 " hyperedges (mean size %.2f), %.0f "
             "incidences, %" PRId64 " features, %" PRId64 " classes; made in %.1f s, written in %.1f s",
             path, source->nodes, incidences / (double)source->nodes, source->hyper.edges,
             incidences / (double)source->hyper.edges, incidences, source->features, source->classes,
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
      .command = "gnndata synth", .option = synth_options, .into = &synth, .print_help = print_help};
  synth_default(&synth);
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  TRY(check(&options));
  TRY(path_check_writable(options.word[0], (const char *[]){NULL}));
  TRY(h5_check_replaced(options.word[0], dataset_format, "dataset"));
  stem_of(options.word[0], synth.name, sizeof synth.name);
  return make_and_write(&synth, &source, &features, options.word[0]);
}
