/* Rows that wait for the halo: whole in a part of their own, and gone from the others. Columns of a halo that
 * comes in stages: in a part for each. */
#include "partition/shard/adjacency.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "tests/check.h"

enum { OWN = 300, HALO = 90 };

static int has_arc(int64_t v, int64_t u) {
  const uint32_t bits = random_block(random_key(3, 0, 0, RANDOM_IMPORT), (uint64_t)v, (uint64_t)u).word[0] %
                        100;
  if (v % 11 == 3) return 0;                                         /* rows without entries */
  return u < OWN ? v % 7 != 2 && bits < 6 : v % 4 == 1 && bits < 20; /* or without one of the kinds */
}

static float weight_of(int64_t v, int64_t u) {
  return (float)(v * 1000 + u);
}

/* Columns [first, end) of all rows; listed: only of rows that have some. */
static void make_part(struct csr *m, int64_t first, int64_t end, int weighted, int listed) {
  int64_t entries = 0, row = 0, at = 0;
  for (int64_t v = 0; v < OWN; v++)
    for (int64_t u = first; u < end; u++) entries += has_arc(v, u);
  assert_ok(csr_init(m, OWN, end - first, entries, weighted));
  if (listed) assert_ok(memory_arrays("rows", ROOM(&m->row, OWN)));
  for (int64_t v = 0; v < OWN; v++) {
    const int64_t before = at;
    for (int64_t u = first; u < end; u++) {
      if (!has_arc(v, u)) continue;
      m->col[at] = (int32_t)(u - first);
      if (weighted) m->weight[at] = weight_of(v, u);
      at++;
    }
    if (listed && at == before) continue;
    if (listed) m->row[row] = (int32_t)v;
    m->start[++row] = at;
  }
  m->rows = row;
}

/* Compressed row i of m has the arcs of v to columns [first, end), which begin at `origin`; returns how many.
 */
static int64_t check_row(const struct csr *m, int64_t i, int64_t v, int64_t first, int64_t end,
                         int64_t origin) {
  int64_t at = m->start[i];
  for (int64_t u = first; u < end; u++) {
    if (!has_arc(v, u)) continue;
    assert_int_equal(m->col[at], u - origin);
    if (m->weight) assert_true(m->weight[at] == weight_of(v, u));
    at++;
  }
  assert_int_equal(at, m->start[i + 1]);
  return at - m->start[i];
}

static void check_delay(int64_t first, int weighted) {
  struct adjacency adj = {.halo.rows = HALO};
  int64_t row = 0;
  make_part(&adj.own_part, 0, OWN, weighted, 0);
  make_part(adj.halo_part, OWN, OWN + HALO, weighted, 1);
  const int64_t entries = adj.own_part.nnz + adj.halo_part->nnz;
  assert_ok(adjacency_delay(&adj, first));
  const struct csr *own = &adj.own_part, *halo = adj.halo_part, *late = &adj.late_part;
  assert_int_equal(own->rows, first);
  assert_int_equal(late->rows, OWN - first);
  assert_int_equal(adjacency_rows(&adj), OWN);
  assert_int_equal(own->nnz + halo->nnz + late->nnz, entries);
  assert_int_equal(late->cols, first < OWN ? OWN + HALO : 0);
  assert_int_equal(late->near, first < OWN ? OWN : 0);
  assert_true((late->row != NULL) == (first > 0 && first < OWN));
  for (int64_t v = 0; v < first; v++) {
    check_row(own, v, v, 0, OWN, 0);
    if (row < halo->rows && halo->row[row] == v)
      assert_true(check_row(halo, row++, v, OWN, OWN + HALO, OWN) > 0);
  }
  assert_int_equal(row, halo->rows);
  for (int64_t i = 0; i < late->rows; i++) {
    if (late->row) assert_int_equal(late->row[i], first + i);
    check_row(late, i, first + i, 0, OWN + HALO, 0);
  }
  csr_free(&adj.own_part);
  csr_free(adj.halo_part);
  csr_free(&adj.late_part);
}

TEST(late_rows_have_all_their_columns) {
  for (int weighted = 0; weighted < 2; weighted++) {
    check_delay(128, weighted);
    check_delay(299, weighted);
    check_delay(0, weighted);
    check_delay(OWN, weighted);
  }
}

/* A row is flagged where this stage's part or a later one has it. */
static void check_stages(struct halo_rows first, struct halo_rows second, int weighted) {
  struct adjacency adj = {.halo = {.rows = HALO, .stages = 2, .stage = {{.came = first}, {.came = second}}}};
  const struct halo_rows came[] = {first, second};
  int64_t row[HALO_STAGES] = {0};
  make_part(&adj.own_part, 0, OWN, weighted, 0);
  make_part(adj.halo_part, OWN, OWN + HALO, weighted, 1);
  const int64_t entries = adj.halo_part->nnz;
  assert_ok(adjacency_divide_halo(&adj));
  assert_int_equal(adj.halo_part[0].nnz + adj.halo_part[1].nnz, entries);
  for (int64_t v = 0; v < OWN; v++) {
    int later = 0;
    for (int s = HALO_STAGES - 1; s >= 0; s--) {
      const struct csr *part = &adj.halo_part[s];
      const int64_t from = OWN + came[s].first;
      if (row[s] < part->rows && part->row[row[s]] == v)
        later |= check_row(part, row[s]++, v, from, from + came[s].count, from) > 0;
      else
        for (int64_t u = from; u < from + came[s].count; u++) assert_false(has_arc(v, u));
      assert_int_equal(adj.has_halo[s * OWN + v], later);
    }
  }
  for (int s = 0; s < HALO_STAGES; s++) {
    assert_int_equal(row[s], adj.halo_part[s].rows);
    assert_int_equal(adj.halo_part[s].cols, came[s].count);
  }
  adjacency_free(&adj);
}

TEST(columns_of_the_halo_are_divided_by_stages) {
  for (int weighted = 0; weighted < 2; weighted++) {
    check_stages((struct halo_rows){30, 60}, (struct halo_rows){0, 30}, weighted);
    check_stages((struct halo_rows){0, 55}, (struct halo_rows){55, 35}, weighted);
    check_stages((struct halo_rows){0, 0}, (struct halo_rows){0, HALO}, weighted);
    check_stages((struct halo_rows){0, HALO}, (struct halo_rows){0, 0}, weighted);
  }
}
