#include "io/synth/synth_options.h"

#include "io/dataset/dataset.h"
#include "io/synth/synth_communities.h"
#include "runtime/base/base.h"

/* clang-format off */
const struct option synth_options[] = {
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

void synth_default(struct synth *synth) {
  *synth = (struct synth){.name = "synth",
                          .seed = 1,
                          .inside = 0.75,
                          .power = 0.45,
                          .size_power = 0.6,
                          .signal = 1.7,
                          .label_noise = 0.03,
                          .train = 0.1,
                          .val = 0.1,
                          .test = 1};
}

static int refuse_beside(const struct options *options, const char *name, const char *other, int together,
                         const char *reason) {
  if (!options_given(options, name) || options_given(options, other) == together) return OK;
  const char *lead = options_lead(options);
  FAIL(BAD_INPUT, "%s%s %s with %s%s%s", lead, name, together ? "goes" : "does not go", lead, other, reason);
}

int synth_options_check(const struct options *options) {
  static const char *const no_weights = ", whose edges know of no communities or weights";
  for (const struct option *o = synth_options; o->name; o++) {
    if (o->fallback[0] == '\0' && !options_given(options, o->name))
      FAIL(BAD_INPUT, "%s%s %s is missing: %s", options_lead(options), o->name, o->value, o->help);
  }
  TRY(refuse_beside(options, "size-power", "hyperedges", 1, "; a graph has none"));
  TRY(refuse_beside(options, "inside", "rmat", 0, no_weights));
  return refuse_beside(options, "power", "rmat", 0, no_weights);
}

int64_t synth_community_size(const struct synth *synth) {
  if (synth->community_size > 0) return synth->community_size;
  int64_t size = synth->nodes / (4 * synth->classes);
  return size < 2 ? 2 : size > 1000 ? 1000 : size;
}

static int check_split(const struct synth *synth) {
  if (synth->train + synth->val > 1)
    FAIL(BAD_INPUT, "train and val are %g and %g; allowed: at most 1 together", synth->train, synth->val);
  if (synth->test < 1 && synth->train + synth->val + synth->test > 1 + 1e-9)
    FAIL(BAD_INPUT, "train, val and test are %g, %g and %g; allowed: at most 1 together", synth->train,
         synth->val, synth->test);
  return OK;
}

/* A hyperedge has one vertex at least, and all at most. */
static int check_hyperedges(const struct synth *synth) {
  if (!synth->hyperedges) return OK;
  double mean = synth->degree * (double)synth->nodes / (double)synth->hyperedges;
  if (synth->rmat)
    FAIL(BAD_INPUT, "rmat draws edges; with hyperedges there are none: one of them is allowed");
  if (mean < 1 || mean > (double)synth->nodes)
    FAIL(
        BAD_INPUT,
        "%lld hyperedges of %g vertices each on average; allowed: from 1 to the number of vertices, degree x "
        "nodes / hyperedges",
        (long long)synth->hyperedges, mean);
  return OK;
}

int synth_check(const struct synth *synth) {
  int64_t communities = synth_communities_count(synth->nodes, synth_community_size(synth),
                                                synth->community_power, synth->seed, synth->classes);
  if (communities < synth->classes)
    FAIL(BAD_INPUT, "%lld communities cannot carry %lld classes; allowed: at least one community a class",
         (long long)communities, (long long)synth->classes);
  TRY(check_hyperedges(synth));
  return check_split(synth);
}
