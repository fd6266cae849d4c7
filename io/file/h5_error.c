/* What went wrong with a file: HDF5's words, and the system's reason. */
#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

struct cause {
  char *text; /* [H5_CAUSE] */
  int no_memory;
};

/* What HDF5 says about its last call: the system's reason when there is one. */
static herr_t keep_cause(unsigned n, const H5E_error2_t *error, void *context) {
  struct cause *cause = context;
  char *text = cause->text;
  if (n > 0) return 1;
  cause->no_memory = error->maj_num == H5E_RESOURCE;
  const char *system = strstr(error->desc, "error message = '");
  snprintf(text, H5_CAUSE, "%s", system ? system + strlen("error message = '") : error->desc);
  if (system) text[strcspn(text, "'")] = '\0';
  return 1;
}

int h5_error(const struct h5 *h5) {
  return h5->disk ? h5->disk->error : 0;
}

int h5_was_read(const struct h5 *h5, int code) {
  if (h5_error(h5) && !h5->written.open)
    FAIL(FAILED, "%s: cannot be read: %s", h5->path, strerror(h5_error(h5)));
  return code;
}

const char *h5_cause(const struct h5 *h5, char text[H5_CAUSE]) {
  snprintf(text, H5_CAUSE, "%s", h5_error(h5) ? strerror(h5_error(h5)) : "HDF5 gives no reason");
  if (h5_error(h5)) return text;
  struct cause cause = {.text = text};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_cause, &cause);
  if (cause.no_memory && h5->disk) h5->disk->error = ENOMEM; /* no damage of the file */
  return text;
}
