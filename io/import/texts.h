/* texts: different texts in one piece of memory, numbered 0, 1, ... as they come, and found by what they are:
 * ids of nodes and names of classes. */
#ifndef IO_IMPORT_TEXTS_H
#define IO_IMPORT_TEXTS_H

#include <stdint.h>

/* Zeroed: none. */
struct texts {
  int64_t count, capacity;
  char *text; /* they, each with its number ahead, an int32_t, and a NUL behind */
  int64_t used, size;
  int64_t *at;    /* [capacity]: where each begins */
  uint64_t *slot; /* 24 bits of a hash, so that few texts are compared, over where its text begins; 0: free */
  int64_t slots;  /* a power of two */
};

void texts_free(struct texts *texts);

/* *number: that of the text, which is added where it is new; *is_new: whether it was. Errors: FAILED: memory;
 * BAD_INPUT: more than 2^31 - 1. */
int texts_add(struct texts *texts, const char *text, int32_t *number, int *is_new);

/* Its number, or -1; any thread may ask. */
int32_t texts_find(const struct texts *texts, const char *text);

/* The same of many at once, as fast as memory allows: `number` is [count]. */
void texts_find_all(const struct texts *texts, const char *const *text, int64_t count, int32_t *number);

/* The text of that number, until one is added. */
static inline const char *texts_at(const struct texts *texts, int64_t number) {
  return texts->text + texts->at[number];
}

/* Places of [count] texts, of those numbers; NULL: of 0 .. count - 1. The caller frees the array, and keeps
 * the texts for as long. */
int texts_list(const struct texts *texts, const int32_t *number, int64_t count, const char ***list);

#endif
