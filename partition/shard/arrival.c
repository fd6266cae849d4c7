#include "partition/shard/arrival.h"

#include "runtime/base/base.h"
#include "runtime/base/integer.h"
#include "runtime/comm/row_shuffle.h"

/* Rows by their places among those of the rank that they go to. */
struct length {
  int32_t row, count;
};

struct arc {
  int32_t row, col;
  float weight;
};

static void rows_free(struct arrival_rows *rows) {
  id_set_free(&rows->set);
  free_all(rows->asked, rows->leaving);
  *rows = (struct arrival_rows){0};
}

void arrival_free(struct arrival *a) {
  rows_free(&a->rows);
  id_map_free(&a->local);
  free_all(a->start, a->filled, a->in_halo, a->has_loop, a->col, a->weight);
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

/* Which of the rows that of a node is. */
static int64_t index_of(const struct arrival *a, int64_t node) {
  return a->rows.set.bit ? id_set_place(&a->rows.set, node) : node - a->rows.first;
}

static int32_t position_of(const struct arrival *a, int64_t node) {
  return a->rows.position[index_of(a, node)];
}

static int64_t own_row(const struct arrival *a, int64_t node) {
  return position_of(a, node) - a->directory->row_first;
}

/* Rows that are this rank's alone need no way. */
static int stays(const struct arrival *a, int64_t row) {
  return !a->transposed && a->directory->grid.cols == 1 &&
         directory_has(a->directory, position_of(a, a->block->first + row));
}

static int list_columns(struct arrival *a, int32_t **id) {
  const struct graph *block = a->block;
  TRY(id_set_init(&a->rows.set, block->nodes));
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < block->edges; e++) id_set_add(&a->rows.set, block->col[e]);
  id_set_seal(&a->rows.set);
  a->rows.count = a->rows.set.count;
  TRY(memory_arrays("rows of others", ROOM(id, a->rows.count)));
  id_set_list(&a->rows.set, *id);
  return OK;
}

static int list_rows(struct arrival *a, int32_t **id) {
  a->rows.first = a->block->first;
  a->rows.count = a->block->rows;
  TRY(memory_arrays("rows of the block", ROOM(id, a->rows.count)));
  for (int64_t i = 0; i < a->rows.count; i++) (*id)[i] = (int32_t)(a->rows.first + i);
  return OK;
}

/* A rank that reads all nodes has their positions. */
static int find_rows(struct comm *comm, struct arrival *a) {
  const struct directory *directory = a->directory;
  FREED int32_t *id = NULL;
  a->rows.position = directory->position;
  a->rows.count = directory->count;
  if (comm->size == 1 || comm->lone) return OK;
  int code = a->transposed ? list_columns(a, &id) : list_rows(a, &id);
  if (code == OK) code = memory_arrays("positions of rows", ROOM(&a->rows.asked, a->rows.count));
  a->rows.position = a->rows.asked;
  TRY(comm_agree(comm, code));
  return directory_ask(comm, directory, id, a->rows.count, a->rows.asked);
}

static void find_staying(struct arrival *a) {
  const struct graph *block = a->block;
  int64_t staying = 0, entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : staying, entries)
  for (int64_t row = 0; row < block->rows; row++) {
    if (!stays(a, row)) continue;
    staying++;
    entries += length_of(block, row);
  }
  a->whole = !a->transposed && staying == a->own;
  a->rows.leave = staying < block->rows;
  a->memory.staying = entries;
}

/* Of rows that leave, and those of rows that stay in `start`. */
static void count_rows(struct arrival *a) {
  const struct graph *block = a->block;
  if (a->transposed) {
    for (int64_t e = block->start[0]; e < block->start[block->rows]; e++)
      a->rows.leaving[index_of(a, block->col[e])]++;
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < block->rows; row++) {
    const int64_t node = block->first + row;
    if (stays(a, row))
      a->start[own_row(a, node) + 1] = length_of(block, row);
    else
      a->rows.leaving[index_of(a, node)] = (int32_t)length_of(block, row);
  }
}

static int compare_places(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void find_runs(struct arrival *a) {
  const int64_t *id = a->directory->id;
  int runs = 0;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < a->own; i++) {
    int at = 0;
    if (i > 0 && id[i] > id[i - 1]) continue;
#pragma omp atomic read
    at = runs;
    if (at > ARRIVAL_RUNS) continue;
#pragma omp atomic capture
    at = runs++;
    if (at < ARRIVAL_RUNS) a->run[at] = i;
  }
  a->runs = runs > ARRIVAL_RUNS ? 0 : runs;
  qsort(a->run, (size_t)a->runs, sizeof *a->run, compare_places);
  a->run[a->runs] = a->own;
}

static int arrival_init(struct arrival *a) {
  TRY(memory_arrays("row lengths", ROOM(&a->rows.leaving, a->rows.count)));
  TRY(memory_arrays("row offsets", ROOM(&a->start, a->own + 1)));
  TRY(memory_arrays("row lengths", ROOM(&a->filled, a->own)));
  find_staying(a);
  if (a->rows.leave || !a->whole) count_rows(a);
  find_runs(a);
  return OK;
}

/* The first of the ranks that hold the row at that position. */
static int holder_of(const struct arrival *a, int32_t position) {
  return directory_row_of_grid(a->directory, directory_owner(a->directory, position));
}

/* A record for each rank that holds the row, from the first on; whether all of them have got it. */
static int put_copies(struct row_shuffle *shuffle, struct arrival *a, int first, const void *record) {
  for (; a->next.copies < a->directory->grid.cols; a->next.copies++) {
    void *to = row_shuffle_put(shuffle, first + a->next.copies);
    if (!to) return 0;
    memcpy(to, record, (size_t)shuffle->bytes);
  }
  a->next.copies = 0;
  return 1;
}

static int send_lengths(struct row_shuffle *shuffle, void *context) {
  struct arrival *a = context;
  for (; a->rows.leave && a->next.row < a->rows.count; a->next.row++) {
    if (a->rows.leaving[a->next.row] == 0) continue;
    const int32_t position = a->rows.position[a->next.row];
    const int first = holder_of(a, position);
    const struct length length = {(int32_t)(position - a->directory->offset[first]),
                                  a->rows.leaving[a->next.row]};
    if (!put_copies(shuffle, a, first, &length)) return OK;
  }
  shuffle->ended = 1;
  return OK;
}

static int take_lengths(const void *records, int64_t count, void *context) {
  struct arrival *a = context;
  const struct length *length = records;
  for (int64_t i = 0; i < count; i++) a->start[length[i].row + 1] += length[i].count;
  return OK;
}

int64_t arrival_piece(void) {
  return row_shuffle_block / 8;
}

/* Entries [*from, end) of rows that lie in these arrays. */
static void return_entries(int32_t *col, float *weight, int64_t *from, int64_t end) {
  const int64_t bytes = (end - *from) * (int64_t)sizeof *col;
  memory_return_part(col + *from, bytes);
  if (weight) memory_return_part(weight + *from, bytes);
  *from = end;
}

void arrival_leave(struct arrival *a, int64_t rows) {
  const struct graph *block = a->block;
  if (!a->whole)
    return_entries(a->col, a->weight, &a->memory.rows, a->start[rows]);
  else if (!a->keeps_block)
    return_entries(block->col, block->weight, &a->memory.block, block->start[rows]);
}

/* What has been sent, as soon as it is much. */
static void leave_block(struct arrival *a) {
  if (a->keeps_block || a->next.edge - a->memory.block < arrival_piece()) return;
  return_entries(a->block->col, a->block->weight, &a->memory.block, a->next.edge);
}

static int send_arcs(struct row_shuffle *shuffle, void *context) {
  struct arrival *a = context;
  const struct graph *block = a->block;
  leave_block(a);
  for (; a->rows.leave && a->next.row < block->rows; a->next.row++) {
    if (stays(a, a->next.row)) a->next.edge = block->start[a->next.row + 1];
    for (; a->next.edge < block->start[a->next.row + 1]; a->next.edge++) {
      const int32_t position = position_of(a, row_of(a, a->next.row, a->next.edge));
      const int first = holder_of(a, position);
      const struct arc arc = {(int32_t)(position - a->directory->offset[first]),
                              col_of(a, a->next.row, a->next.edge),
                              block->weight ? block->weight[a->next.edge] : 1};
      if (!put_copies(shuffle, a, first, &arc)) return OK;
    }
  }
  shuffle->ended = 1;
  return OK;
}

static int take_arcs(const void *records, int64_t count, void *context) {
  struct arrival *a = context;
  const struct arc *arc = records;
  for (int64_t i = 0; i < count; i++, arc++) {
    int64_t at = a->start[arc->row] + a->filled[arc->row]++;
    a->col[at] = arc->col;
    if (a->weight) a->weight[at] = arc->weight;
  }
  return OK;
}

static void copy_row(struct arrival *a, int64_t row) {
  const struct graph *block = a->block;
  const int64_t first = block->start[row], count = length_of(block, row),
                at = a->start[own_row(a, block->first + row)];
  memcpy(a->col + at, block->col + first, (size_t)count * sizeof *a->col);
  if (a->weight) memcpy(a->weight + at, block->weight + first, (size_t)count * sizeof *a->weight);
}

static int64_t bytes_of(const struct arrival *a, int64_t entries) {
  return entries * (int64_t)(sizeof *a->col + (a->weighted ? sizeof *a->weight : 0));
}

/* While rows come: the block goes as they do, behind those of its rows that stay. */
static void count_receiving(struct arrival *a) {
  const int64_t block = bytes_of(a, a->block->edges), came = bytes_of(a, a->start[a->own]),
                first = block + bytes_of(a, a->memory.staying);
  const int64_t round = smaller(row_shuffle_block, a->start[a->own] * (int64_t)sizeof(struct arc));
  a->memory.most = larger(first, came + (a->keeps_block ? block : 0)) + 2 * round;
}

int64_t arrival_most_bytes(const struct arrival *a, int64_t made) {
  const int64_t block = bytes_of(a, a->block->edges), came = a->whole ? block : bytes_of(a, a->start[a->own]),
                piece = smaller(bytes_of(a, arrival_piece()), made),
                ids = a->local.made ? id_map_bytes(a->directory->nodes, a->own) : 0,
                rows = a->own * (int64_t)(sizeof *a->start + sizeof *a->in_halo + sizeof *a->has_loop);
  const int scattered = a->whole && a->runs == 0;
  const int64_t dividing = a->keeps_block || scattered ? block + made : larger(came, made) + piece;
  return rows + ids + larger(a->memory.most, dividing);
}

static int lay_out(struct arrival *a) {
  a->next.row = a->next.edge = 0;
  if (a->whole) return OK;
  for (int64_t v = 0; v < a->own; v++) a->start[v + 1] += a->start[v];
  TRY(memory_arrays("edges of own rows", ROOM(&a->col, a->start[a->own])));
  if (a->block->weight) TRY(memory_arrays("edge weights", ROOM(&a->weight, a->start[a->own])));
  count_receiving(a);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t row = 0; row < a->block->rows; row++)
    if (stays(a, row)) copy_row(a, row);
  return OK;
}

struct arrival_row arrival_find(const struct arrival *a, int64_t v) {
  const struct graph *block = a->block;
  if (!a->whole) {
    const int64_t first = a->start[v];
    return (struct arrival_row){a->start[v + 1] - first, a->col + first,
                                a->weight ? a->weight + first : NULL};
  }
  const int64_t row = a->directory->id[v] - block->first, first = block->start[row];
  return (struct arrival_row){length_of(block, row), block->col + first,
                              block->weight ? block->weight + first : NULL};
}

/* Nodes that the rows name: own ones (without bits: all are), and those of the halo. */
struct columns {
  struct id_set own, away;
};

static void columns_free(struct columns *columns) {
  id_set_free(&columns->own);
  id_set_free(&columns->away);
}

static int is_elsewhere(struct columns *columns, int32_t node) {
  if (!columns->own.bit || id_set_has(&columns->own, node)) return 0;
  id_set_add(&columns->away, node);
  return 1;
}

/* Where all nodes are own there is no halo, and rows of the block ascend: a self loop is soon found. */
static void look_at(struct arrival *a, int64_t v, struct columns *columns) {
  const struct arrival_row row = arrival_find(a, v);
  const int32_t self = (int32_t)a->directory->id[v];
  if (a->whole && a->own == a->block->nodes) {
    a->has_loop[v] = a->block->loops > 0 && find_sorted(row.col, 0, row.count, self) >= 0;
    return;
  }
  int64_t in_halo = 0;
  int has_loop = 0;
  for (int64_t i = 0; i < row.count; i++) {
    in_halo += is_elsewhere(columns, row.col[i]);
    has_loop |= row.col[i] == self;
  }
  a->in_halo[v] = in_halo;
  a->has_loop[v] = (uint8_t)has_loop;
}

static int list_own(const struct arrival *a, struct id_set *own) {
  TRY(id_set_init(own, a->block->nodes));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < a->own; v++) id_set_add(own, a->directory->id[v]);
  return OK;
}

/* All rows are there: what was needed to bring them goes. */
static int look_through(struct arrival *a, struct columns *columns) {
  int64_t longest = 0;
  rows_free(&a->rows);
  free(a->filled);
  a->filled = NULL;
  TRY(memory_arrays("entries in the halo", ROOM(&a->in_halo, a->own), ROOM(&a->has_loop, a->own)));
  TRY(id_set_init(&columns->away, a->block->nodes));
  if (a->own < a->block->nodes) TRY(list_own(a, &columns->own));
#pragma omp parallel for schedule(dynamic, 256) reduction(max : longest)
  for (int64_t v = 0; v < a->own; v++) {
    look_at(a, v, columns);
    longest = larger(longest, arrival_find(a, v).count);
  }
  a->longest = longest;
  id_set_seal(&columns->away);
  return OK;
}

static int list_halo(struct arrival *a, struct halo *halo) {
  ENDED_BY(columns_free) struct columns columns = {0};
  FREED int32_t *id = NULL;
  TRY(look_through(a, &columns));
  halo->rows = columns.away.count;
  TRY(memory_arrays("halo ids", ROOM(&halo->id, halo->rows), ROOM(&id, halo->rows)));
  id_set_list(&columns.away, id);
  for (int64_t i = 0; i < halo->rows; i++) halo->id[i] = id[i];
  return OK;
}

/* A rank that has all nodes, and knows their positions, has them as local ids. */
static int number_nodes(struct arrival *a, const struct halo *halo) {
  const struct directory *directory = a->directory;
  const int64_t nodes = directory->nodes;
  const struct id_list own = {directory->id, a->own}, away = {halo->id, halo->rows};
  if (a->own < nodes || directory->count < nodes) return id_map_init(&a->local, nodes, own, away);
  a->local = (struct id_map){.number = directory->position};
  return OK;
}

int arrival_receive(struct comm *comm, struct arrival *a, struct halo *halo) {
  TRY(find_rows(comm, a));
  TRY(comm_agree(comm, arrival_init(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct length), send_lengths, take_lengths, a));
  TRY(comm_agree(comm, lay_out(a)));
  TRY(row_shuffle_exchange(comm, sizeof(struct arc), send_arcs, take_arcs, a));
  TRY(comm_agree(comm, list_halo(a, halo)));
  TRY(halo_init(comm, a->directory, halo));
  return comm_agree(comm, number_nodes(a, halo));
}
