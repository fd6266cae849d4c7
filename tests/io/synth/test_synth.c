#include <omp.h>

#include "io/synth/synth.h"
#include "io/synth/synth_communities.h"
#include "tests/check.h"

struct made {
  struct dataset_source source;
  struct synth_features features;
  float *feature; /* all rows */
};

static struct synth options(void) {
  struct synth synth;
  synth_default(&synth);
  synth.nodes = 20000;
  synth.degree = 10;
  synth.features = 6;
  synth.classes = 8;
  synth.community_size = 500;
  return synth;
}

static struct made make(const struct synth *synth) {
  struct made made = {0};
  assert_ok(synth_make(synth, &made.source, &made.features));
  made.feature = malloc((size_t)(synth->nodes * synth->features) * sizeof *made.feature);
  assert_non_null(made.feature);
  int64_t half = synth->nodes / 2; /* two blocks: where a block begins must not matter */
  struct dataset_source *s = &made.source;
  assert_ok(s->made.rows(s->made.context = &made.features, 0, half, made.feature));
  assert_ok(s->made.rows(s->made.context, half, synth->nodes - half, made.feature + half * synth->features));
  return made;
}

static void unmake(struct made *made) {
  struct dataset_source *s = &made->source;
  free(s->start);
  free(s->col);
  free(s->label);
  for (int part = 0; s->split && part < SPLIT_COUNT; part++) free(s->split->node[part]);
  free(s->split);
  synth_features_free(&made->features);
  free(made->feature);
}

static int64_t arcs(const struct made *made) {
  return made->source.start[made->source.nodes];
}

static int by_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int by_float(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static int has_arc(const struct dataset_source *s, int32_t row, int32_t col) {
  for (int64_t i = s->start[row]; i < s->start[row + 1]; i++) {
    if (s->col[i] == col) return 1;
  }
  return 0;
}

static void assert_simple_graph(const struct made *made) {
  const struct dataset_source *s = &made->source;
  assert_int_equal(s->start[0], 0);
  for (int32_t v = 0; v < s->nodes; v++) {
    for (int64_t i = s->start[v]; i < s->start[v + 1]; i++) {
      assert_int_in_range(s->col[i], 0, s->nodes - 1);
      assert_int_not_equal(s->col[i], v);
      if (i > s->start[v]) assert_true(s->col[i - 1] < s->col[i]);
      assert_true(has_arc(s, s->col[i], v));
    }
  }
}

TEST(graphs_are_symmetric_without_loops_and_duplicates) {
  for (int kind = 0; kind < 3; kind++) {
    struct synth synth = options();
    synth.nodes = 3001;
    synth.community_size = 100;
    synth.degree = 30; /* a third of a community: many duplicates are drawn */
    synth.rmat = kind == 1;
    synth.shuffle = kind == 2;
    struct made made = make(&synth);
    assert_simple_graph(&made);
    unmake(&made);
  }
}

TEST(mean_degree_is_reached_after_duplicates) {
  static const struct {
    int64_t nodes, size;
    double degree;
    int rmat;
  } cases[] = {{20000, 500, 10, 0}, {4000, 200, 120, 0}, {5000, 100, 16.5, 1}, {30000, 30000 / 16, 2.5, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct synth synth = options();
    synth.nodes = cases[i].nodes;
    synth.community_size = cases[i].size;
    synth.degree = cases[i].degree;
    synth.rmat = cases[i].rmat;
    struct made made = make(&synth);
    assert_close((double)arcs(&made) / (double)synth.nodes / synth.degree, 1, 0.01);
    unmake(&made);
  }
}

static double share_inside(const struct made *made, int64_t community_size) {
  const struct dataset_source *s = &made->source;
  int64_t inside = 0;
  for (int64_t v = 0; v < s->nodes; v++) {
    for (int64_t i = s->start[v]; i < s->start[v + 1]; i++)
      inside += s->col[i] / community_size == v / community_size;
  }
  return (double)inside / (double)arcs(made);
}

TEST(edges_stay_inside_communities_as_often_as_asked) {
  static const double inside[] = {0, 0.3, 0.75, 1};
  for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
    struct synth synth = options();
    synth.inside = inside[i];
    struct made made = make(&synth);
    /* One in 40 of the others ends there by chance. */
    assert_close(share_inside(&made, 500), inside[i] + (1 - inside[i]) / 40, 0.02);
    unmake(&made);
  }
}

static int64_t largest_degree(const struct made *made) {
  int64_t most = 0;
  for (int64_t v = 0; v < made->source.nodes; v++) {
    int64_t degree = made->source.start[v + 1] - made->source.start[v];
    most = degree > most ? degree : most;
  }
  return most;
}

TEST(weights_make_degrees_uneven) {
  struct synth synth = options();
  synth.power = 0;
  struct made even = make(&synth);
  synth.power = 0.45;
  struct made uneven = make(&synth);
  assert_int_in_range(largest_degree(&even), 10, 35);    /* Poisson of mean 10 */
  assert_int_in_range(largest_degree(&uneven), 70, 400); /* the largest weight is 22, the mean one 1.8 */
  unmake(&even);
  unmake(&uneven);
}

TEST(rmat_fills_the_quadrants_in_their_shares) {
  struct synth synth = options();
  synth.nodes = 1 << 16;
  synth.degree = 1; /* few duplicates, which would thin out the full quadrant */
  synth.rmat = 1;
  struct made made = make(&synth);
  int64_t count[2][2] = {{0}};
  for (int64_t v = 0; v < synth.nodes; v++) {
    for (int64_t i = made.source.start[v]; i < made.source.start[v + 1]; i++)
      count[v >> 15][made.source.col[i] >> 15]++;
  }
  assert_close((double)count[0][0] / (double)arcs(&made), 0.57, 0.02);
  assert_close((double)count[0][1] / (double)arcs(&made), 0.19, 0.02);
  assert_close((double)count[1][1] / (double)arcs(&made), 0.05, 0.01);
  unmake(&made);
}

static void assert_same(const struct made *a, const struct made *b) {
  const struct dataset_source *x = &a->source, *y = &b->source;
  size_t nodes = (size_t)x->nodes;
  assert_memory_equal(x->start, y->start, (nodes + 1) * sizeof *x->start);
  assert_memory_equal(x->col, y->col, (size_t)arcs(a) * sizeof *x->col);
  assert_memory_equal(x->label, y->label, nodes * sizeof *x->label);
  for (int part = 0; part < SPLIT_COUNT; part++) {
    assert_int_equal(x->split->count[part], y->split->count[part]);
    assert_memory_equal(x->split->node[part], y->split->node[part],
                        (size_t)x->split->count[part] * sizeof(int64_t));
  }
  assert_memory_equal(a->feature, b->feature, nodes * (size_t)x->features * sizeof *a->feature);
}

TEST(result_is_equal_on_any_number_of_threads) {
  for (int rmat = 0; rmat < 2; rmat++) {
    struct synth synth = options();
    synth.rmat = rmat;
    synth.shuffle = 1;
    synth.community_power = 2;
    omp_set_num_threads(1);
    struct made one = make(&synth);
    for (int threads = 2; threads <= 4; threads++) {
      omp_set_num_threads(threads);
      struct made many = make(&synth);
      assert_same(&one, &many);
      unmake(&many);
    }
    unmake(&one);
  }
}

TEST(another_seed_makes_another_graph) {
  struct synth synth = options();
  struct made one = make(&synth);
  synth.seed = 2;
  struct made two = make(&synth);
  size_t nodes = (size_t)synth.nodes;
  assert_memory_not_equal(one.source.start, two.source.start, (nodes + 1) * sizeof *one.source.start);
  assert_memory_not_equal(one.source.label, two.source.label, nodes * sizeof *one.source.label);
  assert_memory_not_equal(one.feature, two.feature, nodes * sizeof *one.feature);
  assert_memory_not_equal(one.source.split->node[0], two.source.split->node[0], 100 * sizeof(int64_t));
  unmake(&one);
  unmake(&two);
}

/* What every node has regardless of its name, sorted: degree, label, split and sum over its neighbours' ones.
 */
static int64_t *fingerprint(const struct made *made) {
  const struct dataset_source *s = &made->source;
  int64_t *local = calloc((size_t)s->nodes, sizeof *local), *all = calloc((size_t)s->nodes, sizeof *all);
  for (int64_t v = 0; v < s->nodes; v++) local[v] = (s->start[v + 1] - s->start[v]) * 100 + s->label[v] * 3;
  for (int part = 0; part < SPLIT_COUNT; part++) {
    for (int64_t i = 0; i < s->split->count[part]; i++) local[s->split->node[part][i]] += part;
  }
  for (int64_t v = 0; v < s->nodes; v++) {
    all[v] = local[v] * 1000000;
    for (int64_t i = s->start[v]; i < s->start[v + 1]; i++) all[v] += local[s->col[i]];
  }
  free(local);
  qsort(all, (size_t)s->nodes, sizeof *all, by_int64);
  return all;
}

TEST(shuffling_renames_nodes_and_does_no_more) {
  struct synth synth = options();
  struct made plain = make(&synth);
  synth.shuffle = 1;
  struct made shuffled = make(&synth);
  int64_t *a = fingerprint(&plain), *b = fingerprint(&shuffled);
  assert_memory_equal(a, b, (size_t)synth.nodes * sizeof *a);
  assert_close(share_inside(&shuffled, 500), 0.025, 0.005);
  size_t values = (size_t)(synth.nodes * synth.features);
  qsort(plain.feature, values, sizeof(float), by_float);
  qsort(shuffled.feature, values, sizeof(float), by_float);
  assert_memory_equal(plain.feature, shuffled.feature, values * sizeof(float));
  free(a);
  free(b);
  unmake(&plain);
  unmake(&shuffled);
}

TEST(classes_are_balanced) {
  struct synth synth = options();
  for (int uneven = 0; uneven < 2; uneven++) {
    synth.community_power = uneven ? 2 : 0;
    synth.community_size = uneven ? 50 : 500;
    struct made made = make(&synth);
    int64_t count[8] = {0};
    for (int64_t v = 0; v < synth.nodes; v++) count[made.source.label[v]]++;
    for (int c = 0; c < 8; c++) assert_close((double)count[c] / (double)synth.nodes, 0.125, 0.015);
    unmake(&made);
  }
}

TEST(labels_are_wrong_as_often_as_asked) {
  struct synth synth = options();
  synth.label_noise = 0;
  struct made clean = make(&synth);
  synth.label_noise = 0.2;
  struct made noisy = make(&synth);
  int64_t wrong = 0;
  for (int64_t v = 0; v < synth.nodes; v++) {
    assert_int_equal(clean.source.label[v], clean.source.label[v / 500 * 500]); /* a community, a class */
    wrong += clean.source.label[v] != noisy.source.label[v];
  }
  assert_close((double)wrong / (double)synth.nodes, 0.2, 0.01);
  assert_memory_equal(clean.feature, noisy.feature, (size_t)synth.nodes * sizeof(float));
  unmake(&clean);
  unmake(&noisy);
}

TEST(features_are_class_mean_plus_unit_noise) {
  struct synth synth = options();
  synth.label_noise = 0;
  synth.signal = 2;
  struct made made = make(&synth);
  for (int c = 0; c < 8; c++) {
    double sum[6] = {0}, squares = 0, length = 0;
    int64_t count = 0;
    for (int64_t v = 0; v < synth.nodes; v++) {
      if (made.source.label[v] != c) continue;
      count++;
      for (int j = 0; j < 6; j++) {
        double x = (double)made.feature[v * 6 + j];
        sum[j] += x, squares += x * x;
      }
    }
    for (int j = 0; j < 6; j++) length += pow(sum[j] / (double)count, 2);
    assert_close(sqrt(length), 2, 0.1);
    assert_close(squares / (double)count - length, 6, 0.2);
  }
  unmake(&made);
}

/* test: its share, 1 for the rest. */
static void check_split(double test, int64_t tested) {
  struct synth synth = options();
  synth.train = 0.3, synth.val = 0.25, synth.test = test;
  struct made made = make(&synth);
  const struct split_list *list = made.source.split;
  uint8_t *seen = calloc((size_t)synth.nodes, 1);
  assert_int_equal(list->count[SPLIT_TRAIN], 6000);
  assert_int_equal(list->count[SPLIT_VAL], 5000);
  assert_int_equal(list->count[SPLIT_TEST], tested);
  for (int part = 0; part < SPLIT_COUNT; part++) {
    for (int64_t i = 0; i < list->count[part]; i++) {
      if (i > 0) assert_true(list->node[part][i - 1] < list->node[part][i]);
      assert_int_equal(seen[list->node[part][i]]++, 0);
    }
  }
  free(seen);
  unmake(&made);
}

TEST(split_holds_each_node_once_at_most) {
  check_split(1, 9000);
  check_split(.05, 1000);
}

TEST(community_sizes_follow_the_power_law) {
  struct synth_communities c = {0};
  static const double powers[] = {1, 1.5, 2.5};
  for (size_t p = 0; p < sizeof powers / sizeof *powers; p++) {
    assert_ok(synth_communities_init(&c, 1000000, 100, powers[p], 3));
    int64_t small = 0;
    for (int64_t i = 0; i + 1 < c.count; i++) {
      int64_t size = c.start[i + 1] - c.start[i];
      assert_int_in_range(size, 10, 1000);
      small += size < 50;
    }
    double e = 1 - powers[p];
    double share = e == 0 ? log(5) / log(100)
                          : (pow(10, e) - pow(50, e)) / (pow(10, e) - pow(1000, e)); /* P(10 <= s < 50) */
    assert_close((double)small / (double)(c.count - 1), share, 0.04);
    synth_communities_free(&c);
  }
}

TEST(halves_of_an_odd_number_leave_nothing_to_test) {
  struct made made = {0};
  struct synth synth = options();
  synth.nodes = 8001;
  synth.train = synth.val = 0.5;
  assert_ok(synth_make(&synth, &made.source, &made.features));
  assert_int_equal(made.source.split->count[SPLIT_TRAIN], 4001);
  assert_int_equal(made.source.split->count[SPLIT_VAL], 4000);
  assert_int_equal(made.source.split->count[SPLIT_TEST], 0);
  unmake(&made);
}

TEST(impossible_wishes_are_bad_input) {
  struct made made = {0};
  struct synth synth = options();
  synth.classes = 41;
  assert_fails(synth_make(&synth, &made.source, &made.features), BAD_INPUT, "40 communities");
  synth = options();
  synth.train = 0.7, synth.val = 0.4;
  assert_fails(synth_make(&synth, &made.source, &made.features), BAD_INPUT, "0.7 and 0.4");
  synth = options();
  synth.nodes = 100, synth.community_size = 10, synth.degree = 99;
  assert_fails(synth_make(&synth, &made.source, &made.features), BAD_INPUT, "mean degree of 99");
  unmake(&made);
}
