/* Windows and column vectors that the GPU condenses are, to the bit, those of a plain cut: of a matrix, of
 * what tiles leave of one, and in a layout that has tiles, condensed windows and a rest. */
#include "kernels/cost/cost_models.h"
#include "kernels/cuda/layout/layout.h"
#include "runtime/base/random.h"
#include "tests/kernels/format/condensed_split.h"
#include "tests/kernels/gpu_layouts.h"
#include "tests/kernels/synthetic_matrix.h"

/* Dense communities of 300, windows that share columns far apart, a few arcs anywhere, empty rows. */
static int has_arc(int64_t i, int64_t j) {
  uint32_t bits = random_block(random_key(11, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0] % 1000;
  if (i % 41 == 3) return 0;
  if (i / 300 == j / 300) return bits < 200 + i / 300 % 8 * 90;
  return bits < (i / 16 % 8 < 5 && j % 17 == i / 16 % 17 ? 450 : 4);
}

static struct csr matrix_of(int64_t rows, int64_t cols, int weighted) {
  struct csr m = synthetic_matrix(rows, cols, has_arc);
  if (!weighted) return m;
  m.weight = calloc((size_t)m.nnz + 1, sizeof *m.weight);
  for (int64_t e = 0; e < m.nnz; e++) m.weight[e] = (float)noise(3, e);
  return m;
}

/* Arrays on the device for what a rule takes of a matrix. */
static struct condensed_arrays arrays_for(struct kernels *k, const struct condensed *c,
                                          const struct csr *rest) {
  int64_t count = c->blocks + 1;
  return (struct condensed_arrays){.col = device_block(k, NULL, count * c->side * 4),
                                   .bits = device_block(k, NULL, count * c->side * c->side / 8),
                                   .first = device_block(k, NULL, count * 8),
                                   .value = device_block(k, NULL, c->entries * 4 + 4),
                                   .rest_col = device_block(k, NULL, rest->nnz * 4 + 4),
                                   .rest_value = device_block(k, NULL, rest->nnz * 4 + 4)};
}

static void assert_same_blocks(struct kernels *k, const struct condensed_arrays *at,
                               const struct condensed *c) {
  assert_same(k, at->col, c->col, c->blocks * c->side * 4);
  assert_same(k, at->bits, c->bits, c->blocks * c->side * c->side / 8);
  if (c->value && c->blocks > 0) assert_same(k, at->first, c->first, (c->blocks + 1) * 8);
  if (c->value) assert_same(k, at->value, c->value, c->entries * 4);
}

static void assert_same_rest(struct kernels *k, const int32_t *col, const float *value,
                             const struct csr *rest) {
  assert_same(k, col, rest->col, rest->nnz * 4);
  if (rest->weight) assert_same(k, value, rest->weight, rest->nnz * 4);
}

/* m on the device is start, col and value, where they are given. */
static void check_build(struct kernels *k, const struct csr *m, const int64_t *start, const int32_t *col,
                        const float *value, const struct csr *on_host, const struct window_rule *rule,
                        int64_t batch) {
  struct condensed_build build;
  struct condensed expected, actual;
  struct csr expected_rest, rest;
  assert_ok(condensed_split(on_host, rule, &expected, &expected_rest));
  assert_ok(cuda_condensed_build_open(k, m, start, col, value, rule, batch, &build));
  assert_ok(cuda_condensed_build_measure(k, &build, &actual, &rest));
  assert_int_equal(actual.side, expected.side);
  assert_int_equal(actual.taken, expected.taken);
  assert_int_equal(actual.blocks, expected.blocks);
  assert_int_equal(actual.entries, expected.entries);
  assert_memory_equal(actual.start, expected.start, (size_t)(expected.windows + 1) * 8);
  assert_memory_equal(rest.start, expected_rest.start, (size_t)(m->rows + 1) * 8);
  struct condensed_arrays at = arrays_for(k, &actual, &rest);
  assert_ok(cuda_condensed_build_fill(k, &build, &at));
  assert_same_blocks(k, &at, &expected);
  assert_same_rest(k, at.rest_col, at.rest_value, &expected_rest);
  cuda_condensed_build_close(k, &build);
  condensed_free(&expected);
  condensed_free(&actual);
  tiles_rest_free(&expected_rest);
  tiles_rest_free(&rest);
  free_blocks(k->device);
}

static void check_matrix(struct kernels *k, int64_t rows, int64_t cols, int weighted) {
  static const struct window_rule some = {.arc = 1, .block = 60}, none = {.arc = 1, .block = 1e9};
  static const struct window_rule vectors[] = {{.vectors = 1}, {.vectors = 3}, {.vectors = 8}};
  const struct window_rule *rules[] = {&window_rule_all, &some, &none, &vectors[0], &vectors[1], &vectors[2]};
  struct csr m = matrix_of(rows, cols, weighted);
  for (int i = 0; i < 6; i++) {
    check_build(k, &m, NULL, NULL, NULL, &m, rules[i], CONDENSED_BATCH);
    check_build(k, &m, NULL, NULL, NULL, &m, rules[i], 5000); /* several batches */
    check_build(k, &m, NULL, NULL, NULL, &m, rules[i], 1);    /* one for each window */
  }
  csr_free(&m);
}

static void built(struct kernels *k) {
  for (int weighted = 0; weighted < 2; weighted++) {
    check_matrix(k, 1, 1, weighted);
    check_matrix(k, 130, 64, weighted);
    check_matrix(k, 1000, 1000, weighted);
    check_matrix(k, 333, 4097, weighted);
  }
}

/* What tiles leave lies on the device alone. */
static void check_rest(struct kernels *k, int weighted) {
  enum { LEAST = 1500 };
  struct csr m = matrix_of(2500, 2500, weighted), left, rest;
  struct tiles_build build;
  struct tiles expected, tiles;
  if (!cuda_has_tiles()) return csr_free(&m);
  assert_ok(tiles_split(&m, LEAST, 2, &expected, &left));
  assert_true(expected.count > 0 && left.nnz > 0);
  assert_ok(cuda_tiles_build_open(k, &m, &build));
  assert_ok(cuda_tiles_build_measure(k, &build, LEAST, &m, &tiles, &rest));
  assert_ok(cuda_tiles_build_rest(k, &build, LEAST, rest.nnz));
  check_build(k, &rest, build.rest_start, build.rest_col, build.rest_value, &left, &window_rule_all, 30000);
  check_build(k, &rest, build.rest_start, build.rest_col, build.rest_value, &left,
              &(struct window_rule){.vectors = 2}, 30000);
  cuda_tiles_build_close(k, &build);
  tiles_free(&expected);
  tiles_free(&tiles);
  tiles_rest_free(&left);
  tiles_rest_free(&rest);
  csr_free(&m);
}

static void built_of_rest(struct kernels *k) {
  check_rest(k, 0);
  check_rest(k, 1);
}

/* What windows look like, of all rows and of some, with what is in tiles and without. */
static void check_count(struct kernels *k, int64_t rows, int64_t cols) {
  static const int64_t leasts[] = {TILE_CELLS + 1, 600, 1};
  struct csr m = matrix_of(rows, cols, 0);
  struct tiles_build build;
  struct condensing expected, actual;
  assert_ok(cuda_tiles_build_open(k, &m, &build));
  for (int i = 0; i < 3; i++) {
    for (int64_t every = 1; every <= 3; every += 2) {
      assert_ok(condensed_count(&m, leasts[i], every, 2, &expected));
      assert_ok(cuda_condensed_count(k, &build, leasts[i], every, &actual));
      assert_memory_equal(&actual, &expected, sizeof actual);
      assert_true((leasts[i] == 1) == (actual.before == 0));
    }
  }
  cuda_tiles_build_close(k, &build);
  csr_free(&m);
}

static void counted(struct kernels *k) {
  check_count(k, 2500, 2500);
  check_count(k, 130, 65);
  check_count(k, 333, 4097);
  check_count(k, 20000, 40); /* more windows than blocks of threads */
}

/* As the layout has it, from a matrix that is cut into tiles or not. */
static void compare(struct kernels *k, const struct csr *m, const struct window_rule *rule,
                    const struct cuda_layout *a) {
  struct tiles tiles;
  struct csr left, rest;
  struct condensed expected;
  const struct cuda_condensed *c = &a->condensed;
  assert_ok(tiles_split(m, a->base.least, 2, &tiles, &left));
  assert_ok(condensed_split(&left, rule, &expected, &rest));
  assert_int_equal(a->base.tiles, tiles.count);
  assert_int_equal(c->side, expected.side);
  assert_int_equal(a->base.windows, expected.taken);
  assert_int_equal(a->base.window_entries, expected.entries);
  assert_int_equal(a->gathered, rest.nnz);
  struct condensed_arrays at = {
      (int32_t *)c->col, (uint8_t *)c->bits, (int64_t *)c->first, (float *)c->value, NULL, NULL};
  assert_same_blocks(k, &at, &expected);
  assert_same_rest(k, a->col, a->value, &rest);
  condensed_free(&expected);
  tiles_free(&tiles);
  tiles_rest_free(&left);
  tiles_rest_free(&rest);
}

/* Constants by which tiles, condensed windows beside them and a rest come about in a small matrix. */
static void make_windows_cheap(const struct kernels *k) {
  char text[768];
  snprintf(text, sizeof text,
           "[\"%s\"]\nmerge_byte = 0\nplane_byte = 0\nlaunch = 0\nkernel = 0\npieces = 0\nentry = 0\n"
           "block_start = 0\n[\"%s\".bf16]\nnear_64 = 7\ncached_64 = 10\ntile_64 = 0.16\n"
           "tile_weighted_64 = 0.16\nblock_64 = 115\nblock_weighted_64 = 115\narc_weighted_64 = 1\n",
           k->device->name, k->device->name);
  assert_ok(cost_models_read(text, "test"));
}

static void check_layout(struct kernels *k, int weighted, enum layout_tiers tiers) {
  const struct layout_plan plan = {.tiers = tiers, .width = 64, .vector_threshold = 4};
  const struct window_rule vectors = {.vectors = 4};
  const struct cost_case c = {cost_model_of(k->device->name), PRECISION_BF16, 64, weighted, {0, 0}};
  struct csr m = matrix_of(2500, 2500, weighted);
  struct layout *layout = NULL;
  assert_ok(layout_init(k, &m, &plan, &layout));
  assert_true(layout->windows > 0);
  if (tiers != LAYOUT_WINDOWS) assert_true(cuda_layout(layout)->gathered > 0);
  assert_int_equal(layout->vectors, tiers == LAYOUT_VECTORS ? 4 : 0);
  if (tiers == LAYOUT_AUTO && cuda_has_tiles()) assert_true(layout->tiles > 0);
  struct density density;
  assert_ok(tiles_density(&m, 1, &density));
  const struct choice choice = cost_divided(&c, &density, layout->least);
  struct window_rule rule = cost_window_rule(&c, m.cols, &choice);
  const struct window_rule *forced = tiers == LAYOUT_VECTORS ? &vectors : &window_rule_all;
  compare(k, &m, tiers == LAYOUT_AUTO ? &rule : forced, cuda_layout(layout));
  layout_free(k, layout);
  csr_free(&m);
  free_blocks(k->device);
}

static void layouts(struct kernels *k) {
  make_windows_cheap(k);
  for (int weighted = 0; weighted < 2; weighted++) {
    check_layout(k, weighted, LAYOUT_AUTO);
    check_layout(k, weighted, LAYOUT_WINDOWS);
    check_layout(k, weighted, LAYOUT_VECTORS);
  }
  cost_models_forget();
}

TEST(windows_are_those_that_the_processor_makes) {
  on_gpu(built);
}

TEST(windows_of_what_tiles_leave_are_too) {
  on_gpu(built_of_rest);
}

TEST(windows_are_counted_as_by_the_processor) {
  on_gpu(counted);
}

TEST(layouts_have_them) {
  on_gpu(layouts);
}

BEFORE_ALL {
  return setenv("GNNTRAIN_TEST_DEVICE", "cuda", 1);
}
