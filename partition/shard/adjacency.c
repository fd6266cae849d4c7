/* The division of a direction of the adjacency into [own | halo]. */
#include "partition/shard/adjacency.h"

#include <math.h>

#include "partition/shard/arrival_local.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

struct shape {
  int64_t own, halo, loops, rows; /* entries in either part, self loops, rows with halo */
};

static struct shape measure(const struct arrival *a, int within) {
  int64_t all = 0, halo = 0, loops = 0, rows = 0;
#pragma omp parallel for schedule(static) reduction(+ : all, halo, loops, rows)
  for (int64_t v = 0; v < a->own; v++) {
    all += arrival_find(a, v).count;
    halo += a->in_halo[v];
    loops += a->has_loop[v];
    rows += a->in_halo[v] > 0;
  }
  int64_t own = all - halo - loops + (within ? a->own : 0);
  return (struct shape){.own = own, .halo = halo, .loops = loops, .rows = rows};
}

static int adjacency_alloc(const struct arrival *a, struct shape shape, int loops, struct adjacency *adj) {
  int weighted = a->weighted;
  TRY(csr_init(&adj->own_part, a->own, a->own, shape.own, weighted));
  TRY(csr_init(adj->halo_part, shape.rows, adj->halo.rows, shape.halo, weighted));
  TRY(memory_arrays("rows with halo", ROOM(&adj->halo_part->row, shape.rows)));
  TRY(memory_alloc(&adj->has_halo, a->own, "row flags"));
  if (loops) TRY(memory_alloc(&adj->self, a->own * (int64_t)sizeof *adj->self, "self loops"));
  return memory_arrays("degrees", ROOM(&adj->degree, a->own + adj->halo.rows));
}

/* Where each row's entries begin in the own part. */
static void place_own(const struct arrival *a, struct adjacency *adj) {
  struct csr *own = &adj->own_part;
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < a->own; v++)
    own->start[v + 1] = arrival_find(a, v).count - a->in_halo[v] - a->has_loop[v] +
                        (adj->loops == LOOPS_WITHIN);
  for (int64_t v = 0; v < a->own; v++) own->start[v + 1] += own->start[v];
}

/* The same in the halo part, as in_halo[v] says afterwards. */
static void place_halo(struct arrival *a, struct adjacency *adj) {
  struct csr *halo = adj->halo_part;
  int64_t at = 0, row = 0;
  for (int64_t v = 0; v < a->own && row < halo->rows; v++) {
    const int64_t count = a->in_halo[v];
    a->in_halo[v] = at;
    if (count == 0) continue;
    adj->has_halo[v] = 1;
    at += count;
    halo->row[row++] = (int32_t)v;
    halo->start[row] = at;
  }
}

static void put_entry(struct csr *m, int64_t at, int64_t col, float weight) {
  m->col[at] = (int32_t)col;
  if (m->weight) m->weight[at] = weight;
}

/* Entries [first, end) of a row, their columns counted from `origin`; returns where the next go. */
static int64_t put_entries(const struct arrival_row *row, int64_t first, int64_t end, int64_t origin,
                           struct csr *m, int64_t at) {
  for (int64_t i = first; i < end; i++) m->col[at + i - first] = row->col[i] - (int32_t)origin;
  if (m->weight) memcpy(m->weight + at, row->weight + first, (size_t)(end - first) * sizeof *m->weight);
  return at + end - first;
}

static float sum_of(const struct arrival_row *row) {
  double sum = row->weight ? 0 : (double)row->count;
  for (int64_t i = 0; row->weight && i < row->count; i++) sum += (double)row->weight[i];
  return (float)sum;
}

static void divide_row(const struct arrival *a, int64_t v, const struct arrival_row *row,
                       struct adjacency *adj) {
  const int64_t halo = csr_entry_from(row->col, 0, row->count, a->own),
                loop = csr_entry_from(row->col, 0, halo, v);
  const int has_loop = a->has_loop[v];
  const float self = has_loop && row->weight ? row->weight[loop] : 1;
  int64_t at = put_entries(row, 0, loop, 0, &adj->own_part, adj->own_part.start[v]);
  if (adj->self) adj->self[v] = has_loop ? self : NAN;
  if (adj->loops == LOOPS_WITHIN) put_entry(&adj->own_part, at++, v, self);
  put_entries(row, loop + has_loop, halo, 0, &adj->own_part, at);
  put_entries(row, halo, row->count, a->own, adj->halo_part, a->in_halo[v]);
  adj->degree[v] = sum_of(row);
}

/* Rows as they lie, in pieces, behind which they go. */
static void divide(struct arrival *a, const struct arrival_scratch *scratch, struct adjacency *adj) {
  const int64_t entries = adj->own_part.nnz + adj->halo_part->nnz, rows = arrival_lying(a),
                piece = larger(rows * arrival_piece() / larger(entries, 1), 1);
  place_own(a, adj);
  place_halo(a, adj);
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t end = smaller(first + piece, rows);
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = first; i < end; i++) {
      const int64_t v = arrival_lies(a, i);
      arrival_fetch(a, i + 2);
      if (v < 0) continue;
      const struct arrival_row row = arrival_row(a, v, scratch);
      divide_row(a, v, &row, adj);
    }
    arrival_leave(a, end);
  }
}

/* degree: NULL, or of own rows what stands for their sums. */
static int split(struct comm *comm, struct arrival *a, const float *degree, struct adjacency *adj) {
  ENDED_BY(arrival_scratch_free) struct arrival_scratch scratch = {0};
  struct shape shape = measure(a, adj->loops == LOOPS_WITHIN);
  int64_t loops = shape.loops;
  TRY(comm_max_int64(comm, &loops));
  int code = adjacency_alloc(a, shape, loops > 0, adj);
  if (code == OK) code = arrival_scratch_init(a, &scratch);
  TRY(comm_agree(comm, code));
  divide(a, &scratch, adj);
  adj->making = arrival_most_bytes(a, adjacency_bytes(adj));
  if (degree) memcpy(adj->degree, degree, (size_t)a->own * sizeof *degree);
  return halo_swap(&adj->halo, comm, adj->degree, sizeof *adj->degree, adj->degree + a->own);
}

int adjacency_init(struct comm *comm, const struct directory *directory, struct graph *block, int keep_block,
                   enum self_loops loops, const struct adjacency *forward, struct adjacency *adj) {
  ENDED_BY(arrival_free)
  struct arrival arrival = {.directory = directory,
                            .block = block,
                            .transposed = forward != NULL,
                            .keeps_block = keep_block,
                            .own = directory->rows,
                            .weighted = block->weight != NULL};
  adj->loops = loops;
  int code = PROFILE_HOST("receive rows", arrival_receive(comm, &arrival, &adj->halo));
  if (!keep_block && !arrival.whole) graph_free(block);
  if (code == OK)
    code = PROFILE_HOST("divide rows", split(comm, &arrival, forward ? forward->degree : NULL, adj));
  if (!keep_block) graph_free(block);
  return code;
}

void adjacency_free(struct adjacency *adj) {
  csr_free(&adj->own_part);
  for (int s = 0; s < HALO_STAGES; s++) csr_free(&adj->halo_part[s]);
  csr_free(&adj->late_part);
  halo_free(&adj->halo);
  free_all(adj->has_halo, adj->self, adj->degree);
  *adj = (struct adjacency){0};
}

static int64_t part_bytes(const struct csr *part) {
  return part->start ? csr_bytes(part) : 0;
}

/* A rank alone has no stages until its plan is complete. */
int64_t adjacency_halo_bytes(const struct adjacency *adj) {
  int64_t bytes = halo_bytes(&adj->halo) + adjacency_rows(adj) * larger(adj->halo.stages, 1);
  for (int s = 0; s < HALO_STAGES; s++) bytes += part_bytes(&adj->halo_part[s]);
  return bytes;
}

int64_t adjacency_bytes(const struct adjacency *adj) {
  int64_t own = adjacency_rows(adj);
  if (!adj->degree) return 0;
  return csr_bytes(&adj->own_part) + part_bytes(&adj->late_part) + adjacency_halo_bytes(adj) +
         (adj->self ? own * (int64_t)sizeof *adj->self : 0) +
         (own + adj->halo.rows) * (int64_t)sizeof *adj->degree;
}
