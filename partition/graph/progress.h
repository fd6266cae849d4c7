/* progress: long work of rank 0 in a thread of its own, while the main thread prints progress and keeps the
 * ranks that wait patient. Work has parts: what they are called is what progress lines say meanwhile. */
#ifndef PARTITION_GRAPH_PROGRESS_H
#define PARTITION_GRAPH_PROGRESS_H

#include "runtime/comm/comm.h"

/* Who waits, and since when. */
struct progress {
  struct comm *comm;
  double began;              /* profile_clock() when the first work began */
  double spoke;              /* when the last progress line was printed */
  const char *_Atomic doing; /* NULL: nothing goes on */
};

struct progress progress_of(struct comm *comm);

/* Runs work(context) in a worker and returns its code, with its message; `doing` names it in progress lines.
 * Called from such work it runs a part of it. When the ranks are lost meanwhile the process ends: the work
 * cannot be stopped. */
int progress_work(struct progress *progress, const char *doing, int (*call)(void *context), void *context);

/* The same of work of all ranks: rank 0 says what goes on, every few seconds. */
void progress_say(struct progress *progress, const char *doing);

#endif
