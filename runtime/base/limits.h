/* limits: what the system grants this process (ulimit). Too little of it ends libraries without a word, or
 * never: it is said before they begin. */
#ifndef RUNTIME_BASE_LIMITS_H
#define RUNTIME_BASE_LIMITS_H

#include <stdint.h>

/* Raises the limits of file descriptors and of the stack where they are low and may be raised. `launched`: as
 * a rank of MPI. Errors: FAILED when they stay too low. */
int limits_raise(int launched);

/* Starts as many threads as there will be, and ends them: those of parallel regions of `threads` threads (0:
 * as many as a region has) of this thread and of one that works aside. Errors: FAILED when there are not so
 * many. */
int limits_threads(int threads);

/* Maps `count` blocks of memory and gives them back. Errors: FAILED when they are not to be had; `what` takes
 * them. */
int limits_memory(int64_t bytes, int count, const char *what);

#endif
