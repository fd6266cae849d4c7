/* profile_clock: the clock by which regions and waits are timed. */
#ifndef RUNTIME_PROFILE_PROFILE_CLOCK_H
#define RUNTIME_PROFILE_PROFILE_CLOCK_H

/* Seconds since the program started (monotonic). */
double profile_clock(void);

/* Seconds since 1970 when profile_clock was 0. */
double profile_epoch(void);

#endif
