/* What tests share that write a dataset and read it again. */
#ifndef TESTS_DATASETS_H
#define TESTS_DATASETS_H

#include <ftw.h>
#include <unistd.h>

#include "runtime/comm/row_shuffle.h"
#include "tests/check.h"

/* Their rows need one round, and fit into this as into the 64 MiB of every run; large blocks cost the address
 * sanitizer more time than all else that these tests do. */
static void __attribute__((constructor)) use_small_rounds(void) {
  row_shuffle_block = 4 << 20;
}

static inline int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *place) {
  (void)status, (void)flag, (void)place;
  return remove(path);
}

/* "<path><ending>": a file, or a folder with all that is in it; or nothing. */
static inline void remove_all(const char *path, const char *ending) {
  char whole[2200];
  snprintf(whole, sizeof whole, "%s%s", path, ending);
  if (access(whole, F_OK) == 0) assert_int_equal(nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
