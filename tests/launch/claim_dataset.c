/* claim_dataset NODES ARCS FEATURES FILE.h5: a dataset whose header is sound and claims so much, without any
 * of its data: what reads on finds zeros. The file has to be made longer before it is believed. */
#include <stdio.h>
#include <stdlib.h>

#include "io/file/h5.h"
#include "runtime/base/error.h"

struct claim {
  int64_t nodes, arcs, features;
};

static int write_attributes(struct h5 *h5, const struct claim *c) {
  TRY(h5_write_text(h5, "format", "gnntrain-dataset"));
  TRY(h5_write_text(h5, "name", "claims"));
  TRY(h5_write_text(h5, "task", "multiclass"));
  TRY(h5_write_int(h5, "version", 1));
  TRY(h5_write_int(h5, "num_nodes", c->nodes));
  TRY(h5_write_int(h5, "num_edges", c->arcs));
  TRY(h5_write_int(h5, "num_features", c->features));
  TRY(h5_write_int(h5, "num_classes", 4));
  return h5_write_int(h5, "directed", 0);
}

static int write_arrays(struct h5 *h5, const struct claim *c) {
  TRY(h5_new_dataset(h5, "/graph/indptr", H5_INT64, c->nodes + 1, 0));
  TRY(h5_new_dataset(h5, "/graph/indices", H5_INT32, c->arcs, 0));
  TRY(h5_new_dataset(h5, "/node/features", H5_FLOAT, c->nodes, c->features));
  TRY(h5_new_dataset(h5, "/node/labels", H5_INT32, c->nodes, 0));
  TRY(h5_new_dataset(h5, "/split/train", H5_INT64, 4, 0));
  TRY(h5_new_dataset(h5, "/split/val", H5_INT64, 4, 0));
  return h5_new_dataset(h5, "/split/test", H5_INT64, 4, 0);
}

static int write_claim(const struct claim *claim, const char *path) {
  struct h5 h5 = {0};
  int code = h5_create(&h5, path);
  if (code == OK) code = write_attributes(&h5, claim);
  if (code == OK) code = write_arrays(&h5, claim);
  if (code == OK) code = h5_commit(&h5);
  h5_close(&h5);
  return code;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: claim_dataset NODES ARCS FEATURES FILE.h5\n");
    return BAD_INPUT;
  }
  struct claim claim = {atoll(argv[1]), atoll(argv[2]), atoll(argv[3])};
  int code = write_claim(&claim, argv[4]);
  error_print(stderr, "claim_dataset");
  return code;
}
