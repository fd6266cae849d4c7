#include "partition/shard/shard_levels.h"

#include "partition/halo/halo_lone.h"
#include "runtime/base/base.h"

/* Rows [0, rows) of `from` in columns [0, cols) of own nodes, and of halo nodes up to the level `last`. */
struct cut {
  const struct adjacency *from;
  const struct levels *levels;
  int64_t rows, cols;
  int last;
  int whole; /* these rows have no other columns */
};

static int cut_own(const struct cut *cut, struct csr *to) {
  const struct csr *from = &cut->from->own_part;
  const int64_t rows = cut->rows;
  if (cut->whole) {
    *to = *from;
    to->rows = rows;
    to->cols = cut->cols;
    to->nnz = from->start[rows];
    return OK;
  }
  return csr_cut(from, rows, cut->cols, to);
}

/* Columns that are there: place[j] = 1 of column j of the halo; and how many rows and entries they leave. */
static void find_columns(const struct cut *cut, int32_t *place, int64_t *rows, int64_t *entries) {
  const struct csr *from = cut->from->halo_part;
  for (int64_t i = 0; i < from->rows && from->row[i] < cut->rows; i++) {
    const int64_t before = *entries;
    for (int64_t e = from->start[i]; e < from->start[i + 1]; e++) {
      if (cut->levels->of[cut->from->halo.id[from->col[e]]] > cut->last) continue;
      place[from->col[e]] = 1;
      (*entries)++;
    }
    *rows += *entries > before;
  }
}

/* place[j] becomes the new place of column j, -1: it is left out. */
static int number_columns(const struct halo *from, int32_t *place, struct halo *to) {
  for (int64_t j = 0; j < from->rows; j++) to->rows += place[j];
  TRY(memory_arrays("halo ids", ROOM(&to->id, to->rows)));
  int32_t at = 0;
  for (int64_t j = 0; j < from->rows; j++) {
    if (place[j]) to->id[at] = from->id[j];
    place[j] = place[j] ? at++ : -1;
  }
  return OK;
}

static void fill_halo(const struct cut *cut, const int32_t *place, struct csr *to, uint8_t *has_halo) {
  const struct csr *from = cut->from->halo_part;
  int64_t row = 0, at = 0;
  for (int64_t i = 0; i < from->rows && from->row[i] < cut->rows; i++) {
    const int64_t before = at;
    for (int64_t e = from->start[i]; e < from->start[i + 1]; e++) {
      if (cut->levels->of[cut->from->halo.id[from->col[e]]] > cut->last) continue;
      to->col[at] = place[from->col[e]];
      if (to->weight) to->weight[at] = from->weight[e];
      at++;
    }
    if (at == before) continue;
    has_halo[from->row[i]] = 1;
    to->row[row++] = from->row[i];
    to->start[row] = at;
  }
}

static int cut_halo(const struct cut *cut, struct adjacency *to) {
  FREED int32_t *place = NULL;
  int64_t rows = 0, entries = 0;
  TRY(memory_arrays("halo columns", ROOM(&place, cut->from->halo.rows)));
  find_columns(cut, place, &rows, &entries);
  TRY(number_columns(&cut->from->halo, place, &to->halo));
  TRY(csr_init(to->halo_part, rows, to->halo.rows, entries, cut->from->halo_part->weight != NULL));
  TRY(memory_arrays("rows with halo", ROOM(&to->halo_part->row, rows), ROOM(&to->has_halo, cut->rows)));
  fill_halo(cut, place, to->halo_part, to->has_halo);
  return OK;
}

static int cut_out(struct comm *comm, const struct directory *directory, const struct cut *cut,
                   struct adjacency *to) {
  int code = cut_own(cut, &to->own_part);
  to->loops = cut->from->loops;
  if (code == OK) code = cut_halo(cut, to);
  TRY(comm_agree(comm, code));
  return halo_init(comm, directory, &to->halo);
}

/* What peers would ask of a rank alone, of the rows of one direction: those with arcs of the other one,
 * `back`, from own rows [0, rows) to theirs up to the level `last`. */
static int foresee(struct comm *comm, const struct directory *directory, const struct levels *levels,
                   const struct adjacency *back, int64_t rows, int last, struct adjacency *to) {
  const struct halo_reach reach = {back->halo_part, back->halo.id, rows, levels->of, last};
  return comm->lone ? halo_foresee(comm, directory, &reach, &to->halo) : OK;
}

/* Own rows up to that level, the first ones. */
static int64_t rows_up_to(const struct shard_rows *rows, const struct levels *levels, int level) {
  int64_t low = 0, high = rows->own;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (levels->of[rows->global_id[middle]] <= level)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int shard_level_below(const struct shard_levels *shard, int level, int all) {
  if (level >= shard->count) return all;
  if (level + shard->stride < shard->count) return level + shard->stride;
  return shard->closed ? level : all;
}

static int add_level(struct comm *comm, const struct directory *directory, const struct levels *levels,
                     const struct shard_rows *rows, int level, const struct shard_levels *shard) {
  struct shard_level *to = &shard->of[level];
  const int next = shard_level_below(shard, level, shard->count);
  const int64_t below = rows_up_to(rows, levels, next);
  to->rows = rows_up_to(rows, levels, level);
  to->rows_share = levels->rows[level];
  to->arcs_share = levels->arcs[level];
  if (level >= shard->summed) return OK;
  const struct cut forward = {rows->in, levels, to->rows, below, next, 1};
  const struct cut backward = {rows->out, levels, below, to->rows, level, 0},
                   none = {rows->out, levels, 0, 0, 0, 0};
  const int trains = level % shard->stride == 0;
  TRY(cut_out(comm, directory, &forward, &to->forward));
  TRY(foresee(comm, directory, levels, rows->out, below, level, &to->forward));
  TRY(cut_out(comm, directory, trains ? &backward : &none, &to->backward));
  return trains ? foresee(comm, directory, levels, rows->in, to->rows, next, &to->backward) : OK;
}

int shard_levels_init(struct comm *comm, const struct directory *directory, const struct levels *levels,
                      const struct shard_rows *rows, struct shard_levels *shard) {
  if (levels->count == 0) return OK;
  *shard = (struct shard_levels){levels->count, levels->stride, levels->summed, levels->closed, NULL};
  int code = memory_arrays("levels of a shard", ROOM(&shard->of, levels->count));
  if (code != OK) shard->count = 0;
  TRY(comm_agree(comm, code));
  for (int level = 0; level < shard->count; level++)
    TRY(add_level(comm, directory, levels, rows, level, shard));
  return OK;
}

/* The entries of forward rows are borrowed. */
void shard_levels_free(struct shard_levels *shard) {
  for (int level = 0; level < shard->count; level++) {
    shard->of[level].forward.own_part = (struct csr){0};
    adjacency_free(&shard->of[level].forward);
    adjacency_free(&shard->of[level].backward);
  }
  free(shard->of);
  *shard = (struct shard_levels){0};
}

int64_t shard_levels_bytes(const struct shard_levels *shard) {
  int64_t bytes = 0;
  for (int level = 0; level < shard->count; level++) {
    const struct shard_level *of = &shard->of[level];
    bytes += adjacency_halo_bytes(&of->forward) + adjacency_halo_bytes(&of->backward);
    bytes += csr_bytes(&of->backward.own_part);
  }
  return bytes;
}
