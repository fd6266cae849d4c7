#include "io/dataset_path.h"

#include "io/synth/synth_dataset.h"
#include "runtime/base/base.h"

int dataset_path_is_made(const char *path) {
  return synth_dataset_is(path);
}

int dataset_path_probe(const char *path) {
  return dataset_path_is_made(path) ? OK : h5_probe(path);
}

int dataset_path_open(struct dataset *dataset, const char *path) {
  return (dataset_path_is_made(path) ? synth_dataset_open : dataset_open)(dataset, path);
}

int dataset_path_open_whole(struct dataset *dataset, const char *path) {
  TRY(dataset_path_probe(path));
  TRY(dataset_path_open(dataset, path));
  const enum rows_kind kind = dataset->has_graph ? GRAPH_ROWS : HYPER_ROWS;
  return dataset_hold_rows(dataset, kind, 0, dataset->rows[kind].rows);
}
