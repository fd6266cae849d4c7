/* profile_tree: what profile.c records, as the other files of the profile see it.
 *
 * A region is a name under a parent: equal names in different places are different regions. Region 0 is the
 * whole recording; a parent stands before its children, children stand in order of first use. */
#ifndef RUNTIME_PROFILE_PROFILE_TREE_H
#define RUNTIME_PROFILE_PROFILE_TREE_H

#include <stdint.h>

#include "runtime/profile/profile_clock.h"

struct comm;
struct profile_device;

/* Where a trace shows a region: on the host's line or on that of stream `track - 1`, whose clock is the
 * device's where there is one with a clock. */
enum { PROFILE_HOST_TRACK, PROFILE_TRACKS = 5 };

struct profile_region {
  char name[48]; /* cut to fit; "" where a rank has no region of that number */
  int64_t parent;
  int64_t calls;
  int64_t beside; /* on another stream than its parent */
  double seconds; /* of all calls that have ended */
  double bytes, flops;
};

struct profile_event {
  double start, seconds; /* start on profile_clock */
  int32_t region, track;
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

/* The device's side (profile_device.c). Those that can fail return whether they did not. */
int profile_take_device(const struct profile_device *device); /* 0: there is one already */
int profile_is_device(const void *context);
void profile_close_device(void);
int profile_has_device(void);
void profile_push(const char *name);
void profile_pop(void);
/* The moment from which stamps are placed on profile_clock; waits for the compute stream. */
int profile_anchor(void);
int profile_stamp(int track, void **stamp);
/* Queues the stamp at the end of a call that began with `from`, and keeps both until they can be read. NULL:
 * the call was dropped. */
int profile_span(int32_t region, int track, void *from);
int profile_has_room(void); /* for one more, without growing */
/* Gives back all stamps of spans that wait. */
void profile_drop_spans(void);

/* Hands on the calls of all spans that the device has come to; the others wait for the next time. 0: the
 * device does not tell. */
int profile_read_spans(void (*take)(int32_t region, int track, double start, double seconds));
void profile_release(void *stamp);

#endif
