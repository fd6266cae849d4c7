/* The division of a direction of the adjacency into [own | halo]. */
#include "partition/shard/adjacency.h"

#include <math.h>

#include "partition/shard/arrival.h"
#include "runtime/base/base.h"

struct shape {
  int64_t own, halo, loops, rows; /* entries in either part, self loops, rows with halo */
};

/* filled[v] = twice the entries with halo columns, plus 1 with a self loop. */
static void count_halo(struct arrival *a, int64_t v) {
  int64_t count = 0;
  for (int64_t e = a->start[v]; e < a->start[v + 1]; e++) {
    if (a->col[e] == v) count++;
    if (a->col[e] >= a->own) count += 2;
  }
  a->filled[v] = count;
}

static struct shape measure(struct arrival *a, int within) {
  int64_t halo = 0, loops = 0, rows = 0;
#pragma omp parallel for schedule(static) reduction(+ : halo, loops, rows)
  for (int64_t v = 0; v < a->own; v++) {
    count_halo(a, v);
    halo += a->filled[v] / 2;
    loops += a->filled[v] % 2;
    rows += a->filled[v] > 1;
  }
  int64_t own = a->start[a->own] - halo - loops + (within ? a->own : 0);
  return (struct shape){.own = own, .halo = halo, .loops = loops, .rows = rows};
}

static int adjacency_alloc(const struct arrival *a, struct shape shape, int loops, struct adjacency *adj) {
  int weighted = a->weight != NULL;
  TRY(csr_init(&adj->own_part, a->own, a->own, shape.own, weighted));
  TRY(csr_init(&adj->halo_part, shape.rows, adj->halo.rows, shape.halo, weighted));
  TRY(memory_arrays("rows with halo", ROOM(&adj->halo_part.row, shape.rows)));
  TRY(memory_alloc(&adj->has_halo, a->own, "row flags"));
  if (loops) TRY(memory_alloc(&adj->self, a->own * (int64_t)sizeof *adj->self, "self loops"));
  return memory_arrays("degrees", ROOM(&adj->degree, a->own + adj->halo.rows));
}

static void put_entry(struct csr *m, int64_t at, int64_t col, float weight) {
  m->col[at] = (int32_t)col;
  if (m->weight) m->weight[at] = weight;
}

/* Where each row's entries begin in either part; filled[v] becomes that in the halo part. */
static void place_rows(struct arrival *a, struct adjacency *adj) {
  struct csr *own = &adj->own_part, *halo = &adj->halo_part;
  int64_t halo_at = 0, halo_row = 0;
  for (int64_t v = 0; v < a->own; v++) {
    int64_t in_halo = a->filled[v] / 2, loops = a->filled[v] % 2;
    own->start[v + 1] = own->start[v] + a->start[v + 1] - a->start[v] - in_halo - loops +
                        (adj->loops == LOOPS_WITHIN);
    a->filled[v] = halo_at;
    adj->has_halo[v] = in_halo > 0;
    if (!in_halo) continue;
    halo_at += in_halo;
    halo->row[halo_row++] = (int32_t)v;
    halo->start[halo_row] = halo_at;
  }
}

static void divide_row(const struct arrival *a, int64_t v, struct adjacency *adj) {
  int64_t own_at = adj->own_part.start[v], halo_at = a->filled[v], loop = -1;
  if (adj->self) adj->self[v] = NAN;
  for (int64_t e = a->start[v]; e < a->start[v + 1]; e++) {
    float weight = a->weight ? a->weight[e] : 1;
    if (a->col[e] >= v && adj->loops == LOOPS_WITHIN && loop < 0) loop = own_at++;
    if (a->col[e] == v)
      adj->self[v] = weight;
    else if (a->col[e] < a->own)
      put_entry(&adj->own_part, own_at++, a->col[e], weight);
    else
      put_entry(&adj->halo_part, halo_at++, a->col[e] - a->own, weight);
  }
  if (adj->loops == LOOPS_WITHIN)
    put_entry(&adj->own_part, loop < 0 ? own_at : loop, v,
              adj->self && !isnan(adj->self[v]) ? adj->self[v] : 1);
}

static void divide(struct arrival *a, struct adjacency *adj) {
  place_rows(a, adj);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < a->own; v++) divide_row(a, v, adj);
}

static void sum_rows(const struct arrival *a, float *degree) {
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < a->own; v++) {
    double sum = a->weight ? 0 : (double)(a->start[v + 1] - a->start[v]);
    for (int64_t e = a->start[v]; a->weight && e < a->start[v + 1]; e++) sum += (double)a->weight[e];
    degree[v] = (float)sum;
  }
}

static int split(struct comm *comm, struct arrival *a, const float *degree, struct adjacency *adj) {
  TRY(comm_agree(comm, arrival_renumber(a)));
  struct shape shape = measure(a, adj->loops == LOOPS_WITHIN);
  int64_t loops = shape.loops;
  TRY(comm_max_int64(comm, &loops));
  TRY(comm_agree(comm, adjacency_alloc(a, shape, loops > 0, adj)));
  divide(a, adj);
  if (degree)
    memcpy(adj->degree, degree, (size_t)a->own * sizeof *degree);
  else
    sum_rows(a, adj->degree);
  return halo_swap(&adj->halo, comm, adj->degree, sizeof *adj->degree, adj->degree + a->own);
}

int adjacency_init(struct comm *comm, const struct partition *partition, struct graph *block, int keep_block,
                   const int64_t *global_id, enum self_loops loops, const struct adjacency *forward,
                   struct adjacency *adj) {
  struct arrival arrival = {.partition = partition,
                            .block = block,
                            .transposed = forward != NULL,
                            .own = partition_row_count(partition, comm->rank),
                            .global_id = global_id};
  adj->loops = loops;
  int code = arrival_receive(comm, &arrival, &adj->halo);
  arrival_forget_lengths(&arrival);
  if (!keep_block) graph_free(block);
  if (code == OK) code = split(comm, &arrival, forward ? forward->degree : NULL, adj);
  arrival_free(&arrival);
  return code;
}

void adjacency_free(struct adjacency *adj) {
  csr_free(&adj->own_part);
  csr_free(&adj->halo_part);
  halo_free(&adj->halo);
  free_all(adj->has_halo, adj->self, adj->degree);
  *adj = (struct adjacency){0};
}

int64_t adjacency_bytes(const struct adjacency *adj) {
  int64_t own = adj->own_part.rows;
  if (!adj->degree) return 0;
  return csr_bytes(&adj->own_part) + csr_bytes(&adj->halo_part) + halo_bytes(&adj->halo) + own +
         (adj->self ? own * (int64_t)sizeof *adj->self : 0) +
         (own + adj->halo.rows) * (int64_t)sizeof *adj->degree;
}
