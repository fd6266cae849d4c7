#include "io/import/import.h"

#include "runtime/base/base.h"

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
  texts_free(&import->ids);
  texts_free(&import->labels);
  *import = (struct import){0};
}

int option_has_prefix(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

int option_has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path), tail = strlen(suffix);
  return length >= tail && strcmp(path + length - tail, suffix) == 0;
}

int option_count(const char *option, const char *text, int64_t low, int64_t high, int64_t *value) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno || number < low || number > high)
    FAIL(BAD_INPUT, "%s: expected a whole number from %lld to %lld, found \"%s\"", option, (long long)low,
         (long long)high, text);
  *value = number;
  return OK;
}
