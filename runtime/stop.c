#include "runtime/stop.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t first;

static void remember(int number) {
  if (!first) first = number;
}

static int leaving_code;
static void (*leaving_clean)(void);

static void leave(int number) {
  static const char said[] = "stopped by a signal before there was anything to save\n";
  (void)number;
  leaving_clean();
  (void)!write(STDERR_FILENO, said, sizeof said - 1);
  _exit(leaving_code);
}

void stop_leaves(int code, void (*clean)(void)) {
  struct sigaction action = {.sa_handler = leave};
  leaving_code = code;
  leaving_clean = clean;
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
}

void stop_install(void) {
  struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  action.sa_flags |= (int)SA_RESETHAND; /* the next one has its default effect */
  sigaction(SIGINT, &action, NULL);
}

int stop_requested(void) {
  return first;
}
