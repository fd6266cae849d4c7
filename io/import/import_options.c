#include "io/import/import_options.h"

#include "io/import/import_features.h"
#include "io/import/import_split.h"
#include "io/import/option.h"
#include "runtime/base/base.h"

int import_check_options(const struct import_options *options) {
  int64_t count;
  const char *features = options->features, *labels = options->labels;
  if (features && option_has_prefix(features, "random:"))
    TRY(option_count("--features random:", features + 7, 1, IMPORT_COLUMNS, &count));
  if (labels && option_has_prefix(labels, "random:"))
    TRY(option_count("--labels random:", labels + 7, 1, DATASET_CLASSES, &count));
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
