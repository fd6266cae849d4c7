#include "runtime/base/load.h"

#include <stddef.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "runtime/base/stop.h"

/* strncmp of a library that may not have started yet. */
static int begins_with(const char *text, const char *start) {
  while (*start && *text == *start) text++, start++;
  return *start == '\0';
}

__attribute__((no_sanitize("address", "undefined"))) void load_first(int argc, char **argv,
                                                                     char **environment) {
  static char alone[] = "OPENBLAS_NUM_THREADS=1";
  (void)argc;
  stop_block();
  int count = 0;
  while (environment[count]) count++;
  char *changed[count + 2];
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (begins_with(environment[i], alone) && environment[i][sizeof alone - 1] == '\0') return;
    if (!begins_with(environment[i], "OPENBLAS_NUM_THREADS=")) changed[kept++] = environment[i];
  }
  changed[kept] = alone;
  changed[kept + 1] = NULL;
  execve((const char *)getauxval(AT_EXECFN), argv, changed); /* on failure it goes on as it is */
}
