/* Sums over hyperedges whose sizes and whose vertices' degrees are where blocks of vertices change their way:
 * hyperedges of no, 1, 2, 33, 1000 and all vertices, vertices in none, in many and in more than a block takes
 * at once; every form beside naive loops in double. */
#include "tests/kernels/hypergraphs.h"

static const struct way ways[] = {{INCIDENCE_SPLIT, 0, LAYOUT_GATHER},
                                  {INCIDENCE_STEPS, 0, LAYOUT_GATHER},
                                  {INCIDENCE_FUSED, 0, LAYOUT_GATHER}};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Hyperedges of these sizes in turn, from vertex `first` on so far apart that they fit; vertex 0 is in every
 * other one, the last vertex in none but those of all. */
static void draw_sizes(int64_t vertices, int64_t edges, const int64_t *sizes, int count) {
  int64_t most = 0;
  for (int i = 0; i < count; i++) most = sizes[i] > most ? sizes[i] : most;
  free_hypergraph();
  assert_ok(csr_init(&hypergraph.edges, edges, vertices, edges * (most + 1), 0));
  struct csr *m = &hypergraph.edges;
  m->nnz = 0;
  for (int64_t e = 0; e < edges; e++) {
    int64_t size = sizes[e % count], apart = size < vertices ? 1 + e % 3 : 1;
    while (apart > 1 && size * apart >= vertices) apart--;
    int64_t first = size < vertices ? 1 + e * 31 % (vertices - size * apart) : 0;
    if (e % 2 && size > 0 && first > 0) m->col[m->nnz++] = 0;
    for (int64_t i = 0; i < size && first + i * apart < vertices - (size < vertices); i++)
      m->col[m->nnz++] = (int32_t)(first + i * apart);
    m->start[e + 1] = m->nnz;
  }
  assert_ok(csr_transpose(m, &hypergraph.vertices, NULL));
}

/* Steps round the sums of hyperedges to the type of X: those of a thousand vertices are so large that what is
 * left where two cancel is rounding. Other forms store none. */
static void check_all(struct kernels *k, int64_t width, int which) {
  for (int w = 0; w < WAYS; w++)
    if (ways[w].form != INCIDENCE_STEPS || k->dtype == k->real) check(k, &ways[w], width, which);
}

static void sizes_in(struct kernels *k) {
  static const int64_t mixed[] = {0, 1, 2, 33, 3, 1000, 1, 5}, widths[] = {1, 3, 5, 16, 17, 33, 64, 129};
  draw_sizes(1300, 64, mixed, 8);
  for (int w = 0; w < 8; w += k->device->ops->on_host ? 2 : 1)
    check_all(k, widths[w], (w * 13 + 42) % 64 & ~16);
  static const int64_t all[] = {1300, 2, 0};
  draw_sizes(1300, 5, all, 3);
  check_all(k, 41, 47);
  check_all(k, 32, 0);
  static const int64_t one[] = {1};
  draw_sizes(70, 50, one, 1);
  check_all(k, 7, 15);
  static const int64_t none[] = {0};
  draw_sizes(70, 3, none, 1);
  check_all(k, 20, 47);
}

TEST(hyperedges_of_every_size_are_summed) {
  on_every_table(sizes_in);
  free_hypergraph();
}

/* Vertex 0 is in 2,000 hyperedges: a block of its own takes several rounds. */
static void degrees_in(struct kernels *k) {
  static const int64_t sizes[] = {2, 9, 33, 1};
  draw_sizes(900, 4000, sizes, 4);
  check_all(k, 33, 15);
  check_all(k, 64, 32);
  struct incidence a = {0};
  open_incidence(k, &ways[0], &a);
  if (a.split.memory) assert_true(a.split.cut.count.rounds > a.split.cut.count.blocks);
  incidence_free(k, &a);
}

TEST(vertices_of_many_hyperedges_take_several_rounds) {
  on_every_table(degrees_in);
  free_hypergraph();
}

/* The way back passes the first 400 of 900 vertices alone. */
static void fewer_in(struct kernels *k) {
  static const int64_t sizes[] = {2, 9, 33, 200};
  enum { ALL = 900, ROWS = 400, WIDTH = 20 };
  struct csr back;
  draw_sizes(ALL, 300, sizes, 4);
  assert_ok(csr_cut(&hypergraph.vertices, ROWS, 300, &back));
  double *x = rounded(k, noise_block(5, ALL * WIDTH), ALL * WIDTH), *sums = host_block(300 * WIDTH * 8),
         *y = host_block(ALL * WIDTH * 8);
  reference(&(struct scales){0}, x, WIDTH, NULL, sums, y);
  for (int w = 0; w < WAYS; w++) {
    const struct layout_plan plan = {.tiers = LAYOUT_GATHER};
    struct incidence a = {0};
    assert_ok(incidence_init(k, &hypergraph.edges, &back, &plan, ways[w].form, &a));
    struct incidence_sum op = {
        .a = &a, .x = padded_matrix(k, x, ALL, WIDTH, OWN_GAPS), .y = padded_matrix(k, NULL, ROWS, WIDTH, 1)};
    assert_ok(op_incidence_sum(k, &op));
    assert_all_close(values_of(k, op.y), y, ROWS * WIDTH, tolerance_of(k) * (k->dtype == BF16 ? 3 : 1));
    incidence_free(k, &a);
  }
  csr_free(&back);
  free_blocks(k->device);
}

TEST(fewer_rows_come_back) {
  on_every_table(fewer_in);
  free_hypergraph();
}

/* What `kept` asks for are sums of hyperedges: the steps make them whatever the form. */
static void kept_in(struct kernels *k) {
  static const int64_t sizes[] = {2, 9, 33, 0};
  draw_sizes(300, 60, sizes, 4);
  for (int which = 16; which < 64; which += 21) check(k, &ways[0], 12, which | 16);
}

TEST(kept_sums_are_made_in_steps) {
  on_every_table(kept_in);
  free_hypergraph();
}

/* With one block on a multiprocessor in place of two, a community's hyperedges fit one. */
static void slots_in(struct kernels *k) {
  enum { ROWS = 200000, EDGES = 200000, SIZE = 8, COMMUNITY = 1000 };
  if (!k->ops->incidence->splits || k->real == F64) return;
  free_hypergraph();
  struct csr *m = &hypergraph.edges;
  assert_ok(csr_init(m, EDGES, ROWS, EDGES * SIZE, 0));
  for (int64_t e = 0; e < EDGES; e++) {
    for (int64_t i = 0; i < SIZE; i++) {
      int64_t at = (int64_t)(random_unit(
                                 random_block((struct philox_key){{1, 2}}, (uint64_t)e, 0).word[i % 4]) *
                             (COMMUNITY / SIZE - 1));
      m->col[e * SIZE + i] = (int32_t)(e % (ROWS / COMMUNITY) * COMMUNITY + i * (COMMUNITY / SIZE) + at);
    }
    m->start[e + 1] = (e + 1) * SIZE;
  }
  assert_ok(csr_transpose(m, &hypergraph.vertices, NULL));
  struct incidence a = {0};
  open_incidence(k, &ways[0], &a);
  assert_true(a.split.cut.slots > SPLIT_SLOTS_HALF);
  assert_true(a.split.cut.count.entries < 3 * m->nnz);
  incidence_free(k, &a);
  check(k, &ways[0], 32, 15);
}

TEST(communities_share_what_large_blocks_sum) {
  on_every_table(slots_in);
  free_hypergraph();
}
