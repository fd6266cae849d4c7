#include "io/dataset/edges.h"

#include <unistd.h>

#include "io/dataset/ids.h"
#include "runtime/base/integer.h"
#include "runtime/base/random.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

enum { NODES = 40, ARCS = 600 };

/* Arcs among NODES ids (many twice), weights k/8: sums are exact in any order. */
static void draw_arcs(struct edges *edges, int64_t stride, double sum[NODES][NODES],
                      int count[NODES][NODES]) {
  struct philox_key key = random_key(7, 0, 0, RANDOM_IMPORT);
  for (int i = 0; i < ARCS; i++) {
    struct philox_block block = random_block(key, (uint64_t)i, 0);
    int u = (int)(block.word[0] % NODES), v = (int)(block.word[1] % NODES);
    if (i < NODES) u = i; /* every id occurs */
    double weight = (double)(block.word[2] % 16 + 1) / 8;
    assert_ok(arcs_add(&edges->list, u * stride, v * stride, (float)weight));
    sum[v][u] += weight;
    count[v][u]++;
  }
}

static void assert_same(const struct csr *graph, double sum[NODES][NODES], int count[NODES][NODES]) {
  int64_t e = 0;
  assert_int_equal(graph->rows, NODES);
  for (int v = 0; v < NODES; v++) {
    assert_int_equal(graph->start[v], e);
    for (int u = 0; u < NODES; u++) {
      if (!count[v][u]) continue;
      assert_int_equal(graph->col[e], u);
      if (graph->weight) assert_true((double)graph->weight[e] == sum[v][u]);
      e++;
    }
  }
  assert_int_equal(graph->start[NODES], e);
  assert_int_equal(graph->nnz, e);
}

static void compare_with_matrix(int weighted, int undirected, int64_t stride) {
  static double sum[NODES][NODES];
  static int count[NODES][NODES];
  memset(sum, 0, sizeof sum);
  memset(count, 0, sizeof count);
  struct edges edges = {.list.weighted = weighted, .undirected = undirected};
  struct csr graph = {0};
  int64_t *id;
  draw_arcs(&edges, stride, sum, count);
  int64_t distinct = 0;
  for (int v = 0; v < NODES; v++) {
    for (int u = 0; u < NODES; u++) distinct += count[v][u] > 0;
  }
  for (int v = 0; undirected && v < NODES; v++) {
    for (int u = 0; u < v; u++) {
      count[v][u] = count[u][v] = count[v][u] || count[u][v];
      sum[v][u] = sum[u][v] = sum[v][u] > sum[u][v] ? sum[v][u] : sum[u][v];
    }
  }
  assert_ok(edges_build(&edges, &graph, &id));
  assert_same(&graph, sum, count);
  assert_int_equal(edges.duplicates, ARCS - distinct);
  assert_int_equal(edges.mirrored, graph.nnz - distinct);
  assert_int_equal(edges.directed, !undirected);
  assert_int_equal(id != NULL, stride != 1);
  for (int v = 0; id && v < NODES; v++) assert_int_equal(id[v], v * stride);
  free(id);
  csr_free(&graph);
  edges_free(&edges);
}

TEST(adjacency_equals_a_dense_sum) {
  for (int weighted = 0; weighted < 2; weighted++) {
    for (int undirected = 0; undirected < 2; undirected++) {
      compare_with_matrix(weighted, undirected, 1);
      compare_with_matrix(weighted, undirected, 3);                  /* ranked by an array */
      compare_with_matrix(weighted, undirected, 100000000000000000); /* ranked by a table */
    }
  }
}

TEST(many_scattered_ids_are_ranked) {
  enum { COUNT = 200000 };
  int64_t *value = malloc(COUNT * sizeof *value), *copy = malloc(COUNT * sizeof *copy), *id, nodes;
  struct philox_key key = random_key(3, 0, 0, RANDOM_IMPORT);
  for (int i = 0; i < COUNT; i++) {
    struct philox_block block = random_block(key, (uint64_t)i / 2, 0);
    copy[i] = value[i] = (int64_t)(((uint64_t)block.word[0] << 31) ^ block.word[1]);
  }
  assert_ok(ids_rank(value, COUNT, &id, &nodes));
  assert_int_equal(nodes, COUNT / 2);
  for (int64_t v = 1; v < nodes; v++) assert_true(id[v - 1] < id[v]);
  for (int i = 0; i < COUNT; i++) assert_int_equal(id[value[i]], copy[i]);
  for (int i = 0; i < COUNT; i += 1000) assert_int_equal(ids_find(id, nodes, copy[i]), value[i]);
  assert_int_equal(ids_find(id, nodes, -5), -1);
  assert_int_equal(ids_find(id, nodes, INT64_MAX), -1);
  assert_int_equal(ids_find(NULL, 10, 9), 9);
  assert_int_equal(ids_find(NULL, 10, 10), -1);
  free(value);
  free(copy);
  free(id);
}

/* As cells of a map are numbered: it takes minutes where many begin at the same place of a table. */
TEST(ids_that_differ_in_their_high_bits_are_ranked) {
  enum { COUNT = 1 << 19 };
  int64_t *value = malloc(COUNT * sizeof *value), *id, nodes;
  for (int shift = 0; shift <= 44; shift += 11) {
    for (int64_t i = 0; i < COUNT; i++) value[i] = (COUNT - 1 - i) << shift;
    assert_ok(ids_rank(value, COUNT, &id, &nodes));
    assert_int_equal(nodes, COUNT);
    for (int64_t i = 0; i < COUNT; i++) assert_int_equal(value[i], COUNT - 1 - i);
    free(id);
  }
  free(value);
}

TEST(the_last_number_of_64_bits_may_be_ranked) {
  int64_t value[] = {INT64_MAX, 0, INT64_MAX}, *id, nodes;
  assert_ok(ids_rank(value, 3, &id, &nodes));
  assert_int_equal(nodes, 2);
  assert_true(id[0] == 0 && id[1] == INT64_MAX);
  assert_true(value[0] == 1 && value[1] == 0 && value[2] == 1);
  free(id);
}

TEST(a_dropped_loop_leaves_its_node) {
  struct edges edges = {.drop_loops = 1};
  struct csr graph = {0};
  int64_t *id;
  assert_ok(arcs_add(&edges.list, 0, 1, 1));
  assert_ok(arcs_add(&edges.list, 2, 2, 1));
  assert_ok(arcs_add(&edges.list, 1, 0, 1));
  assert_ok(edges_build(&edges, &graph, &id));
  assert_int_equal(edges.nodes, 3);
  assert_int_equal(edges.loops, 1);
  assert_int_equal(graph.nnz, 2);
  assert_int_equal(edges.directed, 0);
  assert_null(id);
  csr_free(&graph);
  edges_free(&edges);
}

TEST(unequal_weights_make_a_graph_directed) {
  for (int undirected = 0; undirected < 2; undirected++) {
    struct edges edges = {.list.weighted = 1, .undirected = undirected};
    struct csr graph = {0};
    int64_t *id;
    assert_ok(arcs_add(&edges.list, 0, 1, 2));
    assert_ok(arcs_add(&edges.list, 1, 0, 3));
    assert_ok(edges_build(&edges, &graph, &id));
    assert_int_equal(edges.directed, !undirected);
    assert_true(graph.weight[0] == 3);                    /* 1 -> 0 */
    assert_true(graph.weight[1] == (undirected ? 3 : 2)); /* 0 -> 1: the larger of both */
    csr_free(&graph);
    edges_free(&edges);
  }
}

TEST(declared_nodes_bound_the_ids) {
  struct edges edges = {.nodes = 5, .base = 1};
  struct csr graph = {0};
  int64_t *id;
  assert_ok(arcs_add(&edges.list, 5, 1, 1));
  assert_ok(edges_build(&edges, &graph, &id));
  assert_int_equal(graph.rows, 5);
  assert_int_equal(graph.col[0], 4);
  assert_int_equal(id[4], 5);
  free(id);
  csr_free(&graph);
  edges_free(&edges);
  edges = (struct edges){.nodes = 5, .base = 1};
  assert_ok(arcs_add(&edges.list, 1, 6, 1));
  assert_fails(edges_build(&edges, &graph, &id), BAD_INPUT, "arc 0: node id 6 is outside 1 .. 5");
  free(id);
  csr_free(&graph);
  edges_free(&edges);
}

TEST(a_sum_beyond_float_is_an_error) {
  struct edges edges = {.list.weighted = 1};
  struct csr graph = {0};
  int64_t *id;
  assert_ok(arcs_add(&edges.list, 0, 1, 3e38F));
  assert_ok(arcs_add(&edges.list, 0, 1, 3e38F));
  assert_fails(edges_build(&edges, &graph, &id), BAD_INPUT,
               "column 0 of row 1 add up to more than a float holds");
  free(id);
  csr_free(&graph);
  edges_free(&edges);
}

/* Many blocks and buckets, and rows of all lengths. */

enum { MANY = 3 * ARCS_BLOCK + 1234, WIDE = 70000 };

struct listed {
  int64_t row, col, number;
  int reversed;
  float weight;
};

static int compare_listed(const void *a, const void *b) {
  const struct listed *x = a, *y = b;
  int by_row = COMPARE(x->row, y->row), by_col = COMPARE(x->col, y->col);
  int by_side = COMPARE(x->reversed, y->reversed);
  return by_row ? by_row : by_col ? by_col : by_side ? by_side : COMPARE(x->number, y->number);
}

/* Arcs of few nodes and of many, a tenth of them at node 0; weights whose sums depend on their order. */
static void draw_many(struct edges *edges, struct listed *listed) {
  struct philox_key key = random_key(9, 0, 0, RANDOM_IMPORT);
  for (int64_t i = 0; i < MANY; i++) {
    struct philox_block block = random_block(key, (uint64_t)i, 0);
    int64_t range = i % 3 ? 300 : WIDE, u = block.word[0] % range, v = block.word[1] % range;
    if (block.word[3] % 10 == 0) v = 0;
    if (i == 0) u = WIDE - 1;
    float weight = (float)block.word[2] / 3e9F;
    assert_ok(arcs_add(&edges->list, u, v, weight));
    listed[2 * i] = (struct listed){v, u, i, 0, weight};
    listed[2 * i + 1] = (struct listed){u, v, i, 1, weight};
  }
  qsort(listed, 2 * (size_t)MANY, sizeof *listed, compare_listed);
}

/* Sum of the arcs of one direction from listed[*i] on; how many they are. */
static int64_t sum_of(const struct listed *listed, int64_t *i, int reversed, float *sum) {
  int64_t first = *i;
  double total = 0;
  for (; *i < 2 * MANY && listed[*i].row == listed[first].row && listed[*i].col == listed[first].col &&
         listed[*i].reversed == reversed;
       ++*i)
    total += (double)listed[*i].weight;
  *sum = (float)total;
  return *i - first;
}

static void assert_is_merged(const struct csr *graph, const struct listed *listed, int undirected) {
  int64_t e = 0;
  for (int64_t i = 0; i < 2 * MANY;) {
    int64_t row = listed[i].row, col = listed[i].col;
    float sum[2] = {0, 0};
    int own = listed[i].reversed == 0 && sum_of(listed, &i, 0, &sum[0]) > 0;
    int same = i < 2 * MANY && listed[i].row == row && listed[i].col == col;
    if (same) sum_of(listed, &i, 1, &sum[1]);
    if (!own && !undirected) continue;
    if (e < graph->start[row] || e >= graph->start[row + 1])
      fail_msg("arc %lld is in another row", (long long)e);
    if (graph->col[e] != col)
      fail_msg("arc %lld: %d in place of %lld", (long long)e, graph->col[e], (long long)col);
    float weight = undirected ? fmaxf(sum[0], sum[1]) : sum[0];
    if (graph->weight && memcmp(&graph->weight[e], &weight, sizeof weight) != 0)
      fail_msg("arc %lld: weight %.9g in place of %.9g", (long long)e, (double)graph->weight[e],
               (double)weight);
    e++;
  }
  assert_int_equal(graph->nnz, e);
}

static void build_many(int weighted, int undirected, int64_t limit) {
  struct listed *listed = malloc(2 * MANY * sizeof *listed);
  struct edges edges = {.list.weighted = weighted, .undirected = undirected, .nodes = WIDE};
  struct csr graph = {0};
  int64_t *id;
  assert_non_null(listed);
  if (limit) edges.list.spill.path = "many.h5";
  edges.list.spill.limit = limit;
  draw_many(&edges, listed);
  assert_ok(edges_build(&edges, &graph, &id));
  assert_int_equal(edges.list.spill.filled > 0, limit > 0);
  if (limit) assert_int_in_range(edges.list.spill.held, 0, limit);
  assert_is_merged(&graph, listed, undirected);
  assert_int_equal(edges.directed, !undirected);
  free(listed);
  csr_free(&graph);
  edges_free(&edges);
}

TEST(many_arcs_are_merged_in_the_order_of_the_list) {
  for (int weighted = 0; weighted < 2; weighted++) {
    for (int undirected = 0; undirected < 2; undirected++) build_many(weighted, undirected, 0);
  }
}

TEST(arcs_beyond_the_limit_wait_in_a_file) {
  for (int weighted = 0; weighted < 2; weighted++) build_many(weighted, !weighted, 1 << 20);
  assert_int_not_equal(access("many.h5", F_OK), 0);
}

/* Ids beyond 32 bits take more room in the list, and none in what follows. */
TEST(wide_ids_are_unpacked_as_they_were) {
  struct arcs list = {0}, more = {0};
  struct arc *arc;
  enum { COUNT = 2 * ARCS_BLOCK + 5 };
  for (int64_t i = 0; i < COUNT; i++)
    assert_ok(arcs_add(i < COUNT / 2 ? &list : &more, i << (i % 2 ? 36 : 0), COUNT - i, 1));
  assert_ok(arcs_pack(&more));
  assert_ok(arcs_join(&list, &more));
  assert_int_equal(list.count, COUNT);
  assert_int_equal(list.block[list.blocks - 1].first + list.block[list.blocks - 1].count, COUNT);
  assert_ok(arcs_take(&list, &arc));
  for (int64_t i = 0; i < COUNT; i++)
    if (arc[i].source != i << (i % 2 ? 36 : 0) || arc[i].target != COUNT - i)
      fail_msg("arc %lld", (long long)i);
  free(arc);
  arcs_free(&list);
  arcs_free(&more);
}
