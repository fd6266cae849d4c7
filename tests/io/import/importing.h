/* What the tests of import share: reading a made file with options, and comparing the result. */
#ifndef TESTS_IO_IMPORT_IMPORTING_H
#define TESTS_IO_IMPORT_IMPORTING_H

#include "io/import/import_read.h"
#include "tests/io/synthetic_files.h"

static inline struct import_options options_of(const char *format, const char *input) {
  return (struct import_options){.format = format, .input = input, .output = "out.h5", .splits = 1};
}

/* Row by row "sources" with blanks, rows ended by '|': "1 2||0|" for three nodes. */
static inline void assert_graph(const struct dataset_source *source, const char *rows) {
  char text[512] = "";
  size_t used = 0;
  for (int64_t v = 0; v < source->nodes; v++) {
    for (int64_t e = source->start[v]; e < source->start[v + 1]; e++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", e > source->start[v] ? " " : "",
                               source->col[e]);
    used += (size_t)snprintf(text + used, sizeof text - used, "|");
  }
  assert_string_equal(text, rows);
}

/* "0 2|1|" for two hyperedges. */
static inline void assert_hyperedges(const struct dataset_source *source, int64_t nodes, const char *rows) {
  char text[256] = "";
  size_t used = 0;
  assert_int_equal(source->nodes, nodes);
  for (int64_t e = 0; e < source->hyper.edges; e++) {
    for (int64_t i = source->hyper.start[e]; i < source->hyper.start[e + 1]; i++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i > source->hyper.start[e] ? " " : "",
                               source->hyper.vertex[i]);
    used += (size_t)snprintf(text + used, sizeof text - used, "|");
  }
  assert_string_equal(text, rows);
}

/* The features of a node: "0.5 1". */
static inline void assert_row(const struct dataset_source *source, int64_t node, const char *expected) {
  char text[128] = "";
  size_t used = 0;
  for (int64_t j = 0; j < source->features; j++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%g", j ? " " : "",
                             (double)source->feature[node * source->features + j]);
  assert_string_equal(text, expected);
}

/* The labels of all nodes: "0 -1 1". */
static inline void assert_all_labels(const struct dataset_source *source, const char *expected) {
  char text[128] = "";
  size_t used = 0;
  for (int64_t v = 0; v < source->nodes; v++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", v ? " " : "", source->label[v]);
  assert_string_equal(text, expected);
}

static inline int import_code(const struct import_options *options) {
  struct import import;
  int code = import_read(&import, options);
  import_free(&import);
  return code;
}

#endif
