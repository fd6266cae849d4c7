/* What the GPU cuts is, to the bit, what kernels/format/tiles.c and kernels/format/row_segments.c cut;
 * windows that are full once condensed are. */
#include "kernels/cuda/common/upload.h"
#include "kernels/cuda/layout/layout.h"

#include "runtime/base/random.h"
#include "tests/kernels/gpu_layouts.h"
#include "tests/kernels/synthetic_matrix.h"

enum { COLUMNS = 128 }; /* of X, for which layouts are made */

/* Communities of 300 rows and columns, of a density that differs from one to the next. */
static int has_arc(int64_t i, int64_t j) {
  uint32_t bits = random_block(random_key(9, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0] % 1000;
  return i % 41 != 3 && bits < (i / 300 == j / 300 ? 20 + i / 300 * 90 : 3);
}

/* The same by the processor, with the same number of entries in a tile. */
static void compare(struct kernels *k, const struct csr *m, const struct cuda_layout *a) {
  struct tiles tiles;
  struct csr rest;
  struct row_segments row_segments;
  assert_ok(tiles_split(m, a->base.least, 2, &tiles, &rest));
  assert_ok(row_segments_cut(&rest, &(struct row_segments_plan){.row_bytes = COLUMNS * dtype_bytes(k->dtype)},
                             &row_segments));
  assert_int_equal(a->tiles.count, tiles.count);
  assert_int_equal(a->base.tile_entries, tiles.entries);
  assert_int_equal(a->gathered, rest.nnz);
  assert_int_equal(a->row_segments, row_segments.count);
  assert_same(k, a->tiles.segment, tiles.segment, tiles.count * 4);
  assert_same(k, a->tiles.bits, tiles.bits, tiles.count * TILE_WORDS * 4);
  assert_same(k, a->col, rest.col, rest.nnz * 4);
  if (m->weight) assert_same(k, a->value, rest.weight, rest.nnz * 4);
  if (m->weight && tiles.count > 0) {
    assert_same(k, a->tiles.first, tiles.first, (tiles.count * TILE_STRIPS + 1) * 8);
    assert_same(k, a->tiles.value, tiles.value, tiles.entries * 4);
  }
  assert_same(k, a->row_segment.first, row_segments.row_segment.first, row_segments.count * 4);
  assert_same(k, a->row_segment.extent, row_segments.row_segment.extent, row_segments.count * 2);
  assert_same(k, a->row_segment.target, row_segments.row_segment.target, row_segments.count * 4);
  row_segments_free(&row_segments);
  tiles_free(&tiles);
  tiles_rest_free(&rest);
}

/* near: see struct csr. */
static void check_matrix(struct kernels *k, int64_t rows, int64_t cols, int64_t near, int weighted) {
  static const enum layout_tiers tiers[] = {LAYOUT_TILES_ALL, LAYOUT_TILES, LAYOUT_AUTO};
  struct csr m = synthetic_matrix(rows, cols, has_arc);
  m.near = near;
  if (weighted) m.weight = calloc((size_t)m.nnz + 1, sizeof *m.weight);
  for (int64_t e = 0; weighted && e < m.nnz; e++) m.weight[e] = (float)noise(5, e);
  for (int i = 0; i < 3; i++) {
    struct layout_plan plan = {.tiers = tiers[i], .width = COLUMNS};
    struct layout *layout = NULL;
    assert_ok(layout_init(k, &m, &plan, &layout));
    compare(k, &m, cuda_layout(layout));
    assert_true(tiers[i] != LAYOUT_TILES_ALL || m.nnz == 0 || layout->tiles > 0);
    layout_free(k, layout);
  }
  csr_free(&m);
  free_blocks(k->device);
}

static void check_density(struct kernels *k, int64_t rows, int64_t cols, int64_t near) {
  struct csr m = synthetic_matrix(rows, cols, has_arc);
  m.near = near;
  struct tiles_build build;
  struct density expected, actual;
  assert_ok(tiles_density(&m, 2, &expected));
  assert_ok(cuda_tiles_build_open(k, &m, &build));
  assert_ok(cuda_tiles_build_density(k, &build, &actual));
  assert_memory_equal(&actual, &expected, sizeof actual);
  cuda_tiles_build_close(k, &build);
  csr_free(&m);
}

static void built(struct kernels *k) {
  if (!cuda_has_tiles()) return;
  for (int weighted = 0; weighted < 2; weighted++) {
    check_matrix(k, 1, 1, 0, weighted);
    check_matrix(k, 130, 64, 0, weighted);
    check_matrix(k, 2500, 2500, 0, weighted);
    check_matrix(k, 2500, 2500, 1211, weighted);
    check_matrix(k, 900, 3333, 0, weighted);
  }
  check_density(k, 2500, 2500, 0);
  check_density(k, 2500, 2500, 1211);
  check_density(k, 130, 70, 0);
}

/* 16 rows share 64 columns far from each other, those of the next 16 are others: no tiles, but windows that
 * are nearly full once condensed. */
static void scattered_matrix(struct csr *m) {
  enum { ROWS = 1 << 17, COLS = 4096, SHARED = 64, STEP = COLS / SHARED };
  assert_ok(csr_init(m, ROWS, COLS, (int64_t)ROWS * SHARED, 0));
  m->nnz = 0;
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t c = 0; c < SHARED; c++)
      if ((i + c) % 9 != 0) m->col[m->nnz++] = (int32_t)(c * STEP + i / 16 * 13 % STEP);
    m->start[i + 1] = m->nnz;
  }
}

static void condensed(struct kernels *k) {
  enum { WIDTH = 64 };
  const struct layout_plan plan = {.tiers = LAYOUT_AUTO, .width = WIDTH};
  struct layout *layout = NULL;
  struct csr m;
  scattered_matrix(&m);
  assert_ok(layout_init(k, &m, &plan, &layout));
  assert_int_equal(layout->tiles, 0);
  assert_int_equal(layout->windows, m.rows / 16);
  assert_int_equal(layout->window_blocks, layout->windows * 4);
  assert_int_equal(layout->window_entries, m.nnz);
  double *x = integer_block(1, m.cols * WIDTH);
  struct tensor y = padded_matrix_of(k, k->real, NULL, m.rows, WIDTH, 0);
  assert_ok(op_spmm(k, &(struct spmm){.a = layout, .x = matrix(k, x, m.cols, WIDTH), .y = y}));
  double *actual = values_of(k, y);
  for (int64_t i = 0; i < m.rows; i += 997) {
    for (int64_t j = 0; j < WIDTH; j++) {
      double sum = 0;
      for (int64_t e = m.start[i]; e < m.start[i + 1]; e++) sum += x[m.col[e] * WIDTH + j];
      assert_true(actual[i * WIDTH + j] == sum);
    }
  }
  layout_free(k, layout);
  csr_free(&m);
}

TEST(layouts_are_those_that_the_processor_makes) {
  on_gpu(built);
}

TEST(full_windows_of_scattered_columns_are_condensed) {
  on_gpu(condensed);
}

/* Larger than the memory that it passes through, and no multiple of it. */
static void large_copies(struct kernels *k) {
  int64_t bytes = (101 << 20) + 12345;
  uint8_t *from = host_block(bytes);
  for (int64_t i = 0; i < bytes; i++) from[i] = (uint8_t)(i * 2654435761u >> 13);
  void *to = device_block(k, NULL, bytes);
  assert_ok(cuda_upload_large(k, to, from, bytes));
  assert_same(k, to, from, bytes);
}

TEST(large_copies_arrive) {
  on_gpu(large_copies);
}

BEFORE_ALL {
  return setenv("GNNTRAIN_TEST_DEVICE", "cuda", 1);
}
