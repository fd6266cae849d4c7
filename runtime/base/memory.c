#include "runtime/base/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/integer.h"

char *memory_text(int64_t bytes, char text[16]) {
  static const char *unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int u = 0;
  while (value >= 1024 && u < 4) {
    value /= 1024;
    u++;
  }
  snprintf(text, 16, u == 0 ? "%.0f %s" : "%.1f %s", value, unit[u]);
  return text;
}

int64_t memory_total(void) {
  return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

enum { LARGE_PAGE = 2 << 20 };

/* The first large page within so many bytes, and the bytes that these pages have. */
static char *large_pages(void *data, int64_t bytes, int64_t *whole) {
  const uintptr_t first = ((uintptr_t)data + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE,
                  end = ((uintptr_t)data + (uintptr_t)bytes) / LARGE_PAGE * LARGE_PAGE;
  *whole = first < end ? (int64_t)(end - first) : 0;
  return (char *)first;
}

/* Asks for pages of 2 MiB, where the system leaves that to programs: arrays are filled and freed faster, and
 * entries found faster that lie anywhere. */
static void ask_for_large_pages(void *data, int64_t bytes) {
  int64_t whole;
  char *first = large_pages(data, bytes, &whole);
  if (bytes >= 8 * (int64_t)LARGE_PAGE) madvise(first, (size_t)whole, MADV_HUGEPAGE);
}

void memory_return_part(void *data, int64_t bytes) {
  int64_t whole;
  char *begin = data, *first = large_pages(data, bytes, &whole);
  if (whole == 0 || madvise(first, (size_t)whole, MADV_DONTNEED) != 0) {
    memset(begin, 0, (size_t)bytes);
    return;
  }
  memset(begin, 0, (size_t)(first - begin));
  memset(first + whole, 0, (size_t)(begin + bytes - first - whole));
}

int memory_alloc_bytes(void **pointer, int64_t bytes, const char *what) {
  char text[16];
  *pointer = NULL;
  if (bytes < 0 || bytes > memory_total())
    FAIL(FAILED, "out of memory: %s for %s is more than this machine has", memory_text(bytes, text), what);
  *pointer = calloc(bytes ? (size_t)bytes : 1, 1); /* large blocks are fresh pages: zeroing costs nothing */
  if (!*pointer) FAIL(FAILED, "out of memory: no %s for %s", memory_text(bytes, text), what);
  ask_for_large_pages(*pointer, bytes);
  return OK;
}

int memory_rooms(const char *what, const struct memory_room *room) {
  for (const struct memory_room *r = room; r->pointer; r++) *(void **)r->pointer = NULL;
  for (int64_t bytes; room->pointer; room++) {
    if (__builtin_mul_overflow(room->count, room->bytes, &bytes)) bytes = INT64_MAX;
    TRY(memory_alloc_bytes(room->pointer, bytes, what));
  }
  return OK;
}

void free_list(void *const *pointer, size_t count) {
  for (size_t i = 0; i < count; i++) free(pointer[i]);
}

void memory_free_variable(void *pointer) {
  free(*(void **)pointer);
}

int memory_grow_bytes(void **pointer, int64_t used, int64_t bytes, const char *what) {
  void *larger;
  TRY(memory_alloc_bytes(&larger, bytes, what));
  if (used) memcpy(larger, *pointer, (size_t)used);
  free(*pointer);
  *pointer = larger;
  return OK;
}

void estimate_add(struct estimate *estimate, const char *name, int64_t bytes) {
  for (int i = 0; i < estimate->parts; i++) {
    if (strcmp(estimate->part[i].name, name) == 0) {
      estimate->part[i].bytes += bytes;
      return;
    }
  }
  if (estimate->parts == ESTIMATE_PARTS) {
    estimate->part[estimate->parts - 1].bytes += bytes;
    return;
  }
  estimate->part[estimate->parts].name = name;
  estimate->part[estimate->parts++].bytes = bytes;
}

int64_t estimate_total(const struct estimate *estimate) {
  int64_t total = 0;
  for (int i = 0; i < estimate->parts; i++) total += estimate->part[i].bytes;
  return total;
}

void estimate_text(const struct estimate *estimate, int first, char *text, size_t size) {
  char bytes[16];
  text[0] = '\0';
  for (int i = first; i < estimate->parts; i++) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s for %s", used ? ", " : "",
             memory_text(estimate->part[i].bytes, bytes), estimate->part[i].name);
  }
}

/* The value in bytes of a "Name:   123 kB" line of a /proc file. */
static int64_t proc_value(const char *path, const char *name) {
  FILE *file = fopen(path, "r");
  if (!file) return -1;
  char line[256];
  int64_t value = -1;
  while (value < 0 && fgets(line, sizeof line, file)) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) == 0 && line[length] == ':')
      value = 1024 * strtoll(line + length + 1, NULL, 10);
  }
  fclose(file);
  return value;
}

int64_t memory_used(void) {
  return proc_value("/proc/self/status", "VmRSS");
}

int64_t memory_peak(void) {
  return proc_value("/proc/self/status", "VmHWM");
}

int64_t memory_available(void) {
  return proc_value("/proc/meminfo", "MemAvailable");
}

int64_t memory_swap(void) {
  int64_t bytes = proc_value("/proc/meminfo", "SwapTotal");
  return bytes > 0 ? bytes : 0;
}

void memory_return_large(void) {
  mallopt(M_MMAP_THRESHOLD, 2 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

void memory_return_freed(void) {
  malloc_trim(0);
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
