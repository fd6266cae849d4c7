#include "io/file/named_arrays.h"
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
