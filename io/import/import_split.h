/* import_split: splits of the nodes, or of the graphs where there are many, by a rule or from files. Random
 * choices come from Philox streams keyed by the seed and indexed by node. */
#ifndef IO_IMPORT_IMPORT_SPLIT_H
#define IO_IMPORT_IMPORT_SPLIT_H

#include "io/file/npz.h"
#include "io/import/import.h"

struct split_rule {
  enum { SPLIT_FILE, SPLIT_RANDOM, SPLIT_PER_CLASS, SPLIT_FOLDS } kind;
  double train, val; /* fractions, or nodes a class */
  int64_t folds;     /* split k tests on fold k, validates on the next one and trains on all others */
};

/* Errors: BAD_INPUT: numbers missing, out of range. */
int split_rule_parse(struct split_rule *rule, const char *text);

/* Applies the option to import->source, whose nodes and labels are known, and takes nodes with label -1 out
 * of all splits, whoever made them. */
int import_split(struct import *import);

/* A split is made from the part of each node, so no node is in two parts and lists ascend. */
enum { NO_PART = SPLIT_COUNT }; /* a node in no part of a split */

/* Room for that many splits in place of those that are there. */
int splits_new(struct dataset_source *source, int64_t splits);
/* Split k from the part of each node, or of each graph: SPLIT_TRAIN, ..., or NO_PART. */
int splits_list(struct dataset_source *source, int64_t k, const uint8_t *part, int64_t nodes);

/* The part that a word of that length names, "none" among them; -1: it names none. */
int split_part_of(const char *word, size_t length);

/* Notes that the node is in part p. `place` starts messages. Errors: BAD_INPUT: no such node, or it is in a
 * part already. */
int splits_put(uint8_t *part, int64_t nodes, int64_t node, int p, const char *place);

/* Splits as train_idx, val_idx, test_idx, as train_mask ... [nodes] or as train_masks ... [S, nodes];
 * replaces what is there; nothing happens when the archive has none. */
int import_split_arrays(struct dataset_source *source, const struct npz *npz, int64_t nodes);

#endif
