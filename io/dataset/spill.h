/* spill: bytes that wait, in memory up to a limit and beyond it in a file that has no name. */
#ifndef IO_DATASET_SPILL_H
#define IO_DATASET_SPILL_H

#include <stdint.h>

#include "runtime/file/atomic_write.h"

/* Zeroed but for the first two: nothing waits. */
struct spill {
  const char *path; /* the file is made in this file's folder; NULL: there is no limit */
  int64_t limit;    /* of `held` */
  int64_t held;     /* bytes of memory */
  int64_t filled;   /* bytes of the file */
  struct atomic_write file;
};

/* A place for some bytes. Zeroed: none. */
struct spilled {
  int64_t bytes;
  char *memory; /* NULL: they are in the file, from `at` on */
  int64_t at;
};

/* Closes the file, and with it goes what is there. */
void spill_close(struct spill *spill);

/* A place that holds nothing yet; one thread at a time. Errors: FAILED: no memory, no file to be made. */
int spill_room(struct spill *spill, int64_t bytes, struct spilled *place);

/* A place in memory that another one made becomes this one's: it stays there, or goes to the file. */
int spill_move(struct spill *spill, struct spilled *place);

/* Any thread may call what follows, for places and bytes that no other is at. Errors: FAILED with the
 * system's reason: the disk is full. */
int spill_write(const struct spill *spill, const struct spilled *place, int64_t from, int64_t bytes,
                const void *data);

/* All bytes of the place: where they are, or copied to `room`, which is large enough. The caller may change
 * them where it drops the place next. */
int spill_view(const struct spill *spill, const struct spilled *place, void *room, void **data);

/* The place is needed no more: frees its memory. */
void spill_drop(struct spill *spill, struct spilled *place);

#endif
