#include "partition/shard/arrival.h"

#include <omp.h>

#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

enum { FOREIGN = -1, WANTED = -2 }; /* in local[]: not here; a halo node without its row yet */

struct length {
  int32_t row, count;
};

struct arc {
  int32_t row, col;
  float weight;
};

void arrival_forget_lengths(struct arrival *a) {
  free(a->count);
  a->count = NULL;
}

void arrival_free(struct arrival *a) {
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

/* Rows that are this rank's alone need no way. */
static int stays(const struct arrival *a, int64_t row) {
  return !a->transposed && a->partition->grid.cols == 1 && a->local[a->block->first + row] >= 0;
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
    if (a->runs == ARRIVAL_RUNS) {
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

/* A record for each rank that holds the row of that node; whether all of them have got it. */
static int put_copies(struct row_shuffle *shuffle, struct arrival *a, int64_t node, const void *record) {
  const int cols = a->partition->grid.cols, first = a->partition->part[node] / cols * cols;
  for (; a->copies < cols; a->copies++) {
    void *to = row_shuffle_put(shuffle, first + a->copies);
    if (!to) return 0;
    memcpy(to, record, (size_t)shuffle->bytes);
  }
  a->copies = 0;
  return 1;
}

static int send_lengths(struct row_shuffle *shuffle, void *context) {
  struct arrival *a = context;
  for (; a->row < a->block->nodes; a->row++) {
    const struct length length = {(int32_t)a->row, a->count[a->row]};
    if (length.count && !put_copies(shuffle, a, a->row, &length)) return OK;
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
      const struct arc arc = {row_of(a, a->row, a->edge), col_of(a, a->row, a->edge),
                              block->weight ? block->weight[a->edge] : 1};
      if (!put_copies(shuffle, a, arc.row, &arc)) return OK;
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

/* A rank asks for halo rows in its own column of the grid. */
static int plan_halo(struct comm *comm, const struct arrival *a, struct halo *halo) {
  const struct partition *partition = a->partition;
  const int cols = partition->grid.cols;
  FREED int32_t *owner = NULL;
  if (cols == 1) return halo_init(comm, partition->part, a->local, a->global_id, halo);
  TRY(comm_agree(comm, memory_arrays("owners of halo rows", ROOM(&owner, partition->nodes))));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < partition->nodes; v++)
    owner[v] = partition->part[v] / cols * cols + comm->rank % cols;
  return halo_init(comm, owner, a->local, a->global_id, halo);
}

int arrival_receive(struct comm *comm, struct arrival *a, struct halo *halo) {
  TRY(comm_agree(comm, arrival_init(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct length), send_lengths, take_lengths, a));
  TRY(comm_agree(comm, lay_out(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct arc), send_arcs, take_arcs, a));
  TRY(comm_agree(comm, number_halo(a, halo)));
  return plan_halo(comm, a, halo);
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

/* Which of the runs of ascending global ids a column is in; a->runs: the halo. */
static int run_of(const struct arrival *a, int32_t col) {
  int run = 0;
  for (int r = 1; r <= a->runs; r++) run += col >= a->run[r];
  return run;
}

/* A row on its way from global to local ids. */
struct renumbering {
  int64_t first, count;
  int sorted;                       /* local ids ascend ... */
  int ascends;                      /* ... or do so in each run, as those of a row whose global ids ascend */
  int64_t length[ARRIVAL_RUNS + 1]; /* entries in each run */
};

static struct renumbering read_row(const struct arrival *a, int64_t row, struct entry *scratch) {
  struct renumbering r = {.first = a->start[row],
                          .count = a->start[row + 1] - a->start[row],
                          .sorted = 1,
                          .ascends = a->runs > 0};
  int32_t last[ARRIVAL_RUNS + 1], before = -1;
  for (int i = 0; i <= a->runs; i++) last[i] = -1;
  for (int64_t i = 0; i < r.count; i++) {
    const int32_t col = a->local[a->col[r.first + i]];
    const int run = run_of(a, col);
    scratch[i] = (struct entry){col, a->weight ? a->weight[r.first + i] : 1};
    r.sorted &= before < col;
    r.ascends &= last[run] < col;
    before = last[run] = col;
    r.length[run]++;
  }
  return r;
}

/* Run by run, the halo last: no comparison of entries is needed. */
static void put_runs(struct arrival *a, const struct renumbering *r, const struct entry *scratch) {
  int64_t next[ARRIVAL_RUNS + 1], at = r->first;
  for (int i = 0; i <= a->runs; i++) {
    next[i] = at;
    at += r->length[i];
  }
  for (int64_t i = 0; i < r->count; i++) put_arrived(a, next[run_of(a, scratch[i].col)]++, &scratch[i]);
}

/* Local ids for global ones, ascending in each row. */
static void renumber_row(struct arrival *a, int64_t row, struct entry *scratch) {
  const struct renumbering r = read_row(a, row, scratch);
  if (!r.sorted && r.ascends) {
    put_runs(a, &r, scratch);
    return;
  }
  if (!r.sorted) qsort(scratch, (size_t)r.count, sizeof *scratch, by_col);
  for (int64_t i = 0; i < r.count; i++) put_arrived(a, r.first + i, &scratch[i]);
}

int arrival_renumber(struct arrival *a) {
  int64_t longest = 0, threads = omp_get_max_threads();
#pragma omp parallel for schedule(static) reduction(max : longest)
  for (int64_t v = 0; v < a->own; v++) longest = larger(longest, a->start[v + 1] - a->start[v]);
  FREED struct entry *scratch = NULL;
  TRY(memory_arrays("a row for each thread", ROOM(&scratch, threads * longest)));
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < a->own; v++) renumber_row(a, v, scratch + omp_get_thread_num() * longest);
  return OK;
}
