/* The form of OGB's large sets: data.npz and node-label.npz. */
#include <unistd.h>

#include "io/import/arrays/ogb.h"
#include "io/import/import_arrays.h"
#include "runtime/base/error.h"

static int take_nodes(struct import *import, const struct npy *counts) {
  int64_t nodes;
  if (counts->count != 1)
    FAIL(BAD_INPUT, "%s: lists %lld graphs; sets of one graph are read", counts->name,
         (long long)counts->count);
  TRY(npy_int64(counts, 0, 1, &nodes));
  if (nodes < 1) FAIL(BAD_INPUT, "%s: the graph has %lld nodes", counts->name, (long long)nodes);
  import->edges.nodes = nodes;
  return OK;
}

static int take_pairs(struct import *import, const struct npy *pairs) {
  TRY(import_pairs(import, pairs, 0));
  return import_check_size(import->edges.nodes, import->edges.count, pairs->name);
}

static int read_data(struct import *import, const struct npz *npz) {
  TRY(import_array(import, npz, "num_nodes_list", take_nodes));
  TRY(import_array(import, npz, "edge_index", take_pairs));
  return npz_has(npz, "node_feat") ? import_array(import, npz, "node_feat", import_take_features) : OK;
}

int ogb_archives(struct import *import, const char *raw) {
  char path[OGB_PATH];
  struct npz npz;
  ogb_path(path, raw, "data.npz");
  int code = npz_open(&npz, path);
  if (code == OK) code = read_data(import, &npz);
  npz_close(&npz);
  TRY(code);
  ogb_path(path, raw, "node-label.npz");
  if (access(path, F_OK) != 0) return OK;
  code = npz_open(&npz, path);
  if (code == OK) code = import_array(import, &npz, "node_label", import_take_labels);
  npz_close(&npz);
  return code;
}
