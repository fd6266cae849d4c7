#include "io/file/npy.h"

#include <math.h>
#include <sys/stat.h>

#include "runtime/base/base.h"
#include "runtime/file/input.h"

enum { NPY_HEADER = 64 << 10 }; /* longest header; numpy's own limit is 10,000 */

void npy_free(struct npy *npy) {
  if (npy->file) fclose(npy->file);
  free(npy->bytes);
  *npy = (struct npy){0};
}

/* What stands behind 'key': in the header's dictionary, or NULL. */
static const char *header_value(const char *header, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s'", key);
  const char *at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  at += strspn(at, " ");
  if (*at != ':') return NULL;
  return at + 1 + strspn(at + 1, " ");
}

static int refuse_type(const struct npy *npy, const char *descr) {
  size_t length = strcspn(descr + 1, "'");
  FAIL(BAD_INPUT, "%s: type '%.*s' is not bool, int, uint or float of at most 64 bits", npy->name,
       length < 24 ? (int)length : 24, descr + 1);
}

/* "'<f4'": byte order, kind, width. */
static int parse_descr(struct npy *npy, const char *descr) {
  if (!descr || *descr != '\'' || !descr[1] || !descr[2])
    FAIL(BAD_INPUT, "%s: not an array of plain numbers (records are not read)", npy->name);
  char order = descr[1], kind = descr[2], *end = NULL;
  if (kind == 'O')
    FAIL(BAD_INPUT, "%s: holds Python objects (pickles); save it as an array of numbers", npy->name);
  long width = strtol(descr + 3, &end, 10);
  static const char kinds[] = "biufSU";
  static const enum npy_kind meaning[] = {NPY_BOOL, NPY_INT, NPY_UINT, NPY_FLOAT, NPY_TEXT, NPY_TEXT};
  const char *found = kind ? strchr(kinds, kind) : NULL;
  if (!found || *end != '\'' || !strchr("<>|=", order) || width < 1 || width > 1024)
    return refuse_type(npy, descr);
  npy->kind = meaning[found - kinds];
  npy->width = (int)width * (kind == 'U' ? 4 : 1);
  int power = width == 1 || width == 2 || width == 4 || width == 8;
  if (npy->kind != NPY_TEXT && (!power || (kind == 'f' && width == 1) || (kind == 'b' && width != 1)))
    return refuse_type(npy, descr);
  uint16_t probe = 1;
  int little = *(unsigned char *)&probe == 1;
  npy->swap = npy->width > 1 && ((order == '>' && little) || (order == '<' && !little));
  return OK;
}

/* "(3, 4)", "(3,)" or "()". */
static int parse_shape(struct npy *npy, const char *shape) {
  if (!shape || *shape++ != '(') FAIL(BAD_INPUT, "%s: the header has no shape", npy->name);
  npy->count = 1;
  for (;;) {
    shape += strspn(shape, " ,L");
    if (*shape == ')') return OK;
    if (npy->dims == NPY_DIMS) FAIL(BAD_INPUT, "%s: more than %d dimensions", npy->name, NPY_DIMS);
    char *end;
    errno = 0;
    long long size = strtoll(shape, &end, 10);
    if (end == shape || errno || size < 0 || __builtin_mul_overflow(npy->count, size, &npy->count))
      FAIL(BAD_INPUT, "%s: the header's shape \"%.40s\" is not a list of sizes", npy->name, shape);
    npy->dim[npy->dims++] = size;
    shape = end;
  }
}

static int parse_header(struct npy *npy, const char *header) {
  TRY(parse_descr(npy, header_value(header, "descr")));
  TRY(parse_shape(npy, header_value(header, "shape")));
  const char *order = header_value(header, "fortran_order");
  if (!order || (strncmp(order, "True", 4) != 0 && strncmp(order, "False", 5) != 0))
    FAIL(BAD_INPUT, "%s: the header has no fortran_order of True or False", npy->name);
  npy->fortran = *order == 'T' && npy->dims > 1;
  if (npy->fortran && npy->dims > 2)
    FAIL(BAD_INPUT, "%s: Fortran order with %d dimensions; save it in C order", npy->name, npy->dims);
  return OK;
}

/* What stands before the elements: b holds so many bytes of a file of `size`, or all. */
static int parse_head(struct npy *npy, const unsigned char *b, int64_t size) {
  const char *name = npy->name;
  if (size < 10 || memcmp(b, "\x93NUMPY", 6) != 0) FAIL(BAD_INPUT, "%s: not a numpy array file", name);
  if (b[6] < 1 || b[6] > 3) FAIL(BAD_INPUT, "%s: npy version %d; allowed: 1 to 3", name, b[6]);
  int64_t at = b[6] == 1 ? 10 : 12;
  int64_t length = b[8] | b[9] << 8;
  if (b[6] > 1 && size >= 12) length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
  if (at + length > size || length > NPY_HEADER)
    FAIL(BAD_INPUT, "%s: a header of %lld bytes in a file of %lld", name, (long long)length, (long long)size);
  FREED char *header = NULL;
  TRY(memory_alloc(&header, length + 1, "the header of an npy file"));
  memcpy(header, b + at, (size_t)length);
  TRY(parse_header(npy, header));
  npy->begin = at + length;
  int64_t need;
  if (__builtin_mul_overflow(npy->count, npy->width, &need) || need != size - at - length)
    FAIL(BAD_INPUT, "%s: the header asks for %lld elements of %d bytes, the file has %lld bytes of data",
         name, (long long)npy->count, npy->width, (long long)(size - at - length));
  return OK;
}

int npy_parse(struct npy *npy, void *bytes, int64_t size, const char *name) {
  *npy = (struct npy){.bytes = bytes};
  snprintf(npy->name, sizeof npy->name, "%s", name);
  TRY(parse_head(npy, bytes, size));
  npy->data = (const unsigned char *)bytes + npy->begin;
  return OK;
}

static int open_file(struct npy *npy, const char *path, int64_t *size) {
  struct stat status;
  *npy = (struct npy){0};
  snprintf(npy->name, sizeof npy->name, "%s", path);
  npy->file = input_open(path);
  if (!npy->file) FAIL(input_code(errno), "%s: cannot be opened: %s", path, strerror(errno));
  if (fstat(fileno(npy->file), &status) != 0)
    FAIL(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) FAIL(BAD_INPUT, "%s: not a regular file", path);
  *size = status.st_size;
  return OK;
}

/* bytes: in place of those before. */
static int read_bytes(struct npy *npy, int64_t at, int64_t size) {
  free(npy->bytes);
  npy->bytes = NULL;
  TRY(memory_alloc(&npy->bytes, size, npy->name));
  errno = 0;
  if (fseeko(npy->file, (off_t)at, SEEK_SET) == 0 &&
      fread(npy->bytes, 1, (size_t)size, npy->file) == (size_t)size)
    return OK;
  const int error = ferror(npy->file) ? errno : 0;
  FAIL(input_code(error), "%s: cannot be read: %s", npy->name,
       error ? strerror(error) : "it has become shorter");
}

int npy_read(struct npy *npy, const char *path) {
  int64_t size = 0;
  int code = open_file(npy, path, &size);
  if (code == OK) code = read_bytes(npy, 0, size);
  if (npy->file) fclose(npy->file);
  npy->file = NULL;
  TRY(code);
  return npy_parse(npy, npy->bytes, size, path);
}

int npy_open(struct npy *npy, const char *path) {
  int64_t size = 0;
  TRY(open_file(npy, path, &size));
  TRY(read_bytes(npy, 0, smaller(size, NPY_HEADER + 12)));
  TRY(parse_head(npy, npy->bytes, size));
  if (npy->fortran) FAIL(BAD_INPUT, "%s: in Fortran order; save it in C order", path);
  return OK;
}

int npy_load(struct npy *npy, int64_t first, int64_t count) {
  TRY(read_bytes(npy, npy->begin + first * npy->width, count * npy->width));
  npy->data = npy->bytes;
  npy->first = first;
  return OK;
}

/* The bits of element i in C order. */
static uint64_t element(const struct npy *npy, int64_t i) {
  int64_t at = npy->fortran ? i % npy->dim[1] * npy->dim[0] + i / npy->dim[1] : i - npy->first;
  const unsigned char *p = npy->data + at * npy->width;
  uint16_t half;
  uint32_t word;
  uint64_t wide;
  switch (npy->width) {
  case 1:
    return *p;
  case 2:
    memcpy(&half, p, 2);
    return npy->swap ? __builtin_bswap16(half) : half;
  case 4:
    memcpy(&word, p, 4);
    return npy->swap ? __builtin_bswap32(word) : word;
  default:
    memcpy(&wide, p, 8);
    return npy->swap ? __builtin_bswap64(wide) : wide;
  }
}

static int64_t signed_value(uint64_t bits, int width) {
  int shift = 64 - 8 * width;
  return (int64_t)(bits << shift) >> shift;
}

static double half_value(uint64_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                 : exponent == 0 ? ldexp(fraction, -24)
                                 : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 & 1 ? -value : value;
}

static double float_value(uint64_t bits, int width) {
  double wide;
  float single;
  uint32_t low = (uint32_t)bits;
  if (width == 2) return half_value(bits);
  memcpy(&single, &low, 4);
  memcpy(&wide, &bits, 8);
  return width == 4 ? (double)single : wide;
}

static int check_numbers(const struct npy *npy) {
  if (npy->kind == NPY_TEXT) FAIL(BAD_INPUT, "%s: holds texts, numbers are expected", npy->name);
  return OK;
}

int npy_int64(const struct npy *npy, int64_t first, int64_t count, int64_t *values) {
  TRY(check_numbers(npy));
  for (int64_t k = 0; k < count; k++) {
    uint64_t bits = element(npy, first + k);
    values[k] = npy->kind == NPY_INT ? signed_value(bits, npy->width) : (int64_t)bits;
    int bad = npy->kind == NPY_UINT && bits > INT64_MAX;
    if (npy->kind == NPY_FLOAT) {
      double value = float_value(bits, npy->width);
      bad = !(fabs(value) <= 0x1p53) || value != trunc(value);
      values[k] = bad ? 0 : (int64_t)value;
    }
    if (bad)
      FAIL(BAD_INPUT, "%s: element %lld is not a whole number of 64 bits", npy->name, (long long)(first + k));
  }
  return OK;
}

int npy_is_nan(const struct npy *npy, int64_t i) {
  return npy->kind == NPY_FLOAT && isnan(float_value(element(npy, i), npy->width));
}

int npy_float(const struct npy *npy, int64_t first, int64_t count, float *values) {
  TRY(check_numbers(npy));
  for (int64_t k = 0; k < count; k++) {
    uint64_t bits = element(npy, first + k);
    values[k] = npy->kind == NPY_FLOAT ? (float)float_value(bits, npy->width)
                : npy->kind == NPY_INT ? (float)signed_value(bits, npy->width)
                                       : (float)bits;
    if (!isfinite(values[k]))
      FAIL(BAD_INPUT, "%s: element %lld is not a finite single-precision number", npy->name,
           (long long)(first + k));
  }
  return OK;
}

int npy_text(const struct npy *npy, int64_t i, char *text, int64_t size) {
  if (npy->kind != NPY_TEXT || i >= npy->count) FAIL(BAD_INPUT, "%s: a text is expected", npy->name);
  /* Texts of 4-byte characters are read for their ASCII part: descr 'U' widths are multiples of 4. */
  const unsigned char *p = npy->data + i * npy->width;
  int64_t n = 0;
  for (int at = 0; at < npy->width && n < size - 1; at++) {
    if (p[at]) text[n++] = (char)p[at];
  }
  text[n] = '\0';
  return OK;
}

int npy_check_dims(const struct npy *npy, int dims, const char *shape) {
  if (npy->dims != dims) FAIL(BAD_INPUT, "%s: has %d dimensions, expected %s", npy->name, npy->dims, shape);
  return OK;
}

/* Version 1.0: magic, the length of the rest in two bytes, a dictionary, blanks, so that elements begin at a
 * multiple of 64. */
/* "(3, 4)", or "(3,)" of one dimension. */
static void shape_text(int dims, const int64_t *dim, char *text, size_t size) {
  int used = snprintf(text, size, "(%lld,", (long long)dim[0]);
  for (int i = 1; i < dims; i++)
    used += snprintf(text + used, size - (size_t)used, " %lld%s", (long long)dim[i], i + 1 < dims ? "," : "");
  snprintf(text + used, size - (size_t)used, ")");
}

void npy_write_head(FILE *out, const char *descr, int dims, const int64_t *dim) {
  enum { MAGIC = 10, BLOCK = 64 };
  char text[192], shape[96];
  shape_text(dims, dim, shape, sizeof shape);
  const int used = snprintf(text, sizeof text, "{'descr': '%.8s', 'fortran_order': False, 'shape': %s, }",
                            descr, shape);
  const int length = (MAGIC + used + 1 + BLOCK - 1) / BLOCK * BLOCK - MAGIC;
  fwrite("\x93NUMPY\x01", 1, 7, out);
  fputc(0, out);
  fputc(length & 255, out);
  fputc(length >> 8, out);
  fprintf(out, "%-*s\n", length - 1, text);
}
