#include "runtime/stop.h"

#include <signal.h>

static volatile sig_atomic_t first;

static void remember(int number) {
  if (!first) first = number;
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
