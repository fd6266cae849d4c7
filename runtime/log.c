#include "runtime/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int silent;
static int progress_open; /* a progress line without its newline stands on the terminal */

void log_open(int speaker) {
  silent = !speaker;
}

int log_is_terminal(void) {
  return isatty(STDOUT_FILENO);
}

static void end_progress(void) {
  if (progress_open) fputc('\n', stdout);
  progress_open = 0;
}

void log_info(const char *format, ...) {
  if (silent) return;
  end_progress();
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fputc('\n', stdout);
  fflush(stdout);
}

void log_warn(const char *format, ...) {
  if (silent) return;
  end_progress();
  fflush(stdout);
  fputs("warning: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

void log_progress(const char *format, ...) {
  if (silent) return;
  int terminal = log_is_terminal();
  if (terminal) fputs("\r\033[K", stdout);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  if (!terminal) fputc('\n', stdout);
  progress_open = terminal;
  fflush(stdout);
}
