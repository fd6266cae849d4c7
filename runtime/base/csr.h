/* csr: a sparse matrix in compressed rows, in host memory. Owns its arrays. */
#ifndef RUNTIME_BASE_CSR_H
#define RUNTIME_BASE_CSR_H

#include <stdint.h>

struct csr {
  int64_t rows, cols, nnz;
  int64_t *start; /* [rows + 1] */
  int32_t *col;   /* [nnz], ascending inside a row */
  float *weight;  /* [nnz], NULL: every value is 1 */
  int32_t *row;   /* [rows], ascending: compressed row i stands for this row of the result; NULL: row i */
  double *wide;   /* [nnz] what layouts of doubles take in place of weight; NULL: weight itself */
  int64_t near;   /* columns from there on stand for rows of a second matrix (struct spmm.far); 0: of one */
};

/* Allocates zeroed arrays of that shape. Errors: FAILED when memory is short. */
int csr_init(struct csr *m, int64_t rows, int64_t cols, int64_t nnz, int weighted);
void csr_free(struct csr *m);

/* t = transpose of m (new arrays; rows in m.cols order, columns ascending). m.row must be NULL.
 * entry, when not NULL, receives for each non-zero of t its position in m (caller frees). */
int csr_transpose(const struct csr *m, struct csr *t, int64_t **entry);

/* The row in [first, rows) that holds an entry: start[row] <= entry < start[row + 1]. */
int64_t csr_row_of(const int64_t *start, int64_t first, int64_t rows, int64_t entry);

/* The first of the entries [first, end) of a row in that column or behind it; end: there is none. */
int64_t csr_entry_from(const int32_t *col, int64_t first, int64_t end, int64_t column);

/* to = the first `rows` rows of m in columns below `cols` (new arrays). m.row must be NULL. */
int csr_cut(const struct csr *m, int64_t rows, int64_t cols, struct csr *to);

/* Leaves m its first `rows` rows and gives back what the others took. */
void csr_shorten(struct csr *m, int64_t rows);

/* Bytes that the arrays take. */
int64_t csr_bytes(const struct csr *m);

#endif
