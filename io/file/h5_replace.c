#include <sys/stat.h>

#include "io/file/h5.h"
#include "runtime/base/base.h"

static int read_format(const char *path, char *format, int64_t size) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  return h5_has_attr(&h5, "/", "format") ? h5_read_text(&h5, "/", "format", format, size) : OK;
}

int h5_check_replaced(const char *path, const char *format, const char *kind) {
  char found[64] = "";
  struct stat status;
  if (stat(path, &status) != 0 || status.st_size == 0) return OK;
  int code = read_format(path, found, sizeof found);
  if (code != BAD_INPUT) TRY(code);
  error_clear();
  if (strcmp(found, format) != 0)
    FAIL(BAD_INPUT, "%s: is there and is no %s; remove it or name another", path, kind);
  return OK;
}
