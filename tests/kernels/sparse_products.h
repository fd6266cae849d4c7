/* Sparse matrices of every kind that a device treats in its own way, and results as tests read them. */
#ifndef TESTS_KERNELS_SPARSE_PRODUCTS_H
#define TESTS_KERNELS_SPARSE_PRODUCTS_H

#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"
#include "tests/kernels/every_table.h"

/* Matrices that a device may treat in different ways: by the mean of their degrees, with empty rows and with
 * one row far longer than the others. */
static const struct kind {
  int64_t rows, cols;
  int64_t empty; /* every that many rows */
  int64_t least, spread, longest;
  int dense; /* most entries of a row stand together, a hundred rows in the same columns */
  enum layout_tiers tiers;
} kinds[] = {
    {61, 800, 3, 1, 22, 700, 0, LAYOUT_GATHER},      /* a few entries in a row */
    {301, 310, 2, 0, 3, 300, 0, LAYOUT_GATHER},      /* hardly any */
    {90, 70, 9, 30, 20, 50, 0, LAYOUT_GATHER},       /* some, each column often; fewer columns than rows */
    {40, 1500, 7, 90, 64, 1300, 0, LAYOUT_GATHER},   /* many */
    {333, 700, 11, 90, 60, 600, 1, LAYOUT_TILES},    /* tiles, where a device has them, and a rest */
    {61, 3000, 3, 190, 60, 1300, 0, LAYOUT_WINDOWS}, /* all in condensed windows, one of several pieces */
    {333, 700, 11, 90, 60, 600, 1, LAYOUT_WINDOWS},  {61, 800, 3, 1, 22, 700, 0, LAYOUT_CSR}, /* plain rows */
    {301, 310, 2, 0, 3, 300, 0, LAYOUT_CSR},         {40, 1500, 7, 90, 64, 1300, 0, LAYOUT_CSR},
    {333, 700, 11, 90, 60, 600, 1, LAYOUT_VECTORS}, /* column vectors and a rest of each window */
    {90, 70, 9, 30, 20, 50, 0, LAYOUT_VECTORS},      {301, 310, 2, 0, 3, 300, 0, LAYOUT_VECTORS}};
enum { ROWS = 61, COLS = 800 /* of the first */ };

/* Those that the device treats each in its own way: the processor gathers all of them, the first four. */
static inline int kinds_of(const struct kernels *k) {
  return k->device->ops->on_host ? 4 : sizeof kinds / sizeof kinds[0];
}

static inline int64_t degree_of(const struct kind *kind, int64_t v) {
  if (v == 4) return kind->longest;
  return v % kind->empty == 0 ? 0 : kind->least + v % kind->spread;
}

/* Column of entry e of a row with that many. */
static inline int64_t column_of(const struct kind *kind, int64_t v, int64_t e, int64_t degree) {
  int64_t together = kind->dense ? degree * 3 / 4 : 0, first = v / 100 * 100, behind = first + together;
  if (e < together) return first + e;
  if (kind->dense) return behind + (e - together) * (kind->cols - behind) / (degree - together);
  return (e * kind->cols + v % kind->cols) / degree % kind->cols;
}

static inline int make_layout(struct kernels *k, const struct csr *m, const struct kind *kind,
                              struct layout **a) {
  const struct layout_plan plan = {.tiers = kind->tiers, .width = 64, .vector_threshold = 3};
  return layout_init(k, m, &plan, a);
}

static inline void make_csr(struct csr *m, const struct kind *kind, int weighted) {
  int64_t nnz = 0, at = 0;
  for (int64_t v = 0; v < kind->rows; v++) nnz += degree_of(kind, v);
  assert_ok(csr_init(m, kind->rows, kind->cols, nnz, weighted));
  for (int64_t v = 0; v < kind->rows; v++) {
    for (int64_t e = 0, degree = degree_of(kind, v); e < degree; e++, at++) {
      m->col[at] = (int32_t)column_of(kind, v, e, degree);
      if (weighted) m->weight[at] = (float)floor(noise(5, at) * 512) / 512; /* more digits than bf16 has */
    }
    m->start[v + 1] = at;
  }
}
/* The types that a result may have. */
static inline int result_types(const struct kernels *k, enum dtype type[2]) {
  type[0] = k->real;
  type[1] = k->dtype;
  return k->real == k->dtype ? 1 : 2;
}

/* Rows at multiples of 16 bytes and rows anywhere. */
static inline int64_t padding(int64_t width, int anywhere, int64_t odd) {
  return anywhere ? odd : whole_rows(width);
}

/* The matrix's values; gaps that are those of tensor_stride may hold anything, others must be untouched. */
static inline double *result_of(struct kernels *k, struct tensor t) {
  if (t.stride != tensor_stride(t.dtype, t.cols)) return values_of(k, t);
  double *wide = elements_of(k, t.dtype, t.data, t.rows * t.stride), *value = host_block(t.rows * t.cols * 8);
  for (int64_t i = 0; i < t.rows * t.cols; i++) value[i] = wide[i / t.cols * t.stride + i % t.cols];
  return value;
}

#endif
