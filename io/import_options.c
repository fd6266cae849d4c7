#include "io/import_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/import_split.h"
#include "runtime/error.h"

int import_has_prefix(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

int import_has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path), tail = strlen(suffix);
  return length >= tail && strcmp(path + length - tail, suffix) == 0;
}

int import_parse_count(const char *option, const char *text, int64_t low, int64_t high, int64_t *value) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno || number < low || number > high)
    FAIL(BAD_INPUT, "%s: expected a whole number from %lld to %lld, found \"%s\"", option, (long long)low,
         (long long)high, text);
  *value = number;
  return OK;
}

int import_check_options(const struct import_options *options) {
  int64_t count;
  const char *features = options->features, *labels = options->labels;
  if (features && import_has_prefix(features, "random:"))
    TRY(import_parse_count("--features random:", features + 7, 1, IMPORT_COLUMNS, &count));
  if (labels && import_has_prefix(labels, "random:"))
    TRY(import_parse_count("--labels random:", labels + 7, 1, DATASET_CLASSES, &count));
  struct split_rule rule;
  if (options->split) TRY(split_rule_parse(&rule, options->split));
  if (options->splits != 1 && (!options->split || rule.kind == SPLIT_FILE))
    FAIL(BAD_INPUT, "--splits goes with --split random:... or per-class:... only");
  if (options->nodes && strcmp(options->format, "edgelist") != 0 &&
      strcmp(options->format, "hypergraph") != 0)
    FAIL(BAD_INPUT,
         "--nodes goes with edgelist and hypergraph only; the other formats say how many nodes there are");
  return OK;
}
