/* Columns of the halo by the stages in which its rows come. */
#include "partition/shard/adjacency.h"
#include "runtime/base/base.h"

/* The entries of row i of m in the columns where a stage's rows land: the first one, and how many. */
static struct halo_rows entries_in(const struct csr *m, int64_t i, const struct halo_rows *came) {
  const int64_t end = m->start[i + 1], first = csr_entry_from(m->col, m->start[i], end, came->first);
  return (struct halo_rows){first, csr_entry_from(m->col, first, end, came->first + came->count) - first};
}

static int part_init(const struct csr *m, const struct halo_rows *came, struct csr *part) {
  int64_t rows = 0, entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : rows, entries)
  for (int64_t i = 0; i < m->rows; i++) {
    const struct halo_rows in = entries_in(m, i, came);
    rows += in.count > 0;
    entries += in.count;
  }
  TRY(csr_init(part, rows, came->count, entries, m->weight != NULL));
  return memory_arrays("rows with halo", ROOM(&part->row, rows));
}

static void fill_part(const struct csr *m, const struct halo_rows *came, struct csr *part) {
  int64_t row = 0, at = 0;
  for (int64_t i = 0; i < m->rows; i++) {
    const struct halo_rows in = entries_in(m, i, came);
    if (in.count == 0) continue;
    for (int64_t e = 0; e < in.count; e++) part->col[at + e] = m->col[in.first + e] - (int32_t)came->first;
    if (m->weight) memcpy(part->weight + at, m->weight + in.first, (size_t)in.count * sizeof *m->weight);
    at += in.count;
    part->row[row++] = m->row[i];
    part->start[row] = at;
  }
}

/* flag: of each stage, set for rows in its part; then in the stages before, too. */
static void flag_rows(const struct csr *part, int stages, int64_t own, uint8_t *flag) {
  for (int s = stages - 1; s >= 0; s--) {
    uint8_t *of = flag + s * own;
    if (s < stages - 1) memcpy(of, of + own, (size_t)own);
    for (int64_t i = 0; i < part[s].rows; i++) of[part[s].row[i]] = 1;
  }
}

static int parts_init(const struct adjacency *adj, struct csr *part, uint8_t **flag) {
  const int64_t own = adjacency_rows(adj);
  for (int s = 0; s < adj->halo.stages; s++)
    TRY(part_init(adj->halo_part, &adj->halo.stage[s].came, &part[s]));
  return memory_alloc(flag, own * adj->halo.stages, "row flags");
}

int adjacency_divide_halo(struct adjacency *adj) {
  struct csr part[HALO_STAGES] = {0};
  FREED uint8_t *flag = NULL;
  const int code = parts_init(adj, part, &flag);
  for (int s = 0; s < adj->halo.stages && code == OK; s++)
    fill_part(adj->halo_part, &adj->halo.stage[s].came, &part[s]);
  if (code != OK) {
    for (int s = 0; s < HALO_STAGES; s++) csr_free(&part[s]);
    return code;
  }
  flag_rows(part, adj->halo.stages, adjacency_rows(adj), flag);
  csr_free(adj->halo_part);
  free(adj->has_halo);
  memcpy(adj->halo_part, part, sizeof part);
  adj->has_halo = flag;
  flag = NULL;
  return OK;
}
