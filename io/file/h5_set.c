#include "io/file/h5_hdf5.h"

#include <sys/stat.h>

#include "runtime/base/base.h"

/* What went wrong with a file: HDF5's words, and the system's reason. */

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

enum {
  MOST_COMPRESSION = 1000, /* a dataset larger than this many times its file is a lie */
  LARGEST_CHUNK = 1 << 30, /* bytes */
};

int h5_find_link(hid_t file, const char *name) {
  char part[256];
  H5L_info_t info;
  if (strlen(name) >= sizeof part) return 0;
  for (const char *end = name; *end;) {
    end += strspn(end, "/");
    end += strcspn(end, "/");
    snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
    if (strcmp(part, "/") == 0 || part[0] == '\0') continue;
    if (H5Lexists(file, part, H5P_DEFAULT) <= 0) return 0;
    if (H5Lget_info(file, part, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD) return -1;
  }
  return 1;
}

void h5_close_set(struct h5_set *s) {
  if (s->type > 0) H5Tclose(s->type);
  if (s->space > 0) H5Sclose(s->space);
  if (s->layout > 0) H5Pclose(s->layout);
  if (s->id > 0) H5Oclose(s->id);
  memset(s, 0, sizeof *s);
}

hid_t h5_memory_type(enum h5_type type) {
  const hid_t types[] = {
      [H5_INT32] = H5T_NATIVE_INT32, [H5_INT64] = H5T_NATIVE_INT64,   [H5_UINT8] = H5T_NATIVE_UINT8,
      [H5_FLOAT] = H5T_NATIVE_FLOAT, [H5_DOUBLE] = H5T_NATIVE_DOUBLE, [H5_TEXT] = -1};
  return types[type];
}

int h5_disk_type(hid_t type, enum h5_type *found) {
  size_t size = H5Tget_size(type);
  H5T_class_t class = H5Tget_class(type);
  int natural = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  if (size == 0) return 0;
  if (class == H5T_STRING)
    *found = H5_TEXT;
  else if (class == H5T_FLOAT && size <= 8)
    *found = size <= 4 ? H5_FLOAT : H5_DOUBLE;
  else if (size == 1 && (natural || class == H5T_ENUM)) /* an enum: h5py's bool */
    *found = H5_UINT8;
  else if (class != H5T_INTEGER || size > 8)
    return 0;
  else
    *found = size < 4 || (size == 4 && !natural) ? H5_INT32 : H5_INT64;
  return 1;
}

hid_t h5_string_type(size_t size) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (H5Tset_size(type, size) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0) return type;
  H5Tclose(type);
  return -1;
}

int h5_copy_strings(hid_t id, hid_t type, hid_t memory, hid_t space, int64_t count, char **text) {
  FREED char *block = NULL;
  int short_of_memory = 0, variable = H5Tis_variable_str(type) > 0; /* each in memory of HDF5 */
  int64_t size = variable ? (int64_t)sizeof(char *) : (int64_t)H5Tget_size(type) + 1;
  if (size > INT32_MAX) FAIL(BAD_INPUT, "damaged");
  TRY(memory_alloc(&block, count * size, "strings"));
  hid_t as = H5Tcopy(type);
  if (!variable) H5Tset_size(as, (size_t)size);
  if (!variable) H5Tset_strpad(as, H5T_STR_NULLTERM); /* cut at the end or the padding */
  herr_t status = space ? H5Dread(id, as, memory, space, H5P_DEFAULT, block) : H5Aread(id, as, block);
  for (int64_t i = 0; i < count && status >= 0; i++) {
    const char *string = variable ? ((char **)(void *)block)[i] : block + i * size;
    text[i] = strdup(string ? string : "");
    short_of_memory |= !text[i];
  }
  if (variable && status >= 0) H5Dvlen_reclaim(as, memory, H5P_DEFAULT, block);
  H5Tclose(as);
  if (status < 0) FAIL(BAD_INPUT, "damaged");
  if (short_of_memory) FAIL(FAILED, "out of memory for %lld strings", (long long)count);
  return OK;
}

static void measure_chunk(struct h5_set *s) {
  hsize_t chunk[H5S_MAX_RANK];
  if (H5Pget_layout(s->layout) != H5D_CHUNKED) return;
  const int dims = H5Pget_chunk(s->layout, H5S_MAX_RANK, chunk);
  s->chunk_bytes = (int64_t)H5Tget_size(s->type);
  for (int d = 0; d < dims; d++) {
    if (__builtin_mul_overflow(s->chunk_bytes, (int64_t)chunk[d], &s->chunk_bytes) || s->chunk_bytes < 0)
      s->chunk_bytes = INT64_MAX;
  }
}

/* Sizes that the file cannot back are refused here, before anybody allocates by them. */
static int check_size(const struct h5 *h5, const char *name, struct h5_set *s) {
  struct stat status;
  if (fstat(h5->disk->descriptor, &status) != 0) FAIL(BAD_INPUT, "%s: %s", h5->path, strerror(errno));
  int64_t limit = (int64_t)status.st_size * MOST_COMPRESSION;
  H5D_layout_t layout = H5Pget_layout(s->layout);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(s->layout) > 0)
    FAIL(BAD_INPUT, "%s: %s: keeps its data in other files, which is not allowed", h5->path, name);
  if (layout == H5D_CHUNKED) {
    if (s->chunk_bytes > LARGEST_CHUNK || s->chunk_bytes > limit)
      FAIL(BAD_INPUT, "%s: %s: has chunks of %lld bytes; at most %lld are allowed", h5->path, name,
           (long long)s->chunk_bytes, (long long)(limit < LARGEST_CHUNK ? limit : LARGEST_CHUNK));
  } else if (H5Dget_storage_size(s->id) > 0) {
    limit = status.st_size;
  }
  if (s->bytes > limit)
    FAIL(BAD_INPUT, "%s: %s: claims %lld bytes, more than a file of %lld bytes can hold", h5->path, name,
         (long long)s->bytes, (long long)status.st_size);
  return OK;
}

static int measure_set(struct h5 *h5, const char *name, struct h5_set *s) {
  s->type = H5Dget_type(s->id);
  s->space = H5Dget_space(s->id);
  s->layout = H5Dget_create_plist(s->id);
  int dims = s->space > 0 ? H5Sget_simple_extent_dims(s->space, s->dim, NULL) : -1;
  if (s->type < 0 || s->layout < 0 || dims < 0)
    FAIL(BAD_INPUT, "%s: %s: is damaged: its type or extent cannot be read", h5->path, name);
  if (!h5_disk_type(s->type, &s->shape.type))
    FAIL(BAD_INPUT, "%s: %s: has a type that is not allowed; integers, floats and strings are", h5->path,
         name);
  s->bytes = (int64_t)H5Tget_size(s->type);
  if (s->bytes == 0) FAIL(BAD_INPUT, "%s: %s: is damaged: its type has no size", h5->path, name);
  int empty = H5Sget_simple_extent_type(s->space) == H5S_NULL, too_large = 0;
  for (int d = 0; d < dims; d++) {
    if (d < 4) s->shape.dim[d] = (int64_t)s->dim[d];
    too_large |= s->dim[d] > INT64_MAX;
    empty |= s->dim[d] == 0;
  }
  for (int d = 0; d < dims && !empty && !too_large; d++)
    too_large = __builtin_mul_overflow(s->bytes, (int64_t)s->dim[d], &s->bytes);
  if (too_large) FAIL(BAD_INPUT, "%s: %s: claims more than 2^63 bytes", h5->path, name);
  if (empty) s->bytes = 0;
  s->shape.dims = dims;
  measure_chunk(s);
  if (!h5->written.open) TRY(check_size(h5, name, s)); /* a file being written is still short */
  return OK;
}

static int open_set(struct h5 *h5, const char *name, struct h5_set *s) {
  int found = h5_find_link(h5->file, name);
  if (found < 0)
    FAIL(BAD_INPUT, "%s: %s: is a link to elsewhere; only data in the file itself is allowed", h5->path,
         name);
  if (found == 0) return OK;
  s->id = H5Oopen(h5->file, name, H5P_DEFAULT);
  if (s->id < 0) FAIL(BAD_INPUT, "%s: %s: is damaged: it cannot be opened", h5->path, name);
  s->shape.exists = 1;
  s->shape.is_group = H5Iget_type(s->id) == H5I_GROUP;
  if (s->shape.is_group) return OK;
  if (H5Iget_type(s->id) != H5I_DATASET)
    FAIL(BAD_INPUT, "%s: %s: is neither a group nor a dataset", h5->path, name);
  return measure_set(h5, name, s);
}

int h5_open_set(struct h5 *h5, const char *name, struct h5_set *s) {
  memset(s, 0, sizeof *s);
  return h5_was_read(h5, open_set(h5, name, s));
}
