#include "runtime/base/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"

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

int memory_alloc_bytes(void **pointer, int64_t bytes, const char *what) {
  char text[16];
  *pointer = NULL;
  if (bytes < 0 || bytes > memory_total())
    FAIL(FAILED, "out of memory: %s for %s is more than this machine has", memory_text(bytes, text), what);
  *pointer = calloc(bytes ? (size_t)bytes : 1, 1); /* large blocks are fresh pages: zeroing costs nothing */
  if (!*pointer) FAIL(FAILED, "out of memory: no %s for %s", memory_text(bytes, text), what);
  return OK;
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
