/* ids: any non-negative 64-bit node ids become 0 .. N-1 in ascending order of id. */
#ifndef IO_DATASET_IDS_H
#define IO_DATASET_IDS_H

#include <stdint.h>

/* The ids that occur: in a set of bits, where the largest is not far beyond how many there are, else in a
 * hash table. Zeroed: none. */
struct ids {
  int64_t largest;
  int64_t nodes;   /* how many there are, once they are ranked */
  uint64_t *set;   /* a bit an id; NULL: there is a table */
  int32_t *before; /* of each word of the set: how many ids are smaller than those of the word */
  int64_t *key;    /* the table: open addressing, free slots are -1 */
  int32_t *rank;
  int64_t size, used; /* size is a power of two, at least twice used */
};

/* For ids in [0, largest], which are noted about `count` times. Memory: 3/16 bytes an id up to the largest,
 * or a small multiple of the distinct ones. */
int ids_begin(struct ids *ids, int64_t largest, int64_t count);
void ids_free(struct ids *ids);

/* Notes that these occur; any thread may call it. */
int ids_note(struct ids *ids, const int64_t *value, int64_t count);

/* Ranks all that were noted. *id [ids->nodes]: they, ascending, malloc'ed; NULL when they are 0 .. nodes-1
 * already. Errors: BAD_INPUT for more than 2^31 - 1. */
int ids_settle(struct ids *ids, int64_t **id);

/* The rank of an id that was noted; any thread may ask. */
int64_t ids_rank_of(const struct ids *ids, int64_t value);

/* Replaces each of `count` values (>= 0) by its rank among the distinct ones. *nodes: how many those are.
 * *id and errors as ids_settle's. */
int ids_rank(int64_t *value, int64_t count, int64_t **id, int64_t *nodes);

/* The node that the user calls `value`; -1: none. id NULL: ids are 0 .. nodes-1. */
int64_t ids_find(const int64_t *id, int64_t nodes, int64_t value);

#endif
