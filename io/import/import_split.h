/* import_split: splits of the nodes, by a rule or from files. Random choices come from Philox streams keyed
 * by the seed and indexed by node. */
#ifndef IO_IMPORT_IMPORT_SPLIT_H
#define IO_IMPORT_IMPORT_SPLIT_H

#include "io/import/import.h"

struct split_rule {
  enum { SPLIT_FILE, SPLIT_RANDOM, SPLIT_PER_CLASS } kind;
  double train, val; /* fractions, or nodes a class */
};

/* Errors: BAD_INPUT: numbers missing, out of range. */
int split_rule_parse(struct split_rule *rule, const char *text);

/* Applies the option to import->source, whose nodes and labels are known, and takes nodes with label -1 out
 * of all splits, whoever made them. */
int import_split(struct import *import);

#endif
