/* Scores of arcs beside a double loop; on small integers every sum is exact. */
#include "tests/kernels/arcs.h"

/* Widths that lie with few threads, with many, with none; rows at any address. */
static const struct {
  int64_t width, pad;
} shapes[] = {{1, 0},           {7, 1},          {7, OWN_GAPS},   {24, OWN_GAPS},
              {32, OWN_GAPS},   {41, OWN_GAPS},  {64, OWN_GAPS},  {128, OWN_GAPS},
              {256, WIDE_GAPS}, {300, OWN_GAPS}, {1030, OWN_GAPS}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* x: of own rows; y: of the part's columns. */
static void check_part(struct kernels *k, const struct csr *m, const struct layout *layout, int64_t width,
                       int64_t pad) {
  double *x = integer_block(1, own * width), *y = integer_block(2, m->cols * width);
  double *expected = host_block(m->nnz * 8);
  struct sddmm op = {.a = layout,
                     .x = padded_matrix(k, x, own, width, pad),
                     .y = padded_matrix(k, y, m->cols, width, pad),
                     .scores = reals(k, noise_block(3, m->nnz), m->nnz)};
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t v = m->row ? m->row[i] : i;
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++)
      for (int64_t j = 0; j < width; j++) expected[e] += x[v * width + j] * y[m->col[e] * width + j];
  }
  assert_ok(op_sddmm(k, &op));
  assert_all_equal(doubles(k, op.scores, m->nnz), expected, m->nnz);
}

static void check(struct kernels *k) {
  struct parts parts;
  open_parts(k, &parts);
  for (int s = 0; s < SHAPES; s++) {
    check_part(k, &parts.own, parts.own_layout, shapes[s].width, shapes[s].pad);
    check_part(k, &parts.halo, parts.halo_layout, shapes[s].width, shapes[s].pad);
  }
  close_parts(k, &parts);
}

/* More rows than a GPU works on at once, row v with v % 6 entries. */
static void check_many_rows(struct kernels *k) {
  enum { ROWS = 20000, COLS = 64, MOST = 6 };
  struct csr m;
  struct layout *layout = NULL;
  set_arcs(ROWS, 0, 0, 0);
  assert_ok(csr_init(&m, ROWS, COLS, ROWS * MOST, 0));
  m.nnz = 0;
  for (int64_t v = 0; v < ROWS; v++) {
    for (int64_t e = 0; e < v % MOST; e++) m.col[m.nnz++] = (int32_t)(v % 10 + 9 * e);
    m.start[v + 1] = m.nnz;
  }
  assert_ok(layout_init(k, &m, NULL, &layout));
  check_part(k, &m, layout, 36, OWN_GAPS);
  check_part(k, &m, layout, 128, OWN_GAPS);
  layout_free(k, layout);
  csr_free(&m);
}

static void scores(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  check(k);
  set_arcs(300, 30, .6, 0); /* many entries a row */
  check(k);
  set_arcs(600, 60, .01, 1); /* one row is cut into pieces */
  check(k);
  check_many_rows(k);
}

TEST(every_arc_has_its_score) {
  on_every_table(scores);
}
