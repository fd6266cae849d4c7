/* Parts of a sparse matrix: the first entries of its first rows. */
#include "runtime/base/csr.h"

#include <stdlib.h>

#include "runtime/base/random.h"
#include "tests/check.h"

enum { ROWS = 60, COLS = 90 };

/* Rows of all lengths: the denser, the further down; the first one is empty, the last one full. */
static int has(int64_t row, int64_t col) {
  const uint32_t word =
      random_block(random_key(5, 0, 0, RANDOM_IMPORT), (uint64_t)(row * COLS + col), 0).word[0];
  return word % (ROWS - 1) < row;
}

static void fill(struct csr *m) {
  assert_ok(csr_init(m, ROWS, COLS, ROWS * COLS, 1));
  m->nnz = 0;
  for (int64_t v = 0; v < ROWS; v++) {
    for (int64_t u = 0; u < COLS; u++) {
      if (!has(v, u)) continue;
      m->weight[m->nnz] = (float)(v * COLS + u);
      m->col[m->nnz++] = (int32_t)u;
    }
    m->start[v + 1] = m->nnz;
  }
}

TEST(the_first_rows_in_the_first_columns_are_cut_out) {
  struct csr m, part;
  fill(&m);
  for (int64_t rows = 0; rows <= ROWS; rows += 20) {
    for (int64_t cols = 0; cols <= COLS; cols += 5) {
      int64_t at = 0;
      assert_ok(csr_cut(&m, rows, cols, &part));
      assert_true(part.rows == rows && part.cols == cols);
      for (int64_t v = 0; v < rows; v++) {
        for (int64_t u = 0; u < cols; u++) {
          if (!has(v, u)) continue;
          assert_int_equal(part.col[at], u);
          assert_true(part.weight[at++] == (float)(v * COLS + u));
        }
        assert_int_equal(part.start[v + 1], at);
      }
      assert_int_equal(part.nnz, at);
      csr_free(&part);
    }
  }
  csr_free(&m);
}
