/* Shards: every edge, feature, label and split entry of random graphs is where it belongs, and nowhere else.
 */
#include "partition/shard/shard.h"

#include "runtime/comm/row_shuffle.h"
#include "runtime/config/config.h"
#include "runtime/device/device_list.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/whole.h"
#include "tests/ranks.h"

static struct comm comm;
static struct device device;
static int columns = 1; /* of the grid */

struct scene {
  struct random_graph graph;
  struct dataset dataset;
  struct partition partition;
  struct directory directory;
  struct shard shard;
};

static void open_scene(struct scene *s, struct random_graph graph, enum partition_method method,
                       enum node_order order, enum self_loops loops) {
  static struct config config;
  assert_ok(config_parse(&config, "dataset.path = \"x.h5\"", "test"));
  config.partition.method = method;
  config.partition.order = order;
  *s = (struct scene){.graph = graph};
  random_dataset(&comm, &s->graph, "test_shard", &s->dataset);
  struct graph block = {0};
  random_block_of_rows(&comm, &s->dataset, &block);
  uint64_t hash = graph_hash(&block);
  assert_ok(comm_reduce(&comm, &hash, 1, NUMBER_UINT64, REDUCE_SUM));
  assert_ok(partition_make(&comm, &config, &s->dataset, hash, NULL, NULL, comm.size / columns, NULL,
                           &s->partition));
  assert_ok(partition_deal(&s->partition, columns));
  assert_ok(directory_init(&comm, &s->partition, &s->directory));
  whole_partition(&comm, &s->partition);
  assert_ok(shard_init(&comm, &s->dataset, &s->directory, &block, loops, &s->shard));
  assert_null(block.col);
  assert_ok(shard_read_data(&comm, &s->dataset, &s->directory, NORMALIZE_NONE, &s->shard));
  assert_ok(shard_read_split(&comm, &s->dataset, &s->directory, 0, &s->shard));
}

static void close_scene(struct scene *s) {
  shard_free(&s->shard);
  directory_free(&s->directory);
  partition_free(&s->partition);
  random_end(&comm, &s->graph, &s->dataset);
}

/* The nodes whose rows the adjacencies have. */
static const int64_t *nodes_of_rows(const struct scene *s) {
  return s->directory.id;
}

/* Entry u of row v that a direction should have. */
static float entry_of(const struct scene *s, const struct adjacency *adj, int transposed, int64_t v,
                      int64_t u) {
  float weight = s->graph.matrix[transposed ? u * s->graph.nodes + v : v * s->graph.nodes + u];
  return u == v && weight == 0 && adj->loops == LOOPS_WITHIN ? 1 : weight;
}

/* Puts the entries of one direction into a dense matrix; an entry that is already there fails. */
static void scatter(const struct scene *s, const struct adjacency *adj, float *matrix) {
  int64_t n = s->graph.nodes;
  const int64_t *id = nodes_of_rows(s);
  const struct csr *part[] = {&adj->own_part, adj->halo_part};
  for (int p = 0; p < 2; p++) {
    for (int64_t i = 0; i < part[p]->rows; i++) {
      int64_t row = part[p]->row ? part[p]->row[i] : i;
      if (p == 1) assert_int_equal(adj->has_halo[row], 1);
      for (int64_t e = part[p]->start[i]; e < part[p]->start[i + 1]; e++) {
        if (e > part[p]->start[i]) assert_true(part[p]->col[e] > part[p]->col[e - 1]);
        int64_t u = p ? adj->halo.id[part[p]->col[e]] : id[part[p]->col[e]];
        float *at = &matrix[id[row] * n + u];
        assert_true(*at == 0);
        *at = part[p]->weight ? part[p]->weight[e] : 1;
      }
    }
  }
  for (int64_t v = 0; adj->self && v < adj->own_part.rows; v++) {
    float *at = &matrix[id[v] * n + id[v]];
    if (adj->loops == LOOPS_APART)
      *at = isnan(adj->self[v]) ? 0 : adj->self[v];
    else
      assert_true(*at == (isnan(adj->self[v]) ? 1 : adj->self[v]));
  }
}

static void compare_direction(const struct scene *s, const struct adjacency *adj, int transposed) {
  int64_t n = s->graph.nodes, rows = adj->own_part.rows;
  const int64_t *id = nodes_of_rows(s);
  float *matrix = calloc((size_t)(n * n), sizeof *matrix);
  scatter(s, adj, matrix);
  assert_int_equal(rows, s->directory.rows);
  for (int64_t i = 0; i < rows; i++) {
    int64_t v = id[i];
    assert_int_equal(s->partition.part[v] / columns, comm.rank / columns);
    for (int64_t u = 0; u < n; u++) assert_true(matrix[v * n + u] == entry_of(s, adj, transposed, v, u));
  }
  for (int64_t i = 0; i < rows + adj->halo.rows; i++) {
    int64_t v = i < rows ? id[i] : adj->halo.id[i - rows];
    float sum = 0;
    for (int64_t u = 0; u < n; u++) sum += s->graph.matrix[v * n + u];
    assert_true(adj->degree[i] == sum);
  }
  free(matrix);
}

/* Values of rows go through the plan; every halo row must carry its node's value, from the same column. */
static void compare_halo(const struct scene *s, struct adjacency *adj) {
  int64_t own = adj->own_part.rows, *tail = calloc((size_t)adj->halo.rows + 1, sizeof *tail);
  int64_t *value = calloc((size_t)own + 1, sizeof *value);
  for (int64_t i = 0; i < own; i++) value[i] = 1000 + nodes_of_rows(s)[i];
  for (int i = 0; i < adj->halo.peers; i++)
    assert_int_equal(adj->halo.peer[i].rank % columns, comm.rank % columns);
  assert_ok(halo_swap(&adj->halo, &comm, value, sizeof *value, tail));
  for (int64_t i = 0; i < adj->halo.rows; i++) {
    int64_t v = adj->halo.id[i];
    assert_int_equal(tail[i], 1000 + v);
    assert_int_not_equal(s->partition.part[v] / columns, comm.rank / columns);
    if (i == 0) continue;
    int before = s->partition.part[adj->halo.id[i - 1]];
    assert_true(before <= s->partition.part[v]);
  }
  assert_int_equal(adj->halo.rows,
                   s->shard.directed && adj == &s->shard.out ? adj->halo.rows : s->partition.halo[comm.rank]);
  free(value);
  free(tail);
}

/* Those in its column with an arc to or from the part. */
static void compare_peers(const struct scene *s) {
  uint8_t *expected = calloc((size_t)comm.size, 1), *peer = calloc((size_t)comm.size, 1);
  const int64_t n = s->graph.nodes;
  for (int64_t v = 0; v < n; v++) {
    for (int64_t u = 0; u < n; u++) {
      const int a = s->partition.part[v], b = s->partition.part[u];
      if (s->graph.matrix[v * n + u] == 0 || a / columns == b / columns) continue;
      if (a / columns == comm.rank / columns) expected[b / columns * columns + comm.rank % columns] = 1;
      if (b / columns == comm.rank / columns) expected[a / columns * columns + comm.rank % columns] = 1;
    }
  }
  shard_peers(&comm, &s->shard, peer);
  assert_memory_equal(peer, expected, (size_t)comm.size);
  free(expected);
  free(peer);
}

/* Sums over neighbours, from own and halo columns, equal those of the whole graph. */
static void compare_sums(const struct scene *s, struct adjacency *adj, int transposed) {
  int64_t n = s->graph.nodes, own = adj->own_part.rows;
  const int64_t *id = nodes_of_rows(s);
  double *x = calloc((size_t)(own + adj->halo.rows) + 1, sizeof *x), *y = calloc((size_t)own + 1, sizeof *y);
  for (int64_t i = 0; i < own; i++) x[i] = (double)(id[i] % 11);
  assert_ok(halo_swap(&adj->halo, &comm, x, sizeof *x, x + own));
  const struct csr *part[] = {&adj->own_part, adj->halo_part};
  for (int p = 0; p < 2; p++) {
    for (int64_t i = 0; i < part[p]->rows; i++) {
      for (int64_t e = part[p]->start[i]; e < part[p]->start[i + 1]; e++)
        y[p ? part[p]->row[i] : i] += (part[p]->weight ? (double)part[p]->weight[e] : 1) *
                                      x[part[p]->col[e] + (p ? own : 0)];
    }
  }
  for (int64_t i = 0; i < own; i++) {
    int64_t v = id[i];
    double sum = 0;
    for (int64_t u = 0; u < n; u++) {
      if (u != v || adj->loops == LOOPS_WITHIN)
        sum += (double)entry_of(s, adj, transposed, v, u) * (double)(u % 11);
    }
    assert_true(y[i] == sum);
  }
  free(x);
  free(y);
}

static void compare_data(const struct scene *s) {
  const struct shard *shard = &s->shard;
  for (int64_t i = 0; i < shard->own; i++) {
    int64_t v = shard->global_id[i];
    float row[RANDOM_FEATURES] = {0};
    if (shard->sparse) {
      const struct csr *f = &shard->feature_rows;
      for (int64_t e = f->start[i]; e < f->start[i + 1]; e++) row[f->col[e]] = f->weight[e];
    } else {
      memcpy(row, shard->feature + i * RANDOM_FEATURES, sizeof row);
    }
    for (int64_t c = 0; c < RANDOM_FEATURES; c++) assert_true(row[c] == random_feature(&s->graph, v, c));
    if (s->graph.task == TASK_MULTICLASS) assert_int_equal(shard->label[i], random_label(v));
    for (int64_t c = 0; s->graph.task == TASK_MULTILABEL && c < RANDOM_CLASSES; c++)
      assert_int_equal(shard->labels[i * RANDOM_CLASSES + c], random_labels(v, c));
  }
}

static void compare_split(const struct scene *s, int64_t k) {
  for (int part = 0; part < SPLIT_COUNT; part++) {
    int64_t at = 0, global = 0;
    for (int64_t i = 0; i < s->shard.own; i++) {
      if (!random_in_split(s->shard.global_id[i], k, part)) continue;
      assert_true(at < s->shard.split_count[part]);
      assert_int_equal(s->shard.split[part][at++], i);
    }
    assert_int_equal(at, s->shard.split_count[part]);
    for (int64_t v = 0; v < s->graph.nodes; v++) global += random_in_split(v, k, part);
    assert_int_equal(global, s->shard.split_global[part]);
  }
}

static void compare_all(struct scene *s) {
  compare_direction(s, &s->shard.in, 0);
  compare_halo(s, &s->shard.in);
  compare_peers(s);
  compare_sums(s, &s->shard.in, 0);
  if (s->graph.directed) {
    compare_direction(s, &s->shard.out, 1);
    compare_halo(s, &s->shard.out);
    compare_sums(s, &s->shard.out, 1);
  }
  compare_data(s);
  compare_split(s, 0);
  assert_ok(shard_read_split(&comm, &s->dataset, &s->directory, 1, &s->shard));
  compare_split(s, 1);
}

static void shards_reassemble(struct random_graph graph, enum partition_method method,
                              enum node_order order) {
  for (int loops = LOOPS_APART; loops <= LOOPS_WITHIN; loops++) {
    struct scene s;
    open_scene(&s, graph, method, order, (enum self_loops)loops);
    assert_int_equal(s.shard.in.loops, loops);
    compare_all(&s);
    close_scene(&s);
  }
}

TEST_ALSO_IN_BLOCKS(undirected_graphs_reassemble, 1024) {
  for (int i = 0; i < 8; i++) {
    struct random_graph g = {.nodes = 40 + 13 * i,
                             .density = i == 0 ? 0 : .08,
                             .weighted = i & 1,
                             .loops = i & 2,
                             .task = i & 4 ? TASK_MULTILABEL : TASK_MULTICLASS,
                             .sparse = i % 3 == 1,
                             .seed = i};
    shards_reassemble(g, (enum partition_method)(i % 3), (enum node_order)((i + 1) % 3));
  }
}

/* Of up to 130 entries, in an order of many runs of ascending ids. */
TEST_ALSO_IN_BLOCKS(long_rows_are_sorted, 1024) {
  for (int i = 0; i < 4; i++) {
    struct random_graph g = {
        .nodes = 130, .density = .3 + .2 * i, .weighted = i & 1, .task = TASK_MULTICLASS, .seed = 60 + i};
    shards_reassemble(g, i < 2 ? PARTITION_BLOCK : PARTITION_METIS, ORDER_DEGREE);
  }
}

TEST_ALSO_IN_BLOCKS(directed_graphs_reassemble, 1024) {
  for (int i = 0; i < 6; i++) {
    struct random_graph g = {.nodes = 50 + 7 * i,
                             .density = .06,
                             .directed = 1,
                             .weighted = i & 1,
                             .loops = i & 2,
                             .task = TASK_MULTICLASS,
                             .seed = 20 + i};
    shards_reassemble(g, (enum partition_method)(i % 3), (enum node_order)(i % 3));
  }
}

/* In each grid that the ranks can be, of undirected and directed graphs. */
TEST(grids_reassemble) {
  for (columns = 2; columns <= comm.size; columns++) {
    for (int i = 0; i < 2 && comm.size % columns == 0; i++) {
      struct random_graph g = {.nodes = 61,
                               .density = .08,
                               .directed = i,
                               .weighted = !i,
                               .loops = 1,
                               .task = TASK_MULTICLASS,
                               .seed = 40 + i};
      shards_reassemble(g, (enum partition_method)(i % 3), (enum node_order)(i % 3));
      g.nodes = comm.size;
      shards_reassemble(g, PARTITION_METIS, ORDER_DEGREE);
    }
  }
  columns = 1;
}

/* As many parts as nodes, and one node more. */
TEST_ALSO_IN_BLOCKS(shards_may_have_a_single_row, 1024) {
  for (int i = 0; i < 4; i++) {
    struct random_graph g = {.nodes = comm.size + i / 2,
                             .density = .9,
                             .directed = i % 2,
                             .loops = 1,
                             .task = TASK_MULTICLASS,
                             .seed = 31 + i};
    shards_reassemble(g, PARTITION_METIS, ORDER_METIS);
    shards_reassemble(g, PARTITION_BLOCK, ORDER_DEGREE);
  }
}

TEST_ALSO_IN_BLOCKS(rows_of_features_sum_to_one, 1024) {
  for (int sparse = 0; sparse < 2; sparse++) {
    struct scene s;
    struct random_graph g = {
        .nodes = 60, .density = .1, .task = TASK_MULTICLASS, .sparse = sparse, .seed = 7};
    open_scene(&s, g, PARTITION_RANDOM, ORDER_GIVEN, LOOPS_APART);
    shard_free(&s.shard);
    struct graph block = {0};
    random_block_of_rows(&comm, &s.dataset, &block);
    assert_ok(shard_init(&comm, &s.dataset, &s.directory, &block, LOOPS_APART, &s.shard));
    assert_ok(shard_read_data(&comm, &s.dataset, &s.directory, NORMALIZE_ROW, &s.shard));
    for (int64_t i = 0; i < s.shard.own; i++) {
      double sum = 0, original = 0;
      for (int64_t c = 0; c < RANDOM_FEATURES; c++)
        original += (double)random_feature(&g, s.shard.global_id[i], c);
      const struct csr *f = &s.shard.feature_rows;
      for (int64_t e = sparse ? f->start[i] : 0; sparse && e < f->start[i + 1]; e++)
        sum += (double)f->weight[e];
      for (int64_t c = 0; !sparse && c < RANDOM_FEATURES; c++)
        sum += (double)s.shard.feature[i * RANDOM_FEATURES + c];
      assert_close(sum, original > 0 ? 1 : 0, 1e-6);
    }
    close_scene(&s);
  }
}

static void hash_of_data(struct random_graph g, enum partition_method method, uint64_t hash[DATA_KINDS]) {
  struct scene s;
  open_scene(&s, g, method, ORDER_DEGREE, LOOPS_APART);
  memcpy(hash, s.shard.data_hash, DATA_KINDS * sizeof *hash);
  close_scene(&s);
}

TEST_ALSO_IN_BLOCKS(the_hash_of_node_data_does_not_depend_on_the_division, 1024) {
  for (int kind = 0; kind < 4; kind++) {
    struct random_graph g = {.nodes = 60,
                             .density = .1,
                             .task = kind & 1 ? TASK_MULTILABEL : TASK_MULTICLASS,
                             .sparse = kind >> 1,
                             .seed = 7};
    uint64_t blocks[DATA_KINDS], scattered[DATA_KINDS], other[DATA_KINDS];
    hash_of_data(g, PARTITION_BLOCK, blocks);
    hash_of_data(g, PARTITION_RANDOM, scattered);
    assert_memory_equal(blocks, scattered, sizeof blocks);
    g.seed = 8;
    hash_of_data(g, PARTITION_BLOCK, other);
    assert_true(blocks[DATA_FEATURES] != other[DATA_FEATURES]);
    g.nodes = 62;
    hash_of_data(g, PARTITION_BLOCK, other);
    assert_true(blocks[DATA_LABELS] != other[DATA_LABELS] && blocks[DATA_SPLITS] != other[DATA_SPLITS]);
  }
}

struct collected {
  int64_t next;
  int64_t bad;
};

static int collect(int64_t first, int64_t count, const void *rows, void *context) {
  struct collected *c = context;
  const int64_t *value = rows;
  c->bad += first != c->next;
  for (int64_t i = 0; i < count; i++) c->bad += value[2 * i] != first + i || value[2 * i + 1] != -first - i;
  c->next = first + count;
  return OK;
}

TEST_ALSO_IN_BLOCKS(gathered_rows_come_in_the_order_of_the_dataset, 1024) {
  struct scene s;
  struct random_graph g = {.nodes = 77, .density = .1, .task = TASK_MULTICLASS, .seed = 5};
  open_scene(&s, g, PARTITION_METIS, ORDER_DEGREE, LOOPS_APART);
  int64_t *rows = calloc((size_t)s.shard.own * 2 + 1, sizeof *rows);
  for (int64_t i = 0; i < s.shard.own; i++) {
    rows[2 * i] = s.shard.global_id[i];
    rows[2 * i + 1] = -s.shard.global_id[i];
  }
  struct collected c = {0};
  assert_ok(shard_gather_rows(&comm, &s.directory, rows, 2 * sizeof *rows, collect, &c));
  assert_int_equal(c.bad, 0);
  assert_int_equal(c.next, comm.rank == 0 ? 77 : 0);
  free(rows);
  close_scene(&s);
}

TEST_ALSO_IN_BLOCKS(shards_know_their_bytes, 1024) {
  struct scene s;
  struct random_graph g = {.nodes = 77, .density = .1, .task = TASK_MULTICLASS, .seed = 5};
  open_scene(&s, g, PARTITION_BLOCK, ORDER_GIVEN, LOOPS_APART);
  int64_t least = s.shard.own * (RANDOM_FEATURES * 4 + 4) + 4 * s.shard.in.own_part.nnz;
  assert_int_in_range(shard_bytes(&s.shard), least, 3 * least + 4096);
  close_scene(&s);
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  TRY(device_open(&device, "cpu", comm.local_rank, comm.local_size, 1));
  return comm_attach(&comm, &device);
}

AFTER_ALL {
  comm_close(&comm);
  device_close(&device);
}
