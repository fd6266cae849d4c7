/* fault: whether a call that was intercepted is the one that is to fail. */
#ifndef FAULTS_FAULT_H
#define FAULTS_FAULT_H

#include <stdatomic.h>

/* What a function's first arguments say about the file that it works on. */
enum fault_place { FAULT_NO_FILE, FAULT_PATH, FAULT_DESCRIPTOR, FAULT_PATH_AT };

struct fault_call {
  const char *name;
  enum fault_place place;
  int is_named;
  void *next;                   /* the function itself */
} __attribute__((aligned(32))); /* so that they lie side by side */

/* Before each definition of one. */
#define FAULT_CALL __attribute__((section("fault_calls"), used)) static struct fault_call

/* Counts a call from the place `caller`, with its first two arguments; whether it fails, with errno set. */
int fault_strikes(struct fault_call *call, const void *caller, long first, long second);

/* Whether a call that fails shall read or write half of what was asked for. */
int fault_shortens(void);

/* Whether a file lies below FAULT_IN. */
int fault_concerns_path(const char *path);
int fault_concerns_file(int descriptor);

/* The function that the program meant to call. */
void *fault_next(struct fault_call *call);

#endif
