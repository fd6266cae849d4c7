#include "io/file/h5.h"

#include <unistd.h>

#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"
#include "runtime/file/input.h"

enum { MOST_NAMES = 100 * 1000 }; /* links in one group */

/* Locking off; closing a file closes all that was opened in it. HDF5 cleans up nothing when the process ends:
 * it crashes there over what it could not read or write. */
static hid_t file_access(struct h5 *h5) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(access, 0, 1);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  if (h5_use_disk(access, h5->disk)) return access;
  H5Pclose(access);
  return -1;
}

/* With the path, which must have room, and a place for errors. */
static int begin(struct h5 *h5, const char *path) {
  memset(h5, 0, sizeof *h5);
  if (strlen(path) >= sizeof h5->path)
    FAIL(BAD_INPUT, "%.200s...: a path of at most %zu characters is allowed", path, sizeof h5->path - 1);
  snprintf(h5->path, sizeof h5->path, "%s", path);
  TRY(memory_arrays("an HDF5 file", ROOM(&h5->disk, 1)));
  h5->disk->descriptor = -1;
  return OK;
}

/* Whether the bytes that begin an HDF5 file are where they may be: ahead, or behind a user's block. */
static int has_signature(struct h5 *h5) {
  static const char signature[] = "\x89HDF\r\n\x1a\n";
  char found[sizeof signature - 1];
  for (off_t at = 0;; at = at ? 2 * at : 512) {
    ssize_t size = pread(h5->disk->descriptor, found, sizeof found, at);
    if (size < 0) h5->disk->error = errno;
    if (size != (ssize_t)sizeof found) return 0;
    if (memcmp(found, signature, sizeof found) == 0) return 1;
  }
}

static int open_file(struct h5 *h5) {
  char text[H5_CAUSE];
  TRY(input_open_file(h5->path, &h5->disk->descriptor));
  int found = has_signature(h5);
  if (h5_error(h5)) FAIL(FAILED, "%s: cannot be read: %s", h5->path, strerror(h5_error(h5)));
  if (!found) FAIL(BAD_INPUT, "%s: is not an HDF5 file", h5->path);
  hid_t access = file_access(h5), file = access < 0 ? -1 : H5Fopen(h5->path, H5F_ACC_RDONLY, access);
  if (file < 0) h5_cause(h5, text);
  if (access >= 0) H5Pclose(access);
  if (file < 0 && h5_error(h5)) FAIL(FAILED, "%s: cannot be read: %s", h5->path, text);
  if (file < 0) FAIL(BAD_INPUT, "%s: is a damaged or truncated HDF5 file (%s)", h5->path, text);
  h5->file = file;
  return OK;
}

int h5_open(struct h5 *h5, const char *path) {
  int code = begin(h5, path);
  if (code == OK) code = open_file(h5);
  if (code != OK) h5_close(h5);
  return code;
}

static int create_file(struct h5 *h5) {
  char text[H5_CAUSE];
  TRY(atomic_write_open(&h5->written, h5->path));
  h5->disk->descriptor = h5->written.file;
  hid_t access = file_access(h5), creation = H5Pcreate(H5P_FILE_CREATE);
  herr_t timeless = H5Pset_obj_track_times(creation, 0); /* equal content, equal bytes */
  herr_t checked = H5Pset_libver_bounds(access, H5F_LIBVER_V110,
                                        H5F_LIBVER_V110); /* checksums on all metadata */
  hid_t file = timeless < 0 || checked < 0 ? -1 : H5Fcreate(h5->path, H5F_ACC_TRUNC, creation, access);
  if (file < 0) h5_cause(h5, text);
  if (access >= 0) H5Pclose(access);
  H5Pclose(creation);
  if (file < 0) FAIL(FAILED, "%s: cannot be created (%s)", h5->path, text);
  h5->file = file;
  return OK;
}

int h5_create(struct h5 *h5, const char *path) {
  int code = begin(h5, path);
  if (code == OK) code = create_file(h5);
  if (code != OK) h5_close(h5);
  return code;
}

/* A file is closed once, whatever comes of it. */
static int finish(struct h5 *h5) {
  char text[H5_CAUSE];
  hid_t file = h5->file;
  h5->file = 0;
  int failed = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0;
  if (failed) h5_cause(h5, text);
  if (H5Fclose(file) < 0 && !failed) {
    h5_cause(h5, text);
    failed = 1;
  }
  h5->disk->descriptor = -1;
  if (h5_error(h5)) h5_cause(h5, text);
  if (failed || h5_error(h5)) FAIL(FAILED, "%s: cannot be written (%s)", h5->path, text);
  return atomic_write_commit(&h5->written);
}

int h5_commit(struct h5 *h5) {
  int code = finish(h5);
  h5_close(h5);
  return code;
}

void h5_close(struct h5 *h5) {
  if (h5->file > 0) H5Fclose(h5->file);
  h5->file = 0;
  if (h5->disk && !h5->written.open && h5->disk->descriptor >= 0) close(h5->disk->descriptor);
  atomic_write_drop(&h5->written);
  free(h5->disk);
  h5->disk = NULL;
}

int h5_shape(struct h5 *h5, const char *name, struct h5_shape *shape) {
  ENDED_BY(h5_close_set) struct h5_set s = {0};
  int code = h5_open_set(h5, name, &s);
  *shape = s.shape;
  return code;
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
  TRY(memory_arrays("names in an HDF5 file", ROOM(names, (int64_t)info.nlinks)));
  for (hsize_t i = 0; i < info.nlinks; i++) {
    *count = (int64_t)i + 1;
    TRY(copy_name(h5, group, id, i, *names + i));
  }
  return OK;
}

int h5_list(struct h5 *h5, const char *group, char ***names, int64_t *count) {
  *names = NULL;
  *count = 0;
  int found = h5_find_link(h5->file, group);
  TRY(h5_was_read(h5, OK));
  if (found <= 0) FAIL(BAD_INPUT, "%s: %s: is missing", h5->path, group);
  hid_t id = H5Gopen2(h5->file, group, H5P_DEFAULT);
  if (id < 0) FAIL(BAD_INPUT, "%s: %s: is not a group, or damaged", h5->path, group);
  int code = h5_was_read(h5, list_group(h5, group, id, names, count));
  H5Gclose(id);
  if (code != OK) {
    h5_free_names(*names, *count);
    *names = NULL;
    *count = 0;
  }
  return code;
}

void h5_free_names(char **names, int64_t count) {
  for (int64_t i = 0; names && i < count; i++) free(names[i]);
  free(names);
}
