/* make_sparse FILE.h5: a small directed graph with several labels a node, sparse features and two splits. */
#include <stdio.h>

#include "io/file/h5.h"
#include "runtime/base/error.h"

enum { NODES = 48, DEGREE = 3, EDGES = NODES * DEGREE, FEATURES = 20, CLASSES = 3, PER_ROW = 2 };

struct sample {
  int64_t start[NODES + 1], feature_start[NODES + 1];
  int32_t col[EDGES], feature_col[NODES * PER_ROW];
  float feature[NODES * PER_ROW];
  uint8_t label[NODES * CLASSES];
  int64_t split[3][NODES], id[NODES];
};

static void fill(struct sample *s) {
  for (int v = 0; v < NODES; v++) {
    s->start[v + 1] = (v + 1) * DEGREE;
    s->feature_start[v + 1] = (v + 1) * PER_ROW;
    s->id[v] = 1000 + v;
    for (int i = 0; i < DEGREE; i++) s->col[v * DEGREE + i] = (v % 5) + 11 * i;
    for (int i = 0; i < PER_ROW; i++) {
      s->feature_col[v * PER_ROW + i] = v % 9 + 10 * i;
      s->feature[v * PER_ROW + i] = (float)(v % 4 + 1) / 4;
    }
    for (int c = 0; c < CLASSES; c++) s->label[v * CLASSES + c] = (v >> c) & 1;
    s->split[v % 3][v / 3] = v;
  }
}

static int write_attributes(struct h5 *h5) {
  TRY(h5_write_text(h5, "format", "gnntrain-dataset"));
  TRY(h5_write_text(h5, "name", "sparse"));
  TRY(h5_write_text(h5, "task", "multilabel"));
  TRY(h5_write_int(h5, "version", 1));
  TRY(h5_write_int(h5, "num_nodes", NODES));
  TRY(h5_write_int(h5, "num_edges", EDGES));
  TRY(h5_write_int(h5, "num_features", FEATURES));
  TRY(h5_write_int(h5, "num_classes", CLASSES));
  return h5_write_int(h5, "directed", 1);
}

static int write_splits(struct h5 *h5, const struct sample *s) {
  static const char *const part[] = {"train", "val", "test"};
  char name[64];
  for (int k = 0; k < 2; k++) {
    for (int p = 0; p < 3; p++) {
      snprintf(name, sizeof name, "/split/%d/%s", k, part[p]);
      TRY(h5_write_all(h5, name, H5_INT64, NODES / 3, 0, s->split[(p + k) % 3]));
    }
  }
  return OK;
}

static int write_all(struct h5 *h5, const struct sample *s) {
  TRY(write_attributes(h5));
  TRY(h5_write_all(h5, "/graph/indptr", H5_INT64, NODES + 1, 0, s->start));
  TRY(h5_write_all(h5, "/graph/indices", H5_INT32, EDGES, 0, s->col));
  TRY(h5_write_all(h5, "/node/features/indptr", H5_INT64, NODES + 1, 0, s->feature_start));
  TRY(h5_write_all(h5, "/node/features/indices", H5_INT32, NODES * PER_ROW, 0, s->feature_col));
  TRY(h5_write_all(h5, "/node/features/data", H5_FLOAT, NODES * PER_ROW, 0, s->feature));
  TRY(h5_write_all(h5, "/node/labels", H5_UINT8, NODES, CLASSES, s->label));
  TRY(h5_write_all(h5, "/node/id", H5_INT64, NODES, 0, s->id));
  return write_splits(h5, s);
}

int main(int argc, char **argv) {
  static struct sample sample;
  struct h5 h5 = {0};
  if (argc != 2) return BAD_INPUT;
  fill(&sample);
  int code = h5_create(&h5, argv[1]);
  if (code == OK) code = write_all(&h5, &sample);
  if (code == OK) code = h5_commit(&h5);
  h5_close(&h5);
  error_print(stderr, "make_sparse");
  return code;
}
