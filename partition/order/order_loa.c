/* Orders "loa" and "loa-cluster": rows that share columns come into one window of 16.
 *
 * "loa" is the layout of HC-SpMM (Li et al., ICDE 2025, algorithm 4). A window begins with the row of fewest
 * columns that is left in the shard, and grows by the row that leaves it with the fewest different columns,
 * of equals by that of the highest degree. "loa-cluster" takes the row that leaves its computing intensity,
 * non-zeros over different columns, the highest, among `loa_window` consecutive rows of order "cluster": each
 * such piece is arranged by itself, so threads share the work and the result does not depend on them.
 *
 * How many of a row's columns the window has already is counted as columns join it: each new one adds 1 to
 * all rows that have it, so only rows that share a column with the window are looked at. A hub is a column of
 * many: where each window has it, each looks at all of its rows. */
#include "partition/order/order_kinds.h"
#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

enum { WINDOW = 16 };

/* The rows of a piece and the columns that they have, numbered from 0. */
struct piece {
  int64_t rows, columns, arcs;
  int64_t *row_start; /* [rows + 1] */
  int32_t *col;       /* [arcs] */
  int64_t *col_start; /* [columns + 2] */
  int32_t *row;       /* [arcs] the rows of each column, ascending */
  int32_t *common;    /* [rows] columns of the row that the window has */
  int32_t *sharing;   /* [sharings] rows for which these are not 0 */
  int64_t sharings;
  int32_t *begins;    /* [rows] rows in the order in which windows begin with them */
  int32_t *in_window; /* [columns] the last window that the column joined, from 1 */
  uint8_t *placed;    /* [rows] */
  int64_t *arranged;  /* [rows] the nodes in their new order */
  int64_t *key;       /* [mask + 1] hash table: column + 1, 0: free */
  int32_t *number;    /* [mask + 1] */
  int64_t mask, room; /* room: arcs that there is space for */
};

static void piece_free(struct piece *piece) {
  free_all(piece->row_start, piece->col, piece->col_start, piece->row, piece->common, piece->in_window,
           piece->placed, piece->arranged, piece->key, piece->number, piece->sharing, piece->begins);
  *piece = (struct piece){0};
}

/* columns: there are at most. */
static int piece_init(struct piece *piece, int64_t rows, int64_t arcs, int64_t columns) {
  int64_t size = 16;
  while (size < 2 * columns) size *= 2;
  piece->mask = size - 1;
  piece->room = arcs;
  TRY(memory_arrays("rows to arrange", ROOM(&piece->row_start, rows + 1), ROOM(&piece->col, arcs),
                    ROOM(&piece->col_start, columns + 2), ROOM(&piece->row, arcs), ROOM(&piece->common, rows),
                    ROOM(&piece->in_window, columns)));
  TRY(memory_arrays("rows to arrange", ROOM(&piece->placed, rows), ROOM(&piece->sharing, rows),
                    ROOM(&piece->begins, rows)));
  return memory_arrays("rows to arrange", ROOM(&piece->arranged, rows), ROOM(&piece->key, size),
                       ROOM(&piece->number, size));
}

static int32_t number_of(struct piece *piece, int64_t column) {
  int64_t at = (int64_t)(edge_hash(column, 0, 0) & (uint64_t)piece->mask);
  while (piece->key[at] && piece->key[at] != column + 1) at = (at + 1) & piece->mask;
  if (!piece->key[at]) {
    piece->key[at] = column + 1;
    piece->number[at] = (int32_t)piece->columns++;
  }
  return piece->number[at];
}

static void read_rows(struct piece *piece, const struct graph *graph, const int64_t *node) {
  memset(piece->key, 0, (size_t)(piece->mask + 1) * sizeof *piece->key);
  piece->columns = piece->arcs = 0;
  for (int64_t i = 0; i < piece->rows; i++) {
    for (int64_t e = graph->start[node[i]]; e < graph->start[node[i] + 1]; e++)
      if (graph->col[e] != node[i]) piece->col[piece->arcs++] = number_of(piece, graph->col[e]);
    piece->row_start[i + 1] = piece->arcs;
  }
}

static void list_columns(struct piece *piece) {
  int64_t *next = piece->col_start + 1;
  memset(piece->col_start, 0, (size_t)(piece->columns + 2) * sizeof *piece->col_start);
  for (int64_t e = 0; e < piece->arcs; e++) piece->col_start[piece->col[e] + 2]++;
  for (int64_t c = 0; c < piece->columns; c++) next[c + 1] += next[c];
  for (int64_t i = 0; i < piece->rows; i++)
    for (int64_t e = piece->row_start[i]; e < piece->row_start[i + 1]; e++)
      piece->row[next[piece->col[e]]++] = (int32_t)i;
}

/* A window as it grows. */
struct window {
  int32_t number; /* from 1 */
  int64_t arcs, columns;
};

static int64_t degree_of(const struct piece *piece, int64_t row) {
  return piece->row_start[row + 1] - piece->row_start[row];
}

static void add_row(struct piece *piece, struct window *window, int64_t row) {
  piece->placed[row] = 1;
  window->arcs += degree_of(piece, row);
  for (int64_t e = piece->row_start[row]; e < piece->row_start[row + 1]; e++) {
    int32_t c = piece->col[e];
    if (piece->in_window[c] == window->number) continue;
    piece->in_window[c] = window->number;
    window->columns++;
    for (int64_t i = piece->col_start[c]; i < piece->col_start[c + 1]; i++) {
      int32_t other = piece->row[i];
      if (piece->common[other]++ == 0) piece->sharing[piece->sharings++] = other;
    }
  }
}

static void begin_window(struct piece *piece, struct window *window) {
  for (int64_t i = 0; i < piece->sharings; i++) piece->common[piece->sharing[i]] = 0;
  piece->sharings = 0;
  *window = (struct window){.number = window->number + 1};
}

/* What the window would have with a row. */
struct next {
  int64_t row, arcs, columns;
};

/* Whether a row is better than another for the window; of equals the first is. */
typedef int better(const struct next *a, const struct next *b);

static int has_fewer_columns(const struct next *a, const struct next *b) {
  if (a->columns != b->columns) return a->columns < b->columns;
  return a->arcs != b->arcs ? a->arcs > b->arcs : a->row < b->row;
}

static int is_more_intense(const struct next *a, const struct next *b) {
  const int64_t left = a->arcs * b->columns, right = b->arcs * a->columns;
  return left != right ? left > right : a->row < b->row;
}

/* The best row that shares columns with the window; -1: none does. */
static int64_t best_row(const struct piece *piece, const struct window *window, better *is_better) {
  struct next best = {.row = -1};
  for (int64_t i = 0; i < piece->sharings; i++) {
    const int64_t row = piece->sharing[i], degree = degree_of(piece, row);
    const struct next choice = {row, window->arcs + degree, window->columns + degree - piece->common[row]};
    if (!piece->placed[row] && (best.row < 0 || is_better(&choice, &best))) best = choice;
  }
  return best.row;
}

static void arrange(struct piece *piece, int64_t *node, better *is_better) {
  int64_t first = 0;
  memset(piece->placed, 0, (size_t)piece->rows);
  memset(piece->common, 0, (size_t)piece->rows * sizeof *piece->common);
  memset(piece->in_window, 0, (size_t)piece->columns * sizeof *piece->in_window);
  piece->sharings = 0;
  struct window window = {0};
  for (int64_t at = 0; at < piece->rows; at++) {
    if (at % WINDOW == 0) begin_window(piece, &window);
    while (piece->placed[piece->begins[first]]) first++;
    int64_t row = best_row(piece, &window, is_better);
    if (row < 0) row = piece->begins[first];
    add_row(piece, &window, row);
    piece->arranged[at] = node[row];
  }
  memcpy(node, piece->arranged, (size_t)piece->rows * sizeof *node);
}

/* As they stand; or those of fewest columns first, and of equals as they stand. */
static int list_begins(struct piece *piece, int by_columns) {
  FREED int64_t *next = NULL;
  int64_t most = 0;
  for (int64_t row = 0; row < piece->rows; row++) {
    piece->begins[row] = (int32_t)row;
    most = larger(most, degree_of(piece, row));
  }
  if (!by_columns) return OK;
  TRY(memory_arrays("rows by their columns", ROOM(&next, most + 2)));
  for (int64_t row = 0; row < piece->rows; row++) next[degree_of(piece, row) + 1]++;
  for (int64_t d = 0; d <= most; d++) next[d + 1] += next[d];
  for (int64_t row = 0; row < piece->rows; row++) piece->begins[next[degree_of(piece, row)]++] = (int32_t)row;
  return OK;
}

/* Nodes [first, first + rows) of the order, whatever space it takes; most: rows of any piece. */
static int arrange_piece(struct piece *piece, const struct graph *graph, int64_t *node, int64_t rows,
                         int64_t most, better *is_better) {
  int64_t arcs = 0;
  for (int64_t i = 0; i < rows; i++) arcs += graph->start[node[i] + 1] - graph->start[node[i]];
  if (!piece->row_start || arcs > piece->room) {
    piece_free(piece);
    TRY(piece_init(piece, most, arcs + arcs / 4, smaller(arcs + arcs / 4, graph->nodes)));
  }
  piece->rows = rows;
  read_rows(piece, graph, node);
  list_columns(piece);
  TRY(list_begins(piece, is_better == has_fewer_columns));
  arrange(piece, node, is_better);
  return OK;
}

static int arrange_shard(const struct order_input *input, int64_t *node, int64_t count) {
  int64_t rows = input->loa_window;
  int code = OK;
#pragma omp parallel reduction(max : code)
  {
    struct piece piece = {0};
    code = OK;
#pragma omp for schedule(dynamic)
    for (int64_t first = 0; first < count; first += rows)
      if (code == OK)
        code = arrange_piece(&piece, input->graph, node + first, smaller(rows, count - first), rows,
                             is_more_intense);
    piece_free(&piece);
  }
  if (code != OK) FAIL(code, "out of memory: no room to arrange rows; lower partition.loa_window");
  return OK;
}

int order_loa_cluster(const struct order_input *input, struct partition *partition) {
  for (int p = 0; p < partition->parts; p++)
    TRY(arrange_shard(input, partition->order + partition->offset[p],
                      partition->offset[p + 1] - partition->offset[p]));
  return OK;
}

int order_loa(const struct order_input *input, struct partition *partition) {
  for (int p = 0; p < partition->parts; p++) {
    const int64_t first = partition->offset[p], rows = partition->offset[p + 1] - first;
    struct piece piece = {0};
    int code = arrange_piece(&piece, input->graph, partition->order + first, rows, rows, has_fewer_columns);
    piece_free(&piece);
    TRY(code);
  }
  return OK;
}
