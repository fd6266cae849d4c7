/* What the three programs share: how main begins, and --version. */
#ifndef LAUNCH_PROGRAM_H
#define LAUNCH_PROGRAM_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/file/path_check.h"
#include "runtime/base/error.h"
#include "runtime/base/limits.h"
#include "runtime/base/stop.h"
#include "runtime/device/device_list.h"
#include "version.h"

__attribute__((section(".preinit_array"), used)) static void (*const program_first)(int, char **,
                                                                                    char **) = load_first;

/* A standard stream that was closed (>&-) stays without effect: no file of ours takes its number, and its
 * lines. */
static inline void program_keep_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/* A file that outgrows the limit of its size (ulimit -f) is an error with a message, like one on a full disk,
 * and not the end of the process. */
static inline int program_start(void) {
  program_keep_streams();
  signal(SIGXFSZ, SIG_IGN);
  TRY(limits_raise(0));
  return stop_start(atomic_write_remove_named);
}

/* Whoever read the output has had enough of it, and left. */
static inline int program_is_unread(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && output.revents & (POLLERR | POLLHUP);
}

/* What a program exits with: output that could not be written, to a full disk, is an error even so. */
static inline int program_end(int code, const char *name) {
  if ((fflush(stdout) == 0 && !ferror(stdout)) || program_is_unread()) return code;
  fprintf(stderr, "%s: standard output cannot be written\n", name);
  return code == OK ? FAILED : code;
}

/* "NAME 0.2.0 (revision)", the compiled devices, the compiler and the packages that were compiled against. */
static inline void print_version(const char *name) {
  printf("%s %s (%s)\ndevices:", name, GNNTRAIN_VERSION, GNNTRAIN_REVISION);
  for (int i = 0; device_list[i]; i++) printf(" %s", device_list[i]->name);
  printf("\ncompiler: %s\npackages: %s\n", GNNTRAIN_COMPILER, GNNTRAIN_PACKAGES);
}

/* What a program of commands says when it is asked for none: whether it did, and the code that ends it. */
static inline int program_answers(int argc, char **argv, const char *name, void (*print_help)(FILE *out),
                                  int *code) {
  const char *word = argc < 2 ? "" : argv[1];
  int help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0, version = strcmp(word, "--version") == 0;
  *code = argc < 2 ? BAD_INPUT : OK;
  if (argc < 2 || help) print_help(help ? stdout : stderr);
  if (version) print_version(name);
  return argc < 2 || help || version;
}

#endif
