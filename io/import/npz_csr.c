#include "io/import/npz_csr.h"

#include "io/dataset/edges.h"
#include "io/import/import.h"
#include "runtime/base/base.h"

enum { BLOCK = 4096 };

/* The arrays while they are read. */
struct members {
  struct npy indptr, indices, shape, data;
};

static int read_members(const struct npz *npz, const char *prefix, struct members *members) {
  const struct {
    const char *name;
    struct npy *array;
  } wanted[] = {{"shape", &members->shape},
                {"indptr", &members->indptr},
                {"indices", &members->indices},
                {"data", &members->data}};
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, wanted[i].name);
    TRY(npz_read(npz, name, wanted[i].array));
    TRY(npy_check_dims(wanted[i].array, 1, "one"));
  }
  return OK;
}

/* Allocates m only for sizes that the arrays bear out. */
static int check_shapes(const struct members *members, struct csr *m) {
  const struct npy *shape = &members->shape;
  int64_t size[2];
  if (shape->count != 2)
    FAIL(BAD_INPUT, "%s: has %lld sizes, expected 2", shape->name, (long long)shape->count);
  TRY(npy_int64(shape, 0, 2, size));
  int64_t nnz = members->indices.count;
  if (size[0] < 0 || size[1] < 0 || size[0] > INT32_MAX || size[1] > INT32_MAX)
    FAIL(BAD_INPUT, "%s: %lld x %lld; sizes from 0 to %d are read", shape->name, (long long)size[0],
         (long long)size[1], INT32_MAX);
  if (members->indptr.count != size[0] + 1)
    FAIL(BAD_INPUT, "%s: has %lld offsets for %lld rows, expected %lld", members->indptr.name,
         (long long)members->indptr.count, (long long)size[0], (long long)size[0] + 1);
  if (members->data.count != nnz)
    FAIL(BAD_INPUT, "%s: has %lld values for %lld indices", members->data.name,
         (long long)members->data.count, (long long)nnz);
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
    int64_t count = m->nnz - first < BLOCK ? m->nnz - first : BLOCK;
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

static int read_matrix(const struct npz *npz, const char *prefix, struct members *members, struct csr *m) {
  TRY(read_members(npz, prefix, members));
  TRY(check_shapes(members, m));
  TRY(read_starts(&members->indptr, m));
  TRY(read_columns(&members->indices, m));
  return npy_float(&members->data, 0, m->nnz, m->weight);
}

int npz_csr_read(const struct npz *npz, const char *prefix, struct csr *m) {
  *m = (struct csr){0};
  struct members members = {0};
  int code = read_matrix(npz, prefix, &members, m);
  npy_free(&members.indptr);
  npy_free(&members.indices);
  npy_free(&members.shape);
  npy_free(&members.data);
  return code;
}

static int is_sorted(const struct csr *m) {
  for (int64_t v = 0; v < m->rows; v++) {
    for (int64_t e = m->start[v] + 1; e < m->start[v + 1]; e++) {
      if (m->col[e] <= m->col[e - 1]) return 0;
    }
  }
  return 1;
}

int npz_csr_sort(struct csr *m) {
  if (is_sorted(m)) return OK;
  struct csr turned = {0}, sorted = {0};
  int code = csr_transpose(m, &turned, NULL);
  if (code == OK) code = csr_transpose(&turned, &sorted, NULL); /* transposing twice sorts */
  csr_free(&turned);
  csr_free(m);
  *m = sorted;
  TRY(code);
  return edges_merge_duplicates(m);
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
