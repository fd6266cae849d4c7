#include "io/import/option.h"

#include "runtime/base/base.h"

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
