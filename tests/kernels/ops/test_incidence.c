/* Sums over hyperedges and back beside naive loops in double: every scale, widths, one huge hyperedge, empty
 * rows; in steps, by panels of columns, by blocks of vertices and fused over pairs; how rows end; what is
 * kept; trained weights and their gradient. */
#include "kernels/format/layout.h"
#include "kernels/ops/elementwise.h"
#include "tests/kernels/hypergraphs.h"

static const struct layout_plan gather = {.tiers = LAYOUT_GATHER};

enum { VERTICES = 40000 };

/* So many that groups of a GPU's threads go from one to the next: hyperedge e holds e % 9 vertices, but
 * every hundredth 70 and the first `largest`, a third of all at most. */
static void draw_many_hyperedges(int64_t largest) {
  enum { EDGES = 36000, APART = 83 };
  free_hypergraph();
  assert_ok(csr_init(&hypergraph.edges, EDGES, VERTICES, 6 * EDGES + VERTICES, 0));
  struct csr *m = &hypergraph.edges;
  m->nnz = 0;
  for (int64_t e = 0; e < EDGES; e++) {
    int64_t size = e == 0 ? largest : e % 100 == 0 ? 70 : e % 9, apart = e == 0 ? 3 : APART;
    int64_t first = e * 7 % (VERTICES - size * apart + 1);
    for (int64_t i = 0; i < size; i++) m->col[m->nnz++] = (int32_t)(first + i * apart);
    m->start[e + 1] = m->nnz;
  }
  assert_ok(csr_transpose(m, &hypergraph.vertices, NULL));
}

/* The last two are those of GPUs alone: the processor has one layout. */
static const struct way ways[] = {{INCIDENCE_AUTO, 0, LAYOUT_GATHER},   {INCIDENCE_STEPS, 0, LAYOUT_GATHER},
                                  {INCIDENCE_STEPS, 32, LAYOUT_GATHER}, {INCIDENCE_STEPS, 96, LAYOUT_GATHER},
                                  {INCIDENCE_SPLIT, 0, LAYOUT_GATHER},  {INCIDENCE_FUSED, 0, LAYOUT_GATHER},
                                  {INCIDENCE_STEPS, 0, LAYOUT_CSR},     {INCIDENCE_STEPS, 0, LAYOUT_VECTORS}};
enum { WAYS = sizeof ways / sizeof ways[0], LAYOUTS = 2 };

static int ways_of(const struct kernels *k) {
  return k->device->ops->on_host ? WAYS - LAYOUTS : WAYS;
}

static void sums_in(struct kernels *k) {
  static const int64_t widths[] = {1, 3, 7, 16, 41, 64, 100};
  draw_hypergraph(211, 97);
  for (int which = 0; which < 64; which++) {
    for (int w = 0; w < ways_of(k); w++) check(k, &ways[w], widths[(which + w) % 7], which);
  }
  draw_hypergraph(1, 2);
  for (int w = 0; w < ways_of(k); w++) check(k, &ways[w], 5, 15);
  draw_hypergraph(1500, 40);
  for (int w = 0; w < ways_of(k); w++) check(k, &ways[w], 33, 63);
  draw_hypergraph(13001, 5); /* one of 4,334 vertices: more pieces than one thread adds */
  for (int w = 0; w < ways_of(k); w++)
    if (ways[w].form != INCIDENCE_FUSED) check(k, &ways[w], 40, w % 2 ? 11 : 15);
}

/* The first hyperedge, or none, is crowded. */
static void check_crowded(struct kernels *k, int first) {
  struct incidence a = {0};
  open_incidence(k, &ways[1], &a);
  assert_int_equal(a.there.crowded, first);
  assert_int_equal(a.back.crowded, 0);
  incidence_free(k, &a);
}

static void many_in(struct kernels *k) {
  static const struct way steps = {INCIDENCE_STEPS, 0, LAYOUT_GATHER},
                          panels = {INCIDENCE_STEPS, 96, LAYOUT_GATHER},
                          split = {INCIDENCE_SPLIT, 0, LAYOUT_GATHER};
  const int on_gpu = !k->device->ops->on_host; /* which has kernels of its own for many */
  draw_many_hyperedges(1000);
  check_crowded(k, 0);
  if (on_gpu) check(k, &steps, 16, 0);
  check(k, &steps, 41, 15);
  if (on_gpu) check(k, &split, 16, 0);
  check(k, &split, 41, 63);
  draw_many_hyperedges(VERTICES / 3);
  check_crowded(k, 1);
  if (on_gpu) check(k, &steps, 16, 0);
  if (on_gpu) check(k, &steps, 31, 15);
  if (on_gpu) check(k, &steps, 41, 48);
  check(k, &steps, 100, 58);
  check(k, &panels, 64, 10);
  if (on_gpu) check(k, &split, 100, 42);
}

TEST(many_short_hyperedges_follow_it_too) {
  on_every_table(many_in);
  free_hypergraph();
}

TEST(both_steps_follow_the_formula) {
  on_every_table(sums_in);
  free_hypergraph();
}

/* Bias, norm and activation behind the sums, as a pass of its own gives them. */
static void check_end(struct kernels *k, const struct way *way, enum norm norm, int64_t width) {
  int64_t vertices = hypergraph.edges.cols;
  struct incidence a = {0};
  open_incidence(k, way, &a);
  struct tensor z = padded_matrix(k, NULL, vertices, width, OWN_GAPS);
  struct tensor y = padded_matrix(k, NULL, vertices, width, OWN_GAPS);
  struct tensor expected = padded_matrix(k, NULL, vertices, width, OWN_GAPS);
  struct epilogue epilogue = {.z = z,
                              .bias = reals(k, noise_block(31, width), width),
                              .norm = norm,
                              .gain = reals(k, noise_block(32, width), width),
                              .shift = reals(k, noise_block(33, width), width),
                              .mean = reals(k, noise_block(34, vertices), vertices),
                              .rstd = reals(k, noise_block(35, vertices), vertices),
                              .epsilon = 1e-5,
                              .activation = ACTIVATION_RELU,
                              .dropout = dropout_of(.4, (struct philox_key){{3, 5}}, global_ids(k, vertices)),
                              .y = y};
  struct incidence_sum op = {
      .a = &a,
      .x = padded_matrix(k, rounded(k, noise_block(36, vertices * width), vertices * width), vertices, width,
                         OWN_GAPS),
      .edge_scale = reals(k, row_factors(hypergraph.edges.rows), hypergraph.edges.rows),
      .epilogue = &epilogue,
      .y = z};
  assert_ok(op_incidence_sum(k, &op));
  double *ended = values_of(k, y);
  op.epilogue = NULL;
  assert_ok(op_incidence_sum(k, &op));
  epilogue.y = expected;
  assert_ok(op_epilogue(k, &epilogue));
  /* Beside the sums as they are: z is rounded to its type, and a norm divides by what may be small. */
  assert_all_close(ended, values_of(k, expected), vertices * width, 8 * tolerance_of(k));
  incidence_free(k, &a);
  free_blocks(k->device);
}

static void ends_in(struct kernels *k) {
  draw_hypergraph(211, 97);
  for (int w = 0; w < ways_of(k); w++) {
    check_end(k, &ways[w], NORM_NONE, 64);
    check_end(k, &ways[w], NORM_LAYER, 72);
    check_end(k, &ways[w], NORM_LAYER, 41);
  }
}

TEST(rows_end_as_in_a_pass_of_its_own) {
  on_every_table(ends_in);
  free_hypergraph();
}

/* How often row v of the pairs names u through e: once where e has both. */
static int times_met(const struct pairs *pairs, int64_t v, int64_t u, int64_t e) {
  int times = 0;
  for (int64_t i = pairs->csr.start[v]; i < pairs->csr.start[v + 1]; i++)
    times += pairs->csr.col[i] == u && pairs->edge[i] == e;
  return times;
}

static int has_vertex(int64_t e, int64_t v) {
  const struct csr *m = &hypergraph.edges;
  for (int64_t i = m->start[e]; i < m->start[e + 1]; i++)
    if (m->col[i] == v) return 1;
  return 0;
}

TEST(pairs_list_each_meeting_once) {
  struct pairs pairs;
  draw_hypergraph(31, 17);
  assert_ok(pairs_init(&hypergraph.edges, &hypergraph.vertices, &pairs));
  int64_t count = 0, longest = 0;
  pairs_count(&hypergraph.edges, &hypergraph.vertices, &count, &longest);
  assert_int_equal(pairs.csr.nnz, count);
  assert_int_equal(pairs.csr.start[31], pairs.csr.nnz);
  for (int64_t v = 0; v < 31; v++) {
    int64_t mine = pairs.csr.start[v + 1] - pairs.csr.start[v];
    assert_true(mine <= longest);
    longest = mine == longest ? INT32_MAX : longest; /* someone has the most */
  }
  assert_int_equal(longest, INT32_MAX);
  for (int64_t e = 0; e < 17; e++) {
    for (int64_t v = 0; v < 31; v++) {
      for (int64_t u = 0; u < 31; u++)
        assert_int_equal(times_met(&pairs, v, u, e), has_vertex(e, v) && has_vertex(e, u));
    }
  }
  pairs_free(&pairs);
  free_hypergraph();
}

static struct gather_shape shape(int64_t rows, int64_t entries, int64_t longest, int64_t beside) {
  return (struct gather_shape){.rows = rows, .entries = entries, .longest = longest, .beside = beside};
}

static struct split_counts counts(int64_t count, int64_t rounds, int64_t entries, int64_t longest) {
  return (struct split_counts){.blocks = count, .rounds = rounds, .entries = entries, .longest = longest};
}

/* What was the fastest one on an H200, or as fast: the hypergraphs of Cora's citations and authors, Walmart's
 * trips, and a made one in communities. */
TEST(the_rule_takes_what_was_the_fastest) {
  static int there;
  struct incidence citations = {.there = shape(1579, 4786, 5, 4),
                                .back = shape(2708, 4786, 145, 4),
                                .fused = shape(2708, 16160, 451, 12),
                                .split = {.memory = &there, .cut.count = counts(89, 92, 11426, 451)}};
  struct incidence authors = {.there = shape(1072, 4585, 43, 4),
                              .back = shape(2708, 4585, 23, 4),
                              .fused = shape(2708, 38857, 133, 12),
                              .split = {.memory = &there, .cut.count = counts(54, 54, 9129, 218)}};
  const struct incidence walmart = {
      .there = shape(69906, 460630, 25, 4),
      .back = shape(88860, 460630, 5733, 4),
      .fused = shape(88860, 4995422, 63798, 12),
      .split = {.memory = &there, .cut.count = counts(1824, 2008, 4019319, 63798)}};
  const struct incidence communities = {
      .there = shape(100000, 823242, 207, 4),
      .back = shape(200000, 823242, 20, 4),
      .fused = shape(200000, 12000000, 600, 12),
      .split = {.memory = &there, .cut.count = counts(226, 226, 1338387, 6647)}};
  for (int64_t row = 128; row <= 1024; row *= 2) {
    assert_int_equal(incidence_form(&citations, row), INCIDENCE_FUSED);
    assert_int_equal(incidence_form(&authors, row), INCIDENCE_SPLIT);
    assert_int_equal(incidence_form(&walmart, row), INCIDENCE_STEPS);
    assert_int_equal(incidence_form(&communities, row), INCIDENCE_STEPS);
  }
  authors.split.memory = NULL;
  assert_int_equal(incidence_form(&authors, 256), INCIDENCE_FUSED);
  authors.form = INCIDENCE_STEPS;
  assert_int_equal(incidence_form(&authors, 256), INCIDENCE_STEPS);
}

/* By the rows that all blocks read, by the block that reads most where that takes longer, and by its rounds.
 */
TEST(blocks_of_vertices_take_what_they_read) {
  struct incidence a = {.split.cut.count = counts(500, 500, 8000000, 4000)};
  const double all = incidence_time(&a, INCIDENCE_SPLIT, 128);
  assert_true(all > 460 && all < 480); /* microseconds for 1.02 GB */
  a.split.cut.count.longest = 1 << 20;
  assert_true(incidence_time(&a, INCIDENCE_SPLIT, 128) > 5 * all);
  a.split.cut.count.entries = a.split.cut.count.longest = 1000;
  assert_true(incidence_time(&a, INCIDENCE_SPLIT, 128) < 12);
  a.split.cut.count.rounds = 504;
  assert_true(incidence_time(&a, INCIDENCE_SPLIT, 128) > 14);
}

/* x' P y = y' P^T x with P^T = the same op with c and r exchanged. */
static void transposed_in(struct kernels *k) {
  if (k->real != F64) return;
  draw_hypergraph(60, 30);
  struct incidence a = {0};
  assert_ok(incidence_init(k, &hypergraph.edges, &hypergraph.vertices, &gather, INCIDENCE_AUTO, &a));
  double *x = noise_block(11, 60), *y = noise_block(12, 60), forward = 0, backward = 0;
  void *c = reals(k, noise_block(13, 60), 60), *r = reals(k, noise_block(14, 60), 60);
  struct incidence_sum op = {.a = &a,
                             .x = matrix(k, y, 60, 1),
                             .col_scale = c,
                             .row_scale = r,
                             .edge_scale = reals(k, noise_block(15, 30), 30),
                             .self_scale = reals(k, noise_block(16, 60), 60),
                             .y = matrix(k, NULL, 60, 1)};
  assert_ok(op_incidence_sum(k, &op));
  double *py = values_of(k, op.y);
  op.x = matrix(k, x, 60, 1);
  op.col_scale = r;
  op.row_scale = c;
  assert_ok(op_incidence_sum(k, &op));
  double *px = values_of(k, op.y);
  for (int v = 0; v < 60; v++) {
    forward += x[v] * py[v];
    backward += y[v] * px[v];
  }
  assert_true(fabs(forward - backward) < 1e-12 * fmax(1, fabs(forward)) && fabs(forward) > 1e-3);
  incidence_free(k, &a);
  free_blocks(k->device);
}

TEST(the_gradient_is_the_same_op_with_scales_exchanged) {
  on_every_table(transposed_in);
  free_hypergraph();
}

enum { COUNT = 300, ALL = 500, WIDTH = 19 };

static void weights_in(struct kernels *k) {
  int32_t *id = host_block(COUNT * 4);
  for (int i = 0; i < COUNT; i++) id[i] = (int32_t)((i * 7 + 3) % ALL);
  double *weight = noise_block(21, ALL), *scale = noise_block(22, COUNT), *expected = host_block(ALL * 8);
  double *a = rounded(k, noise_block(23, COUNT * WIDTH), COUNT * WIDTH);
  double *b = rounded(k, noise_block(24, COUNT * WIDTH), COUNT * WIDTH);
  void *ids = device_block(k, id, COUNT * 4), *scales = reals(k, scale, COUNT);
  void *out = reals(k, expected, COUNT);
  struct incidence_weights op = {reals(k, weight, ALL), ids, scales, out, COUNT};
  assert_ok(op_incidence_weights(k, &op));
  for (int i = 0; i < COUNT; i++) expected[i] = scale[i] * weight[id[i]];
  assert_all_close(doubles(k, out, COUNT), expected, COUNT, real_tolerance(k));
  memset(expected, 0, ALL * 8);
  for (int i = 0; i < COUNT * WIDTH; i++) expected[id[i / WIDTH]] += scale[i / WIDTH] * a[i] * b[i];
  struct incidence_weights_backward back = {padded_matrix(k, a, COUNT, WIDTH, 3),
                                            padded_matrix(k, b, COUNT, WIDTH, OWN_GAPS),
                                            ids,
                                            scales,
                                            reals(k, noise_block(25, ALL), ALL),
                                            COUNT,
                                            ALL};
  assert_ok(op_incidence_weights_backward(k, &back));
  assert_all_close(doubles(k, back.grad, ALL), expected, ALL, real_tolerance(k));
}

TEST(trained_weights_scale_hyperedges_and_have_a_gradient) {
  on_every_table(weights_in);
}
