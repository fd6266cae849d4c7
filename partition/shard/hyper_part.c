#include "partition/shard/hyper_part.h"

#include "runtime/base/base.h"

int64_t hyper_arrivals(enum travel travel, const struct hyper_part *part) {
  return travel == TRAVEL_VERTICES ? part->halo.send_rows : part->halo.rows;
}

/* Row r lists the i of target[i] = r. */
static int list_by_target(const int32_t *target, int64_t count, int64_t rows, struct csr *m) {
  TRY(csr_init(m, rows, count, count, 0));
  group_by_key(target, count, rows, m->start, m->col);
  return OK;
}

/* Rows of `own` with those of `away` behind them and all outer hyperedges, where there is anything. */
static int join(const struct csr *own, const struct csr *away, int64_t outer, struct hyper_part *part) {
  struct csr *m = &part->rest;
  int64_t rows = 0, nnz = 0;
  TRY(memory_alloc(&part->has_halo, part->vertices, "row flags"));
  for (int64_t v = 0; v < part->vertices; v++) {
    part->has_halo[v] = own->start[v + 1] > own->start[v] || away->start[v + 1] > away->start[v];
    rows += part->has_halo[v];
  }
  TRY(csr_init(m, rows, outer + away->cols, own->nnz + away->nnz, 0));
  TRY(memory_arrays("rows with outer hyperedges", ROOM(&m->row, rows)));
  rows = 0;
  for (int64_t v = 0; v < part->vertices; v++) {
    if (!part->has_halo[v]) continue;
    for (int64_t i = own->start[v]; i < own->start[v + 1]; i++) m->col[nnz++] = own->col[i];
    for (int64_t i = away->start[v]; i < away->start[v + 1]; i++)
      m->col[nnz++] = (int32_t)(outer + away->col[i]);
    m->row[rows++] = (int32_t)v;
    m->start[rows] = nnz;
  }
  return OK;
}

/* What arrives for own vertices: rows for those that were sent, or foreign hyperedges. */
static int find_away(enum travel travel, struct hyper_part *part, struct csr *away) {
  const int64_t sent = part->halo.send_rows;
  if (travel == TRAVEL_VERTICES) {
    TRY(csr_transpose(&part->partial, &part->outer_away, NULL));
    return list_by_target(part->halo.send_row, sent, part->vertices, away);
  }
  TRY(list_by_target(part->halo.send_row, sent, part->outer, &part->outer_away));
  return csr_transpose(&part->partial, away, NULL);
}

int hyper_part_complete(enum travel travel, int64_t outer, struct hyper_part *part) {
  ENDED_BY(csr_free) struct csr own = {0}, away = {0};
  TRY(csr_transpose(&part->inner_edges, &part->inner_vertices, NULL));
  TRY(csr_transpose(&part->outer_own, &own, NULL));
  TRY(find_away(travel, part, &away));
  return join(&own, &away, outer, part);
}

enum { MATRICES = 6 };

static struct csr *matrix_of(struct hyper_part *part, int i) {
  struct csr *const all[MATRICES] = {&part->inner_edges, &part->inner_vertices, &part->outer_own,
                                     &part->outer_away,  &part->partial,        &part->rest};
  return all[i];
}

void hyper_part_free(struct hyper_part *part) {
  for (int i = 0; i < MATRICES; i++) csr_free(matrix_of(part, i));
  halo_free(&part->halo);
  free(part->has_halo);
  *part = (struct hyper_part){0};
}

int64_t hyper_part_bytes(const struct hyper_part *part) {
  int64_t bytes = halo_bytes(&part->halo) + part->vertices;
  for (int i = 0; i < MATRICES; i++) bytes += csr_bytes(matrix_of((struct hyper_part *)part, i));
  return bytes;
}
