/* Hypergraphs on ranks: owners and their balance, what each rank holds of the incidences, the degrees that it
 * knows, and a plan that brings rows there and back. */
#include "partition/shard/hyper.h"

#include <unistd.h>

#include "kernels/ops/kernels.h"
#include "partition/cut/partition_work.h"
#include "partition/cut/star_expansion.h"
#include "partition/halo/halo_exchange.h"
#include "partition/multilevel/multilevel.h"
#include "runtime/base/memory.h"
#include "runtime/device/device_list.h"
#include "tests/partition/making.h"
#include "tests/ranks.h"

RANK_TESTS(comm);

enum { VERTICES = 300, SHORT = 700, LONG = 40 };

/* Hyperedges of up to 4 near vertices each; or few of many anywhere. Every ninth has one vertex. */
static int has(int wide, int64_t e, int64_t v) {
  uint32_t word =
      random_block(random_key(17, 0, (uint32_t)wide, RANDOM_IMPORT), (uint64_t)(e * VERTICES + v), 0).word[0];
  if (v % 23 == 4) return 0;
  if (e % 9 == 3) return v == e % VERTICES;
  if (wide) return word % 3 == 0;
  return (v - e % VERTICES + VERTICES) % VERTICES < 8 && word % 2;
}

static const char *path_of(int wide) {
  static char path[64];
  snprintf(path, sizeof path, "test_hyper.%d.%d.h5", wide, comm.size);
  return path;
}

static void write_file(int wide) {
  int64_t edges = wide ? LONG : SHORT, filled = 0;
  struct dataset_source s = {.name = "hyper", .nodes = VERTICES, .hyper.edges = edges};
  assert_ok(memory_alloc(&s.hyper.start, (edges + 1) * 8, "test"));
  assert_ok(memory_alloc(&s.hyper.vertex, edges * VERTICES * 4, "test"));
  for (int64_t e = 0; e < edges; e++) {
    for (int64_t v = 0; v < VERTICES; v++)
      if (has(wide, e, v)) s.hyper.vertex[filled++] = (int32_t)v;
    s.hyper.start[e + 1] = filled;
  }
  if (comm.rank == 0) assert_ok(dataset_write(&s, path_of(wide)));
  dataset_source_free(&s);
  assert_ok(comm_barrier(&comm));
}

static struct dataset dataset;
static struct partition expansion;
static struct directory star;
static struct hyper hyper;

static void open_hyper(int wide, enum partition_method method, enum node_order order) {
  struct graph block;
  uint64_t hash;
  write_file(wide);
  configure(method, order);
  assert_ok(dataset_open(&dataset, path_of(wide)));
  assert_ok(star_expansion_read_block(&comm, &dataset, &block));
  assert_ok(star_expansion_hash(&comm, &dataset, &block, &hash));
  assert_ok(
      star_expansion_partition(&comm, &config, &dataset, hash, &block, NULL, comm.size, NULL, &expansion));
  assert_ok(directory_init(&comm, &expansion, &star));
  assert_ok(hyper_init(&comm, &dataset, &star, &block, &hyper));
}

static void close_hyper(int wide) {
  hyper_free(&hyper);
  directory_free(&star);
  partition_free(&expansion);
  dataset_close(&dataset);
  assert_ok(comm_barrier(&comm));
  if (comm.rank == 0) remove_all(path_of(wide), ""), remove_all(path_of(wide), ".parts");
  assert_ok(comm_barrier(&comm));
}

static int64_t own_vertex(int64_t v) {
  return star.id[v];
}

static void check_facts(int wide) {
  int64_t edges = wide ? LONG : SHORT;
  for (int64_t v = 0; v < hyper.own; v++) {
    int64_t degree = 0, alone = 0;
    for (int64_t e = 0; e < edges; e++) {
      int64_t size = 0;
      if (!has(wide, e, own_vertex(v))) continue;
      for (int64_t u = 0; u < VERTICES; u++) size += has(wide, e, u);
      degree++;
      alone |= size == 1;
    }
    assert_int_equal(hyper.vertex[v].degree, degree);
    assert_int_equal(hyper.vertex[v].lonely, !alone);
  }
  for (int64_t e = 0; e < hyper.edges; e++) {
    int64_t size = 0, degrees = 0;
    for (int64_t u = 0; u < VERTICES; u++) {
      if (!has(wide, hyper.edge_id[e], u)) continue;
      size++;
      for (int64_t other = 0; other < edges; other++) degrees += has(wide, other, u);
    }
    assert_int_equal(hyper.edge[e].size, size);
    assert_int_equal(hyper.edge[e].degrees, degrees);
  }
}

static void check_matrices(int wide) {
  int64_t held[2] = {hyper.all.inner_edges.nnz + hyper.all.outer_own.nnz, hyper.edges};
  int64_t travelling = hyper.travel == TRAVEL_VERTICES ? hyper.all.outer_away.nnz : hyper.all.partial.nnz;
  for (int64_t e = 0; e < hyper.inner; e++) {
    for (int64_t i = hyper.all.inner_edges.start[e]; i < hyper.all.inner_edges.start[e + 1]; i++)
      assert_true(has(wide, hyper.edge_id[e], own_vertex(hyper.all.inner_edges.col[i])));
    assert_int_equal(hyper.all.inner_edges.start[e + 1] - hyper.all.inner_edges.start[e], hyper.edge[e].size);
  }
  for (int64_t e = 0; e < hyper.outer; e++) {
    for (int64_t i = hyper.all.outer_own.start[e]; i < hyper.all.outer_own.start[e + 1]; i++)
      assert_true(has(wide, hyper.edge_id[hyper.inner + e], own_vertex(hyper.all.outer_own.col[i])));
  }
  held[0] += travelling;
  assert_ok(comm_reduce(&comm, held, 2, NUMBER_INT64, REDUCE_SUM));
  assert_int_equal(held[0], dataset.incidences); /* each incidence once, on one rank */
  assert_int_equal(held[1], dataset.hyperedges);
  assert_int_equal(hyper.all.rest.cols, hyper.outer + hyper_arrivals(hyper.travel, &hyper.all));
  for (int64_t r = 0; r < hyper.all.rest.rows; r++) assert_true(hyper.all.has_halo[hyper.all.rest.row[r]]);
}

TEST(each_incidence_is_summed_on_one_rank) {
  for (int wide = 0; wide < 2; wide++) {
    for (int method = PARTITION_METIS; method <= PARTITION_RANDOM; method++) {
      open_hyper(wide, (enum partition_method)method, method == PARTITION_BLOCK ? ORDER_CLUSTER : ORDER_AUTO);
      if (comm.size > 1) assert_int_equal(hyper.travel, wide ? TRAVEL_HYPEREDGES : TRAVEL_VERTICES);
      check_facts(wide);
      check_matrices(wide);
      close_hyper(wide);
    }
  }
}

TEST(metis_balances_vertices_and_incidences) {
  open_hyper(0, PARTITION_METIS, ORDER_AUTO);
  struct star_expansion_balance balance = star_expansion_balance(&expansion, VERTICES);
  assert_true(balance.vertices < 1.12 && balance.incidences < 1.12);
  double cut = (double)expansion.edge_cut / (double)dataset.incidences;
  assert_true(comm.size == 1 ? cut == 0 : cut > 0 && cut < .25); /* a ring of near vertices */
  close_hyper(0);
}

/* As a large hypergraph is divided: by all ranks. */
TEST(ranks_divide_a_star_together) {
  const int64_t limit = multilevel_arcs;
  multilevel_arcs = 0;
  open_hyper(0, PARTITION_METIS, ORDER_GIVEN);
  multilevel_arcs = limit;
  struct star_expansion_balance balance = star_expansion_balance(&expansion, VERTICES);
  assert_true(balance.vertices < 1.12 && balance.incidences < 1.12);
  double cut = (double)expansion.edge_cut / (double)dataset.incidences;
  assert_true(comm.size == 1 ? cut == 0 : cut > 0 && cut < .25);
  close_hyper(0);
}

TEST(a_kept_partition_is_read_again) {
  open_hyper(0, PARTITION_METIS, ORDER_DEGREE);
  struct partition again = {0};
  struct graph block;
  uint64_t hash;
  assert_ok(star_expansion_read_block(&comm, &dataset, &block));
  assert_ok(star_expansion_hash(&comm, &dataset, &block, &hash));
  assert_ok(star_expansion_partition(&comm, &config, &dataset, hash, &block, NULL, comm.size, NULL, &again));
  graph_free(&block);
  assert_int_equal(again.cached, comm.size > 1);
  const int64_t listed = partition_place(&comm, &again, comm.rank + 1) -
                         partition_place(&comm, &again, comm.rank);
  assert_memory_equal(again.order, expansion.order, (size_t)listed * sizeof *expansion.order);
  partition_free(&again);
  close_hyper(0);
}

/* Hyperedges of the first vertices are summed far more often: parts share these, in place of all. */
TEST(parts_share_the_work_of_an_epoch) {
  uint8_t level[VERTICES + SHORT];
  const struct row_work work = {level, {40, 2}};
  struct partition plain = {0}, shared = {0};
  struct graph block;
  uint64_t hash;
  open_hyper(0, PARTITION_METIS, ORDER_GIVEN);
  for (int64_t v = 0; v < VERTICES; v++) level[v] = v >= VERTICES / comm.size;
  for (int64_t e = 0; e < SHORT; e++) level[VERTICES + e] = e % VERTICES >= VERTICES / comm.size;
  assert_ok(star_expansion_read_block(&comm, &dataset, &block));
  assert_ok(star_expansion_hash(&comm, &dataset, &block, &hash));
  assert_ok(star_expansion_partition(&comm, &config, &dataset, hash, &block, NULL, comm.size, NULL, &plain));
  assert_ok(partition_measure_work(&comm, &block, &work, &plain));
  assert_ok(
      star_expansion_partition(&comm, &config, &dataset, hash, &block, &work, comm.size, NULL, &shared));
  assert_true(comm.size == 1 || (shared.work_balance >= 1 && shared.work_balance < 1.35));
  if (comm.size == 8) assert_true(plain.work_balance > 2); /* fewer ranks share them anyhow */
  partition_free(&plain);
  partition_free(&shared);
  graph_free(&block);
  close_hyper(0);
}

TEST(vertices_have_a_directory_of_their_own) {
  struct directory vertices;
  int32_t id[VERTICES], position[VERTICES], all[VERTICES];
  open_hyper(0, PARTITION_METIS, ORDER_DEGREE);
  assert_ok(directory_init_first(&comm, &star, VERTICES, &vertices));
  assert_int_equal(vertices.rows, hyper.own);
  assert_int_equal(vertices.rows, expansion.vertices[comm.rank]);
  for (int64_t v = 0; v < hyper.own; v++) assert_int_equal(vertices.id[v], own_vertex(v));
  for (int32_t v = 0; v < VERTICES; v++) id[v] = v;
  assert_ok(directory_ask(&comm, &vertices, id, VERTICES, position));
  assert_ok(directory_ask(&comm, &star, id, VERTICES, all));
  for (int v = 0; v < VERTICES; v++) {
    const int owner = directory_owner(&star, all[v]);
    assert_int_equal(directory_owner(&vertices, position[v]), owner);
    assert_int_equal(position[v] - vertices.offset[owner], all[v] - star.offset[owner]);
  }
  directory_free(&vertices);
  close_hyper(0);
}

/* One hyperedge that does not ascend, one vertex that is not there. */
TEST(damaged_hyperedges_are_refused_by_name) {
  static const char *const message[] = {"hyperedge 1 of /hypergraph is not strictly ascending (2 after 3)",
                                        "/hypergraph/indices[3] is 9; 0 to 7 are allowed"};
  for (int damage = 0; damage < 2; damage++) {
    int64_t start[] = {0, 2, 4};
    int32_t vertex[] = {0, 1, 3, damage ? 9 : 2};
    struct dataset_source s = {
        .name = "hyper", .nodes = 8, .hyper.edges = 2, .hyper.start = start, .hyper.vertex = vertex};
    struct graph graph;
    if (comm.rank == 0) assert_ok(dataset_write(&s, path_of(0)));
    assert_ok(comm_barrier(&comm));
    assert_ok(dataset_open(&dataset, path_of(0)));
    assert_fails(star_expansion_read(&dataset, 0, 10, &graph), BAD_INPUT, message[damage]);
    graph_free(&graph);
    close_hyper(0);
  }
}

/* Row i of what comes back is for own row send_row[i], from the rank whose halo has it. */
TEST(rows_come_and_go_back) {
  struct device device = {0};
  struct kernels k = {0};
  for (int wide = 0; wide < 2; wide++) {
    open_hyper(wide, PARTITION_RANDOM, ORDER_AUTO);
    struct halo *halo = &hyper.all.halo;
    int64_t sends = halo->send_rows;
    double *away = NULL, *back = NULL;
    assert_ok(device_open(&device, "cpu", 0, 1, 1));
    assert_ok(kernels_open(&k, &device, PRECISION_FP64));
    assert_ok(comm_attach(&comm, &device));
    assert_ok(memory_alloc(&away, (halo->rows + 1) * 32, "test"));
    assert_ok(memory_alloc(&back, (sends + 1) * 32, "test"));
    for (int64_t i = 0; i < halo->rows; i++) away[4 * i] = (double)halo->id[i];
    assert_ok(halo_return_start(halo, &comm, &k, tensor_padded(away, F64, halo->rows, 1),
                                tensor_padded(back, F64, sends, 1)));
    assert_ok(halo_finish(halo, 0, &comm, &k));
    for (int64_t i = 0; i < sends; i++) {
      int64_t row = halo->send_row[i];
      double id = (double)(wide ? VERTICES + hyper.edge_id[hyper.inner + row] : own_vertex(row));
      assert_true(back[4 * i] == id);
    }
    free(away);
    free(back);
    kernels_close(&k);
    device_close(&device);
    close_hyper(wide);
  }
}
