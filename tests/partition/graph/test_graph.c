/* Graphs: hashes and symmetry do not depend on how rows are cut into blocks. */
#include "partition/graph/graph.h"

#include "runtime/comm/row_shuffle.h"
#include "tests/partition/random_graph.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

TEST_ALSO_IN_BLOCKS(blocks_tile_the_rows, 256) {
  for (int64_t n = 1; n < 40; n++) {
    for (int size = 1; size < 12; size++) {
      assert_int_equal(graph_block(n, size, 0), 0);
      assert_int_equal(graph_block(n, size, size), n);
      for (int64_t v = 0; v < n; v++) {
        int r = graph_block_of(n, size, v);
        assert_true(graph_block(n, size, r) <= v && v < graph_block(n, size, r + 1));
      }
    }
  }
}

TEST_ALSO_IN_BLOCKS(the_hash_does_not_depend_on_the_cut, 256) {
  struct random_graph g = {.nodes = 90, .density = .1, .weighted = 1, .task = TASK_MULTICLASS, .seed = 3};
  struct dataset dataset;
  struct graph block = {0}, whole = {0};
  random_dataset(&comm, &g, "test_graph_hash", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  uint64_t sum = graph_hash(&block);
  assert_ok(comm_reduce(&comm, &sum, 1, NUMBER_UINT64, REDUCE_SUM));
  assert_ok(graph_read(&dataset, 0, g.nodes, &whole));
  assert_true(sum == graph_hash(&whole));
  whole.weight[5] += 1;
  assert_true(sum != graph_hash(&whole));
  whole.weight[5] -= 1;
  whole.col[0] ^= 1;
  assert_true(sum != graph_hash(&whole));
  graph_free(&block);
  graph_free(&whole);
  random_end(&comm, &g, &dataset);
}

TEST(a_graph_has_a_skew_where_it_is_not_symmetric) {
  for (int weighted = 0; weighted < 2; weighted++) {
    struct random_graph g = {
        .nodes = 90, .density = .1, .weighted = weighted, .loops = 1, .task = TASK_MULTICLASS, .seed = 3};
    struct dataset dataset;
    struct graph block = {0}, whole = {0};
    random_dataset(&comm, &g, "test_graph_skew", &dataset);
    random_block_of_rows(&comm, &dataset, &block);
    uint64_t sum = graph_skew(&block);
    assert_ok(comm_reduce(&comm, &sum, 1, NUMBER_UINT64, REDUCE_SUM));
    assert_true(sum == 0);
    assert_ok(graph_read(&dataset, 0, g.nodes, &whole));
    assert_true(graph_skew(&whole) == 0);
    const int64_t last = whole.edges - 1; /* of row 89, not its loop */
    assert_true(whole.start[89] < last && whole.col[last - 1] < 89);
    if (weighted)
      whole.weight[last - 1] += 1;
    else
      whole.col[last - 1] ^= 1;
    assert_true(graph_skew(&whole) != 0);
    graph_free(&block);
    graph_free(&whole);
    random_end(&comm, &g, &dataset);
  }
}

TEST_ALSO_IN_BLOCKS(symmetric_graphs_pass, 256) {
  struct random_graph g = {
      .nodes = 90, .density = .1, .weighted = 1, .loops = 1, .task = TASK_MULTICLASS, .seed = 4};
  struct dataset dataset;
  struct graph block = {0};
  random_dataset(&comm, &g, "test_graph_symmetric", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  assert_ok(graph_check_symmetric(&comm, &block));
  int64_t loops = 0;
  for (int64_t v = block.first; v < block.first + block.rows; v++) loops += g.matrix[v * g.nodes + v] != 0;
  assert_int_equal(block.loops, loops);
  assert_true(comm.size > 1 || loops > 0);
  graph_free(&block);
  random_end(&comm, &g, &dataset);
}

/* Weights 0 and -0 differ in bits and are equal. */
TEST_ALSO_IN_BLOCKS(zeros_of_either_sign_are_symmetric, 256) {
  int64_t first = graph_block(2, comm.size, comm.rank), last = graph_block(2, comm.size, comm.rank + 1);
  int64_t all_start[] = {0, 1, 2}, start[3];
  int32_t col[] = {1, 0};
  float weight[] = {0.0f, -0.0f};
  for (int64_t i = 0; i <= last - first; i++) start[i] = all_start[first + i] - first;
  struct graph block = {.nodes = 2,
                        .first = first,
                        .rows = last - first,
                        .edges = last - first,
                        .start = start,
                        .col = col + (first < 2 ? first : 0),
                        .weight = weight + (first < 2 ? first : 0),
                        .path = "zeros.h5"};
  assert_ok(graph_check_symmetric(&comm, &block));
}

TEST_ALSO_IN_BLOCKS(the_pattern_of_a_directed_graph_is_symmetric, 256) {
  struct random_graph g = {
      .nodes = 70, .density = .1, .directed = 1, .loops = 1, .task = TASK_MULTICLASS, .seed = 8};
  struct dataset dataset;
  struct graph whole = {0};
  struct csr pattern = {0};
  random_dataset(&comm, &g, "test_graph_pattern", &dataset);
  assert_ok(graph_read(&dataset, 0, g.nodes, &whole));
  assert_ok(graph_pattern(&whole, 1, &pattern));
  for (int64_t v = 0; v < g.nodes; v++) {
    int64_t e = pattern.start[v];
    for (int64_t u = 0; u < g.nodes; u++) {
      if (u == v || (g.matrix[v * g.nodes + u] == 0 && g.matrix[u * g.nodes + v] == 0)) continue;
      assert_true(e < pattern.start[v + 1]);
      assert_int_equal(pattern.col[e++], u);
    }
    assert_int_equal(e, pattern.start[v + 1]);
  }
  csr_free(&pattern);
  graph_free(&whole);
  random_end(&comm, &g, &dataset);
}

/* A ring of 12 nodes; `row` lists `col` in place of what its reverse says. Rows from `first`. */
struct ring {
  int64_t start[13];
  int32_t col[24];
  float weight[24];
  struct graph block;
};

static void ring_block(struct ring *ring, int64_t row, float weight, int drop) {
  int64_t first = graph_block(12, comm.size, comm.rank), last = graph_block(12, comm.size, comm.rank + 1);
  int64_t edges = 0;
  for (int64_t v = first; v < last; v++) {
    for (int32_t u = 0; u < 12; u++) {
      int apart = (int)((u - v + 12) % 12);
      if ((apart != 1 && apart != 11) || (drop && v == row && u == v + 1)) continue;
      ring->weight[edges] = v == row && u == v + 1 ? weight : 1;
      ring->col[edges++] = u;
    }
    ring->start[v - first + 1] = edges;
  }
  ring->block = (struct graph){.nodes = 12,
                               .first = first,
                               .rows = last - first,
                               .edges = edges,
                               .start = ring->start,
                               .col = ring->col,
                               .weight = ring->weight,
                               .path = "ring.h5"};
}

/* The ranks agree on an error: the one with the message asserts it, and none asserts another. */
static void expect_refusal(struct ring *ring, const char *text) {
  assert_int_equal(graph_check_symmetric(&comm, &ring->block), BAD_INPUT);
  int64_t speakers = strstr(error_message(), text) != NULL;
  error_clear();
  assert_ok(comm_sum_int64(&comm, &speakers));
  assert_int_equal(speakers, 1);
}

TEST(an_arc_without_reverse_is_named) {
  struct ring ring = {0};
  ring_block(&ring, 8, 1, 1); /* row 8 lacks 9: the arc 8 -> 9 of row 9 has no reverse */
  expect_refusal(&ring,
                 "ring.h5: arc 8 -> 9 has no reverse although directed = 0; import it with --undirected");
}

TEST(a_reverse_of_another_weight_is_named) {
  struct ring ring = {0};
  ring_block(&ring, 4, 2.5f, 0);
  expect_refusal(&ring, "ring.h5: arc 5 -> 4 has weight 2.5, its reverse 1 although directed = 0");
}
