#include "io/file/named_arrays.h"

#include <zip.h>

#include "io/file/npy.h"
#include "runtime/base/base.h"

int64_t named_array_bytes(const struct named_array *array) {
  int64_t count = 1;
  for (int i = 0; i < array->dims; i++) count *= array->dim[i];
  return count * (int64_t)sizeof *array->data;
}

static void put_entry(FILE *text, const struct named_array *array, int64_t first) {
  fprintf(text, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", array->name);
  for (int i = 0; i < array->dims; i++) fprintf(text, "%s%lld", i ? "," : "", (long long)array->dim[i]);
  fprintf(text, "],\"data_offsets\":[%lld,%lld]}", (long long)first,
          (long long)(first + named_array_bytes(array)));
}

/* The header, whose length is a multiple of 8. */
static int make_header(const struct named_array *array, int64_t count, char **header, size_t *length) {
  int64_t first = 0;
  FILE *text = open_memstream(header, length);
  if (!text) FAIL(FAILED, "out of memory: no room for a list of arrays");
  fputs("{\"__metadata__\":{\"format\":\"pt\"}", text);
  for (int64_t i = 0; i < count; i++) {
    put_entry(text, &array[i], first);
    first += named_array_bytes(&array[i]);
  }
  fputc('}', text);
  for (long at = ftell(text); at % 8 != 0; at++) fputc(' ', text);
  if (fclose(text) != 0) FAIL(FAILED, "out of memory: no room for a list of arrays");
  return OK;
}

int named_arrays_write_safetensors(FILE *out, const struct named_array *array, int64_t count) {
  FREED char *header = NULL;
  size_t length = 0;
  TRY(make_header(array, count, &header, &length));
  const uint64_t size = length;
  for (int i = 0; i < 8; i++) fputc((int)(size >> 8 * i & 255), out);
  fwrite(header, 1, length, out);
  for (int64_t i = 0; i < count; i++) fwrite(array[i].data, 1, (size_t)named_array_bytes(&array[i]), out);
  return OK;
}

static int fail_because(zip_error_t *error) {
  char reason[256];
  snprintf(reason, sizeof reason, "%s", zip_error_strerror(error));
  FAIL(FAILED, "an npz archive cannot be made: %s", reason);
}

/* An array file in memory, for libzip to free. */
static int make_member(const struct named_array *array, char **bytes, size_t *size) {
  FILE *file = open_memstream(bytes, size);
  if (!file) FAIL(FAILED, "out of memory: no room for an array to be written");
  npy_write_head(file, "<f4", array->dims, array->dim);
  fwrite(array->data, 1, (size_t)named_array_bytes(array), file);
  if (fclose(file) != 0) FAIL(FAILED, "out of memory: no room for an array to be written");
  return OK;
}

static int add_member(zip_t *archive, const struct named_array *array) {
  char name[80], *bytes = NULL;
  size_t size = 0;
  int code = make_member(array, &bytes, &size);
  zip_source_t *source = code == OK ? zip_source_buffer(archive, bytes, size, 1) : NULL;
  if (!source) free(bytes);
  TRY(code);
  if (!source) return fail_because(zip_get_error(archive));
  snprintf(name, sizeof name, "%s.npy", array->name);
  const zip_int64_t at = zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8);
  if (at < 0) zip_source_free(source);
  if (at < 0 || zip_set_file_compression(archive, (zip_uint64_t)at, ZIP_CM_STORE, 0) != 0)
    return fail_because(zip_get_error(archive));
  return OK;
}

static int add_members(zip_t *archive, const struct named_array *array, int64_t count) {
  for (int64_t i = 0; i < count; i++) TRY(add_member(archive, &array[i]));
  return OK;
}

/* What the archive has become. */
static int copy_out(zip_source_t *whole, FILE *out) {
  char block[1 << 16];
  zip_int64_t got = 1;
  if (zip_source_open(whole) != 0) return fail_because(zip_source_error(whole));
  while (got > 0) {
    got = zip_source_read(whole, block, sizeof block);
    if (got > 0) fwrite(block, 1, (size_t)got, out);
  }
  zip_source_close(whole);
  return got < 0 ? fail_because(zip_source_error(whole)) : OK;
}

static int write_archive(zip_source_t *whole, FILE *out, const struct named_array *array, int64_t count) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_keep(whole); /* closing the archive gives one up */
  zip_t *archive = zip_open_from_source(whole, ZIP_CREATE | ZIP_TRUNCATE, &error);
  if (!archive) {
    zip_source_free(whole);
    return fail_because(&error);
  }
  int code = add_members(archive, array, count);
  if (code == OK && zip_close(archive) != 0)
    code = fail_because(zip_get_error(archive));
  else if (code == OK)
    return copy_out(whole, out);
  zip_discard(archive);
  return code;
}

int named_arrays_write_npz(FILE *out, const struct named_array *array, int64_t count) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *whole = zip_source_buffer_create(NULL, 0, 0, &error);
  if (!whole) return fail_because(&error);
  const int code = write_archive(whole, out, array, count);
  zip_source_free(whole);
  return code;
}
