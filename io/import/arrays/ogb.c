#include "io/import/arrays/ogb.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

void ogb_path(char path[OGB_PATH], const char *folder, const char *name) {
  int length = snprintf(path, OGB_PATH, "%s/%s", folder, name);
  assert(length < OGB_PATH);
}

int ogb_find(const char *folder, const char *name, char path[OGB_PATH]) {
  static const char *const suffix[] = {".csv", ".csv.gz"};
  int there = 0;
  for (int i = 0; i < 2 && !there; i++) {
    char file[OGB_NAME + 8];
    snprintf(file, sizeof file, "%.*s%s", OGB_NAME, name, suffix[i]);
    ogb_path(path, folder, file);
    there = access(path, F_OK) == 0;
  }
  return there;
}
