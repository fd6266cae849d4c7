/* One direction of the adjacency on its way to the owners of its rows, and its division into [own | halo]. */
#include "partition/shard/adjacency.h"

#include <math.h>
#include <omp.h>

#include "partition/graph/row_shuffle.h"
#include "runtime/base/base.h"

enum { FOREIGN = -1, WANTED = -2 }; /* in local[]: not here; a halo node without its row yet */
enum { RUNS_MOST = 8 };

struct length {
  int32_t row, count;
};

struct arc {
  int32_t row, col;
  float weight;
};

/* What arrives, and how far sending got. */
struct arrival {
  const struct partition *partition;
  const struct graph *block;
  int transposed;
  int64_t own;
  const int64_t *global_id;   /* [own] */
  int64_t run[RUNS_MOST + 1]; /* where global ids begin to ascend, as a level's do; then own */
  int runs;                   /* 0: there are more */
  int32_t *count;             /* [nodes] entries of each row that this rank sends */
  int32_t *local;             /* [nodes] local id, or FOREIGN or WANTED */
  int64_t *start;             /* [own + 1] rows that arrive */
  int64_t *filled;            /* [own] entries there so far; then what count_halo says */
  int32_t *col;               /* global ids, then local ids */
  float *weight;              /* NULL: binary */
  int64_t row, edge;          /* next to send */
};

static void arrival_free(struct arrival *a) {
  free_all(a->count, a->local, a->start, a->filled, a->col, a->weight);
}

/* Rows and columns change places in the transposed direction. */
static int32_t row_of(const struct arrival *a, int64_t row, int64_t e) {
  return a->transposed ? a->block->col[e] : (int32_t)(a->block->first + row);
}

static int32_t col_of(const struct arrival *a, int64_t row, int64_t e) {
  return a->transposed ? (int32_t)(a->block->first + row) : a->block->col[e];
}

static int64_t length_of(const struct graph *block, int64_t row) {
  return block->start[row + 1] - block->start[row];
}

/* Rows that are this rank's need no way. */
static int stays(const struct arrival *a, int64_t row) {
  return !a->transposed && a->local[a->block->first + row] >= 0;
}

/* Of rows that leave, and those of rows that stay in `start`. */
static void count_rows(struct arrival *a) {
  const struct graph *block = a->block;
  if (a->transposed) {
    for (int64_t e = block->start[0]; e < block->start[block->rows]; e++) a->count[block->col[e]]++;
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < block->rows; row++) {
    const int64_t node = block->first + row;
    if (stays(a, row))
      a->start[a->local[node] + 1] = length_of(block, row);
    else
      a->count[node] = (int32_t)length_of(block, row);
  }
}

static void find_runs(struct arrival *a) {
  a->runs = 0;
  for (int64_t i = 0; i < a->own; i++) {
    if (i > 0 && a->global_id[i] > a->global_id[i - 1]) continue;
    if (a->runs == RUNS_MOST) {
      a->runs = 0;
      return;
    }
    a->run[a->runs++] = i;
  }
  a->run[a->runs] = a->own;
}

static int arrival_init(struct arrival *a) {
  const struct graph *block = a->block;
  TRY(memory_arrays("row lengths", ROOM(&a->count, block->nodes)));
  TRY(memory_arrays("local ids", ROOM(&a->local, block->nodes)));
  TRY(memory_arrays("row offsets", ROOM(&a->start, a->own + 1)));
  TRY(memory_arrays("row lengths", ROOM(&a->filled, a->own)));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < block->nodes; v++) a->local[v] = FOREIGN;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < a->own; i++) a->local[a->global_id[i]] = (int32_t)i;
  count_rows(a);
  find_runs(a);
  return OK;
}

static int send_lengths(struct row_shuffle *shuffle, void *context) {
  struct arrival *a = context;
  for (; a->row < a->block->nodes; a->row++) {
    if (!a->count[a->row]) continue;
    struct length *length = row_shuffle_put(shuffle, a->partition->part[a->row]);
    if (!length) return OK;
    *length = (struct length){(int32_t)a->row, a->count[a->row]};
  }
  shuffle->ended = 1;
  return OK;
}

static int take_lengths(const void *records, int64_t count, void *context) {
  struct arrival *a = context;
  const struct length *length = records;
  for (int64_t i = 0; i < count; i++) a->start[a->local[length[i].row] + 1] += length[i].count;
  return OK;
}

static int send_arcs(struct row_shuffle *shuffle, void *context) {
  struct arrival *a = context;
  const struct graph *block = a->block;
  for (; a->row < block->rows; a->row++) {
    if (stays(a, a->row)) a->edge = block->start[a->row + 1];
    for (; a->edge < block->start[a->row + 1]; a->edge++) {
      int32_t row = row_of(a, a->row, a->edge);
      struct arc *arc = row_shuffle_put(shuffle, a->partition->part[row]);
      if (!arc) return OK;
      *arc = (struct arc){row, col_of(a, a->row, a->edge), block->weight ? block->weight[a->edge] : 1};
    }
  }
  shuffle->ended = 1;
  return OK;
}

static int take_arcs(const void *records, int64_t count, void *context) {
  struct arrival *a = context;
  const struct arc *arc = records;
  for (int64_t i = 0; i < count; i++, arc++) {
    int32_t row = a->local[arc->row];
    int64_t at = a->start[row] + a->filled[row]++;
    a->col[at] = arc->col;
    if (a->weight) a->weight[at] = arc->weight;
    if (a->local[arc->col] == FOREIGN) a->local[arc->col] = WANTED;
  }
  return OK;
}

/* Several threads may say so of one node. */
static void want(struct arrival *a, int32_t node) {
  int32_t local;
#pragma omp atomic read
  local = a->local[node];
  if (local != FOREIGN) return;
#pragma omp atomic write
  a->local[node] = WANTED;
}

static void take_row(struct arrival *a, int64_t row) {
  const struct graph *block = a->block;
  int64_t first = block->start[row], count = block->start[row + 1] - first;
  int32_t own = a->local[block->first + row];
  memcpy(a->col + a->start[own], block->col + first, (size_t)count * sizeof *a->col);
  if (a->weight) memcpy(a->weight + a->start[own], block->weight + first, (size_t)count * sizeof *a->weight);
  if (a->own == block->nodes) return; /* all are here */
  for (int64_t e = first; e < first + count; e++) want(a, block->col[e]);
}

static void take_staying(struct arrival *a) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t row = 0; row < a->block->rows; row++) {
    if (stays(a, row)) take_row(a, row);
  }
}

static int lay_out(struct arrival *a) {
  for (int64_t v = 0; v < a->own; v++) a->start[v + 1] += a->start[v];
  TRY(memory_arrays("edges of own rows", ROOM(&a->col, a->start[a->own])));
  if (a->block->weight) TRY(memory_arrays("edge weights", ROOM(&a->weight, a->start[a->own])));
  a->row = a->edge = 0;
  take_staying(a);
  return OK;
}

/* The partition's order runs shard after shard: halo nodes come out grouped by owner, in its order. */
static int number_halo(struct arrival *a, struct halo *halo) {
  const struct partition *partition = a->partition;
  int64_t rows = 0, row = 0;
#pragma omp parallel for schedule(static) reduction(+ : rows)
  for (int64_t v = 0; v < partition->nodes; v++) rows += a->local[v] == WANTED;
  halo->rows = rows;
  TRY(memory_arrays("halo ids", ROOM(&halo->id, rows)));
  for (int64_t i = 0; row < rows; i++) {
    int64_t v = partition->order[i];
    if (a->local[v] != WANTED) continue;
    halo->id[row] = v;
    a->local[v] = (int32_t)(a->own + row++);
  }
  return OK;
}

static int receive(struct comm *comm, struct arrival *a, struct halo *halo) {
  TRY(comm_agree(comm, arrival_init(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct length), send_lengths, take_lengths, a));
  TRY(comm_agree(comm, lay_out(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct arc), send_arcs, take_arcs, a));
  TRY(comm_agree(comm, number_halo(a, halo)));
  return halo_init(comm, a->partition->part, a->local, a->global_id, halo);
}

struct entry {
  int32_t col;
  float weight;
};

static int by_col(const void *left, const void *right) {
  int32_t a = ((const struct entry *)left)->col, b = ((const struct entry *)right)->col;
  return (a > b) - (a < b);
}

static void put_arrived(struct arrival *a, int64_t at, const struct entry *entry) {
  a->col[at] = entry->col;
  if (a->weight) a->weight[at] = entry->weight;
}

/* Puts a row's entries, from `at` on, run by run of their columns, halo columns last: rows whose global ids
 * ascend are sorted so without a comparison. Whether they are. */
static int put_runs(struct arrival *a, int64_t at, const struct entry *entry, int64_t count) {
  int32_t last = -1;
  int ascends = a->runs > 0;
  for (int r = 0; ascends && r <= a->runs; r++) {
    const int64_t begin = a->run[r], end = r < a->runs ? a->run[r + 1] : INT64_MAX;
    for (int64_t i = 0; i < count; i++) {
      if (entry[i].col < begin || entry[i].col >= end) continue;
      ascends &= entry[i].col > last;
      last = entry[i].col;
      put_arrived(a, at++, &entry[i]);
    }
  }
  return ascends;
}

/* Local ids for global ones, ascending in each row. */
static void renumber_row(struct arrival *a, int64_t row, struct entry *scratch) {
  int64_t first = a->start[row], count = a->start[row + 1] - first;
  int sorted = 1;
  for (int64_t i = 0; i < count; i++) {
    scratch[i] = (struct entry){a->local[a->col[first + i]], a->weight ? a->weight[first + i] : 1};
    sorted &= i == 0 || scratch[i - 1].col < scratch[i].col;
  }
  if (!sorted && put_runs(a, first, scratch, count)) return;
  if (!sorted) qsort(scratch, (size_t)count, sizeof *scratch, by_col);
  for (int64_t i = 0; i < count; i++) put_arrived(a, first + i, &scratch[i]);
}

static int renumber(struct arrival *a) {
  int64_t longest = 0, threads = omp_get_max_threads();
#pragma omp parallel for schedule(static) reduction(max : longest)
  for (int64_t v = 0; v < a->own; v++) longest = larger(longest, a->start[v + 1] - a->start[v]);
  FREED struct entry *scratch = NULL;
  TRY(memory_arrays("a row for each thread", ROOM(&scratch, threads * longest)));
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < a->own; v++) renumber_row(a, v, scratch + omp_get_thread_num() * longest);
  return OK;
}

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
  TRY(comm_agree(comm, renumber(a)));
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
  int64_t own = partition->offset[comm->rank + 1] - partition->offset[comm->rank];
  struct arrival arrival = {.partition = partition,
                            .block = block,
                            .transposed = forward != NULL,
                            .own = own,
                            .global_id = global_id};
  adj->loops = loops;
  int code = receive(comm, &arrival, &adj->halo);
  free(arrival.count);
  arrival.count = NULL;
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
