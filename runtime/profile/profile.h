/* profile: named regions of time, nested, on every rank.
 *
 * Off (the default) a region costs a branch or two. A name is a string literal; equal names add up. Regions
 * are timed by the host's clock until a device that works on its own is attached (profile_device.h): from
 * then on by stamps on the device's streams, so that they tell what the device did and not how long the host
 * took to ask for it. Recording never waits: stamps are read once the host has waited for the device anyway.
 */
#ifndef RUNTIME_PROFILE_PROFILE_H
#define RUNTIME_PROFILE_PROFILE_H

#include "runtime/profile/profile_clock.h"

struct comm;

/* Starts to record. What a stamp measures has to run when it is recorded: work that is to be replayed as a
 * whole is run piece by piece while this is on. */
void profile_enable(void);
int profile_enabled(void);

/* Opens and closes a region of work on the device's compute stream; regions nest. profile_begin_host: of work
 * on the host, by its clock, wherever the device stands. */
void profile_begin(const char *name);
void profile_begin_host(const char *name);
void profile_end(void);

/* A region on another stream, below the open region but beside whatever follows in it; one at a time on a
 * stream. `bytes` is what it moves. On a device its end is queued behind the work that it closes over; by the
 * host's clock it is the call. Ending a region that is not open does nothing. */
void profile_begin_beside(int stream, const char *name, double bytes);
void profile_end_beside(int stream);

/* Adds to the open region what it moves and computes. */
void profile_work(double bytes, double flops);

/* Runs `call` inside a region; the value is call's. */
#define PROFILE(name, call) PROFILE_REGION(profile_begin(name), call)
#define PROFILE_WORK(name, bytes, flops, call) \
  PROFILE_REGION((profile_begin(name), profile_work((bytes), (flops))), call)
#define PROFILE_HOST(name, call) PROFILE_REGION(profile_begin_host(name), call)
#define PROFILE_REGION(begin, call) \
  ({                                \
    begin;                          \
    int profiled_code_ = (call);    \
    profile_end();                  \
    profiled_code_;                 \
  })

/* What a group of regions took on this rank. */
struct profile_part {
  const char *const *names; /* of its regions, NULL at the end */
  double calls, seconds, bytes, flops;
};

/* Sums for each part the regions below regions named `within`. A region counts for the part that names the
 * outermost of it and its ancestors: parts never share time, unless they are beside each other. Returns the
 * calls and seconds of `within` itself. */
struct profile_part profile_parts(const char *within, struct profile_part *part, int count);

/* Collective. Prints a table, a row per region in order of first use, children indented: calls, total and
 * mean ms (average over ranks), the slowest rank's, imbalance = max / average, share of the parent. */
int profile_print(struct comm *comm);

/* Collective. Writes all ranks' regions as a Chrome trace (chrome://tracing, Perfetto) to `path`, rank 0
 * writing, host and streams in rows of their own; at most the first 100,000 events a rank. Errors: FAILED
 * when the file cannot be written. */
int profile_write_trace(struct comm *comm, const char *path);

void profile_free(void);

#endif
