#include <stdlib.h>

#include "io/import.h"
#include "io/import_options.h"
#include "io/npz_csr.h"
#include "runtime/error.h"

/* Whether edge values say something. */
static int has_values(const struct csr *m) {
  for (int64_t e = 0; e < m->nnz; e++) {
    if (m->weight[e] < 1.0F || m->weight[e] > 1.0F) return 1;
  }
  return 0;
}

static int add_matrix(struct import *import, const struct csr *m) {
  struct edges *edges = &import->edges;
  int64_t offset = m->rows == m->cols ? 0 : m->rows; /* columns of a rectangle follow the rows */
  edges->nodes = m->cols + offset;
  if (offset) edges->undirected = 1;
  /* Values that are all 1 count as values only when asked for: then they are there, and not stored. */
  import->valued = edges->weighted || has_values(m);
  TRY(edges_reserve(edges, m->nnz));
  for (int64_t v = 0; v < m->rows; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++)
      TRY(edges_add(edges, v, m->col[e] + offset, m->weight[e]));
  }
  return OK;
}

static int read_adjacency(struct import *import, const struct npz *npz, const char *prefix) {
  struct csr m;
  int code = npz_csr_read(npz, prefix, &m);
  if (code == OK) code = add_matrix(import, &m);
  csr_free(&m);
  return code;
}

static int read_labels(struct import *import, const struct npz *npz, const char *name, int64_t nodes) {
  if (!npz_has(npz, name)) return OK;
  struct npy array;
  int code = npz_read(npz, name, &array);
  if (code == OK) code = import_label_array(&import->source, &array, nodes);
  npy_free(&array);
  return code;
}

/* adj_*, attr_*, labels, train_idx ... (Shchur et al., "Pitfalls of graph neural network evaluation", 2018)
 */
static int read_benchmark(struct import *import, const struct npz *npz) {
  TRY(read_adjacency(import, npz, "adj_"));
  int64_t nodes = import->edges.nodes;
  if (npz_has(npz, "attr_indptr")) TRY(import_feature_csr(&import->source, npz, "attr_", nodes));
  TRY(read_labels(import, npz, "labels", nodes));
  return import_split_arrays(&import->source, npz, nodes);
}

/* Nodes are the rows of the first array that has one a node; 0 without any: the ids that occur. */
static int count_nodes(const struct npz *npz, int64_t *nodes) {
  static const struct {
    const char *name;
    int dim;
  } arrays[] = {{"node_features", 0}, {"node_labels", 0}, {"train_masks", 1}};
  *nodes = 0;
  for (int i = 0; i < 3 && *nodes == 0; i++) {
    if (!npz_has(npz, arrays[i].name)) continue;
    struct npy array;
    int code = npz_read(npz, arrays[i].name, &array);
    if (code == OK && array.dims > arrays[i].dim) *nodes = array.dim[arrays[i].dim];
    npy_free(&array);
    TRY(code);
  }
  return OK;
}

static int add_pairs(struct import *import, const struct npy *pairs) {
  if (pairs->dims != 2 || pairs->dim[1] != 2)
    FAIL(BAD_INPUT, "%s: expected pairs of node ids, [edges, 2]", pairs->name);
  TRY(edges_reserve(&import->edges, pairs->dim[0]));
  for (int64_t i = 0; i < pairs->dim[0]; i++) {
    int64_t pair[2];
    TRY(npy_int64(pairs, 2 * i, 2, pair));
    for (int k = 0; k < 2; k++) {
      if (pair[k] < 0 || (import->edges.nodes && pair[k] >= import->edges.nodes))
        FAIL(BAD_INPUT, "%s: edge %lld names node %lld, outside 0 .. %lld", pairs->name, (long long)i,
             (long long)pair[k], (long long)(import->edges.nodes ? import->edges.nodes - 1 : INT64_MAX));
    }
    TRY(edges_add(&import->edges, pair[0], pair[1], 1));
  }
  return OK;
}

static int read_pairs(struct import *import, const struct npz *npz) {
  struct npy pairs;
  int code = npz_read(npz, "edges", &pairs);
  if (code == OK) code = add_pairs(import, &pairs);
  npy_free(&pairs);
  return code;
}

static int read_dense_features(struct import *import, const struct npz *npz, int64_t nodes) {
  if (!npz_has(npz, "node_features")) return OK;
  struct npy array;
  int code = npz_read(npz, "node_features", &array);
  if (code == OK) code = import_feature_array(&import->source, &array, nodes);
  npy_free(&array);
  return code;
}

/* edges, node_features, node_labels, train_masks ... (Platonov et al., "A critical look at the evaluation of
 * GNNs under heterophily", 2023) */
static int read_heterophilous(struct import *import, const struct npz *npz) {
  int64_t nodes;
  TRY(count_nodes(npz, &nodes));
  import->edges.nodes = nodes;
  TRY(read_pairs(import, npz));
  TRY(read_dense_features(import, npz, nodes));
  TRY(read_labels(import, npz, "node_labels", nodes));
  return nodes ? import_split_arrays(&import->source, npz, nodes) : OK;
}

/* scipy.sparse.save_npz */
static int read_scipy(struct import *import, const struct npz *npz) {
  if (npz_has(npz, "format")) {
    struct npy format;
    char text[8] = "";
    int code = npz_read(npz, "format", &format);
    if (code == OK) code = npy_text(&format, 0, text, sizeof text);
    npy_free(&format);
    TRY(code);
    if (text[0] != 'c' || text[1] != 's' || text[2] != 'r')
      FAIL(BAD_INPUT, "%s: a scipy matrix of format \"%s\"; save it as csr", npz->path, text);
  }
  return read_adjacency(import, npz, "");
}

static const struct {
  const char *member;
  int (*read)(struct import *import, const struct npz *npz);
} schemas[] = {{"adj_indptr", read_benchmark}, {"edges", read_heterophilous}, {"indptr", read_scipy}};

static int read_schema(struct import *import, const struct npz *npz) {
  for (int i = 0; i < 3; i++) {
    if (npz_has(npz, schemas[i].member)) return schemas[i].read(import, npz);
  }
  FAIL(BAD_INPUT,
       "%s: not a graph archive: neither adj_indptr (gnn-benchmark) nor edges (heterophilous) nor indptr "
       "(scipy CSR) is in it",
       npz->path);
}

int import_npz(struct import *import) {
  struct npz npz;
  int code = npz_open(&npz, import->options->input);
  if (code == OK) code = read_schema(import, &npz);
  npz_close(&npz);
  return code;
}
