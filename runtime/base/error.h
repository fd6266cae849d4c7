/* error: one message at the cause, one trace on the way up.
 *
 * Functions that can fail return int, OK when they did not. FAIL formats the message where the cause is
 * known; TRY hands the code upward and notes file, line and function. Only main prints, once. The state is
 * per thread; a parallel region notes the first one of its work, which is raised after it. */
#ifndef RUNTIME_BASE_ERROR_H
#define RUNTIME_BASE_ERROR_H

#include <stdint.h>
#include <stdio.h>

enum {
  OK = 0,
  FAILED = 1,    /* the machine, a library or a peer failed */
  BAD_INPUT = 2, /* usage, configuration or input file */
  STOPPED = 75,  /* ended by a signal, after saving a checkpoint where training had begun (EX_TEMPFAIL) */
};

enum { ERROR_MESSAGE = 2048 }; /* bytes of a message, at most */

/* Sets the message and returns `code` from the calling function. Without an errno, name what is allowed. */
#define FAIL(code, ...) return error_raise((code), __FILE__, __LINE__, __func__, __VA_ARGS__)

/* Returns from the calling function when `call` failed, adding this place to the trace. */
#define TRY(call)                                                                     \
  do {                                                                                \
    int try_code_ = (call);                                                           \
    if (try_code_ != OK) return error_trace(try_code_, __FILE__, __LINE__, __func__); \
  } while (0)

int error_raise(int code, const char *file, int line, const char *function, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
int error_trace(int code, const char *file, int line, const char *function);

/* The message of the current error, in one line: control characters are '?' ("" when there is none). Valid
 * until the next FAIL on this thread. */
const char *error_message(void);

/* Prints "program: message" and, for FAILED or when GNNTRAIN_TRACE is set, the trace. Prints nothing when
 * the error was silenced (another rank speaks). */
void error_print(FILE *out, const char *program);

/* The current error is no failure of program or machine: no trace follows its message. */
void error_hide_trace(void);

/* Marks the current error as one that another rank reports. */
void error_silence(int code);

/* Whether another rank reports the current error. */
int error_is_silent(void);

/* Notes that the ranks have agreed on the current error, and whether they have. Lasts until the next FAIL or
 * error_clear. */
void error_mark_agreed(void);
int error_is_agreed(void);

/* The error of work that several threads share. Zeroed: none. */
struct error_first {
  int code;
  int64_t place;
  char message[ERROR_MESSAGE];
};

/* Notes this thread's error in piece `place` of the work, if `code` is one: the lowest place's stays. */
void error_note(struct error_first *first, int64_t place, int code);

/* Raises what was noted on this thread; OK when nothing was. */
int error_raise_noted(const struct error_first *first);

/* Forgets the current error: the caller has dealt with it. */
void error_clear(void);

#endif
