#include "io/import/import.h"
#include "io/import/import_arrays.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/import_split.h"
#include "runtime/base/base.h"

/* adj_*, attr_*, labels, train_idx ... (Shchur et al., "Pitfalls of graph neural network evaluation", 2018)
 */
static int read_benchmark(struct import *import, const struct npz *npz) {
  TRY(import_csr(import, npz, "adj_"));
  int64_t nodes = import->edges.nodes;
  if (npz_has(npz, "attr_indptr"))
    TRY(import_feature_csr(&import->source, npz, "attr_", nodes));
  else if (npz_has(npz, "attr_matrix"))
    TRY(import_array(import, npz, "attr_matrix", import_feature_array));
  if (npz_has(npz, "labels")) TRY(import_array(import, npz, "labels", import_label_array));
  return import_split_arrays(&import->source, npz, nodes);
}

/* Nodes are the rows of the first array that has one a node; 0 without any: the ids that occur. */
static int count_nodes(const struct npz *npz, int64_t *nodes) {
  static const struct {
    const char *name;
    int dim;
  } arrays[] = {{"node_features", 0}, {"node_labels", 0}, {"train_masks", 1}, {"train_mask", 0}};
  *nodes = 0;
  for (int i = 0; i < 4 && *nodes == 0; i++) {
    if (!npz_has(npz, arrays[i].name)) continue;
    ENDED_BY(npy_free) struct npy array = {0};
    TRY(npz_read(npz, arrays[i].name, &array));
    if (array.dims > arrays[i].dim) *nodes = array.dim[arrays[i].dim];
  }
  return OK;
}

static int take_pairs(struct import *import, const struct npy *pairs) {
  return import_pairs(import, pairs, 1);
}

/* edges, node_features, node_labels, train_masks ... (Platonov et al., "A critical look at the evaluation of
 * GNNs under heterophily", 2023) */
static int read_heterophilous(struct import *import, const struct npz *npz) {
  int64_t nodes;
  TRY(count_nodes(npz, &nodes));
  import->edges.nodes = nodes;
  TRY(import_array(import, npz, "edges", take_pairs));
  char what[sizeof npz->path + 16];
  snprintf(what, sizeof what, "%s: nodes", npz->path);
  TRY(import_check_size(nodes, import->edges.list.count, what));
  if (npz_has(npz, "node_features")) TRY(import_array(import, npz, "node_features", import_feature_array));
  if (npz_has(npz, "node_labels")) TRY(import_array(import, npz, "node_labels", import_label_array));
  return nodes ? import_split_arrays(&import->source, npz, nodes) : OK;
}

static const struct {
  const char *member;
  int (*read)(struct import *import, const struct npz *npz);
} schemas[] = {{"adj_indptr", read_benchmark},
               {"edges", read_heterophilous},
               {"indptr", import_scipy},
               {"row", import_scipy}};
enum { SCHEMAS = sizeof schemas / sizeof schemas[0] };

static int read_schema(struct import *import, const struct npz *npz) {
  for (int i = 0; i < SCHEMAS; i++) {
    if (npz_has(npz, schemas[i].member)) return schemas[i].read(import, npz);
  }
  FAIL(BAD_INPUT,
       "%s: not a graph archive: neither adj_indptr (gnn-benchmark) nor edges (heterophilous) nor indptr or "
       "row (scipy CSR, COO) is in it",
       npz->path);
}

int import_npz(struct import *import) {
  ENDED_BY(npz_close) struct npz npz = {0};
  char left[200] = "";
  TRY(npz_open(&npz, import->options->input));
  TRY(read_schema(import, &npz));
  npz_unread(&npz, left, sizeof left);
  if (left[0]) log_info("%s: not used: %s", npz.path, left);
  return OK;
}
