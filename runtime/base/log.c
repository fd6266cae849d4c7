#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int silent;
static enum log_level shown = LOG_DETAIL;
static atomic_int progress_open; /* a progress line without its newline stands on the terminal */

void log_open(int speaker) {
  silent = !speaker;
}

void log_show(enum log_level most) {
  shown = most;
}

int log_shows(enum log_level level) {
  return level <= shown;
}

/* Where a process writes, into target[64]: "" where that cannot be seen. */
static void output_of(long process, char target[64]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd/1", process);
  const ssize_t length = readlink(path, target, 63);
  target[length < 0 ? 0 : length] = '\0';
}

/* 0: unknown. Names of programs may hold any character, so what follows the last ')' is read. */
static long parent_of(long process) {
  char path[64], line[512];
  long parent = 0;
  snprintf(path, sizeof path, "/proc/%ld/stat", process);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  if (!name_end || sscanf(name_end, ") %*c %ld", &parent) != 1) parent = 0;
  fclose(file);
  return parent;
}

/* Under mpirun a rank's stdout is a pseudo-terminal of mpirun's own, which programs between the two have,
 * too: what counts is where mpirun writes. */
static int launcher_is_terminal(void) {
  char mine[64], target[64];
  long process = getppid();
  output_of(getpid(), mine);
  output_of(process, target);
  for (; process > 1 && strcmp(target, mine) == 0; output_of(process, target)) process = parent_of(process);
  return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

int log_is_terminal(void) {
  static int known, terminal;
  if (known) return terminal;
  known = 1;
  terminal = isatty(STDOUT_FILENO) && (!getenv("OMPI_COMM_WORLD_SIZE") || launcher_is_terminal());
  return terminal;
}

static void end_progress(void) {
  if (progress_open) fputc('\n', stdout);
  progress_open = 0;
}

void log_line(enum log_level level, const char *format, ...) {
  if (silent || level > shown) return;
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
  if (silent || LOG_INFO > shown) return;
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
