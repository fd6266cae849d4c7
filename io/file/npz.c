#include "io/file/npz.h"

#include <sys/stat.h>
#include <zip.h>

#include "runtime/base/base.h"

enum { DEFLATE_RATIO = 1032, MEMBER_SLACK = 4096 };

int npz_open(struct npz *npz, const char *path) {
  *npz = (struct npz){0};
  if (snprintf(npz->path, sizeof npz->path, "%s", path) >= (int)sizeof npz->path)
    FAIL(BAD_INPUT, "the path \"%.60s...\" is longer than %zu bytes", path, sizeof npz->path - 1);
  int code = 0;
  npz->archive = zip_open(path, ZIP_RDONLY, &code);
  struct stat status;
  if (npz->archive && stat(path, &status) == 0) npz->bytes = status.st_size;
  if (npz->archive)
    return memory_alloc(&npz->was_read, zip_get_num_entries(npz->archive, 0) + 1, "the list of members");
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  char reason[256];
  snprintf(reason, sizeof reason, "%s", zip_error_strerror(&error));
  zip_error_fini(&error);
  FAIL(BAD_INPUT, "%s: cannot be opened as an npz archive: %s", path, reason);
}

void npz_close(struct npz *npz) {
  if (npz->archive) zip_discard(npz->archive);
  free(npz->was_read);
  *npz = (struct npz){0};
}

static zip_int64_t find(const struct npz *npz, const char *name) {
  char member[256];
  snprintf(member, sizeof member, "%s.npy", name);
  return zip_name_locate(npz->archive, member, ZIP_FL_ENC_RAW);
}

int npz_has(const struct npz *npz, const char *name) {
  return find(npz, name) >= 0;
}

static int check_member(const struct npz *npz, const struct zip_stat *stat, const char *what) {
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat->valid & needed) != needed ||
      (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE) ||
      ((stat->valid & ZIP_STAT_ENCRYPTION_METHOD) && stat->encryption_method != ZIP_EM_NONE))
    FAIL(BAD_INPUT, "%s: neither stored nor deflated, as numpy writes it", what);
  if (stat->comp_size > (zip_uint64_t)npz->bytes)
    FAIL(BAD_INPUT, "%s: claims %llu compressed bytes in a file of %lld", what,
         (unsigned long long)stat->comp_size, (long long)npz->bytes);
  if (stat->comp_size > INT64_MAX / (2 * DEFLATE_RATIO) ||
      stat->size > stat->comp_size * DEFLATE_RATIO + MEMBER_SLACK)
    FAIL(BAD_INPUT, "%s: claims %llu bytes from %llu compressed ones, more than deflate can hold", what,
         (unsigned long long)stat->size, (unsigned long long)stat->comp_size);
  if ((int64_t)stat->size > memory_available())
    FAIL(BAD_INPUT, "%s: %llu bytes do not fit in free memory", what, (unsigned long long)stat->size);
  return OK;
}

/* Exactly `size` bytes, then the end, where libzip compares the checksum. */
static int read_member(zip_file_t *file, char *bytes, int64_t size, const char *what) {
  char beyond;
  int64_t got = 0, n = 1;
  while (got < size && n > 0) {
    n = zip_fread(file, bytes + got, (zip_uint64_t)(size - got));
    if (n > 0) got += n;
  }
  if (got < size || zip_fread(file, &beyond, 1) != 0)
    FAIL(BAD_INPUT, "%s: damaged: %s", what, n < 0 ? zip_file_strerror(file) : "size or checksum is wrong");
  return OK;
}

int npz_read(const struct npz *npz, const char *name, struct npy *array) {
  *array = (struct npy){0};
  char what[sizeof array->name];
  snprintf(what, sizeof what, "%.900s: %.80s", npz->path, name);
  zip_int64_t index = find(npz, name);
  struct zip_stat stat;
  if (index < 0 || zip_stat_index(npz->archive, (zip_uint64_t)index, 0, &stat) != 0)
    FAIL(BAD_INPUT, "%s: there is no array \"%s\"", npz->path, name);
  npz->was_read[index] = 1;
  TRY(check_member(npz, &stat, what));
  TRY(memory_alloc(&array->bytes, (int64_t)stat.size, what));
  zip_file_t *file = zip_fopen_index(npz->archive, (zip_uint64_t)index, 0);
  if (!file) FAIL(BAD_INPUT, "%s: cannot be read: %s", what, zip_strerror(npz->archive));
  int code = read_member(file, array->bytes, (int64_t)stat.size, what);
  zip_fclose(file);
  TRY(code);
  return npy_parse(array, array->bytes, (int64_t)stat.size, what);
}

void npz_unread(const struct npz *npz, char *list, int64_t size) {
  int64_t used = 0;
  list[0] = '\0';
  for (zip_int64_t i = 0; i < zip_get_num_entries(npz->archive, 0); i++) {
    const char *name = zip_get_name(npz->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
    if (npz->was_read[i] || !name || used >= size) continue;
    int length = (int)strlen(name),
        bare = length > 4 && strcmp(name + length - 4, ".npy") == 0 ? length - 4 : length;
    used += snprintf(list + used, (size_t)(size - used), "%s%.*s", used ? ", " : "", bare, name);
  }
}
