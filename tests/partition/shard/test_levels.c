/* Levels: as a search by the matrix of a random graph finds them, and of each the adjacency that the matrix
 * has between its rows and those of the next one. */
#include "partition/shard/shard.h"
#include "runtime/config/config.h"
#include "tests/partition/random_graph.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

struct scene {
  struct random_graph graph;
  struct dataset dataset;
  struct directory directory;
  struct levels levels;
  struct shard shard;
};

static void open_scene(struct scene *s, struct random_graph graph, int64_t most, int stride,
                       enum self_loops loops) {
  static struct config config;
  struct graph block = {0};
  struct partition partition = {0};
  assert_ok(config_parse(&config, "dataset.path = \"x.h5\"\npartition.method = \"random\"", "test"));
  *s = (struct scene){.graph = graph};
  random_dataset(&comm, &s->graph, "test_levels", &s->dataset);
  random_block_of_rows(&comm, &s->dataset, &block);
  assert_ok(partition_make(&comm, &config, &s->dataset, 1, NULL, NULL, comm.size, NULL, &partition));
  assert_ok(directory_init(&comm, &partition, &s->directory));
  partition_free(&partition);
  assert_ok(levels_find(&comm, &s->dataset, &block, 0, most, most, stride, &s->levels));
  assert_ok(levels_order(&s->levels, 1, (int64_t[]){0, s->directory.rows}, s->directory.id));
  assert_ok(directory_tell(&comm, &s->directory));
  assert_ok(shard_init(&comm, &s->dataset, &s->directory, &block, loops, &s->shard));
  assert_ok(shard_add_levels(&comm, &s->directory, &s->levels, &s->shard));
}

static void close_scene(struct scene *s) {
  shard_free(&s->shard);
  levels_free(&s->levels);
  directory_free(&s->directory);
  random_end(&comm, &s->graph, &s->dataset);
}

/* The least number of arcs to a training node; `most`: that many or more. */
static int hops_of(const struct random_graph *g, int64_t v, int most) {
  if (random_in_split(v, 0, SPLIT_TRAIN)) return 0;
  for (int64_t u = 0; u < g->nodes && most > 1; u++)
    if (g->matrix[u * g->nodes + v] != 0 && hops_of(g, u, most - 1) == most - 2) return most - 1;
  return most;
}

static int level_of(const struct random_graph *g, int64_t v, int most) {
  for (int level = 1; level <= most; level++)
    if (hops_of(g, v, level) == level - 1) return level - 1;
  return most;
}

TEST(levels_are_hops_from_the_training_nodes) {
  const struct random_graph graphs[] = {{.nodes = 90, .density = .012, .seed = 3},
                                        {.nodes = 90, .density = .012, .directed = 1, .seed = 4}};
  struct scene s;
  for (int i = 0; i < 2; i++) {
    open_scene(&s, graphs[i], 3, 1, LOOPS_APART);
    assert_int_equal(s.levels.count, 3);
    for (int64_t v = 0; v < s.graph.nodes; v++)
      assert_int_equal(s.levels.of[v], level_of(&s.graph, v, s.levels.count));
    for (int64_t v = 1; v < s.shard.own; v++)
      assert_true(s.levels.of[s.shard.global_id[v - 1]] <= s.levels.of[s.shard.global_id[v]]);
    close_scene(&s);
  }
}

/* Whether v is in a set, or the source of a row that is in another one. */
static int is_reached(const struct random_graph *g, const uint8_t *in, const uint8_t *rows, int64_t v) {
  int reached = in[v];
  for (int64_t u = 0; u < g->nodes; u++) reached |= rows[u] && g->matrix[u * g->nodes + v] != 0;
  return reached;
}

/* The sets one behind the other: training nodes, all of the split, and what a hop more adds to each in turn.
 */
TEST(levels_of_evaluations_stand_in_between) {
  enum { NODES = 400, SETS = 8 };
  static uint8_t set[SETS][NODES];
  const struct random_graph graphs[] = {{.nodes = NODES, .density = .0008, .seed = 3},
                                        {.nodes = NODES, .density = .0008, .directed = 1, .seed = 4}};
  struct scene s;
  for (int i = 0; i < 2; i++) {
    open_scene(&s, graphs[i], 4, 2, LOOPS_APART);
    assert_true(s.levels.count > 3);
    for (int64_t v = 0; v < NODES; v++) set[0][v] = (uint8_t)random_in_split(v, 0, SPLIT_TRAIN);
    for (int64_t v = 0; v < NODES; v++)
      set[1][v] = set[0][v] || random_in_split(v, 0, SPLIT_VAL) || random_in_split(v, 0, SPLIT_TEST);
    for (int m = 2; m < s.levels.count; m++)
      for (int64_t v = 0; v < NODES; v++)
        set[m][v] = (uint8_t)is_reached(&s.graph, set[m - 1], set[m - 2], v);
    for (int m = 0; m < s.levels.count; m++)
      for (int64_t v = 0; v < NODES; v++) assert_int_equal(s.levels.of[v] <= m, set[m][v]);
    close_scene(&s);
  }
}

/* Every seventh node has no arcs: whatever trains needs at most .86 of the nodes. */
TEST(levels_end_where_a_further_hop_needs_no_more) {
  struct scene s;
  open_scene(&s, (struct random_graph){.nodes = 40, .density = .9, .seed = 5}, 4, 1, LOOPS_APART);
  assert_int_equal(s.levels.count, 2);
  assert_true(s.levels.closed && s.levels.rows[1] > .8);
  close_scene(&s);
}

/* Entries of a part, each into its place among those of all nodes; how many. */
static int64_t scatter(const struct shard *shard, const struct adjacency *adj, float *matrix) {
  const struct csr *parts[] = {&adj->own_part, adj->halo_part};
  int64_t n = shard->global_nodes, entries = 0;
  for (int p = 0; p < 2; p++) {
    for (int64_t i = 0; i < parts[p]->rows; i++) {
      const int64_t row = parts[p]->row ? parts[p]->row[i] : i;
      if (p == 1) assert_int_equal(adj->has_halo[row], 1);
      for (int64_t e = parts[p]->start[i]; e < parts[p]->start[i + 1]; e++, entries++) {
        const int32_t col = parts[p]->col[e];
        assert_true(col < parts[p]->cols && (e == parts[p]->start[i] || col > parts[p]->col[e - 1]));
        matrix[shard->global_id[row] * n + (p ? adj->halo.id[col] : shard->global_id[col])] =
            parts[p]->weight ? parts[p]->weight[e] : 1;
      }
    }
  }
  return entries;
}

/* Rows up to one level, columns up to another one. */
static void compare(const struct scene *s, const struct adjacency *adj, int transposed, int row_level,
                    int col_level) {
  const int64_t n = s->graph.nodes;
  float *matrix = calloc((size_t)(n * n), sizeof *matrix);
  int64_t entries = 0, rows = 0, found = scatter(&s->shard, adj, matrix);
  for (int64_t i = 0; i < s->shard.own; i++) {
    const int64_t v = s->shard.global_id[i];
    if (s->levels.of[v] > row_level) continue;
    rows++;
    for (int64_t u = 0; u < n; u++) {
      float weight = s->graph.matrix[transposed ? u * n + v : v * n + u];
      if (u == v) weight = adj->loops == LOOPS_WITHIN;
      if (s->levels.of[u] > col_level) weight = 0;
      entries += weight != 0;
      assert_true(matrix[v * n + u] == weight);
    }
  }
  assert_int_equal(adj->own_part.rows, rows);
  assert_int_equal(found, entries);
  free(matrix);
}

/* Its plan brings the rows that its columns are. */
static void compare_halo(const struct scene *s, struct adjacency *adj) {
  int64_t *tail = calloc((size_t)adj->halo.rows + 1, sizeof *tail);
  assert_ok(halo_swap(&adj->halo, &comm, s->shard.global_id, sizeof *tail, tail));
  for (int64_t j = 0; j < adj->halo.rows; j++) assert_int_equal(tail[j], adj->halo.id[j]);
  free(tail);
}

TEST_ALSO_IN_BLOCKS(a_level_has_the_arcs_between_its_rows_and_the_next, 1024) {
  const struct random_graph graphs[] = {
      {.nodes = 90, .density = .012, .seed = 3},
      {.nodes = 90, .density = .02, .directed = 1, .weighted = 1, .seed = 4},
      {.nodes = 40, .density = .9, .seed = 5},
  };
  struct scene s;
  for (int i = 0; i < 12; i++) {
    const int stride = i < 6 ? 1 : 2;
    open_scene(&s, graphs[i % 6 / 2], 3, stride, i % 2 ? LOOPS_WITHIN : LOOPS_APART);
    assert_true(s.shard.levels.count > 1);
    for (int level = 0; level < s.shard.levels.count; level++) {
      struct shard_level *of = &s.shard.levels.of[level];
      const int count = s.levels.count, further = level + stride < count ? level + stride : count;
      const int next = further == count && s.levels.closed ? level : further;
      compare(&s, &of->forward, 0, level, next);
      if (level % stride == 0) compare(&s, &of->backward, s.graph.directed, next, level);
      if (level % stride != 0) assert_int_equal(of->backward.own_part.rows, 0);
      compare_halo(&s, &of->forward);
      compare_halo(&s, &of->backward);
    }
    close_scene(&s);
  }
}

/* Of the loss or of evaluations, as the level above; where no more nodes are needed, the same. */
TEST(a_hop_further_down_is_of_the_same_sort) {
  struct shard_levels levels = {.count = 4, .stride = 2};
  const int all = 99, open[] = {2, 3, all, all, all}, closed[] = {2, 3, 2, 3, all};
  for (int level = 0; level < 5; level++)
    assert_int_equal(shard_level_below(&levels, level, all), open[level]);
  levels.closed = 1;
  for (int level = 0; level < 5; level++)
    assert_int_equal(shard_level_below(&levels, level, all), closed[level]);
}

/* Of 16 for a sum, and an eighth of all sums for each row. */
TEST(rows_are_worth_the_sums_that_have_them) {
  struct levels levels = {.count = 2, .stride = 1};
  struct row_work work = levels_work(&levels, 3, 3, .5); /* sums of levels 0, 0 and 1, all */
  const int64_t all = 8 + 16 + 16;
  assert_int_equal(work.times[0], all / 8 + all);
  assert_int_equal(work.times[1], all / 8 + 32);
  assert_int_equal(work.times[2], all / 8 + 16);
  levels.closed = 1; /* the lowest sum has no more rows than the one above */
  work = levels_work(&levels, 3, 3, .5);
  assert_int_equal(work.times[1], all / 8 + 32);
  assert_int_equal(work.times[2], all / 8);
  work = levels_work(&levels, 1, 2, 1); /* a batch norm: all below the topmost sum */
  assert_int_equal(work.times[0], 4 + 32);
  assert_int_equal(work.times[1], 4 + 16);
  assert_int_equal(work.times[2], 4 + 16);
}

TEST(the_share_of_the_work_weighs_sums_by_their_widths) {
  struct levels levels = {.count = 2, .stride = 1, .rows = {.1, .5}, .arcs = {.2, .6}};
  assert_close(levels_share(&levels, 0, 2, 0, 1), .1, 1e-15);
  assert_close(levels_share(&levels, 0, 3, 3, 1), (.2 + .6 + 1) / 3, 1e-15);
  assert_close(levels_share(&levels, 0, 3, 2, .5), (.1 + .6) / 1.5, 1e-15);
  assert_close(levels_share(&levels, 0, 1, 2, 1), .6, 1e-15);
  levels.stride = 2; /* one of the loss, one of evaluations */
  assert_close(levels_share(&levels, 0, 3, 2, .5), (.1 + 1) / 1.5, 1e-15);
  assert_close(levels_share(&levels, 1, 3, 2, .5), (.3 + 1) / 1.5, 1e-15);
  assert_close(levels_added(&levels, 3, 2, .5), .6 / 1.5, 1e-15);
}
