#include "io/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/h5_set.h"
#include "io/publish.h"
#include "runtime/error.h"
#include "runtime/memory.h"

enum { MOST_NAMES = 100 * 1000 }; /* links in one group */

/* What HDF5 says about its last call: the system's reason when there is one. */
static herr_t keep_cause(unsigned n, const H5E_error2_t *error, void *context) {
  char *text = context;
  if (n > 0) return 1;
  const char *system = strstr(error->desc, "error message = '");
  snprintf(text, H5_CAUSE, "%s", system ? system + strlen("error message = '") : error->desc);
  if (system) text[strcspn(text, "'")] = '\0';
  return 1;
}

const char *h5_cause(char text[H5_CAUSE]) {
  snprintf(text, H5_CAUSE, "HDF5 gives no reason");
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_cause, text);
  return text;
}

/* Locking off; closing a file closes all that was opened in it. HDF5 cleans up nothing when the process ends:
 * it crashes there over what a full disk kept it from writing. */
static hid_t file_access(void) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(access, 0, 1);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  return access;
}

int h5_open(struct h5 *h5, const char *path) {
  char text[H5_CAUSE];
  memset(h5, 0, sizeof *h5);
  TRY(check_readable(path));
  if (strlen(path) >= sizeof h5->path)
    FAIL(BAD_INPUT, "%s: a path of at most %zu characters is allowed", path, sizeof h5->path - 1);
  snprintf(h5->path, sizeof h5->path, "%s", path);
  hid_t access = file_access();
  if (H5Fis_hdf5(path) <= 0) {
    H5Pclose(access);
    FAIL(BAD_INPUT, "%s: is not an HDF5 file", path);
  }
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  if (file < 0) h5_cause(text);
  H5Pclose(access);
  if (file < 0) FAIL(BAD_INPUT, "%s: is a damaged or truncated HDF5 file (%s)", path, text);
  h5->file = file;
  return OK;
}

int h5_create(struct h5 *h5, const char *path) {
  char text[H5_CAUSE];
  memset(h5, 0, sizeof *h5);
  TRY(publish_name(path, h5->temporary, sizeof h5->temporary));
  if (strlen(path) >= sizeof h5->path)
    FAIL(BAD_INPUT, "%s: a path of at most %zu characters is allowed", path, sizeof h5->path - 1);
  snprintf(h5->path, sizeof h5->path, "%s", path);
  hid_t access = file_access(), creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_obj_track_times(creation, 0);                            /* equal content, equal bytes */
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110); /* checksums on all metadata */
  hid_t file = H5Fcreate(h5->temporary, H5F_ACC_TRUNC, creation, access);
  if (file < 0) h5_cause(text);
  H5Pclose(access);
  H5Pclose(creation);
  if (file < 0) {
    h5_close(h5); /* HDF5 may have made the file before it failed */
    FAIL(FAILED, "%s: cannot be created (%s)", path, text);
  }
  h5->file = file;
  return OK;
}

int h5_commit(struct h5 *h5) {
  char text[H5_CAUSE], temporary[sizeof h5->temporary];
  if (H5Fflush(h5->file, H5F_SCOPE_GLOBAL) < 0) {
    h5_cause(text);
    h5_close(h5);
    FAIL(FAILED, "%s: cannot be written (%s)", h5->path, text);
  }
  if (H5Fclose(h5->file) < 0) {
    h5_cause(text);
    h5_close(h5);
    FAIL(FAILED, "%s: cannot be written (%s)", h5->path, text);
  }
  h5->file = 0;
  snprintf(temporary, sizeof temporary, "%s", h5->temporary);
  h5->temporary[0] = '\0';
  TRY(publish(temporary, h5->path));
  return OK;
}

void h5_close(struct h5 *h5) {
  if (h5->file > 0) H5Fclose(h5->file);
  h5->file = 0;
  if (h5->temporary[0]) unlink(h5->temporary);
  h5->temporary[0] = '\0';
}

int h5_shape(struct h5 *h5, const char *name, struct h5_shape *shape) {
  struct h5_set s;
  int code = h5_open_set(h5, name, &s);
  *shape = s.shape;
  h5_close_set(&s);
  TRY(code);
  return OK;
}

/* The i-th name of a group into a malloc'ed string. */
static int copy_name(struct h5 *h5, const char *group, hid_t id, hsize_t i, char **name) {
  ssize_t length = H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
  if (length < 0 || length > 65535)
    FAIL(BAD_INPUT, "%s: %s: is a damaged group: its names cannot be read", h5->path, group);
  TRY(memory_alloc(name, length + 1, "a name in an HDF5 file"));
  H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, *name, (size_t)length + 1, H5P_DEFAULT);
  return OK;
}

static int list_group(struct h5 *h5, const char *group, hid_t id, char ***names, int64_t *count) {
  H5G_info_t info;
  if (H5Gget_info(id, &info) < 0 || info.nlinks > MOST_NAMES)
    FAIL(BAD_INPUT, "%s: %s: is a damaged group, or one of more than %d names", h5->path, group, MOST_NAMES);
  TRY(memory_alloc(names, (int64_t)info.nlinks * (int64_t)sizeof **names, "names in an HDF5 file"));
  for (hsize_t i = 0; i < info.nlinks; i++) {
    *count = (int64_t)i + 1;
    TRY(copy_name(h5, group, id, i, *names + i));
  }
  return OK;
}

int h5_list(struct h5 *h5, const char *group, char ***names, int64_t *count) {
  *names = NULL;
  *count = 0;
  if (h5_find_link(h5->file, group) <= 0) FAIL(BAD_INPUT, "%s: %s: is missing", h5->path, group);
  hid_t id = H5Gopen2(h5->file, group, H5P_DEFAULT);
  if (id < 0) FAIL(BAD_INPUT, "%s: %s: is not a group, or damaged", h5->path, group);
  int code = list_group(h5, group, id, names, count);
  H5Gclose(id);
  if (code != OK) {
    h5_free_names(*names, *count);
    *names = NULL;
    *count = 0;
  }
  TRY(code);
  return OK;
}

void h5_free_names(char **names, int64_t count) {
  for (int64_t i = 0; names && i < count; i++) free(names[i]);
  free(names);
}
