#include "io/import/import.h"

#include "runtime/base/error.h"

int import_check_size(int64_t nodes, int64_t entries, const char *what) {
  if (nodes > INT32_MAX) FAIL(BAD_INPUT, "%s: %lld; at most %d", what, (long long)nodes, INT32_MAX);
  if (nodes > 64 * entries + (1 << 20))
    FAIL(BAD_INPUT, "%s: %lld is out of proportion to the %lld entries of the file", what, (long long)nodes,
         (long long)entries);
  return OK;
}

void import_free(struct import *import) {
  edges_free(&import->edges);
  dataset_source_free(&import->source);
  *import = (struct import){0};
}
