/* break_dataset KIND FILE.h5: writes a small sound dataset ("sound") or one with the defect that KIND names.
 * The graph is a ring in which each node also knows its second neighbours. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "io/file/h5.h"
#include "runtime/base/error.h"

enum { NODES = 64, DEGREE = 4, EDGES = NODES * DEGREE, FEATURES = 8, CLASSES = 4 };
enum { TRAIN = NODES / 2, VAL = NODES / 4, TEST = NODES / 4 };

struct sample {
  int64_t version, num_edges, feature_rows, directed;
  int64_t start[NODES + 1];
  int32_t col[EDGES];
  float weight[EDGES];
  float feature[NODES * FEATURES];
  int32_t label[NODES];
  int64_t train[TRAIN], val[VAL], test[TEST];
  const char *more_split; /* name of a further one; NULL: none */
  int untrained;          /* there is a split 1, without training nodes */
  int halves;             /* there are two graphs, of half of the nodes each */
};

/* Of node v of a ring of so many nodes, the first of them `first`. */
static void ring_row(int32_t *col, int32_t v, int32_t first, int32_t nodes) {
  static const int32_t step[DEGREE] = {-2, -1, 1, 2};
  int length = 0;
  for (int32_t u = first; u < first + nodes; u++) { /* ascending */
    for (int i = 0; i < DEGREE; i++) {
      if (u == first + (v - first + step[i] + nodes) % nodes) col[length++] = u;
    }
  }
}

static void make_sound(struct sample *s) {
  *s = (struct sample){.version = 1, .num_edges = EDGES, .feature_rows = NODES};
  for (int32_t v = 0; v < NODES; v++) {
    s->start[v + 1] = (v + 1) * DEGREE;
    ring_row(s->col + v * DEGREE, v, 0, NODES);
    s->label[v] = v / (NODES / CLASSES);
    for (int j = 0; j < FEATURES; j++) s->feature[v * FEATURES + j] = (float)((v * 7 + j * 3) % 11) / 8;
    if (v % 2 == 0) s->train[v / 2] = v;
    if (v % 4 == 1) s->val[v / 4] = v;
    if (v % 4 == 3) s->test[v / 4] = v;
  }
  for (int i = 0; i < EDGES; i++) s->weight[i] = 1;
}

static void sound(struct sample *s) {
  (void)s;
}
static void wrong_version(struct sample *s) {
  s->version = 2;
}
static void feature_shape(struct sample *s) {
  s->feature_rows = NODES - 1;
}
static void edge_count(struct sample *s) {
  s->num_edges = EDGES + 1;
}
static void index_range(struct sample *s) {
  s->col[10 * DEGREE + DEGREE - 1] = NODES;
}
static void negative_index(struct sample *s) {
  s->col[10 * DEGREE] = -1;
}
static void unsorted_row(struct sample *s) {
  int32_t *row = s->col + 10 * DEGREE, first = row[0];
  row[0] = row[1], row[1] = first;
}
static void duplicate(struct sample *s) {
  s->col[10 * DEGREE + 1] = s->col[10 * DEGREE];
}
static void asymmetric(struct sample *s) {
  s->col[10 * DEGREE + DEGREE - 1] = 40;
}
static void asymmetric_weight(struct sample *s) {
  s->weight[10 * DEGREE] = 2;
}
static void negative_weight(struct sample *s) {
  for (int i = 0; i < EDGES; i++) s->weight[i] = -1;
}
static void falling_start(struct sample *s) {
  s->start[11] = s->start[10] - 1;
}
static void huge_start(struct sample *s) {
  s->start[11] = INT64_MAX;
}
static void label_range(struct sample *s) {
  s->label[10] = CLASSES;
}
static void nan_feature(struct sample *s) {
  s->feature[10 * FEATURES + 3] = NAN;
}
static void split_range(struct sample *s) {
  s->train[TRAIN - 1] = NODES;
}
static void split_order(struct sample *s) {
  s->val[3] = s->val[2];
}

static void split_label(struct sample *s) {
  s->label[10] = -1; /* in train */
}
static void split_twice(struct sample *s) {
  s->test[0] = s->val[0];
}
static void split_gap(struct sample *s) {
  s->more_split = "/split/2/train";
}
static void split_name_wrong(struct sample *s) {
  s->more_split = "/split/valid";
}

static void split_untrained(struct sample *s) {
  s->untrained = 1;
}

/* Of two graphs, which one ring goes through. */
static void graph_arc(struct sample *s) {
  s->halves = 1;
}

/* A ring each, of which other nodes than the first ones train. */
static void graph_split(struct sample *s) {
  s->halves = 1;
  for (int32_t v = 0; v < NODES; v++)
    ring_row(s->col + v * DEGREE, v, v < NODES / 2 ? 0 : NODES / 2, NODES / 2);
}

static const struct {
  const char *kind;
  void (*damage)(struct sample *);
} kinds[] = {
    {"sound", sound},
    {"wrong_version", wrong_version},
    {"feature_shape", feature_shape},
    {"edge_count", edge_count},
    {"index_range", index_range},
    {"negative_index", negative_index},
    {"unsorted_row", unsorted_row},
    {"duplicate", duplicate},
    {"asymmetric", asymmetric},
    {"asymmetric_weight", asymmetric_weight},
    {"negative_weight", negative_weight},
    {"falling_start", falling_start},
    {"huge_start", huge_start},
    {"label_range", label_range},
    {"nan_feature", nan_feature},
    {"split_range", split_range},
    {"split_order", split_order},
    {"split_label", split_label},
    {"split_twice", split_twice},
    {"split_gap", split_gap},
    {"split_name_wrong", split_name_wrong},
    {"split_untrained", split_untrained},
    {"graph_arc", graph_arc},
    {"graph_split", graph_split},
};

static int write_attributes(struct h5 *h5, const struct sample *s) {
  TRY(h5_write_text(h5, "format", "gnntrain-dataset"));
  TRY(h5_write_text(h5, "name", "ring"));
  TRY(h5_write_text(h5, "task", "multiclass"));
  TRY(h5_write_int(h5, "version", s->version));
  TRY(h5_write_int(h5, "num_nodes", NODES));
  TRY(h5_write_int(h5, "num_edges", s->num_edges));
  TRY(h5_write_int(h5, "num_features", FEATURES));
  TRY(h5_write_int(h5, "num_classes", CLASSES));
  TRY(h5_write_int(h5, "directed", s->directed));
  return OK;
}

static int write_split(struct h5 *h5, const struct sample *s, const char *folder, int64_t train) {
  char name[64];
  snprintf(name, sizeof name, "%s/train", folder);
  TRY(h5_write_all(h5, name, H5_INT64, train, 0, s->train));
  snprintf(name, sizeof name, "%s/val", folder);
  TRY(h5_write_all(h5, name, H5_INT64, VAL, 0, s->val));
  snprintf(name, sizeof name, "%s/test", folder);
  return h5_write_all(h5, name, H5_INT64, TEST, 0, s->test);
}

static int write_arrays(struct h5 *h5, const struct sample *s) {
  static const int64_t half[] = {0, NODES / 2, NODES};
  TRY(h5_write_all(h5, "/graph/indptr", H5_INT64, NODES + 1, 0, s->start));
  TRY(h5_write_all(h5, "/graph/indices", H5_INT32, EDGES, 0, s->col));
  TRY(h5_write_all(h5, "/graph/weights", H5_FLOAT, EDGES, 0, s->weight));
  if (s->halves) TRY(h5_write_all(h5, "/graphs/indptr", H5_INT64, 3, 0, half));
  TRY(h5_write_all(h5, "/node/features", H5_FLOAT, s->feature_rows, FEATURES, s->feature));
  TRY(h5_write_all(h5, "/node/labels", H5_INT32, NODES, 0, s->label));
  TRY(write_split(h5, s, s->untrained ? "/split/0" : "/split", TRAIN));
  if (s->untrained) TRY(write_split(h5, s, "/split/1", 0));
  if (s->more_split) TRY(h5_write_all(h5, s->more_split, H5_INT64, TRAIN, 0, s->train));
  return OK;
}

static int write_sample(const struct sample *s, const char *path) {
  struct h5 h5 = {0};
  int code = h5_create(&h5, path);
  if (code == OK) code = write_attributes(&h5, s);
  if (code == OK) code = write_arrays(&h5, s);
  if (code == OK) code = h5_commit(&h5);
  h5_close(&h5);
  return code;
}

static int make(const char *kind, const char *path) {
  struct sample sample;
  make_sound(&sample);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(kinds[i].kind, kind) != 0) continue;
    kinds[i].damage(&sample);
    return write_sample(&sample, path);
  }
  FAIL(BAD_INPUT, "unknown kind \"%s\"", kind);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: break_dataset KIND FILE.h5\n");
    return BAD_INPUT;
  }
  int code = make(argv[1], argv[2]);
  error_print(stderr, "break_dataset");
  return code;
}
