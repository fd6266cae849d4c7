/* Partitions: balanced, complete, the same each time, and kept in a file that is never trusted blindly. */
#include "partition/partition.h"

#include <dirent.h>

#include "io/h5.h"
#include "partition/balance.h"
#include "partition/metis.h"
#include "runtime/log.h"
#include "tests/partition/random_graph.h"

static struct comm comm;
static struct config config;

static void configure(enum partition_method method, enum node_order order) {
  assert_ok(config_parse(&config, "", "test"));
  config.partition.method = method;
  config.partition.order = order;
}

static void make(struct dataset *dataset, uint64_t hash, int parts, struct partition *partition) {
  assert_ok(partition_make(&comm, &config, dataset, hash, parts, "test_partition_run", partition));
}

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

static void every_method_places_every_node_once(void **state) {
  (void)state;
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

static void the_seed_decides(void **state) {
  (void)state;
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

static void order_by_degree_descends(void **state) {
  (void)state;
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

static void order_metis_brings_neighbours_together(void **state) {
  (void)state;
  struct dataset dataset;
  struct graph graph = {0};
  if (comm.rank == 0) grid_dataset("test_partition_grid.h5");
  assert_ok(comm_barrier(&comm));
  assert_ok(dataset_open(&dataset, "test_partition_grid.h5"));
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

/* The last file of the cache folder; returns how many there are. */
static int find_file(const char *folder, char *path, size_t size) {
  int count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    if (!strstr(entry->d_name, ".h5")) continue;
    snprintf(path, size, "%s/%.200s", folder, entry->d_name);
    count++;
  }
  if (dir) closedir(dir);
  return count;
}

static void a_partition_is_read_again_only_when_it_matches(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 120, .density = .05, .task = TASK_MULTICLASS, .seed = 12};
  struct dataset dataset;
  struct partition first, other;
  random_dataset(&comm, &g, "test_partition_cache", &dataset);
  configure(PARTITION_METIS, ORDER_DEGREE);
  make(&dataset, 42, 3, &first);
  assert_int_equal(first.cached, 0);
  make(&dataset, 42, 3, &other);
  assert_int_equal(other.cached, 1);
  assert_string_equal(first.path, other.path);
  assert_memory_equal(first.part, other.part, 120 * sizeof *first.part);
  assert_memory_equal(first.order, other.order, 120 * sizeof *first.order);
  assert_memory_equal(first.halo, other.halo, 3 * sizeof *first.halo);
  assert_memory_equal(first.nnz, other.nnz, 3 * sizeof *first.nnz);
  assert_int_equal(first.edge_cut, other.edge_cut);
  partition_free(&other);
  for (int i = 0; i < 5; i++) {
    configure(PARTITION_METIS, i == 3 ? ORDER_GIVEN : ORDER_DEGREE);
    if (i == 2) config.partition.seed = 77;
    if (i == 4) config.partition.balance = 1.2;
    make(&dataset, i == 0 ? 43 : 42, i == 1 ? 4 : 3, &other);
    assert_int_equal(other.cached, 0);
    partition_free(&other);
  }
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

static void rename_key(const char *from, const char *to) {
  if (comm.rank == 0) assert_int_equal(rename(from, to), 0);
  assert_ok(comm_barrier(&comm));
}

/* A file of another graph under this graph's name is not believed. */
static void a_file_with_another_key_is_ignored(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 120, .density = .05, .task = TASK_MULTICLASS, .seed = 13};
  struct dataset dataset;
  struct partition first, second, again;
  random_dataset(&comm, &g, "test_partition_key", &dataset);
  configure(PARTITION_RANDOM, ORDER_GIVEN);
  make(&dataset, 1, 3, &first);
  make(&dataset, 2, 3, &second);
  rename_key(first.path, second.path);
  make(&dataset, 2, 3, &again);
  assert_int_equal(again.cached, 0);
  partition_free(&again);
  make(&dataset, 2, 3, &again);
  assert_int_equal(again.cached, 1);
  partition_free(&again);
  partition_free(&first);
  partition_free(&second);
  random_end(&comm, &g, &dataset);
}

static void flip(const char *path, int64_t at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  fseek(file, (long)at, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, (long)at, SEEK_SET);
  fputc(byte ^ 0x41, file);
  fclose(file);
}

static int64_t bytes_of(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? status.st_size : 0;
}

/* Bits flipped all over the file, then cut short: the partition is made anew or the same as before. */
static void damaged_files_are_made_anew(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 400, .density = .02, .task = TASK_MULTICLASS, .seed = 14};
  struct dataset dataset;
  struct partition first, again;
  random_dataset(&comm, &g, "test_partition_damage", &dataset);
  configure(PARTITION_RANDOM, ORDER_GIVEN);
  make(&dataset, 1, 4, &first);
  for (int i = 0; i < 12; i++) {
    if (comm.rank == 0) {
      int64_t bytes = bytes_of(first.path);
      if (i % 4 == 3)
        assert_int_equal(truncate(first.path, bytes * i / 12), 0);
      else
        flip(first.path, bytes * (i + 1) / 14);
    }
    make(&dataset, 1, 4, &again);
    assert_memory_equal(first.part, again.part, 400 * sizeof *first.part);
    assert_memory_equal(first.order, again.order, 400 * sizeof *first.order);
    partition_free(&again);
  }
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

/* Valid HDF5 whose order lists a node twice. */
static void a_file_with_a_false_order_is_ignored(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 50, .density = .1, .task = TASK_MULTICLASS, .seed = 15};
  struct dataset dataset;
  struct partition first, again;
  random_dataset(&comm, &g, "test_partition_order", &dataset);
  configure(PARTITION_BLOCK, ORDER_GIVEN);
  make(&dataset, 1, 2, &first);
  if (comm.rank == 0) {
    struct h5 h5 = {0};
    assert_ok(h5_create(&h5, first.path));
    const char *text[][2] = {{"format", "gnntrain-partition"},
                             {"method", "block"},
                             {"objective", "volume"},
                             {"order", "given"},
                             {"graph_hash", "0000000000000001"}};
    for (int i = 0; i < 5; i++) assert_ok(h5_write_text(&h5, "/", text[i][0], text[i][1]));
    assert_ok(h5_write_int(&h5, "/", "version", 1));
    assert_ok(h5_write_int(&h5, "/", "k", 2));
    assert_ok(h5_write_int(&h5, "/", "seed", 1));
    assert_ok(h5_write_int(&h5, "/", "edge_cut", 0));
    assert_ok(h5_write_real(&h5, "/", "seconds", 0));
    assert_ok(h5_write_real(&h5, "/", "balance", 1.05));
    int64_t saved = first.order[3];
    first.order[3] = first.order[4];
    assert_ok(h5_write_all(&h5, "/part", H5_INT32, 50, 0, first.part));
    assert_ok(h5_write_all(&h5, "/order", H5_INT64, 50, 0, first.order));
    assert_ok(h5_write_all(&h5, "/halo", H5_INT64, 2, 0, first.halo));
    assert_ok(h5_write_all(&h5, "/nnz", H5_INT64, 2, 0, first.nnz));
    first.order[3] = saved;
    assert_ok(h5_commit(&h5));
  }
  make(&dataset, 1, 2, &again);
  assert_int_equal(again.cached, 0);
  assert_memory_equal(first.order, again.order, 50 * sizeof *first.order);
  partition_free(&first);
  partition_free(&again);
  random_end(&comm, &g, &dataset);
}

/* The folder's name is taken by a file: the run directory takes the partition. */
static void an_unwritable_place_is_replaced_by_the_run_directory(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 60, .density = .1, .task = TASK_MULTICLASS, .seed = 16};
  struct dataset dataset;
  struct partition p;
  char parts[300], path[600];
  random_dataset(&comm, &g, "test_partition_place", &dataset);
  snprintf(parts, sizeof parts, "%.280s.parts", dataset.h5.path);
  if (comm.rank == 0) fclose(fopen(parts, "w"));
  configure(PARTITION_METIS, ORDER_GIVEN);
  for (int i = 0; i < 2; i++) {
    make(&dataset, 1, 2, &p);
    assert_int_equal(p.cached, i);
    assert_int_equal(find_file("test_partition_run/parts", path, sizeof path), 1);
    assert_string_equal(p.path, path);
    partition_free(&p);
  }
  random_end(&comm, &g, &dataset);
  if (comm.rank == 0) assert_int_equal(system("rm -rf test_partition_run"), 0);
}

/* One part has the hubs, the other the many: no single constraint shows it, swapping mends it. */
static void balance_swaps_hubs_for_leaves(void **state) {
  (void)state;
  struct csr pattern;
  int64_t nnz[1000];
  int32_t part[1000], again[1000];
  assert_ok(csr_init(&pattern, 1000, 1000, 0, 0));
  for (int v = 0; v < 1000; v++) {
    part[v] = again[v] = v < 400 ? 0 : 1;
    nnz[v] = v < 400 ? 60 + v % 40 : 1 + v % 5;
  }
  assert_ok(balance_parts(&pattern, nnz, 2, 1.05, part));
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
  assert_ok(balance_parts(&pattern, nnz, 2, 1.05, again));
  assert_memory_equal(part, again, sizeof part);
  csr_free(&pattern);
}

static void a_graph_beyond_metis_names_the_alternatives(void **state) {
  (void)state;
  struct csr huge = {.rows = 10, .nnz = (int64_t)1 << 62};
  assert_fails(metis_fits(&huge, "huge.h5"), BAD_INPUT, "partition.method = \"block\" or \"random\"");
  huge.nnz = 1 << 20;
  assert_ok(metis_fits(&huge, "huge.h5"));
}

static void more_parts_than_nodes_are_refused(void **state) {
  (void)state;
  struct random_graph g = {.nodes = 9, .density = .3, .task = TASK_MULTICLASS, .seed = 2};
  struct dataset dataset;
  struct partition p;
  random_dataset(&comm, &g, "test_partition_few", &dataset);
  configure(PARTITION_BLOCK, ORDER_GIVEN);
  assert_fails(partition_make(&comm, &config, &dataset, 1, 10, NULL, &p), BAD_INPUT,
               "9 nodes and cannot be cut into 10 parts");
  partition_free(&p);
  random_end(&comm, &g, &dataset);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_places_every_node_once),
      cmocka_unit_test(the_seed_decides),
      cmocka_unit_test(order_by_degree_descends),
      cmocka_unit_test(order_metis_brings_neighbours_together),
      cmocka_unit_test(a_partition_is_read_again_only_when_it_matches),
      cmocka_unit_test(a_file_with_another_key_is_ignored),
      cmocka_unit_test(damaged_files_are_made_anew),
      cmocka_unit_test(a_file_with_a_false_order_is_ignored),
      cmocka_unit_test(an_unwritable_place_is_replaced_by_the_run_directory),
      cmocka_unit_test(balance_swaps_hubs_for_leaves),
      cmocka_unit_test(a_graph_beyond_metis_names_the_alternatives),
      cmocka_unit_test(more_parts_than_nodes_are_refused),
  };
  if (comm_open(&comm, &argc, &argv) != OK) return FAILED;
  comm.timeout = 30;
  log_open(0);
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  comm_close(&comm);
  return failures;
}
