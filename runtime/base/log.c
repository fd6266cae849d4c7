#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int silent;
static atomic_int progress_open; /* a progress line without its newline stands on the terminal */

void log_open(int speaker) {
  silent = !speaker;
}

/* Under mpirun a rank's stdout is a pseudo-terminal of mpirun's own: what counts is where mpirun writes. */
static int launcher_is_terminal(void) {
  char path[64], target[64] = "";
  snprintf(path, sizeof path, "/proc/%ld/fd/1", (long)getppid());
  if (readlink(path, target, sizeof target - 1) < 0) return 0;
  return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

int log_is_terminal(void) {
  if (!isatty(STDOUT_FILENO)) return 0;
  return getenv("OMPI_COMM_WORLD_SIZE") ? launcher_is_terminal() : 1;
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
