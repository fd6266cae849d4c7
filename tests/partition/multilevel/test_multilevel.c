/* Parts by clusters of clusters: they find what was planted, keep the balance, and are the same for any
 * number of threads; for any number of ranks, test_partition_command.sh shows. */
#include "partition/multilevel/multilevel.h"

#include <omp.h>

#include "partition/graph/graph.h"
#include "partition/graph/metis.h"
#include "partition/multilevel/dist_parts.h"
#include "partition/multilevel/scotch.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

enum { GROUPS = 16, PARTS = 8 };

static uint32_t draw(int64_t i, int64_t j) {
  return random_block(random_key(5, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0];
}

static int compare_ids(const void *a, const void *b) {
  return COMPARE(*(const int32_t *)a, *(const int32_t *)b);
}

/* `degree` arcs from each node, `inside` percent of them to its group (node modulo GROUPS), and their
 * reverses; hubs: node 0 is joined to every fifth node. */
static struct csr planted(int64_t nodes, int degree, int inside, int hubs) {
  struct csr all = {0}, m = {0};
  int64_t drawn = nodes * degree, count = 0, most = 2 * (drawn + nodes);
  int32_t *from = malloc((size_t)most * sizeof *from), *to = malloc((size_t)most * sizeof *to);
  assert_true(from && to);
  for (int64_t i = 0; i < drawn; i++) {
    int32_t v = (int32_t)(i % nodes), u = (int32_t)(draw(i, 1) % (uint32_t)nodes);
    if ((int)(draw(i, 2) % 100) < inside) u = u - u % GROUPS + v % GROUPS;
    if (u >= nodes || u == v) continue;
    from[count] = v, to[count++] = u;
    from[count] = u, to[count++] = v;
  }
  for (int32_t v = 5; hubs && v < nodes; v += 5) {
    from[count] = v, to[count++] = 0;
    from[count] = 0, to[count++] = v;
  }
  assert_ok(csr_init(&all, nodes, nodes, count, 0));
  for (int64_t i = 0; i < count; i++) all.start[from[i] + 1]++;
  for (int64_t v = 0; v < nodes; v++) all.start[v + 1] += all.start[v];
  for (int64_t i = 0; i < count; i++) all.col[all.start[from[i]]++] = to[i];
  memmove(all.start + 1, all.start, (size_t)nodes * sizeof *all.start);
  all.start[0] = 0;
  assert_ok(csr_init(&m, nodes, nodes, count, 0));
  for (int64_t v = 0; v < nodes; v++) {
    int32_t *row = all.col + all.start[v];
    int64_t length = all.start[v + 1] - all.start[v], at = m.start[v];
    if (length) qsort(row, (size_t)length, sizeof *row, compare_ids);
    for (int64_t e = 0; e < length; e++)
      if (e == 0 || row[e] != row[e - 1]) m.col[at++] = row[e];
    m.start[v + 1] = at;
  }
  m.nnz = m.start[nodes];
  free(from), free(to);
  csr_free(&all);
  return m;
}

static int64_t *lengths_of(const struct csr *m) {
  int64_t *nnz = malloc((size_t)m->rows * sizeof *nnz);
  assert_non_null(nnz);
  for (int64_t v = 0; v < m->rows; v++) nnz[v] = m->start[v + 1] - m->start[v];
  return nnz;
}

/* Largest over mean of the nodes' weights in the parts. */
static double balance_of(const int64_t *weight, int64_t nodes, int parts, const int32_t *part) {
  int64_t load[64] = {0}, most = 0, sum = 0;
  for (int64_t v = 0; v < nodes; v++) {
    assert_int_in_range(part[v], 0, parts - 1);
    load[part[v]] += weight ? weight[v] : 1;
    sum += weight ? weight[v] : 1;
  }
  for (int p = 0; p < parts; p++) most = larger(most, load[p]);
  return (double)most * parts / (double)sum;
}

static double cut_of(const struct csr *m, const int32_t *part) {
  int64_t cut = 0;
  for (int64_t v = 0; v < m->rows; v++)
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) cut += part[v] != part[m->col[e]];
  return (double)cut / (double)m->nnz;
}

/* Rows that parts send each other. */
static int64_t volume_of(const struct csr *m, const int32_t *part) {
  int64_t volume = 0;
  for (int64_t v = 0; v < m->rows; v++) {
    uint64_t seen = 1ULL << part[v];
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) seen |= 1ULL << part[m->col[e]];
    volume += __builtin_popcountll(seen) - 1;
  }
  return volume;
}

/* This rank's rows of a matrix that every rank has: borrowed. */
static struct csr block_of(const struct csr *m) {
  const int64_t first = graph_block(m->rows, comm.size, comm.rank);
  struct csr rows = *m;
  rows.rows = graph_block(m->rows, comm.size, comm.rank + 1) - first;
  rows.start += first;
  return rows;
}

static int64_t first_of(const struct csr *m) {
  return graph_block(m->rows, comm.size, comm.rank);
}

/* Every rank's parts on every rank. */
static int32_t *all_parts(const struct csr *m, const int32_t *mine) {
  const int64_t nodes = m->rows, own = block_of(m).rows;
  int64_t *sum = calloc((size_t)nodes, sizeof *sum);
  int32_t *part = malloc((size_t)nodes * sizeof *part);
  assert_true(sum && part);
  for (int64_t v = 0; v < own; v++) sum[first_of(m) + v] = mine[v];
  assert_ok(comm_reduce(&comm, sum, nodes, NUMBER_INT64, REDUCE_SUM));
  for (int64_t v = 0; v < nodes; v++) part[v] = (int32_t)sum[v];
  free(sum);
  return part;
}

typedef int partitioner(struct progress *progress, const struct multilevel_input *input, int32_t *part);

static int32_t *parts_by(partitioner *partition, const struct csr *m, const int64_t *nnz, int parts,
                         int threads) {
  struct progress progress = progress_of(&comm);
  const struct csr rows = block_of(m);
  const struct multilevel_input input = {&rows, NULL, nnz + first_of(m), parts, 1, 1.05};
  int32_t *mine = malloc((size_t)(rows.rows + 1) * sizeof *mine);
  assert_non_null(mine);
  omp_set_num_threads(threads);
  assert_ok(partition(&progress, &input, mine));
  int32_t *part = all_parts(m, mine);
  free(mine);
  return part;
}

static int32_t *make_parts(const struct csr *m, const int64_t *nnz, int parts, int threads) {
  return parts_by(multilevel_partition, m, nnz, parts, threads);
}

static void compare_with_metis(const struct csr *m, const int64_t *nnz, const int32_t *part) {
  struct progress progress = progress_of(&comm);
  int32_t *alone = malloc((size_t)m->rows * sizeof *alone);
  assert_non_null(alone);
  assert_ok(metis_partition(&progress, m, NULL, nnz, PARTS, 1, 1.05, alone));
  printf("cut %.4f, volume %lld; METIS alone %.4f, %lld\n", cut_of(m, part), (long long)volume_of(m, part),
         cut_of(m, alone), (long long)volume_of(m, alone));
  assert_true((double)volume_of(m, part) < 1.05 * (double)volume_of(m, alone));
  free(alone);
}

/* METIS, which gets the whole graph on one rank, is the measure. */
TEST(parts_are_as_good_as_those_of_metis_alone) {
  struct csr m = planted(100000, 8, 90, 0);
  int64_t *nnz = lengths_of(&m);
  int32_t *part = make_parts(&m, nnz, PARTS, 2);
  assert_true(cut_of(&m, part) <
              .0885); /* a tenth of the arcs was drawn at random: an eighth of these stays */
  if (comm.rank == 0) compare_with_metis(&m, nnz, part);
  assert_true(balance_of(NULL, m.rows, PARTS, part) <= 1.0501);
  assert_true(balance_of(nnz, m.rows, PARTS, part) <= 1.0501);
  free(part), free(nnz);
  csr_free(&m);
}

/* Loops count for nothing: a tenth of the nodes has one. */
TEST(parts_by_scotch_find_what_was_planted) {
  struct csr plain = planted(16000, 8, 90, 0), m = {0};
  if (scotch_takes(plain.nnz) != OK) {
    printf("%s\n", error_message());
    error_clear();
    csr_free(&plain);
    return;
  }
  assert_ok(csr_init(&m, plain.rows, plain.rows, plain.nnz + plain.rows / 10, 0));
  for (int64_t v = 0, at = 0; v < m.rows; v++) {
    for (int64_t e = plain.start[v]; e < plain.start[v + 1]; e++) m.col[at++] = plain.col[e];
    if (v % 10 == 0) m.col[at++] = (int32_t)v;
    m.start[v + 1] = at;
  }
  int64_t *nnz = lengths_of(&m);
  int32_t *part = parts_by(scotch_partition, &m, nnz, PARTS, 1);
  for (int64_t v = 0; v < m.rows; v++) nnz[v] += 17; /* what a node weighs beside its non-zeros, about */
  assert_true(cut_of(&m, part) < .1);
  assert_true(balance_of(nnz, m.rows, PARTS, part) <= 1.06);
  free(part), free(nnz);
  csr_free(&m);
  csr_free(&plain);
}

TEST(threads_do_not_matter) {
  struct csr m = planted(60000, 6, 70, 1);
  int64_t *nnz = lengths_of(&m);
  int32_t *one = make_parts(&m, nnz, 5, 1), *many = make_parts(&m, nnz, 5, 4);
  assert_memory_equal(one, many, (size_t)m.rows * sizeof *one);
  free(one), free(many), free(nnz);
  csr_free(&m);
}

/* A hub that a fifth of all arcs end at, nodes without arcs, no arcs at all, fewer nodes than METIS is left
 * with. */
TEST(odd_graphs_are_divided_too) {
  for (int k = 0; k < 3; k++) {
    struct csr m = planted(k == 2 ? 500 : 50000, k == 1 ? 0 : 1, 0, k == 0);
    int64_t *nnz = lengths_of(&m);
    int32_t *part = make_parts(&m, nnz, 3, 2);
    assert_true(balance_of(NULL, m.rows, 3, part) <= (k == 0 ? 1.5 : 1.06));
    free(part), free(nnz);
    csr_free(&m);
  }
}

static int refine_and_balance(struct dist_parts *parts) {
  TRY(dist_parts_refine(parts));
  return dist_parts_balance(parts);
}

/* Four parts of a matrix after some work on them; frees those before. */
static int32_t *improved(const struct csr *m, const int64_t *count, const int64_t *nnz, double balance,
                         int (*work)(struct dist_parts *parts), int32_t *part) {
  const struct csr rows = block_of(m);
  const int64_t first = first_of(m);
  struct coarse_graph sample = {0};
  struct dist_graph g = {0};
  struct dist_parts parts = {0};
  assert_ok(coarse_graph_sample(&rows, first, NULL, rows.rows, NULL, 1, &sample));
  assert_ok(dist_graph_init(&g, &comm, m->rows, &sample));
  assert_ok(dist_graph_weigh(&g));
  int32_t *mine = calloc((size_t)(rows.rows + g.ghosts), sizeof *mine);
  assert_non_null(mine);
  memcpy(mine, part + first, (size_t)rows.rows * sizeof *mine);
  assert_ok(dist_parts_init(&parts, &g, 4, count ? count + first : NULL, nnz + first, balance, mine));
  assert_ok(work(&parts));
  free(part);
  part = all_parts(m, mine);
  free(mine);
  dist_parts_free(&parts);
  dist_graph_free(&g);
  return part;
}

static int32_t *refined(const struct csr *m, const int64_t *count, const int64_t *nnz, double balance,
                        int32_t *part) {
  return improved(m, count, nnz, balance, refine_and_balance, part);
}

/* Where there are no communities moves by the weight of arcs end early; counted rows go on. Rows of more arcs
 * than a sample has say nothing. */
TEST(rows_that_parts_receive_get_fewer) {
  for (int degree = 8; degree <= 200; degree *= 25) {
    struct csr m = planted(degree > 64 ? 2000 : 20000, degree, 0, 0);
    int64_t *nnz = lengths_of(&m);
    int32_t *part = malloc((size_t)m.rows * sizeof *part);
    assert_non_null(part);
    for (int64_t v = 0; v < m.rows; v++) part[v] = (int32_t)(draw(v, 3) % 4);
    part = refined(&m, NULL, nnz, 1.05, part);
    const int64_t before = volume_of(&m, part);
    part = improved(&m, NULL, nnz, 1.05, dist_parts_lessen_volume, part);
    printf("degree %d: %lld rows, then %lld\n", degree, (long long)before, (long long)volume_of(&m, part));
    assert_true(degree > 64 ? volume_of(&m, part) <= before
                            : (double)volume_of(&m, part) < .97 * (double)before);
    assert_true(balance_of(NULL, m.rows, 4, part) <= 1.0501);
    assert_true(balance_of(nnz, m.rows, 4, part) <= 1.0501);
    free(part), free(nnz);
    csr_free(&m);
  }
}

/* Node weights, as those of a hypergraph's star: half of the nodes count for nothing. */
TEST(refining_keeps_loads_within_their_limits) {
  struct csr m = planted(20000, 6, 80, 0);
  int64_t *nnz = lengths_of(&m), *count = malloc((size_t)m.rows * sizeof *count);
  int32_t *part = malloc((size_t)m.rows * sizeof *part);
  assert_true(count && part);
  for (int64_t v = 0; v < m.rows; v++) {
    count[v] = v < m.rows / 2;
    part[v] = (int32_t)(v % GROUPS / 4);
    if (draw(v, 3) % 10 < 3) part[v] = (int32_t)(draw(v, 4) % 4);
  }
  double before = cut_of(&m, part);
  part = refined(&m, count, nnz, 1.03, part);
  assert_true(cut_of(&m, part) < .6 * before);
  assert_true(balance_of(count, m.rows, 4, part) <= 1.0301);
  assert_true(balance_of(nnz, m.rows, 4, part) <= 1.0301);
  free(part), free(count), free(nnz);
  csr_free(&m);
}

/* The only arc of every leaf leads to a hub of part 0, whose own row is empty: part 0 takes as many as it has
 * room for. */
TEST(a_part_that_all_want_to_join_does_not_overflow) {
  enum { HUBS = 4, LEAVES = 4000, ALL = HUBS + LEAVES };
  struct csr m = {0};
  int64_t one[ALL];
  int32_t *part = malloc(ALL * sizeof *part);
  assert_non_null(part);
  assert_ok(csr_init(&m, ALL, ALL, LEAVES, 0));
  for (int v = 0; v < ALL; v++) {
    one[v] = 1;
    part[v] = v < HUBS ? 0 : v % 4;
    m.start[v + 1] = m.start[v] + (v >= HUBS);
    if (v >= HUBS) m.col[m.start[v]] = v % HUBS;
  }
  part = refined(&m, NULL, one, 1.1, part);
  double balance = balance_of(NULL, ALL, 4, part);
  assert_true(balance > 1.09 && balance <= 1.1001);
  free(part);
  csr_free(&m);
}

/* A part with all the nodes gives away what it has too much, hubs and leaves. */
TEST(full_parts_give_nodes_away) {
  struct csr m = planted(20000, 6, 80, 1);
  int64_t *nnz = lengths_of(&m);
  int32_t *part = calloc((size_t)m.rows, sizeof *part);
  assert_non_null(part);
  for (int64_t v = 0; v < m.rows; v++) part[v] = v % 10 == 0 ? (int32_t)(v / 10 % 3 + 1) : 0;
  part = refined(&m, NULL, nnz, 1.05, part);
  assert_true(balance_of(NULL, m.rows, 4, part) <= 1.0501);
  assert_true(balance_of(nnz, m.rows, 4, part) <= 1.0501);
  free(part), free(nnz);
  csr_free(&m);
}

/* What METIS is given of a sample, whose rows speak for themselves alone. */
TEST(a_symmetric_graph_has_both_weights) {
  int64_t start[] = {0, 2, 3, 4};
  int32_t col[] = {2, 1, 0, 2};
  float weight[] = {3, 1, 5, 7};
  struct coarse_graph g = {.nodes = 3, .start = start, .col = col, .weight = weight};
  struct csr m = {0};
  assert_ok(coarse_graph_symmetrise(&g, &m));
  const int64_t expected_start[] = {0, 2, 3, 4};
  const int32_t expected_col[] = {1, 2, 0, 0};
  const float expected[] = {6, 3, 6, 3};
  assert_memory_equal(m.start, expected_start, sizeof expected_start);
  assert_memory_equal(m.col, expected_col, sizeof expected_col);
  for (int e = 0; e < 4; e++) assert_true(m.weight[e] == expected[e]);
  csr_free(&m);
}
