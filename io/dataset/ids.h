/* ids: any non-negative 64-bit node ids become 0 .. N-1 in ascending order of id. */
#ifndef IO_DATASET_IDS_H
#define IO_DATASET_IDS_H

#include <stdint.h>

/* Replaces each of `count` values (>= 0) by its rank among the distinct ones. *nodes: how many those are.
 * *id [nodes]: the distinct values, ascending, malloc'ed; NULL when they are 0 .. nodes-1 already. Time is
 * linear, memory a small multiple of the distinct ids (or of the largest, where that is not much more).
 * Errors: BAD_INPUT for more than 2^31 - 1 distinct ids. */
int ids_rank(int64_t *value, int64_t count, int64_t **id, int64_t *nodes);

/* The node that the user calls `value`; -1: none. id NULL: ids are 0 .. nodes-1. */
int64_t ids_find(const int64_t *id, int64_t nodes, int64_t value);

#endif
