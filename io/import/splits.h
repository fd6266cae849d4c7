/* splits: splits of the nodes into training, validation and test. A split is made from the part of each node,
 * so no node is in two parts and lists ascend. */
#ifndef IO_IMPORT_SPLITS_H
#define IO_IMPORT_SPLITS_H

#include <stdint.h>

#include "io/dataset/dataset.h"

enum { NO_PART = SPLIT_COUNT }; /* a node in no part of a split */

/* Room for that many splits in place of those that are there. */
int splits_new(struct dataset_source *source, int64_t splits);
/* Split k from the part of each node: SPLIT_TRAIN, ..., or NO_PART. */
int splits_list(struct dataset_source *source, int64_t k, const uint8_t *part, int64_t nodes);

/* Notes that the node is in part p. `place` starts messages. Errors: BAD_INPUT: no such node, or it is in a
 * part already. */
int splits_put(uint8_t *part, int64_t nodes, int64_t node, int p, const char *place);

#endif
