/* How much memory a process may ever have: the machine's with its swap, or what its control groups and limits
 * leave of that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/memory.h"

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The number in a file; INT64_MAX where there is none ("max", or no such file). */
static int64_t number_in(const char *folder, const char *name) {
  char path[1200];
  long long value;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (!file) return INT64_MAX;
  int found = fscanf(file, "%lld", &value) == 1;
  fclose(file);
  return found && value >= 0 ? value : INT64_MAX;
}

/* Of a group and those that it is in; swap comes on top, at most what the machine has. */
static int64_t limit_of_groups(const char *root, const char *group, const char *name, int64_t swap) {
  char folder[1100];
  int64_t least = INT64_MAX;
  snprintf(folder, sizeof folder, "%s%s", root, group);
  while (strlen(folder) >= strlen(root)) {
    least = smaller(least, number_in(folder, name));
    char *last = strrchr(folder, '/');
    if (!last) break;
    *last = '\0';
  }
  return least < INT64_MAX - swap ? least + swap : INT64_MAX;
}

/* "0::/path" of the second version, "9:memory:/path" of the first. */
static int64_t limit_of_line(char *line, int64_t swap) {
  char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
  if (!group) return INT64_MAX;
  *group++ = '\0';
  group[strcspn(group, "\n")] = '\0';
  if (kinds[1] == '\0') return limit_of_groups("/sys/fs/cgroup", group, "memory.max", swap);
  if (strcmp(kinds + 1, "memory") != 0) return INT64_MAX;
  return limit_of_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", swap);
}

static int64_t limit_of_process(void) {
  struct rlimit limit;
  int known = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known && limit.rlim_cur < (rlim_t)INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
}

int64_t memory_limit(int sharers) {
  int64_t swap = memory_swap(), least = memory_total() + swap;
  char line[1024];
  FILE *file = fopen("/proc/self/cgroup", "r");
  while (file && fgets(line, sizeof line, file)) least = smaller(least, limit_of_line(line, swap));
  if (file) fclose(file);
  return smaller(least / sharers, limit_of_process());
}
