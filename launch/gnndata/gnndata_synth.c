/* gnndata synth */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "io/synth/synth.h"
#include "launch/gnndata/gnndata_commands.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/profile/profile.h"

enum kind { WHOLE, REAL, FLAG };

/* One table for parsing and --help. */
static const struct option {
  const char *name, *value;
  enum kind kind;
  size_t offset; /* in struct synth */
  double least, most;
  int required;
  const char *fallback; /* the default as --help shows it */
  const char *help;
} options[] = {
#define FIELD(name) offsetof(struct synth, name)
    {"nodes", "N", WHOLE, FIELD(nodes), 2, 2147483647, 1, NULL, "number of nodes"},
    {"degree", "MEAN", REAL, FIELD(degree), 1e-3, 1e6, 1, NULL,
     "mean arcs a node, after duplicates are gone"},
    {"features", "F", WHOLE, FIELD(features), 1, 1048576, 1, NULL, "features a node"},
    {"classes", "C", WHOLE, FIELD(classes), 2, DATASET_CLASSES, 1, NULL, "number of classes"},
    {"community-size", "S", WHOLE, FIELD(community_size), 2, 2147483647, 0, "nodes / (4 classes), 2 to 1000",
     "nodes a community; communities are ranges of ids"},
    {"community-power", "B", REAL, FIELD(community_power), 1e-3, 10, 0, "equal sizes",
     "draw the sizes from s^-B between S / 10 and 10 S"},
    {"inside", "SHARE", REAL, FIELD(inside), 0, 1, 0, "0.75",
     "share of the edges inside the source's community"},
    {"power", "A", REAL, FIELD(power), 0, 1, 0, "0.45", "weight of a node is (u + 1e-3)^-A, u uniform"},
    {"hyperedges", "M", WHOLE, FIELD(hyperedges), 1, 2147483647, 0, "a graph",
     "make a hypergraph of M hyperedges; --degree is the mean of a vertex's hyperedges"},
    {"size-power", "B", REAL, FIELD(size_power), 0, 1, 0, "0.6",
     "size of a hyperedge is in proportion to (u + 1e-3)^-B, u uniform"},
    {"rmat", NULL, FLAG, FIELD(rmat), 0, 1, 0, "off",
     "R-MAT edges (.57, .19, .19, .05); communities carry labels only"},
    {"shuffle", NULL, FLAG, FIELD(shuffle), 0, 1, 0, "off", "rename the nodes at random"},
    {"signal", "LENGTH", REAL, FIELD(signal), 0, 1000, 0, "1.7", "length of a class's mean; the noise is 1"},
    {"label-noise", "SHARE", REAL, FIELD(label_noise), 0, 1, 0, "0.03", "share of the labels that are wrong"},
    {"train", "SHARE", REAL, FIELD(train), 0, 1, 0, "0.1", "share of the nodes to train on"},
    {"val", "SHARE", REAL, FIELD(val), 0, 1, 0, "0.1", "share to validate on; the rest is test"},
    {"seed", "K", WHOLE, FIELD(seed), 0, 9007199254740992, 0, "1", "another seed, another graph"},
#undef FIELD
};
enum { OPTIONS = sizeof options / sizeof options[0] };

static void print_help(void) {
  printf("usage: gnndata synth OUT.h5 --nodes N --degree MEAN --features F --classes C [OPTION]...\n\n"
         "Makes a graph or a hypergraph of communities with planted labels and features. Equal options give\n"
         "equal bytes. The folder of OUT.h5 is made where it is missing; another dataset there is replaced,\n"
         "and no other file.\n\n");
  for (int i = 0; i < OPTIONS; i++) {
    const struct option *o = &options[i];
    char name[32], range[64] = "";
    snprintf(name, sizeof name, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    if (o->kind != FLAG) snprintf(range, sizeof range, "%.16g to %.16g, ", o->least, o->most);
    printf("  %-20s %s (%s%s%s)\n", name, o->help, range,
           o->required ? "" : "default: ", o->required ? "required" : o->fallback);
  }
}

static int out_of_range(const struct option *o, const char *text) {
  FAIL(BAD_INPUT, "--%s is \"%s\"; allowed: %s from %.16g to %.16g", o->name, text,
       o->kind == WHOLE ? "a whole number" : "a number", o->least, o->most);
}

static int set_value(struct synth *synth, const struct option *o, const char *text) {
  char *field = (char *)synth + o->offset, *end;
  errno = 0;
  if (o->kind == WHOLE) {
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < (int64_t)o->least || value > (int64_t)o->most)
      return out_of_range(o, text);
    *(int64_t *)(void *)field = value;
  } else {
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= o->least && value <= o->most)) return out_of_range(o, text);
    *(double *)(void *)field = value;
  }
  return OK;
}

static const struct option *find_option(const char *name, size_t length) {
  for (int i = 0; i < OPTIONS; i++) {
    if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0) return &options[i];
  }
  return NULL;
}

/* Takes "--name VALUE", "--name=VALUE" or "--flag" at argv[*i] and moves *i to the last word it used. */
static int parse_option(int argc, char **argv, int *i, struct synth *synth, uint64_t *given) {
  const char *name = argv[*i] + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  const struct option *o = find_option(name, length);
  if (!o) FAIL(BAD_INPUT, "unknown option %s; allowed: those that gnndata synth --help lists", argv[*i]);
  *given |= 1ull << (o - options);
  if (o->kind == FLAG) {
    if (equals) FAIL(BAD_INPUT, "--%s takes no value, \"%s\" was given", o->name, equals + 1);
    *(int *)(void *)((char *)synth + o->offset) = 1;
    return OK;
  }
  if (equals) return set_value(synth, o, equals + 1);
  if (*i + 1 == argc) FAIL(BAD_INPUT, "--%s needs a value: %s", o->name, o->value);
  return set_value(synth, o, argv[++*i]);
}

static int is_given(const char *name, uint64_t given) {
  return (int)(given >> (find_option(name, strlen(name)) - options) & 1);
}

/* What would be passed over. */
static int check_together(uint64_t given) {
  if (is_given("size-power", given) && !is_given("hyperedges", given))
    FAIL(BAD_INPUT, "--size-power goes with --hyperedges; a graph has none");
  for (int i = 0; i < 2 && is_given("rmat", given); i++) {
    const char *name = i == 0 ? "inside" : "power";
    if (is_given(name, given))
      FAIL(BAD_INPUT, "--%s does not go with --rmat, whose edges know of no communities or weights", name);
  }
  return OK;
}

static int parse(int argc, char **argv, struct synth *synth, const char **out) {
  uint64_t given = 0;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--", 2) == 0) {
      TRY(parse_option(argc, argv, &i, synth, &given));
    } else if (argv[i][0] == '-') {
      FAIL(BAD_INPUT, "unknown option %s; allowed: those that gnndata synth --help lists", argv[i]);
    } else if (*out) {
      FAIL(BAD_INPUT, "two output files, %s and %s; allowed: one", *out, argv[i]);
    } else {
      *out = argv[i];
    }
  }
  if (!*out) FAIL(BAD_INPUT, "no output file; usage: gnndata synth OUT.h5 --nodes N --degree MEAN ...");
  for (int i = 0; i < OPTIONS; i++) {
    if (options[i].required && !(given >> i & 1))
      FAIL(BAD_INPUT, "--%s %s is missing: %s", options[i].name, options[i].value, options[i].help);
  }
  return check_together(given);
}

/* The file's name without folders and ending. */
static void name_after(const char *path, struct synth *synth) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
  snprintf(synth->name, sizeof synth->name, "%.*s", length, base);
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
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      print_help();
      return OK;
    }
  }
  struct synth synth;
  struct dataset_source source = {0};
  struct synth_features features = {0};
  const char *out = NULL;
  synth_default(&synth);
  TRY(parse(argc, argv, &synth, &out));
  TRY(path_check_writable(out, (const char *[]){NULL}));
  TRY(h5_check_replaced(out, dataset_format, "dataset"));
  name_after(out, &synth);
  int code = make_and_write(&synth, &source, &features, out);
  synth_features_free(&features);
  dataset_source_free(&source);
  TRY(code);
  return OK;
}
