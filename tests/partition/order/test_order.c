/* Orders of nodes: permutations, the same for any number of threads, and good for what they are made for. */
#include "partition/order/order_auto.h"

#include <omp.h>

#include "io/synth/synth.h"
#include "partition/graph/coarse_graph.h"
#include "partition/order/order_rate.h"
#include "runtime/base/log.h"
#include "tests/partition/making.h"
#include "tests/ranks.h"

RANK_TESTS(comm);

/* A rank that orders a whole graph by itself, whatever the others do. */
static struct comm alone = {.size = 1};

static void check_permutation(const struct partition *p) {
  char *seen = calloc((size_t)p->nodes, 1);
  for (int part = 0; part < p->parts; part++) {
    for (int64_t i = p->offset[part]; i < p->offset[part + 1]; i++) {
      assert_int_equal(p->part[p->order[i]], part);
      assert_int_equal(seen[p->order[i]]++, 0);
    }
  }
  assert_int_equal(p->offset[p->parts], p->nodes);
  free(seen);
}

/* Loops, isolated nodes, one direction or both; METIS is tested in test_partition.c. */
TEST(every_order_lists_every_node_once) {
  for (int directed = 0; directed < 2; directed++) {
    struct random_graph g = {
        .nodes = 400, .density = .03, .task = TASK_MULTICLASS, .seed = 3, .loops = 1, .directed = directed};
    struct dataset dataset;
    random_dataset(&comm, &g, "test_order", &dataset);
    for (int order = ORDER_GIVEN; order < ORDERS; order++) {
      for (int parts = 1; parts <= 5; parts += 2) {
        struct partition p;
        configure(PARTITION_RANDOM, (enum node_order)order);
        config.partition.loa_window = 50;
        make(&dataset, (uint64_t)(17 + directed), parts, &p);
        check_permutation(&p);
        partition_free(&p);
      }
    }
    random_end(&comm, &g, &dataset);
  }
}

/* No arc at all; one node; nodes that all hang on one. */
TEST(orders_of_degenerate_graphs) {
  for (int kind = 0; kind < 3; kind++) {
    int64_t nodes = kind == 1 ? 1 : 3000, edges = kind == 2 ? 2 * (nodes - 1) : 0;
    struct graph graph = {.nodes = nodes, .rows = nodes, .edges = edges, .path = "made"};
    graph.start = calloc((size_t)nodes + 1, sizeof *graph.start);
    graph.col = calloc((size_t)edges + 1, sizeof *graph.col);
    for (int64_t v = 0; v < nodes && kind == 2; v++) {
      graph.start[v + 1] = nodes - 1 + v;
      if (v) graph.col[v - 1] = (int32_t)v; /* row 0; the others have column 0 */
    }
    struct csr rows = {.rows = nodes, .cols = nodes, .nnz = edges, .start = graph.start, .col = graph.col};
    struct progress progress = progress_of(&alone);
    struct order_input input = order_input_of(&progress, &graph, &rows, 1, 64);
    for (int order = ORDER_GIVEN; order < ORDER_AUTO; order++) {
      struct partition p;
      assert_ok(partition_init(&p, 1, nodes));
      partition_count(&p);
      assert_ok(order_nodes(&input, (enum node_order)order, &p));
      check_permutation(&p);
      partition_free(&p);
    }
    graph_free(&graph);
  }
}

/* Communities of 500 nodes whose ids are shuffled. */
static void read_communities(const char *name, struct dataset *dataset, struct graph *graph) {
  char path[100];
  snprintf(path, sizeof path, "%s.%d.h5", name, comm.size);
  if (comm.rank == 0) {
    remove_all(path, ".parts");
    struct synth synth;
    struct dataset_source source = {0};
    struct synth_features features = {0};
    synth_default(&synth);
    synth.nodes = 12000;
    synth.degree = 70;
    synth.features = synth.classes = 2;
    synth.community_size = 500;
    synth.inside = .8;
    synth.shuffle = 1;
    assert_ok(synth_make(&synth, &source, &features));
    assert_ok(dataset_write(&source, path));
    synth_features_free(&features);
    dataset_source_free(&source);
  }
  assert_ok(comm_barrier(&comm));
  assert_ok(dataset_open(dataset, path));
  assert_ok(graph_read(dataset, 0, dataset->nodes, graph));
}

static void forget(struct dataset *dataset, struct graph *graph) {
  struct random_graph none = {0};
  graph_free(graph);
  random_end(&comm, &none, dataset);
}

static struct order_view view_of(const struct partition *p) {
  return (struct order_view){p->parts, 0, p->nodes, p->order, p->offset, NULL};
}

/* Share of the arcs in cells with more than 1.5% of their places taken. */
static double dense_share(const struct graph *graph, const struct partition *p) {
  struct density density, dense = {0};
  assert_ok(order_rate(graph, view_of(p), 1, &density, NULL));
  for (int b = 1; b < DENSITY_BINS; b++) {
    if (density.cells[b] && density.arcs[b] > density.cells[b] * TILE_CELLS * 15 / 1000)
      dense.arcs[b] = density.arcs[b];
  }
  return (double)density_arcs(&dense) / (double)density_arcs(&density);
}

TEST(shuffled_communities_are_found_again) {
  struct dataset dataset;
  struct graph graph = {0};
  read_communities("test_order_found", &dataset, &graph);
  for (int parts = 1; parts <= 2; parts++) {
    double share[2];
    for (int i = 0; i < 2; i++) {
      struct partition p;
      configure(PARTITION_METIS, i ? ORDER_CLUSTER : ORDER_GIVEN);
      make(&dataset, 17, parts, &p);
      share[i] = dense_share(&graph, &p);
      partition_free(&p);
    }
    assert_true(share[0] < .01);
    assert_true(share[1] > .7);
  }
  forget(&dataset, &graph);
}

/* On each rank another number of threads; what the ranks made together is as good as what one made alone. */
TEST(threads_and_ranks_do_not_decide) {
  struct dataset dataset;
  struct graph graph = {0};
  read_communities("test_order_threads", &dataset, &graph);
  const enum node_order orders[] = {ORDER_DEGREE, ORDER_CLUSTER, ORDER_LOA, ORDER_LOA_CLUSTER, ORDER_RCM};
  struct csr rows = {
      .rows = graph.rows, .cols = graph.nodes, .nnz = graph.edges, .start = graph.start, .col = graph.col};
  struct progress progress = progress_of(&alone);
  int threads = omp_get_max_threads();
  for (int i = 0; i < 5; i++) {
    struct partition together, by_one;
    configure(PARTITION_BLOCK, orders[i]);
    make(&dataset, 17, 3, &together);
    struct order_input input = order_input_of(&progress, &graph, &rows, config.partition.seed,
                                              config.partition.loa_window);
    for (int n = 1; n <= 3; n += 2) {
      omp_set_num_threads(comm.rank % 2 ? 2 : n);
      assert_ok(partition_init(&by_one, 3, graph.nodes));
      memcpy(by_one.part, together.part, (size_t)graph.nodes * sizeof *by_one.part);
      partition_count(&by_one);
      assert_ok(order_nodes(&input, orders[i], &by_one));
      assert_memory_equal(by_one.order, together.order, (size_t)graph.nodes * sizeof *by_one.order);
      partition_free(&by_one);
    }
    omp_set_num_threads(threads);
    partition_free(&together);
  }
  forget(&dataset, &graph);
}

/* Column of node u in shard p, counted out: own nodes, then the halo by owner in the owner's order, which
 * begins a new segment. */
static int64_t segment_of(const struct graph *g, const struct partition *p, int part, int64_t u) {
  int64_t own = p->offset[part + 1] - p->offset[part], column = 0;
  int in_halo = p->part[u] != part;
  for (int64_t i = 0; i < p->nodes && p->order[i] != u; i++) {
    int64_t v = p->order[i];
    if ((p->part[v] != part) != in_halo) continue;
    int needed = !in_halo;
    for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) needed |= p->part[g->col[e]] == part;
    column += needed;
  }
  return column / TILE_COLS + (in_halo ? (own + TILE_COLS - 1) / TILE_COLS : 0);
}

TEST(cells_are_counted_as_shards_number_them) {
  struct random_graph g = {.nodes = 500, .density = .06, .task = TASK_MULTICLASS, .seed = 8, .loops = 1};
  struct dataset dataset;
  struct graph graph = {0};
  random_dataset(&comm, &g, "test_order_cells", &dataset);
  assert_ok(graph_read(&dataset, 0, g.nodes, &graph));
  for (int parts = 1; parts <= 3; parts += 2) {
    struct partition p;
    struct density density, expected = {0};
    configure(PARTITION_RANDOM, ORDER_DEGREE);
    make(&dataset, 17, parts, &p);
    assert_ok(order_rate(&graph, view_of(&p), 1, &density, NULL));
    int64_t windows = (g.nodes + TILE_ROWS - 1) / TILE_ROWS + parts, segments = g.nodes / TILE_COLS + 3;
    for (int part = 0; part < parts; part++) {
      int64_t *cell = calloc((size_t)(windows * segments), sizeof *cell);
      for (int64_t i = p.offset[part]; i < p.offset[part + 1]; i++) {
        int64_t v = p.order[i];
        for (int64_t e = graph.start[v]; e < graph.start[v + 1]; e++)
          if (graph.col[e] != v)
            cell[(i - p.offset[part]) / TILE_ROWS * segments + segment_of(&graph, &p, part, graph.col[e])]++;
      }
      for (int64_t w = 0; w < windows; w++) {
        int64_t most = 0;
        for (int64_t s = 0; s < segments; s++) {
          if (cell[w * segments + s]) density_count(&expected, cell[w * segments + s]);
          if (cell[w * segments + s] > most) most = cell[w * segments + s];
        }
        if (most) density_count_window(&expected, most);
      }
      free(cell);
    }
    assert_memory_equal(density.cells, expected.cells, sizeof density.cells);
    assert_memory_equal(density.arcs, expected.arcs, sizeof density.arcs);
    assert_memory_equal(density.windows, expected.windows, sizeof density.windows);
    assert_int_equal(density.rows, g.nodes);
    assert_memory_equal(p.density.cells, expected.cells, sizeof expected.cells); /* as all ranks found */
    assert_memory_equal(p.density.arcs, expected.arcs, sizeof expected.arcs);
    assert_memory_equal(p.density.windows, expected.windows, sizeof expected.windows);
    assert_int_equal(p.density.rows, g.nodes);
    assert_int_equal(p.density.cols, density.cols / parts);
    partition_free(&p);
  }
  graph_free(&graph);
  random_end(&comm, &g, &dataset);
}

/* A symmetric pattern from a rule. */
static void make_rows(int64_t nodes, int (*joined)(int64_t v, int64_t u), struct graph *graph) {
  *graph = (struct graph){.nodes = nodes, .rows = nodes, .path = "made"};
  graph->start = calloc((size_t)nodes + 1, sizeof *graph->start);
  graph->col = calloc((size_t)(nodes * nodes), sizeof *graph->col);
  for (int64_t v = 0; v < nodes; v++) {
    for (int64_t u = 0; u < nodes; u++)
      if (v != u && joined(v, u)) graph->col[graph->edges++] = (int32_t)u;
    graph->start[v + 1] = graph->edges;
  }
}

static void order_made(const struct graph *graph, enum node_order order, int64_t window,
                       struct partition *p) {
  struct csr rows = {.rows = graph->rows,
                     .cols = graph->nodes,
                     .nnz = graph->edges,
                     .start = graph->start,
                     .col = graph->col};
  struct progress progress = progress_of(&alone);
  struct order_input input = order_input_of(&progress, graph, &rows, 1, window);
  assert_ok(partition_init(p, 1, graph->nodes));
  partition_count(p);
  assert_ok(order_nodes(&input, order, p));
}

/* A grid 40 wide and 25 high, ids shuffled. */
static int grid_joined(int64_t v, int64_t u) {
  int64_t a = v * 371 % 1000, b = u * 371 % 1000;
  int64_t x = llabs(a % 40 - b % 40), y = llabs(a / 40 - b / 40);
  return x + y == 1;
}

TEST(rcm_narrows_the_band) {
  struct graph graph;
  struct partition p;
  int64_t place[1000], band = 0;
  make_rows(1000, grid_joined, &graph);
  order_made(&graph, ORDER_RCM, 512, &p);
  for (int64_t i = 0; i < 1000; i++) place[p.order[i]] = i;
  for (int64_t v = 0; v < 1000; v++)
    for (int64_t e = graph.start[v]; e < graph.start[v + 1]; e++)
      if (llabs(place[v] - place[graph.col[e]]) > band) band = llabs(place[v] - place[graph.col[e]]);
  assert_true(band <= 26);
  partition_free(&p);
  graph_free(&graph);
}

/* 40 kinds of nodes; what a node is joined to depends on the kinds alone. No kind is joined to itself, so
 * there are no communities to find, but rows of a kind are equal. */
static int kinds_joined(int64_t v, int64_t u) {
  int64_t a = v * 7 % 40, b = u * 7 % 40;
  return a != b && (a * b + a + b) % 7 == 0;
}

TEST(loa_brings_rows_of_equal_columns_together) {
  struct graph graph;
  make_rows(640, kinds_joined, &graph);
  double intensity[4];
  const enum node_order orders[] = {ORDER_DEGREE, ORDER_LOA_CLUSTER, ORDER_LOA_CLUSTER, ORDER_LOA};
  for (int i = 0; i < 4; i++) {
    struct partition p;
    order_made(&graph, orders[i], i == 1 ? 16 : 640, &p);
    assert_ok(order_intensity(&graph, view_of(&p), &intensity[i]));
    partition_free(&p);
  }
  assert_true(intensity[2] > 1.5 * intensity[0]);
  assert_true(intensity[2] > intensity[1]); /* a window of 16 rows leaves nothing to choose */
  assert_true(intensity[3] > 1.5 * intensity[0]);
  graph_free(&graph);
}

/* Columns of two nodes, without loops, that are in `seen` already or not. */
static int64_t new_columns(const struct graph *graph, int64_t v, const uint8_t *seen) {
  int64_t count = 0;
  for (int64_t e = graph->start[v]; e < graph->start[v + 1]; e++)
    count += graph->col[e] != v && !seen[graph->col[e]];
  return count;
}

static int shares(const struct graph *graph, int64_t v, const uint8_t *seen) {
  return new_columns(graph, v, seen) < new_columns(graph, v, (const uint8_t[1000]){0});
}

static int sparsely_joined(int64_t v, int64_t u) {
  return v != u && ((v * 31 + u * 17) % 97 < 5 || (u * 31 + v * 17) % 97 < 5);
}

/* The algorithm as it is written down, by brute force: of the rows that share a column with the window the
 * one with which it has the fewest, of these the one of most neighbours, of these the first; where none does,
 * and at the begin of a window, the row of fewest neighbours. */
TEST(loa_is_the_published_algorithm) {
  enum { NODES = 300, WINDOW = 16 };
  struct graph graph;
  struct partition p;
  uint8_t placed[NODES] = {0}, seen[1000] = {0};
  const uint8_t none[1000] = {0};
  make_rows(NODES, sparsely_joined, &graph);
  order_made(&graph, ORDER_LOA, 16, &p);
  for (int64_t at = 0; at < NODES; at++) {
    int64_t best = -1;
    int best_shares = 0;
    if (at % WINDOW == 0) memset(seen, 0, sizeof seen);
    for (int64_t v = 0; v < NODES; v++) {
      if (placed[v]) continue;
      const int v_shares = shares(&graph, v, seen);
      const int64_t degree = new_columns(&graph, v, none),
                    most = best < 0 ? 0 : new_columns(&graph, best, none);
      const int64_t more = new_columns(&graph, v, seen),
                    least = best < 0 ? 0 : new_columns(&graph, best, seen);
      const int wins = best < 0 || v_shares > best_shares ||
                       (v_shares == best_shares &&
                        (more < least || (v_shares && more == least && degree > most)));
      if (!wins) continue;
      best = v;
      best_shares = v_shares;
    }
    assert_int_equal(p.order[at], best);
    placed[best] = 1;
    for (int64_t e = graph.start[best]; e < graph.start[best + 1]; e++)
      seen[graph.col[e]] |= graph.col[e] != best;
  }
  partition_free(&p);
  graph_free(&graph);
}

TEST(auto_weighs_what_an_order_costs) {
  struct dataset dataset;
  struct graph graph = {0};
  struct partition p;
  read_communities("test_order_auto", &dataset, &graph);
  const struct {
    int64_t epochs;
    enum node_order chosen;
    int cached;
  } runs[] = {{1, ORDER_GIVEN, 0}, {2, ORDER_GIVEN, 1}, {5000, ORDER_CLUSTER, 0}, {1, ORDER_CLUSTER, 1}};
  for (int i = 0; i < 4; i++) {
    configure(PARTITION_BLOCK, ORDER_AUTO);
    strcpy(config.runtime.device, "cpu");
    config.train.epochs = runs[i].epochs;
    make(&dataset, 17, 2, &p);
    assert_int_equal(p.chosen, runs[i].chosen);
    assert_int_equal(p.cached, runs[i].cached);
    check_permutation(&p);
    partition_free(&p);
  }
  forget(&dataset, &graph);
}

/* What auto took is what asking for it gives. */
TEST(auto_makes_the_order_it_names) {
  struct dataset dataset;
  struct graph graph = {0};
  struct partition automatic, named;
  read_communities("test_order_named", &dataset, &graph);
  configure(PARTITION_BLOCK, ORDER_AUTO);
  strcpy(config.runtime.device, "cpu");
  config.train.epochs = 5000;
  make(&dataset, 17, 2, &automatic);
  config.partition.order = automatic.chosen;
  make(&dataset, 17, 2, &named);
  assert_memory_equal(automatic.order, named.order, (size_t)graph.nodes * sizeof *named.order);
  partition_free(&automatic);
  partition_free(&named);
  forget(&dataset, &graph);
}

TEST(a_sample_stands_for_the_whole_row) {
  struct random_graph g = {.nodes = 700, .density = .5, .task = TASK_MULTICLASS, .seed = 5, .loops = 1};
  struct dataset dataset;
  struct graph graph = {0};
  struct coarse_graph coarse_graph;
  random_dataset(&comm, &g, "test_order_sample", &dataset);
  assert_ok(graph_read(&dataset, 0, g.nodes, &graph));
  struct csr rows = {
      .rows = graph.rows, .cols = graph.nodes, .nnz = graph.edges, .start = graph.start, .col = graph.col};
  assert_ok(coarse_graph_sample(&rows, 0, NULL, g.nodes, NULL, 1, &coarse_graph));
  for (int64_t v = 0; v < g.nodes; v++) {
    int64_t degree = 0, kept = coarse_graph.start[v + 1] - coarse_graph.start[v];
    for (int64_t u = 0; u < g.nodes; u++) degree += u != v && g.matrix[v * g.nodes + u] != 0;
    assert_int_equal(coarse_graph.volume[v], degree);
    assert_int_equal(kept, degree < COARSE_GRAPH_SAMPLE ? degree : COARSE_GRAPH_SAMPLE);
    if (kept) assert_close(coarse_graph.share[v] * (float)kept, degree, 1e-3);
    for (int64_t e = coarse_graph.start[v]; e < coarse_graph.start[v + 1]; e++) {
      assert_true(g.matrix[v * g.nodes + coarse_graph.col[e]] != 0 && coarse_graph.col[e] != v);
      assert_true(e == coarse_graph.start[v] || coarse_graph.col[e] > coarse_graph.col[e - 1]);
    }
  }
  coarse_graph_free(&coarse_graph);
  graph_free(&graph);
  random_end(&comm, &g, &dataset);
}
