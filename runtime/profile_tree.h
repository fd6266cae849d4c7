/* profile_tree: what profile.c records, as profile_print and profile_write_trace see it.
 *
 * A region is a name under a parent: equal names in different places are different regions. Region 0 is the
 * whole recording; a parent stands before its children, children stand in order of first use. */
#ifndef RUNTIME_PROFILE_TREE_H
#define RUNTIME_PROFILE_TREE_H

#include <stdint.h>

struct comm;

struct profile_region {
  char name[48]; /* cut to fit; "" where a rank has no region of that number */
  int64_t parent;
  int64_t calls;
  double seconds; /* of all calls that have ended */
};

struct profile_event {
  double start, seconds; /* start on profile_clock */
  int64_t region;
};

enum { PROFILE_EVENTS = 100000 };

/* This rank's regions as a copy (the caller frees *region) and their number. Region 0 lasts from
 * profile_enable until now. */
int profile_tree(struct profile_region **region, int64_t *count);

/* Collective. The regions of all ranks: (*all)[r * *width + i] is region i of rank r. The caller frees *all.
 */
int profile_gather(struct comm *comm, struct profile_region **all, int64_t *width);

/* This rank's events in order of their end; borrowed. */
const struct profile_event *profile_events(int64_t *count);

/* Seconds since 1970 when profile_clock was 0. */
double profile_epoch(void);

#endif
