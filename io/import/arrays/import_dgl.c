/* Reddit as DGL publishes it (Hamilton et al. 2017): reddit_data.npz with feature, label and node_types (1:
 * train, 2: val, 3: test), and the adjacency as scipy saved it, with self loops in
 * reddit_self_loop_graph.npz.
 */
#include <unistd.h>

#include "io/import/import.h"
#include "io/import/import_arrays.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/import_split.h"
#include "runtime/base/base.h"

enum { PATH = 1024 };

static int read_graph(struct import *import) {
  const char *folder = import->options->input;
  char path[PATH];
  snprintf(path, sizeof path, "%s/reddit_graph.npz", folder);
  if (access(path, F_OK) != 0) snprintf(path, sizeof path, "%s/reddit_self_loop_graph.npz", folder);
  if (access(path, F_OK) != 0)
    FAIL(BAD_INPUT, "%s: holds neither reddit_graph.npz nor reddit_self_loop_graph.npz", folder);
  ENDED_BY(npz_close) struct npz npz = {0};
  TRY(npz_open(&npz, path));
  return import_scipy(import, &npz);
}

static int put_types(const struct npy *types, uint8_t *part, int64_t nodes) {
  for (int64_t v = 0; v < nodes; v++) {
    int64_t type;
    TRY(npy_int64(types, v, 1, &type));
    if (type < 0 || type > SPLIT_COUNT)
      FAIL(BAD_INPUT, "%s: node %lld has type %lld; allowed: 0 (none), 1 (train), 2 (val), 3 (test)",
           types->name, (long long)v, (long long)type);
    part[v] = (uint8_t)(type == 0 ? NO_PART : type - 1);
  }
  return OK;
}

static int take_types(struct import *import, const struct npy *types) {
  struct dataset_source *source = &import->source;
  int64_t nodes = import->edges.nodes;
  FREED uint8_t *part = NULL;
  if (types->dims != 1 || types->count != nodes)
    FAIL(BAD_INPUT, "%s: has %lld elements, expected one for each of %lld nodes", types->name,
         (long long)types->count, (long long)nodes);
  TRY(splits_new(source, 1));
  TRY(memory_alloc(&part, nodes, "the parts of a split"));
  TRY(put_types(types, part, nodes));
  return splits_list(source, 0, part, nodes);
}

int import_dgl(struct import *import) {
  char path[PATH];
  ENDED_BY(npz_close) struct npz npz = {0};
  if (snprintf(path, sizeof path, "%s/reddit_data.npz", import->options->input) > PATH - 32)
    FAIL(BAD_INPUT, "the path \"%.60s...\" is longer than %d bytes", import->options->input, PATH - 32);
  TRY(read_graph(import));
  TRY(npz_open(&npz, path));
  TRY(import_array(import, &npz, "feature", import_feature_array));
  TRY(import_array(import, &npz, "label", import_label_array));
  return import_array(import, &npz, "node_types", take_types);
}
