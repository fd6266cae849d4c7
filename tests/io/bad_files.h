/* For tests that feed readers bad files: a dataset is read as programs do, in a child of its own, and written
 * as other programs write it (old metadata without checksums, variable-length strings). */
#ifndef TESTS_IO_BAD_FILES_H
#define TESTS_IO_BAD_FILES_H

#include "tests/check.h"

#include <hdf5.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "runtime/base/memory.h"
#include "tests/io/tiny.h"

enum { SECONDS = 90, MEMORY_KIB = 1 << 20 };

static char path[300]; /* of the file at hand */

/* As programs read: sizes come from the file. */
static int read_nodes(struct dataset *d, int64_t *start, int32_t *narrow, float *value) {
  if (d->sparse) {
    TRY(dataset_read_starts(d, FEATURE_ROWS, 0, d->nodes, start));
    TRY(dataset_read_entries(d, FEATURE_ROWS, 0, d->rows[FEATURE_ROWS].entries, narrow, value));
  } else if (d->has_features) {
    TRY(dataset_read_features(d, 0, d->nodes, value));
  }
  if (d->task == TASK_MULTICLASS) TRY(dataset_read_label(d, 0, d->nodes, narrow));
  if (d->task == TASK_MULTILABEL) TRY(dataset_read_labels(d, 0, d->nodes, (uint8_t *)narrow));
  for (int64_t s = 0; s < d->splits; s++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      int64_t *node, count;
      TRY(dataset_read_split(d, s, (enum split)p, &node, &count));
      free(node);
    }
  }
  return OK;
}

static int read_all(struct dataset *d) {
  int64_t *start = NULL, *wide = NULL;
  int32_t *narrow = NULL;
  float *value = NULL;
  char **text = NULL;
  int64_t most = d->nodes + 1 + d->edges + d->rows[FEATURE_ROWS].entries +
                 (d->sparse ? 0 : d->nodes * d->features) +
                 (d->task == TASK_MULTILABEL ? d->nodes * d->classes : 0);
  TRY(memory_alloc(&start, (d->nodes + 1) * 8, "test"));
  TRY(memory_alloc(&wide, most * 8, "test"));
  TRY(memory_alloc(&narrow, most * 4, "test"));
  TRY(memory_alloc(&value, most * 4, "test"));
  TRY(memory_alloc(&text, d->nodes * 8, "test"));
  if (d->has_graph) TRY(dataset_read_starts(d, GRAPH_ROWS, 0, d->nodes, start));
  if (d->has_graph) TRY(dataset_read_entries(d, GRAPH_ROWS, 0, d->edges, narrow, d->weighted ? value : NULL));
  TRY(read_nodes(d, start, narrow, value));
  char **name;
  TRY(dataset_read_class_names(d, &name));
  h5_free_names(name, d->classes);
  if (d->ids == 1) TRY(dataset_read_ids(d, 0, d->nodes, wide));
  if (d->ids == 2) TRY(dataset_read_id_strings(d, 0, d->nodes, text));
  return OK;
}

static void hear(const char *violation, void *context) {
  (void)violation, (void)context;
}

static int use_dataset(const char *file) {
  struct dataset d = {0};
  int64_t violations = 0;
  TRY(h5_probe(file));
  int code = dataset_open(&d, file);
  int opened = code == OK;
  if (opened) code = read_all(&d);
  int checked = opened ? dataset_check(&d, hear, NULL, &violations) : OK;
  dataset_close(&d);
  return code != OK ? code : violations > 0 ? BAD_INPUT : checked;
}

/* Reads the file in a child. Returns its code; a crash, a hang or much memory fails the test. */
static int survive(int (*use)(const char *file), const char *what) {
  struct rusage usage;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    alarm(SECONDS);
    _exit(use(path));
  }
  assert_int_equal(wait4(pid, &status, 0, &usage), pid);
  if (!WIFEXITED(status)) fail_msg("%s: killed by signal %d", what, WTERMSIG(status));
  int code = WEXITSTATUS(status);
  if (code != OK && code != BAD_INPUT && code != FAILED) fail_msg("%s: code %d", what, code);
  if (usage.ru_maxrss > MEMORY_KIB) fail_msg("%s: took %ld KiB", what, usage.ru_maxrss);
  return code;
}

static void foreign_attr(hid_t file, const char *name, hid_t type, const void *value) {
  hid_t space = H5Screate(H5S_SCALAR), id = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(id, type, value) >= 0);
  H5Aclose(id);
  H5Sclose(space);
}

static void foreign_set(hid_t file, const char *name, hid_t type, int dims, const hsize_t *dim, hsize_t chunk,
                        const void *data) {
  hid_t links = H5Pcreate(H5P_LINK_CREATE), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  hsize_t chunks[3] = {chunk, dims > 1 ? dim[1] : 1, dims > 2 ? dim[2] : 1};
  if (chunk) H5Pset_chunk(creation, dims, chunks);
  if (chunk) H5Pset_deflate(creation, 1);
  hid_t space = H5Screate_simple(dims, dim, NULL);
  hid_t id = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
  assert_true(id >= 0);
  if (data) assert_true(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(id);
  H5Sclose(space);
  H5Pclose(creation);
  H5Pclose(links);
}

static void foreign_attrs(hid_t file, hid_t string, int64_t nodes, int64_t edges) {
  const char *format = "gnntrain-dataset", *task = "multiclass", *name = "foreign";
  int64_t version = 1, features = 2, directed = 0;
  int32_t classes = TINY_CLASSES;
  foreign_attr(file, "format", string, &format);
  foreign_attr(file, "task", string, &task);
  foreign_attr(file, "name", string, &name);
  foreign_attr(file, "version", H5T_NATIVE_INT64, &version);
  foreign_attr(file, "num_nodes", H5T_NATIVE_INT64, &nodes);
  foreign_attr(file, "num_edges", H5T_NATIVE_INT64, &edges);
  foreign_attr(file, "num_features", H5T_NATIVE_INT64, &features);
  foreign_attr(file, "num_classes", H5T_NATIVE_INT32, &classes);
  foreign_attr(file, "directed", H5T_NATIVE_INT64, &directed);
}

static void write_foreign(hsize_t chunk) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  double feature[TINY_NODES][2] = {{1, 2}};
  const char *id[TINY_NODES];
  for (int v = 0; v < TINY_NODES; v++) id[v] = v % 2 ? "odd" : "an even node";
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), string = H5Tcopy(H5T_C_S1);
  assert_true(file >= 0);
  H5Tset_size(string, H5T_VARIABLE);
  foreign_attrs(file, string, TINY_NODES, TINY_EDGES);
  foreign_set(file, "/graph/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES + 1}, chunk, s.start);
  foreign_set(file, "/graph/indices", H5T_NATIVE_INT32, 1, (hsize_t[]){TINY_EDGES}, chunk, s.col);
  foreign_set(file, "/node/features", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){TINY_NODES, 2}, chunk, feature);
  foreign_set(file, "/node/labels", H5T_NATIVE_INT32, 1, (hsize_t[]){TINY_NODES}, chunk, s.label);
  foreign_set(file, "/node/id", string, 1, (hsize_t[]){TINY_NODES}, 0, id);
  foreign_set(file, "/split/train", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, chunk, s.split[0].node[0]);
  foreign_set(file, "/split/val", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, 0, s.split[0].node[1]);
  foreign_set(file, "/split/test", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, 0, s.split[0].node[2]);
  H5Tclose(string);
  H5Fclose(file);
  dataset_source_free(&s);
}

#endif
