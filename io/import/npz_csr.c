#include "io/import/npz_csr.h"

#include <math.h>

#include "io/import/import.h"
#include "runtime/base/base.h"

enum { BLOCK = 4096 };

enum { SHAPE, INDPTR, INDICES, DATA };

int npz_members_read(const struct npz *npz, const char *prefix, const char *const name[NPZ_MEMBERS],
                     struct npz_members *members, int64_t size[2]) {
  const struct npy *shape = &members->array[SHAPE];
  for (int i = 0; i < NPZ_MEMBERS; i++) {
    char member[64];
    snprintf(member, sizeof member, "%s%s", prefix, name[i]);
    TRY(npz_read(npz, member, &members->array[i]));
    TRY(npy_check_dims(&members->array[i], 1, "one"));
  }
  if (shape->count != 2)
    FAIL(BAD_INPUT, "%s: has %lld sizes, expected 2", shape->name, (long long)shape->count);
  return npy_int64(shape, 0, 2, size);
}

void npz_members_free(struct npz_members *members) {
  for (int i = 0; i < NPZ_MEMBERS; i++) npy_free(&members->array[i]);
}

/* Allocates m only for sizes that the arrays bear out. */
static int check_shapes(const struct npy *array, const int64_t size[2], struct csr *m) {
  const struct npy *shape = &array[SHAPE], *indptr = &array[INDPTR], *data = &array[DATA];
  int64_t nnz = array[INDICES].count;
  if (size[0] < 0 || size[1] < 0 || size[0] > INT32_MAX || size[1] > INT32_MAX)
    FAIL(BAD_INPUT, "%s: %lld x %lld; sizes from 0 to %d are read", shape->name, (long long)size[0],
         (long long)size[1], INT32_MAX);
  if (indptr->count != size[0] + 1)
    FAIL(BAD_INPUT, "%s: has %lld offsets for %lld rows, expected %lld", indptr->name,
         (long long)indptr->count, (long long)size[0], (long long)size[0] + 1);
  if (data->count != nnz)
    FAIL(BAD_INPUT, "%s: has %lld values for %lld indices", data->name, (long long)data->count,
         (long long)nnz);
  TRY(import_check_size(size[1], nnz + size[0], shape->name));
  return csr_init(m, size[0], size[1], nnz, 1);
}

static int read_starts(const struct npy *indptr, struct csr *m) {
  TRY(npy_int64(indptr, 0, m->rows + 1, m->start));
  for (int64_t v = 0; v < m->rows; v++) {
    if (m->start[v + 1] < m->start[v])
      FAIL(BAD_INPUT, "%s: offset %lld is smaller than the one before it", indptr->name, (long long)v + 1);
  }
  if (m->start[0] != 0 || m->start[m->rows] != m->nnz)
    FAIL(BAD_INPUT, "%s: runs from %lld to %lld, expected 0 to %lld", indptr->name, (long long)m->start[0],
         (long long)m->start[m->rows], (long long)m->nnz);
  return OK;
}

static int read_columns(const struct npy *indices, struct csr *m) {
  int64_t block[BLOCK];
  for (int64_t first = 0; first < m->nnz; first += BLOCK) {
    int64_t count = smaller(m->nnz - first, BLOCK);
    TRY(npy_int64(indices, first, count, block));
    for (int64_t k = 0; k < count; k++) {
      if (block[k] < 0 || block[k] >= m->cols)
        FAIL(BAD_INPUT, "%s: element %lld is %lld, outside 0 .. %lld", indices->name, (long long)(first + k),
             (long long)block[k], (long long)m->cols - 1);
      m->col[first + k] = (int32_t)block[k];
    }
  }
  return OK;
}

int npz_csr_read(const struct npz *npz, const char *prefix, struct csr *m) {
  static const char *const name[] = {"shape", "indptr", "indices", "data"};
  ENDED_BY(npz_members_free) struct npz_members members = {0};
  int64_t size[2];
  *m = (struct csr){0};
  TRY(npz_members_read(npz, prefix, name, &members, size));
  TRY(check_shapes(members.array, size, m));
  TRY(read_starts(&members.array[INDPTR], m));
  TRY(read_columns(&members.array[INDICES], m));
  return npy_float(&members.array[DATA], 0, m->nnz, m->weight);
}

static int is_sorted(const struct csr *m) {
  for (int64_t v = 0; v < m->rows; v++) {
    for (int64_t e = m->start[v] + 1; e < m->start[v + 1]; e++) {
      if (m->col[e] <= m->col[e - 1]) return 0;
    }
  }
  return 1;
}

/* Equal neighbours stand side by side in a sorted row: keeps one with the sum of the weights. */
static int merge_duplicates(struct csr *m) {
  int64_t kept = 0, begin = 0;
  for (int64_t v = 0; v < m->rows; v++) {
    int64_t end = m->start[v + 1];
    for (int64_t e = begin; e < end;) {
      int64_t first = e;
      double sum = 0;
      for (; e < end && m->col[e] == m->col[first]; e++) sum += m->weight ? (double)m->weight[e] : 0;
      m->col[kept] = m->col[first];
      if (m->weight) m->weight[kept] = (float)sum;
      if (!isfinite((float)sum))
        FAIL(BAD_INPUT, "the values that stand at column %d of row %lld add up to more than a float holds",
             m->col[kept], (long long)v);
      kept++;
    }
    begin = end;
    m->start[v + 1] = kept;
  }
  m->nnz = kept;
  return OK;
}

int npz_csr_sort(struct csr *m) {
  if (is_sorted(m)) return OK;
  ENDED_BY(csr_free) struct csr turned = {0};
  TRY(csr_transpose(m, &turned, NULL));
  csr_free(m);
  TRY(csr_transpose(&turned, m, NULL)); /* transposing twice sorts */
  return merge_duplicates(m);
}

int npz_check_format(const struct npz *npz, const char *expected, const char *allowed) {
  ENDED_BY(npy_free) struct npy format = {0};
  char text[8] = "";
  if (!npz_has(npz, "format")) return OK;
  TRY(npz_read(npz, "format", &format));
  TRY(npy_text(&format, 0, text, sizeof text));
  for (int i = 0; i < 3; i++) {
    if (text[i] != expected[i])
      FAIL(BAD_INPUT, "%s: a scipy matrix of format \"%s\"; save it as %s", npz->path, text, allowed);
  }
  return OK;
}
