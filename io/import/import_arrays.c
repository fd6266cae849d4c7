#include "io/import/import_arrays.h"

#include "io/import/npz_csr.h"
#include "runtime/base/base.h"

enum { BLOCK = 4096 };

static int is_one(float value) {
  return !(value < 1.0F || value > 1.0F);
}

/* The columns of a rectangle follow its rows. Returns where they begin. */
static int64_t settle_nodes(struct edges *edges, int64_t rows, int64_t cols) {
  int64_t offset = rows == cols ? 0 : rows;
  edges->nodes = cols + offset;
  if (offset) edges->undirected = 1;
  return offset;
}

int import_csr(struct import *import, const struct npz *npz, const char *prefix) {
  ENDED_BY(csr_free) struct csr m = {0};
  TRY(npz_csr_read(npz, prefix, &m));
  struct edges *edges = &import->edges;
  int64_t offset = settle_nodes(edges, m.rows, m.cols);
  import->valued |= edges->list.weighted;
  for (int64_t v = 0; v < m.rows; v++) {
    for (int64_t e = m.start[v]; e < m.start[v + 1]; e++) {
      import->valued |= !is_one(m.weight[e]);
      TRY(arcs_add(&edges->list, v, m.col[e] + offset, m.weight[e]));
    }
  }
  return OK;
}

enum { SHAPE, ROW, COL, DATA }; /* the arrays of a COO matrix */

static int check_shapes(const struct npy *array, const int64_t size[2]) {
  const struct npy *shape = &array[SHAPE];
  int64_t nnz = array[ROW].count, cols = array[COL].count, values = array[DATA].count;
  if (cols != nnz || values != nnz)
    FAIL(BAD_INPUT, "%s: %lld rows, %lld columns and %lld values of entries do not go together", shape->name,
         (long long)nnz, (long long)cols, (long long)values);
  for (int i = 0; i < 2; i++) {
    if (size[i] < 0) FAIL(BAD_INPUT, "%s: %lld is no size", shape->name, (long long)size[i]);
    TRY(import_check_size(size[i], nnz, shape->name));
  }
  return OK;
}

static int read_ids(const struct npy *array, int64_t first, int64_t count, int64_t size, int64_t *id) {
  TRY(npy_int64(array, first, count, id));
  for (int64_t k = 0; k < count; k++) {
    if (id[k] < 0 || id[k] >= size)
      FAIL(BAD_INPUT, "%s: element %lld is %lld, outside 0 .. %lld", array->name, (long long)(first + k),
           (long long)id[k], (long long)size - 1);
  }
  return OK;
}

static int add_entries(struct import *import, const struct npy *array, const int64_t size[2]) {
  struct edges *edges = &import->edges;
  int64_t nnz = array[ROW].count, row[BLOCK], col[BLOCK];
  int64_t offset = settle_nodes(edges, size[0], size[1]);
  float value[BLOCK];
  import->valued |= edges->list.weighted;
  for (int64_t first = 0; first < nnz; first += BLOCK) {
    int64_t count = smaller(nnz - first, BLOCK);
    TRY(read_ids(&array[ROW], first, count, size[0], row));
    TRY(read_ids(&array[COL], first, count, size[1], col));
    TRY(npy_float(&array[DATA], first, count, value));
    for (int64_t k = 0; k < count; k++) {
      import->valued |= !is_one(value[k]);
      TRY(arcs_add(&edges->list, row[k], col[k] + offset, value[k]));
    }
  }
  return OK;
}

static int import_coo(struct import *import, const struct npz *npz) {
  static const char *const name[] = {"shape", "row", "col", "data"};
  ENDED_BY(npz_members_free) struct npz_members members = {0};
  int64_t size[2];
  TRY(npz_members_read(npz, "", name, &members, size));
  TRY(check_shapes(members.array, size));
  return add_entries(import, members.array, size);
}

int import_scipy(struct import *import, const struct npz *npz) {
  int coo = npz_has(npz, "row");
  TRY(npz_check_format(npz, coo ? "coo" : "csr", "csr or coo"));
  return coo ? import_coo(import, npz) : import_csr(import, npz, "");
}

int import_pairs(struct import *import, const struct npy *pairs, int by_arc) {
  struct edges *edges = &import->edges;
  if (pairs->dims != 2 || pairs->dim[by_arc] != 2)
    FAIL(BAD_INPUT, "%s: expected pairs of node ids, %s", pairs->name, by_arc ? "[edges, 2]" : "[2, edges]");
  int64_t arcs = pairs->dim[!by_arc], limit = edges->nodes ? edges->nodes : INT64_MAX;
  for (int64_t i = 0; i < arcs; i++) {
    int64_t pair[2];
    for (int k = 0; k < 2; k++) {
      TRY(npy_int64(pairs, by_arc ? 2 * i + k : k * arcs + i, 1, &pair[k]));
      if (pair[k] < 0 || pair[k] >= limit)
        FAIL(BAD_INPUT, "%s: edge %lld names node %lld, outside 0 .. %lld", pairs->name, (long long)i,
             (long long)pair[k], (long long)limit - 1);
    }
    TRY(arcs_add(&edges->list, pair[0], pair[1], 1));
  }
  return OK;
}

int import_array(struct import *import, const struct npz *npz, const char *name,
                 int (*take)(struct import *import, const struct npy *array)) {
  ENDED_BY(npy_free) struct npy array = {0};
  TRY(npz_read(npz, name, &array));
  return take(import, &array);
}
