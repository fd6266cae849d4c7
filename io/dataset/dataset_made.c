#include "io/dataset/dataset_made.h"

#include <assert.h>

#include "runtime/base/base.h"

void dataset_made_drop(struct dataset_made *m) {
  free_all(m->start, m->id);
  m->start = NULL;
  m->id = NULL;
}

static int holds(const struct dataset_made *m, int64_t first, int64_t rows) {
  return m->start && first >= m->first && first + rows <= m->first + m->rows;
}

int dataset_made_hold(struct dataset_made *m, struct comm *comm, int64_t first, int64_t rows) {
  if (!comm && holds(m, first, rows)) return OK;
  dataset_made_drop(m);
  m->first = first;
  m->rows = rows;
  return m->maker->rows(m->context, comm, first, rows, &m->start, &m->id);
}

void dataset_made_starts(const struct dataset_made *m, int64_t first, int64_t rows, int64_t *start) {
  assert(holds(m, first, rows));
  memcpy(start, m->start + (first - m->first), (size_t)(rows + 1) * sizeof *start);
}

void dataset_made_entries(const struct dataset_made *m, int64_t first, int64_t count, int32_t *id) {
  assert(m->start && first >= 0 && first + count <= m->start[m->rows]);
  memcpy(id, m->id + first, (size_t)count * sizeof *id);
}

void dataset_made_close(struct dataset_made *m) {
  dataset_made_drop(m);
  if (m->maker) m->maker->close(m->context);
  *m = (struct dataset_made){0};
}
