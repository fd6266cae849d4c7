/* numpy's arrays, archives of them, and the folders that hold such archives or tables of text. */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "io/file/npy.h"
#include "io/import/import_read.h"
#include "runtime/base/error.h"
#include "tests/fuzz/target.h"

static void read_elements(const struct npy *npy) {
  char text[24];
  for (int64_t i = 0; i < npy->count && i < 4096; i++) {
    int64_t integer;
    float real;
    fuzz_check_code(npy_int64(npy, i, 1, &integer));
    fuzz_check_code(npy_float(npy, i, 1, &real));
    fuzz_check_code(npy_text(npy, i, text, sizeof text));
    if (npy->kind != NPY_TEXT) npy_is_nan(npy, i);
  }
}

void fuzz_npy(const uint8_t *data, size_t size) {
  struct npy npy;
  int code = npy_read(&npy, fuzz_file("array.npy", data, size));
  if (code == OK) read_elements(&npy);
  npy_free(&npy);
  fuzz_check_code(code);
}

static void feed_format(const char *format, const char *input) {
  struct import_options options = {.format = format, .input = input, .output = "out.h5", .splits = 1};
  fuzz_import(&options);
  options.undirected = options.weights = 1;
  fuzz_import(&options);
}

void fuzz_npz(const uint8_t *data, size_t size) {
  feed_format("npz", fuzz_file("graph.npz", data, size));
}

/* A member of the archive: its name up to the first line's end, then its bytes. */
static void add_member(zip_t *zip, const struct fuzz_part *part) {
  char name[64];
  const uint8_t *end = part->size ? memchr(part->data, '\n', part->size) : NULL;
  size_t length = end ? (size_t)(end - part->data) : part->size;
  if (length == 0 || length > 40 || memchr(part->data, '\0', length)) return;
  size_t begin = end ? length + 1 : length;
  memcpy(name, part->data, length);
  memcpy(name + length, ".npy", 5);
  zip_source_t *source = zip_source_buffer(zip, part->data + begin, part->size - begin, 0);
  zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_OVERWRITE);
  if (index < 0)
    zip_source_free(source);
  else
    zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0);
}

const char *fuzz_archive(const char *name, const struct fuzz_part *part, int parts) {
  const char *path = fuzz_path(name);
  fuzz_remove(name);
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  if (!zip) abort();
  for (int i = 0; i < parts; i++) add_member(zip, &part[i]);
  if (zip_close(zip) != 0) zip_discard(zip);
  return path;
}

/* Of the parts, those behind a line that names no array ("-") go to a second archive. */
static int split_archives(const struct fuzz_part *part, int parts) {
  int first = 0;
  while (first < parts && !(part[first].size > 0 && part[first].data[0] == '-')) first++;
  return first;
}

enum { PARTS = 12 };

void fuzz_arrays(const uint8_t *data, size_t size) {
  struct fuzz_part part[PARTS];
  int parts = fuzz_parts(data, size, part, PARTS);
  feed_format("npz", fuzz_archive("graph.npz", part, parts));
}

/* Features and a split as archives of their own, labels as an array, for five nodes. */
void fuzz_beside(const uint8_t *data, size_t size) {
  struct fuzz_part part[PARTS];
  int parts = fuzz_parts(data, size, part, PARTS);
  struct import_options options = {.format = "edgelist", .output = "out.h5", .splits = 1};
  options.input = fuzz_file("arcs", "0 1\n1 2\n2 3\n3 4\n", 16);
  options.features = fuzz_archive("beside.npz", part, parts);
  fuzz_import(&options);
  options.features = NULL;
  options.split = fuzz_path("beside.npz");
  fuzz_import(&options);
  options.split = NULL;
  options.labels = fuzz_file("labels.npy", data, size);
  fuzz_import(&options);
  options.features = options.labels;
  options.labels = NULL;
  fuzz_import(&options);
  options.format = "hypergraph";
  fuzz_import(&options);
  options.features = fuzz_path("beside.npz");
  fuzz_import(&options);
}

/* A file for each part; the folder has none for those that are missing. */
void fuzz_ogb(const uint8_t *data, size_t size) {
  static const char *const name[] = {"ogb/raw/num-node-list.csv", "ogb/raw/num-edge-list.csv",
                                     "ogb/raw/edge.csv",          "ogb/raw/node-feat.csv",
                                     "ogb/raw/node-label.csv",    "ogb/split/one/train.csv",
                                     "ogb/split/one/valid.csv",   "ogb/split/one/test.csv"};
  enum { FILES = sizeof name / sizeof name[0] };
  struct fuzz_part part[FILES];
  int parts = fuzz_parts(data, size, part, FILES);
  static const char *const folder[] = {"ogb", "ogb/raw", "ogb/split", "ogb/split/one"};
  for (int i = 0; i < 4; i++) fuzz_folder(folder[i]);
  for (int i = 0; i < FILES; i++) {
    if (i < parts)
      fuzz_file(name[i], part[i].data, part[i].size);
    else
      fuzz_remove(name[i]);
  }
  feed_format("ogb", fuzz_path("ogb"));
}

void fuzz_ogb_arrays(const uint8_t *data, size_t size) {
  struct fuzz_part part[PARTS];
  int parts = fuzz_parts(data, size, part, PARTS), second = split_archives(part, parts);
  fuzz_folder("ogbn");
  fuzz_folder("ogbn/raw");
  fuzz_archive("ogbn/raw/data.npz", part, second);
  fuzz_archive("ogbn/raw/node-label.npz", part + second, parts - second);
  feed_format("ogb", fuzz_path("ogbn"));
}

void fuzz_dgl(const uint8_t *data, size_t size) {
  struct fuzz_part part[PARTS];
  int parts = fuzz_parts(data, size, part, PARTS), second = split_archives(part, parts);
  fuzz_folder("dgl");
  fuzz_archive("dgl/reddit_graph.npz", part, second);
  fuzz_archive("dgl/reddit_data.npz", part + second, parts - second);
  feed_format("dgl", fuzz_path("dgl"));
}
