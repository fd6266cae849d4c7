/* Rows of datasets, read and written. */
#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

enum { CHUNK_BYTES = 1 << 20, STRINGS_BYTES = 16 << 20 }; /* of a chunk; of strings written at a time */

static hid_t file_type(enum h5_type type) {
  const hid_t types[] = {[H5_INT32] = H5T_STD_I32LE,  [H5_INT64] = H5T_STD_I64LE,   [H5_UINT8] = H5T_STD_U8LE,
                         [H5_FLOAT] = H5T_IEEE_F32LE, [H5_DOUBLE] = H5T_IEEE_F64LE, [H5_TEXT] = -1};
  return types[type];
}

/* Selects rows in s->space; *memory, to be closed, is their extent. */
static void select_rows(const struct h5_set *s, int64_t first, int64_t count, hid_t *memory) {
  hsize_t from[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, s->dim[1]};
  H5Sselect_hyperslab(s->space, H5S_SELECT_SET, from, NULL, extent, NULL);
  *memory = H5Screate_simple(s->shape.dims, extent, NULL);
}

/* A dataset of 1 or 2 dimensions that has rows [first, first + count). */
static int open_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, struct h5_set *s) {
  TRY(h5_open_set(h5, name, s));
  if (!s->shape.exists) FAIL(BAD_INPUT, "%s: %s: is missing", h5->path, name);
  if (s->shape.is_group) FAIL(BAD_INPUT, "%s: %s: is a group; a dataset is expected", h5->path, name);
  if (s->shape.dims != 1 && s->shape.dims != 2)
    FAIL(BAD_INPUT, "%s: %s: has %d dimensions; 1 or 2 are expected", h5->path, name, s->shape.dims);
  if (first < 0 || count < 0 || first > s->shape.dim[0] || count > s->shape.dim[0] - first)
    FAIL(BAD_INPUT, "%s: %s: has %lld rows; rows %lld to %lld are expected in it", h5->path, name,
         (long long)s->shape.dim[0], (long long)first, (long long)first + (long long)count);
  return OK;
}

int h5_read_set(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count,
                enum h5_type type, void *data) {
  char text[H5_CAUSE];
  int real = type == H5_FLOAT || type == H5_DOUBLE;
  int disk_real = s->shape.type == H5_FLOAT || s->shape.type == H5_DOUBLE;
  if (s->shape.type == H5_TEXT || type == H5_TEXT || (disk_real && !real))
    FAIL(BAD_INPUT, "%s: %s: holds %s; %s are expected", h5->path, name,
         s->shape.type == H5_TEXT ? "strings" : "floating-point numbers", real ? "numbers" : "integers");
  if (count == 0 || s->bytes == 0 || h5_read_chunks(h5, s, first, count, type, data)) return OK;
  hid_t memory;
  select_rows(s, first, count, &memory);
  herr_t status = H5Dread(s->id, h5_memory_type(type), memory, s->space, H5P_DEFAULT, data);
  if (status < 0) h5_cause(h5, text);
  H5Sclose(memory);
  if (status < 0)
    FAIL(BAD_INPUT, "%s: %s: rows %lld to %lld are damaged or cannot be read (%s)", h5->path, name,
         (long long)first, (long long)(first + count), text);
  return OK;
}

int h5_read_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                 void *data) {
  ENDED_BY(h5_close_set) struct h5_set s = {0};
  int code = open_rows(h5, name, first, count, &s);
  if (code == OK) code = h5_read_set(h5, name, &s, first, count, type, data);
  return h5_was_read(h5, code);
}

static int read_strings(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count,
                        char **text) {
  if (s->shape.type != H5_TEXT || s->shape.dims != 1)
    FAIL(BAD_INPUT, "%s: %s: one dimension of strings is expected", h5->path, name);
  if (count == 0) return OK;
  hid_t memory;
  select_rows(s, first, count, &memory);
  int code = h5_copy_strings(s->id, s->type, memory, s->space, count, text);
  H5Sclose(memory);
  if (code == BAD_INPUT)
    FAIL(BAD_INPUT, "%s: %s: strings %lld to %lld are damaged or cannot be read", h5->path, name,
         (long long)first, (long long)(first + count));
  return code;
}

int h5_read_strings(struct h5 *h5, const char *name, int64_t first, int64_t count, char **text) {
  struct h5_set s;
  for (int64_t i = 0; i < count; i++) text[i] = NULL;
  int code = open_rows(h5, name, first, count, &s);
  if (code == OK) code = read_strings(h5, name, &s, first, count, text);
  h5_close_set(&s);
  for (int64_t i = 0; i < count && code != OK; i++) {
    free(text[i]);
    text[i] = NULL;
  }
  return h5_was_read(h5, code);
}

/* The groups above `name`, made where they are missing; without times, so that equal content gives equal
 * bytes. */
static int make_groups(struct h5 *h5, const char *name) {
  char part[256];
  for (const char *end = strchr(name + 1, '/'); end; end = strchr(end + 1, '/')) {
    snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
    if (H5Lexists(h5->file, part, H5P_DEFAULT) > 0) continue;
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    int timeless = H5Pset_obj_track_times(creation, 0) >= 0;
    hid_t group = timeless ? H5Gcreate2(h5->file, part, H5P_DEFAULT, creation, H5P_DEFAULT) : -1;
    H5Pclose(creation);
    if (group < 0) FAIL(FAILED, "%s: %s: the group cannot be made", h5->path, part);
    H5Gclose(group);
  }
  return OK;
}

/* Chunks of whole rows, about 1 MiB, with checksums; a dataset without elements has no chunks. */
static herr_t set_chunks(hid_t creation, int64_t rows, int64_t cols, int64_t row_bytes) {
  if (H5Pset_obj_track_times(creation, 0) < 0) return -1;
  if (rows == 0 || row_bytes == 0) return 0;
  int64_t most = CHUNK_BYTES / row_bytes;
  hsize_t chunk[2] = {(hsize_t)(most < 1 ? 1 : most < rows ? most : rows), (hsize_t)cols};
  if (H5Pset_chunk(creation, cols > 0 ? 2 : 1, chunk) < 0) return -1;
  return H5Pset_fletcher32(creation);
}

static int create_set(struct h5 *h5, const char *name, hid_t type, int64_t rows, int64_t cols) {
  char text[H5_CAUSE];
  TRY(make_groups(h5, name));
  hsize_t extent[2] = {(hsize_t)rows, (hsize_t)cols};
  hid_t space = H5Screate_simple(cols > 0 ? 2 : 1, extent, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  int64_t element = (int64_t)H5Tget_size(type); /* 0: no memory to tell */
  herr_t status = element > 0 ? set_chunks(creation, rows, cols, element * (cols > 0 ? cols : 1)) : -1;
  hid_t id = status < 0 ? -1 : H5Dcreate2(h5->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  if (id < 0) h5_cause(h5, text);
  H5Pclose(creation);
  H5Sclose(space);
  if (id < 0) FAIL(FAILED, "%s: %s cannot be written (%s)", h5->path, name, text);
  H5Dclose(id);
  return OK;
}

int h5_new_dataset(struct h5 *h5, const char *name, enum h5_type type, int64_t rows, int64_t cols) {
  return create_set(h5, name, file_type(type), rows, cols);
}

/* What does not fit is said here, in `text`. */
static herr_t write_by_hdf5(const struct h5 *h5, const struct h5_set *s, int64_t first, int64_t count,
                            hid_t type, const void *data, char text[H5_CAUSE]) {
  hid_t memory;
  select_rows(s, first, count, &memory);
  herr_t status = count ? H5Dwrite(s->id, type, memory, s->space, H5P_DEFAULT, data) : 0;
  if (status >= 0) status = H5Dflush(s->id);
  if (h5_error(h5)) status = -1;
  if (status < 0) h5_cause(h5, text);
  H5Sclose(memory);
  return status;
}

static int write_set(struct h5 *h5, const char *name, int64_t first, int64_t count, hid_t type,
                     const void *data) {
  char text[H5_CAUSE];
  int64_t from, to;
  ENDED_BY(h5_close_set) struct h5_set s = {0};
  TRY(open_rows(h5, name, first, count, &s));
  if (count == 0 || s.bytes == 0) return OK;
  const int64_t row_bytes = s.bytes / s.shape.dim[0];
  h5_write_chunks(h5, &s, first, count, type, data, &from, &to);
  const char *behind = (const char *)data + (to - first) * row_bytes;
  herr_t status = write_by_hdf5(h5, &s, first, from - first, type, data, text);
  if (status >= 0) status = write_by_hdf5(h5, &s, to, first + count - to, type, behind, text);
  if (status < 0) FAIL(FAILED, "%s: %s cannot be written (%s)", h5->path, name, text);
  return OK;
}

int h5_write_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                  const void *data) {
  return write_set(h5, name, first, count, h5_memory_type(type), data);
}

int h5_write_all(struct h5 *h5, const char *name, enum h5_type type, int64_t rows, int64_t cols,
                 const void *data) {
  TRY(h5_new_dataset(h5, name, type, rows, cols));
  return h5_write_rows(h5, name, 0, rows, type, data);
}

int h5_write_strings(struct h5 *h5, const char *name, int64_t count, const char *const *text) {
  int64_t width = 1;
  FREED char *block = NULL;
  for (int64_t i = 0; i < count; i++) width = larger(width, (int64_t)strlen(text[i]) + 1);
  const int64_t most = smaller(count, STRINGS_BYTES / width + 1);
  TRY(memory_alloc(&block, most * width, "strings to be written"));
  hid_t type = h5_string_type((size_t)width);
  int code = create_set(h5, name, type, count, 0);
  for (int64_t first = 0; first < count && code == OK; first += most) {
    int64_t rows = smaller(most, count - first);
    memset(block, 0, (size_t)(rows * width));
    for (int64_t i = 0; i < rows; i++) memcpy(block + i * width, text[first + i], strlen(text[first + i]));
    code = write_set(h5, name, first, rows, type, block);
  }
  H5Tclose(type);
  return code;
}
