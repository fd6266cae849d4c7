/* profile: named regions of time, nested, on every rank.
 *
 * Off (the default) a region costs one branch. A name is a string literal; equal names add up. */
#ifndef RUNTIME_PROFILE_H
#define RUNTIME_PROFILE_H

struct comm;

/* Starts to record. */
void profile_enable(void);
int profile_enabled(void);

/* Opens and closes a region; they nest. */
void profile_begin(const char *name);
void profile_end(void);

/* Runs `call` inside a region; the value is call's. */
#define PROFILE(name, call)      \
  ({                             \
    profile_begin(name);         \
    int profiled_code_ = (call); \
    profile_end();               \
    profiled_code_;              \
  })

/* Seconds since the program started (monotonic). */
double profile_clock(void);

/* Total seconds of a region on this rank, 0 when it never ran. */
double profile_seconds(const char *name);

/* Collective. Prints a table, a row per region in order of first use, children indented: calls, total and
 * mean ms (average over ranks), the slowest rank's, imbalance = max / average, share of the parent. */
int profile_print(struct comm *comm);

/* Collective. Writes all ranks' regions as a Chrome trace (chrome://tracing, Perfetto) to `path`, rank 0
 * writing; at most the first 100,000 events a rank. Errors: FAILED when the file cannot be written. */
int profile_write_trace(struct comm *comm, const char *path);

void profile_free(void);

#endif
