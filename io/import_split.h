/* import_split: the rule that --split gives. */
#ifndef IO_IMPORT_SPLIT_H
#define IO_IMPORT_SPLIT_H

#include <stdint.h>

struct split_rule {
  enum { SPLIT_FILE, SPLIT_RANDOM, SPLIT_PER_CLASS } kind;
  double train, val; /* fractions, or nodes a class */
};

/* Errors: BAD_INPUT: numbers missing, out of range. */
int split_rule_parse(struct split_rule *rule, const char *text);

#endif
