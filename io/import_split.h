/* import_split: splits of the nodes, by a rule or from files. A split is made from the part of each node, so
 * no node is in two parts and lists ascend. */
#ifndef IO_IMPORT_SPLIT_H
#define IO_IMPORT_SPLIT_H

#include <stdint.h>

#include "io/dataset.h"

struct split_rule {
  enum { SPLIT_FILE, SPLIT_RANDOM, SPLIT_PER_CLASS } kind;
  double train, val; /* fractions, or nodes a class */
};

/* Errors: BAD_INPUT: numbers missing, out of range. */
int split_rule_parse(struct split_rule *rule, const char *text);

enum { NO_PART = SPLIT_COUNT }; /* a node in no part of a split */

/* Room for that many splits in place of those that are there. */
int splits_new(struct dataset_source *source, int64_t splits);
/* Split k from the part of each node: SPLIT_TRAIN, ..., or NO_PART. */
int splits_list(struct dataset_source *source, int64_t k, const uint8_t *part, int64_t nodes);

/* Notes that the node is in part p. `place` starts messages. Errors: BAD_INPUT: no such node, or it is in a
 * part already. */
int splits_put(uint8_t *part, int64_t nodes, int64_t node, int p, const char *place);

/* train_idx ... or train_masks ... of an archive; a word a node of a text file. */
int split_from_npz(struct dataset_source *source, const char *path);
int split_from_text(struct dataset_source *source, const char *path);

#endif
