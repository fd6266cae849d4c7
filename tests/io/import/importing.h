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

static inline int import_code(const struct import_options *options) {
  struct import import;
  int code = import_read(&import, options);
  import_free(&import);
  return code;
}

#endif
