/* Partitions: balanced, complete and the same each time. */
#include "partition/graph/partition.h"

#include "partition/graph/balance.h"
#include "partition/graph/metis.h"
#include "partition/multilevel/multilevel.h"
#include "runtime/base/fnv.h"
#include "runtime/base/integer.h"
#include "runtime/base/log.h"
#include "tests/partition/making.h"
#include "tests/ranks.h"

RANK_TESTS(comm);

/* Every node once, in the shard that owns it; counts agree with the graph. */
static void check_partition(const struct random_graph *g, const struct partition *p) {
  int64_t n = g->nodes, cut = 0, nnz = 0;
  char *seen = calloc((size_t)n, 1);
  for (int part = 0; part < p->parts; part++) {
    for (int64_t i = p->offset[part]; i < p->offset[part + 1]; i++) {
      assert_int_equal(p->part[p->order[i]], part);
      assert_int_equal(seen[p->order[i]]++, 0);
    }
    nnz += p->nnz[part];
  }
  assert_int_equal(p->offset[p->parts], n);
  for (int64_t v = 0; v < n; v++) {
    for (int64_t u = 0; u < n; u++) {
      cut += g->matrix[v * n + u] != 0 && p->part[v] != p->part[u];
      nnz -= g->matrix[v * n + u] != 0;
    }
  }
  assert_int_equal(nnz, 0);
  assert_int_equal(cut, p->edge_cut);
  free(seen);
}

TEST(every_method_places_every_node_once) {
  struct random_graph g = {.nodes = 300, .density = .03, .task = TASK_MULTICLASS, .seed = 2};
  struct dataset dataset;
  random_dataset(&comm, &g, "test_partition", &dataset);
  for (int method = PARTITION_METIS; method <= PARTITION_RANDOM; method++) {
    for (int parts = 1; parts <= 7; parts += 2) {
      struct partition p;
      configure((enum partition_method)method, (enum node_order)(parts % 3));
      make(&dataset, 17, parts, &p);
      check_partition(&g, &p);
      assert_true(partition_node_balance(&p) < 1.06);
      if (method == PARTITION_METIS) assert_true(partition_edge_balance(&p) < 1.06);
      partition_free(&p);
    }
  }
  random_end(&comm, &g, &dataset);
}

/* Blocks in the order given: each rank measures its own, and no file is left. */
TEST(ranks_measure_their_blocks_as_one_would) {
  for (int directed = 0; directed < 2; directed++) {
    struct random_graph g = {
        .nodes = 700, .density = .02, .directed = directed, .task = TASK_MULTICLASS, .seed = 4};
    struct dataset dataset;
    struct graph block = {0};
    struct partition one, all;
    random_dataset(&comm, &g, "test_partition_blocks", &dataset);
    random_block_of_rows(&comm, &dataset, &block);
    configure(PARTITION_BLOCK, ORDER_GIVEN);
    make(&dataset, 23 + (uint64_t)directed, comm.size, &one);
    make_of_block(&dataset, 29, &block, NULL, &all);
    check_partition(&g, &all);
    assert_string_equal(all.path, "");
    assert_int_equal(all.chosen, one.chosen);
    assert_memory_equal(all.part, one.part, (size_t)g.nodes * sizeof *all.part);
    assert_memory_equal(all.order, one.order, (size_t)g.nodes * sizeof *all.order);
    assert_memory_equal(all.nnz, one.nnz, (size_t)comm.size * sizeof *all.nnz);
    assert_memory_equal(all.halo, one.halo, (size_t)comm.size * sizeof *all.halo);
    if (comm.rank == 0 && comm.size > 1) assert_memory_equal(&all.density, &one.density, sizeof all.density);
    partition_free(&one);
    partition_free(&all);
    graph_free(&block);
    random_end(&comm, &g, &dataset);
  }
}

/* As large graphs are: those of both directions are the pattern of a directed one. A node's arcs lead to the
 * fifty nodes around it, most of them. */
TEST(ranks_cut_a_graph_together) {
  enum { NODES = 600, NEAR = 25, PARTS = 4 };
  for (int directed = 0; directed < 2; directed++) {
    struct random_graph g = {.nodes = NODES, .directed = directed, .task = TASK_MULTICLASS, .seed = 6};
    const int64_t limit = multilevel_arcs;
    struct dataset dataset;
    struct partition p;
    g.matrix = calloc(NODES * NODES, sizeof *g.matrix);
    assert_non_null(g.matrix);
    for (int64_t v = 0; v < NODES; v++) {
      for (int64_t u = 0; u < NODES; u++) {
        const int64_t a = directed ? v : smaller(u, v), b = directed ? u : larger(u, v);
        const double density = larger(a, b) - smaller(a, b) <= NEAR ? .3 : .001;
        g.matrix[v * NODES + u] = u != v && random_real(g.seed, a, b) < (float)density;
      }
    }
    random_dataset(&comm, &g, "test_partition_together", &dataset);
    configure(PARTITION_METIS, ORDER_GIVEN);
    multilevel_arcs = 0;
    make(&dataset, 51 + (uint64_t)directed, PARTS, &p);
    multilevel_arcs = limit;
    check_partition(&g, &p);
    assert_true(partition_node_balance(&p) < 1.06 && partition_edge_balance(&p) < 1.06);
    assert_true((double)p.edge_cut < .25 * (double)dataset.edges);
    partition_free(&p);
    random_end(&comm, &g, &dataset);
  }
}

/* Blocks of nodes with arcs among themselves, one for each rank; the first block's rows are summed far more
 * often. METIS gives each rank a block, until the work decides. */
TEST(parts_share_the_work_of_an_epoch) {
  enum { A_BLOCK = 120 };
  struct random_graph g = {.nodes = A_BLOCK * comm.size, .task = TASK_MULTICLASS, .seed = 11};
  int64_t n = g.nodes;
  struct dataset dataset;
  struct graph block = {0};
  struct partition plain, shared, again;
  uint8_t *level = malloc((size_t)n);
  assert_non_null(level);
  g.matrix = calloc((size_t)(n * n), sizeof *g.matrix);
  for (int64_t v = 0; v < n; v++) {
    level[v] = v >= A_BLOCK;
    for (int64_t u = 0; u < n; u++) {
      double density = u / A_BLOCK == v / A_BLOCK ? .3 : .01;
      g.matrix[v * n + u] = u != v && random_real(g.seed, smaller(u, v), larger(u, v)) < (float)density;
    }
  }
  random_dataset(&comm, &g, "test_partition_work", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  configure(PARTITION_METIS, ORDER_GIVEN);
  const struct row_work work = {level, {40, 2}}, alike = {level, {5, 5}};
  make(&dataset, 41, comm.size, &plain);
  make_of_block(&dataset, 41, &block, &work, &shared);
  check_partition(&g, &shared);
  if (comm.size > 1) {
    assert_true(shared.work_balance < 1.25);
    assert_memory_not_equal(shared.part, plain.part, (size_t)n * sizeof *plain.part);
    assert_string_not_equal(shared.path, plain.path);
    make_of_block(&dataset, 41, &block, &work, &again);
    assert_int_equal(again.cached, 1);
    assert_memory_equal(shared.part, again.part, (size_t)n * sizeof *again.part);
    partition_free(&again);
  }
  make_of_block(&dataset, 41, &block, &alike, &again);
  assert_memory_equal(again.part, plain.part, (size_t)n * sizeof *again.part);
  assert_string_equal(again.path, plain.path);
  partition_free(&again);
  partition_free(&shared);
  partition_free(&plain);
  graph_free(&block);
  free(level);
  random_end(&comm, &g, &dataset);
}

TEST(the_seed_decides) {
  struct random_graph g = {.nodes = 200, .density = .03, .task = TASK_MULTICLASS, .seed = 2};
  struct dataset dataset;
  random_dataset(&comm, &g, "test_partition_seed", &dataset);
  for (int method = PARTITION_METIS; method <= PARTITION_RANDOM; method += 2) {
    struct partition p[3];
    configure((enum partition_method)method, ORDER_GIVEN);
    for (int i = 0; i < 3; i++) {
      config.partition.seed = i < 2 ? 5 : 6;
      make(&dataset, (uint64_t)(100 + i), 3, &p[i]); /* another hash: not from the file */
      assert_int_equal(p[i].cached, 0);
    }
    assert_memory_equal(p[0].part, p[1].part, 200 * sizeof *p[0].part);
    assert_memory_not_equal(p[0].part, p[2].part, 200 * sizeof *p[0].part);
    for (int i = 0; i < 3; i++) partition_free(&p[i]);
  }
  random_end(&comm, &g, &dataset);
}

/* Whatever piece a rank asks for: parts as large as blocks are, of nodes from everywhere. */
TEST(random_parts_are_blocks_of_a_permutation) {
  static const int64_t nodes[] = {1, 2, 3, 16, 17, 1000, 1025};
  int32_t whole[1025], piece[1025];
  for (int i = 0; i < 7; i++) {
    const int64_t n = nodes[i];
    const int parts = (int)smaller(n, 4);
    int64_t count[4] = {0}, together = 0;
    partition_assign_random(parts, n, 3, 0, n, whole);
    for (int64_t v = 0; v < n; v++) count[whole[v]]++;
    for (int p = 0; p < parts; p++)
      assert_int_equal(count[p], graph_block(n, parts, p + 1) - graph_block(n, parts, p));
    for (int64_t first = 0; first < n; first += 300) {
      const int64_t more = smaller(300, n - first);
      partition_assign_random(parts, n, 3, first, more, piece);
      assert_memory_equal(piece, whole + first, (size_t)more * sizeof *piece);
    }
    for (int64_t v = 1; v < n; v++) together += whole[v] == whole[v - 1];
    if (n >= 1000) assert_in_range(together, n / 5, 3 * n / 10);
    partition_assign_random(parts, n, 4, 0, n, piece);
    if (n >= 1000) assert_memory_not_equal(piece, whole, (size_t)n * sizeof *piece);
  }
}

TEST(order_by_degree_descends) {
  struct random_graph g = {.nodes = 150, .density = .05, .task = TASK_MULTICLASS, .seed = 9};
  struct dataset dataset;
  struct partition p;
  random_dataset(&comm, &g, "test_partition_degree", &dataset);
  configure(PARTITION_RANDOM, ORDER_DEGREE);
  make(&dataset, 17, 3, &p);
  int64_t before = INT64_MAX;
  for (int64_t i = 0; i < 150; i++) {
    int64_t v = p.order[i], degree = 0;
    for (int64_t u = 0; u < 150; u++) degree += g.matrix[v * 150 + u] != 0;
    int first = i == p.offset[p.part[v]];
    assert_true(first || degree < before || (degree == before && v > p.order[i - 1]));
    before = degree;
  }
  partition_free(&p);
  random_end(&comm, &g, &dataset);
}

/* A grid of 64 x 64 nodes with shuffled ids: clusters bring neighbours together again. */
static int64_t grid_id(int64_t x, int64_t y) {
  return ((y * 64 + x) * 1031) % 4096;
}

static void grid_dataset(const char *path) {
  struct dataset_source s = {.nodes = 4096, .name = "grid"};
  s.start = calloc(4097, sizeof *s.start);
  s.col = calloc(4 * 4096, sizeof *s.col);
  int32_t(*row)[5] = calloc(4096, sizeof *row); /* count, then neighbours ascending */
  int64_t place[4096];
  for (int64_t i = 0; i < 4096; i++) place[grid_id(i % 64, i / 64)] = i;
  for (int64_t u = 0; u < 4096; u++) { /* ascending: rows come out sorted */
    int64_t x = place[u] % 64, y = place[u] / 64;
    const int64_t near[4][2] = {{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
    for (int k = 0; k < 4; k++) {
      if (near[k][0] < 0 || near[k][0] > 63 || near[k][1] < 0 || near[k][1] > 63) continue;
      int32_t *to = row[grid_id(near[k][0], near[k][1])];
      to[++to[0]] = (int32_t)u;
    }
  }
  for (int64_t v = 0; v < 4096; v++) {
    memcpy(s.col + s.start[v], row[v] + 1, (size_t)row[v][0] * sizeof(int32_t));
    s.start[v + 1] = s.start[v] + row[v][0];
  }
  free(row);
  assert_ok(dataset_write(&s, path));
  dataset_source_free(&s);
}

static double mean_distance(const struct graph *graph, const struct partition *p) {
  int64_t place[4096], sum = 0;
  for (int64_t i = 0; i < 4096; i++) place[p->order[i]] = i;
  for (int64_t v = 0; v < 4096; v++)
    for (int64_t e = graph->start[v]; e < graph->start[v + 1]; e++)
      sum += llabs(place[v] - place[graph->col[e]]);
  return (double)sum / (double)graph->edges;
}

TEST(order_metis_brings_neighbours_together) {
  struct dataset dataset;
  struct graph graph = {0};
  char path[64];
  snprintf(path, sizeof path, "test_partition_grid.%d.h5", comm.size);
  if (comm.rank == 0) remove_all(path, ".parts"), grid_dataset(path);
  assert_ok(comm_barrier(&comm));
  assert_ok(dataset_open(&dataset, path));
  assert_ok(graph_read(&dataset, 0, 4096, &graph));
  double distance[2];
  for (int i = 0; i < 2; i++) {
    struct partition p;
    configure(PARTITION_METIS, i ? ORDER_METIS : ORDER_GIVEN);
    make(&dataset, 17, 1, &p);
    distance[i] = mean_distance(&graph, &p);
    partition_free(&p);
  }
  assert_true(distance[1] < distance[0] / 2);
  graph_free(&graph);
  struct random_graph none = {0};
  random_end(&comm, &none, &dataset);
}

/* One part has the hubs, the other the many: no single constraint shows it, swapping mends it. */
TEST(balance_swaps_hubs_for_leaves) {
  struct csr pattern;
  int64_t nnz[1000];
  int32_t part[1000], again[1000];
  assert_ok(csr_init(&pattern, 1000, 1000, 0, 0));
  for (int v = 0; v < 1000; v++) {
    part[v] = again[v] = v < 400 ? 0 : 1;
    nnz[v] = v < 400 ? 60 + v % 40 : 1 + v % 5;
  }
  assert_ok(balance_parts(&pattern, NULL, nnz, 2, 1.05, part));
  int64_t nodes[2] = {0}, edges[2] = {0};
  for (int v = 0; v < 1000; v++) {
    nodes[part[v]]++;
    edges[part[v]] += nnz[v];
  }
  double sum = (double)(edges[0] + edges[1]);
  for (int p = 0; p < 2; p++) {
    assert_true(nodes[p] <= 525);
    assert_true((double)edges[p] <= 1.05 * sum / 2);
  }
  assert_ok(balance_parts(&pattern, NULL, nnz, 2, 1.05, again));
  assert_memory_equal(part, again, sizeof part);
  csr_free(&pattern);
}

/* One part has to hold a hub of seven times its share; then others may hold as much. Rows are balanced still.
 */
TEST(balance_lets_parts_be_as_heavy_as_a_hub) {
  enum { ROWS = 1000, PARTS = 10 };
  struct csr pattern;
  int64_t nnz[ROWS];
  int32_t part[ROWS];
  assert_ok(csr_init(&pattern, ROWS, ROWS, 0, 0));
  for (int v = 0; v < ROWS; v++) {
    part[v] = v / (ROWS / PARTS);
    nnz[v] = v == 0 ? 5000 : part[v] == 0 ? 0 : part[v] == 1 ? 10 : 1;
  }
  assert_ok(balance_parts(&pattern, NULL, nnz, PARTS, 1.05, part));
  for (int v = 0; v < ROWS; v++) assert_int_equal(part[v], v / (ROWS / PARTS));
  for (int v = ROWS - 6; v < ROWS; v++) part[v] = 1; /* 106 rows, of which 105 may stay */
  assert_ok(balance_parts(&pattern, NULL, nnz, PARTS, 1.05, part));
  int rows = 0;
  for (int v = 0; v < ROWS; v++) rows += part[v] == 1;
  assert_int_equal(rows, 105);
  csr_free(&pattern);
}

enum { SCATTERED = 600, SCATTERED_PARTS = 12 };

/* A ring of communities of 25 nodes, with arcs at random, in both directions. */
static void make_scattered(struct csr *pattern) {
  uint8_t(*arc)[SCATTERED] = calloc(SCATTERED, sizeof *arc);
  int64_t nnz = 0;
  for (int v = 0; v < SCATTERED; v++)
    for (int i = 0; i < 4; i++) {
      const uint64_t random = fnv_add(5, &(int[]){v, i}, 2 * sizeof(int));
      const int u = i < 3 ? v / 25 * 25 + (int)(random % 25) : (int)(random % SCATTERED);
      if (u != v) arc[v][u] = arc[u][v] = 1;
    }
  for (int i = 0; i < SCATTERED * SCATTERED; i++) nnz += arc[0][i];
  assert_ok(csr_init(pattern, SCATTERED, SCATTERED, nnz, 0));
  nnz = 0;
  for (int v = 0; v < SCATTERED; v++) {
    for (int u = 0; u < SCATTERED; u++)
      if (arc[v][u]) pattern->col[nnz++] = u;
    pattern->start[v + 1] = nnz;
  }
  free(arc);
}

static int64_t received(const struct csr *pattern, const int32_t *part) {
  int64_t rows = 0;
  for (int64_t v = 0; v < pattern->rows; v++) {
    uint8_t needs[SCATTERED_PARTS] = {0};
    for (int64_t e = pattern->start[v]; e < pattern->start[v + 1]; e++) needs[part[pattern->col[e]]] = 1;
    for (int p = 0; p < SCATTERED_PARTS; p++) rows += p != part[v] && needs[p];
  }
  return rows;
}

TEST(nodes_move_where_parts_receive_fewer_rows) {
  struct csr pattern;
  int64_t nnz[SCATTERED], saved, again, nodes[SCATTERED_PARTS] = {0};
  int32_t part[SCATTERED];
  make_scattered(&pattern);
  for (int v = 0; v < SCATTERED; v++) {
    nnz[v] = pattern.start[v + 1] - pattern.start[v];
    part[v] = v % 7 == 3 ? v % SCATTERED_PARTS : v / (SCATTERED / SCATTERED_PARTS);
  }
  const int64_t before = received(&pattern, part);
  assert_ok(balance_lessen_rows(&pattern, nnz, SCATTERED_PARTS, 1.1, part, &saved));
  assert_int_equal(before - received(&pattern, part), saved);
  assert_true(saved > before / 5);
  for (int v = 0; v < SCATTERED; v++) nodes[part[v]]++;
  for (int p = 0; p < SCATTERED_PARTS; p++) assert_in_range(nodes[p], 1, 55);
  assert_ok(balance_lessen_rows(&pattern, nnz, SCATTERED_PARTS, 1.1, part, &again));
  assert_true(again <= saved / 20);
  csr_free(&pattern);
}

/* The last node of a part stays, whatever that costs. */
TEST(parts_do_not_become_empty) {
  struct csr pattern;
  int64_t nnz[3] = {2, 2, 2}, saved;
  int32_t part[3] = {0, 0, 1};
  assert_ok(csr_init(&pattern, 3, 3, 6, 0));
  for (int v = 0; v < 3; v++) {
    pattern.col[2 * v] = v == 0;
    pattern.col[2 * v + 1] = v == 2 ? 1 : 2;
    pattern.start[v + 1] = 2 * v + 2;
  }
  assert_ok(balance_lessen_rows(&pattern, nnz, 2, 2, part, &saved));
  assert_int_equal(saved, 0);
  assert_int_equal(part[2], 1);
  csr_free(&pattern);
}

TEST(a_graph_beyond_metis_names_the_alternatives) {
  struct csr huge = {.rows = 10, .nnz = (int64_t)1 << 62};
  assert_fails(metis_fits(huge.rows, huge.nnz, "huge.h5"), BAD_INPUT, "use an order other than \"metis\"");
  huge.nnz = 1 << 20;
  assert_ok(metis_fits(huge.rows, huge.nnz, "huge.h5"));
}

TEST(more_parts_than_nodes_are_refused) {
  struct random_graph g = {.nodes = 9, .density = .3, .task = TASK_MULTICLASS, .seed = 2};
  struct dataset dataset;
  struct partition p;
  random_dataset(&comm, &g, "test_partition_few", &dataset);
  configure(PARTITION_BLOCK, ORDER_GIVEN);
  assert_fails(partition_make(&comm, &config, &dataset, 1, NULL, NULL, 10, NULL, &p), BAD_INPUT,
               comm.rank == 0 ? "9 nodes and cannot be cut into 10 parts" : "");
  partition_free(&p);
  random_end(&comm, &g, &dataset);
}
