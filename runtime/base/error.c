#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_DEPTH = 24 };

struct place {
  const char *file, *function;
  int line;
};

static _Thread_local struct {
  char message[ERROR_MESSAGE];
  struct place trace[TRACE_DEPTH];
  int depth, code, silent, agreed, untraced;
} current;

static void add_place(const char *file, int line, const char *function) {
  if (current.depth < TRACE_DEPTH) current.trace[current.depth++] = (struct place){file, function, line};
}

/* Names and texts of files are quoted as they stand there: a line feed among them must not end the sentence,
 * nor an escape reach a terminal. */
static void keep_to_one_line(char *message) {
  for (; *message; message++) {
    unsigned char c = (unsigned char)*message;
    if (c < ' ' || c == 127) *message = '?';
  }
}

int error_raise(int code, const char *file, int line, const char *function, const char *format, ...) {
  char message[sizeof current.message]; /* an argument may be the previous message */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  keep_to_one_line(message);
  memcpy(current.message, message, sizeof message);
  current.code = code;
  current.silent = current.agreed = current.untraced = 0;
  current.depth = 0;
  add_place(file, line, function);
  return code;
}

int error_trace(int code, const char *file, int line, const char *function) {
  add_place(file, line, function);
  return code;
}

const char *error_message(void) {
  return current.message;
}

void error_print(FILE *out, const char *program) {
  if (current.silent || current.message[0] == '\0') return;
  fprintf(out, "%s: %s\n", program, current.message);
  if ((current.code == FAILED && !current.untraced) || getenv("GNNTRAIN_TRACE")) {
    for (int i = 0; i < current.depth; i++) {
      const struct place *p = &current.trace[i];
      fprintf(out, "  at %s:%d in %s\n", p->file, p->line, p->function);
    }
  }
  fflush(out);
}

void error_hide_trace(void) {
  current.untraced = 1;
}

void error_silence(int code) {
  current.code = code;
  current.silent = 1;
}

int error_is_silent(void) {
  return current.silent;
}

void error_mark_agreed(void) {
  current.agreed = 1;
}

int error_is_agreed(void) {
  return current.agreed;
}

void error_clear(void) {
  memset(&current, 0, sizeof current);
}

void error_note(struct error_first *first, int64_t place, int code) {
  if (code == OK) return;
#pragma omp critical(error_first)
  if (first->code == OK || place < first->place) {
    first->code = code;
    first->place = place;
    memcpy(first->message, current.message, sizeof first->message);
  }
}

int error_raise_noted(const struct error_first *first) {
  if (first->code != OK) FAIL(first->code, "%s", first->message);
  return OK;
}
