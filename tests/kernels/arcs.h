/* arcs: the pattern that tests of attention share, in the two parts of a shard, and messages. */
#ifndef TESTS_KERNELS_ARCS_H
#define TESTS_KERNELS_ARCS_H

#include "kernels/ops/attention.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"
#include "tests/kernels/every_table.h"

/* Own rows, columns of the halo behind them. */
static int64_t own, halo;
/* Share of the arcs that there could be, in [0, 1]; full: row 7 has all of them. */
static double density;
static int full;

/* How both parts are laid out. */
static struct layout_plan plan_of_arcs = {.tiers = LAYOUT_GATHER};
/* A column that row 9 alone has; -1: none. Whether every seventh row has even columns alone. */
static int64_t rare = -1;
static int even_rows;
/* Two of three blocks of 128 rows by 64 columns have hardly any arcs. */
static int thin;
/* Rows are late: summed whole, from two matrices. */
static int late;

/* Columns of the halo, all of which row 7 has where it is full: a GPU cuts it into 72 pieces, which take a
 * block two rounds to add (kernels/cuda/attention/parts/long_rows_of_arcs.cuh). */
enum { MANY_PIECES = 2300 };

static inline void set_arcs(int64_t rows, int64_t halo_rows, double share, int with_full_row) {
  own = rows;
  halo = halo_rows;
  density = share;
  full = with_full_row;
}

/* Rows 4, 14, ... have no arcs, every third row none from the halo; never (v <- v). */
static inline int has_arc(int64_t v, int64_t u) {
  if (v % 10 == 4 || u == v) return 0;
  if (u == rare) return v == 9;
  if (even_rows && v % 7 == 3 && u % 2) return 0;
  if (full && v == 7) return 1;
  if (u >= own && v % 3 == 0) return 0;
  const int64_t block = v / 128 + (u < own ? u : u - own) / 64;
  return noise(31, v * (own + halo) + u) < 2 * (thin && block % 3 ? density / 40 : density) - 1;
}

/* The columns [first, end) of the pattern; `listed`: without empty rows, as the halo's part is. */
static inline void make_part(struct csr *m, int64_t first, int64_t end, int listed) {
  int64_t rows = 0;
  assert_ok(csr_init(m, own, end - first, own * (end - first), 0));
  if (listed) assert_ok(memory_alloc(&m->row, own * (int64_t)sizeof *m->row, "test"));
  m->nnz = 0;
  for (int64_t v = 0; v < own; v++) {
    int64_t before = m->nnz;
    for (int64_t u = first; u < end; u++)
      if (has_arc(v, u)) m->col[m->nnz++] = (int32_t)(u - first);
    if (listed && m->nnz == before) continue;
    if (listed) m->row[rows] = (int32_t)v;
    m->start[++rows] = m->nnz;
  }
  m->rows = rows;
}

struct parts {
  struct csr own, halo, late;
  struct layout *own_layout, *halo_layout, *late_layout;
  uint8_t *has_halo; /* on the device */
};

static inline void open_parts(struct kernels *k, struct parts *p) {
  *p = (struct parts){0};
  make_part(&p->own, 0, own, 0);
  make_part(&p->halo, own, own + halo, 1);
  make_part(&p->late, 0, own + halo, 0);
  p->late.near = own;
  assert_true(p->halo.rows > 0 && p->halo.rows < own);
  if (late) assert_ok(layout_init(k, &p->late, &plan_of_arcs, &p->late_layout));
  assert_ok(layout_init(k, &p->own, &plan_of_arcs, &p->own_layout));
  assert_ok(layout_init(k, &p->halo, &plan_of_arcs, &p->halo_layout));
  uint8_t *has_halo = host_block(own);
  for (int64_t i = 0; i < p->halo.rows; i++) has_halo[p->halo.row[i]] = 1;
  p->has_halo = device_block(k, has_halo, own);
}

static inline void close_parts(struct kernels *k, struct parts *p) {
  layout_free(k, p->own_layout);
  layout_free(k, p->halo_layout);
  layout_free(k, p->late_layout);
  csr_free(&p->own);
  csr_free(&p->halo);
  csr_free(&p->late);
}

/* Messages on the host: pieces of them are put in, then all goes to the device. */
struct messages {
  struct tensor on_device; /* data: where it will lie */
  char *image;
};

static inline struct messages make_messages(struct kernels *k, int64_t rows, int64_t cols, int64_t pad) {
  struct messages m = {padded_matrix_of(k, k->dtype, NULL, rows, cols, pad), NULL};
  m.image = host_block(tensor_bytes(m.on_device));
  return m;
}

/* piece: some columns of m.on_device, elements or reals. */
static inline void put(struct messages *m, struct tensor piece, const double *value) {
  for (int64_t i = 0; i < piece.rows * piece.cols; i++) {
    int64_t at = i / piece.cols * piece.stride + i % piece.cols, bytes = dtype_bytes(piece.dtype);
    char *to = m->image + ((char *)piece.data - (char *)m->on_device.data) + at * bytes;
    float narrow = (float)value[i];
    uint16_t half = bf16_of_float(narrow);
    memcpy(to,
           piece.dtype == F64   ? (const void *)&value[i]
           : piece.dtype == F32 ? (void *)&narrow
                                : &half,
           (size_t)bytes);
  }
}

static inline struct tensor upload_messages(struct kernels *k, const struct messages *m) {
  assert_ok(
      device_upload(k->device, STREAM_COMPUTE, m->on_device.data, m->image, tensor_bytes(m->on_device)));
  return m->on_device;
}

/* Both matrices as one lies behind the other: rows of the halo, one that is nobody's, own rows. */
static inline double *with_halo_first(const double *value, int64_t cols) {
  double *both = host_block((own + halo + 1) * cols * 8);
  memcpy(both, value + own * cols, (size_t)(halo * cols) * sizeof *both);
  for (int64_t j = 0; j < cols; j++) both[halo * cols + j] = 99;
  memcpy(both + (halo + 1) * cols, value, (size_t)(own * cols) * sizeof *both);
  return both;
}

/* Of such a matrix. */
static inline struct tensor own_rows(struct tensor both) {
  return tensor_rows(both, halo + 1, own);
}
static inline struct tensor halo_rows(struct tensor both) {
  return tensor_rows(both, 0, halo);
}

/* A piece's values, [rows, cols]. */
static inline double *piece_values(struct kernels *k, struct tensor t) {
  double *wide = elements_of(k, t.dtype, t.data, (t.rows - 1) * t.stride + t.cols);
  double *value = host_block(t.rows * t.cols * 8);
  for (int64_t i = 0; i < t.rows * t.cols; i++) value[i] = wide[i / t.cols * t.stride + i % t.cols];
  return value;
}

#endif
