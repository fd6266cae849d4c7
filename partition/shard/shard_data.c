/* Features and labels on their way from the file to the owners of their rows. */
#include "partition/graph/graph.h"
#include "partition/shard/shard.h"
#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

/* A column of the node table: a fixed number of bytes a node. */
struct column {
  const char *name;
  int64_t bytes; /* of a node's value */
  int (*read)(struct dataset *dataset, int64_t first, int64_t rows, void *values);
  char *own; /* [own] where values arrive */
};

struct delivery {
  struct dataset *dataset;
  const struct directory *directory;
  struct shard *shard;
  struct column column;
  int64_t next, last; /* rows of the file that this rank still has to read */
  char *piece;        /* rows [piece_first, next) as read */
  int64_t piece_first, sent, piece_rows;
  int64_t *start; /* sparse: offsets of those rows */
  int32_t *col;   /* sparse: entries [entry_first, entry_last) */
  float *value;
  int64_t entry, entry_first, entry_last;
  int64_t *filled; /* [own] sparse: entries there so far */
};

static void delivery_free(struct delivery *d) {
  free_all(d->piece, d->start, d->col, d->value, d->filled);
}

static void rewind_rows(struct delivery *d) {
  d->next = d->directory->first;
  d->last = d->next + d->directory->count;
  d->piece_first = d->sent = d->next;
  d->entry = d->entry_first = d->entry_last = 0;
}

/* The rank that owns a node of the block, and its row there. */
struct owner {
  int rank;
  int32_t row;
};

static struct owner owner_of(const struct delivery *d, int64_t node) {
  const struct directory *directory = d->directory;
  const int32_t position = directory->position[node - directory->first];
  const int rank = directory_owner(directory, position);
  return (struct owner){rank, (int32_t)(position - directory->offset[rank])};
}

/* Values of this rank's own nodes in the piece need no way. */
static void take_staying(struct delivery *d) {
  size_t bytes = (size_t)d->column.bytes;
  int64_t staying = 0;
#pragma omp parallel for schedule(static) reduction(+ : staying)
  for (int64_t v = d->piece_first; v < d->next; v++) {
    const struct owner owner = owner_of(d, v);
    if (owner.rank != d->directory->rank) continue;
    memcpy(d->column.own + owner.row * d->column.bytes, d->piece + (v - d->piece_first) * d->column.bytes,
           bytes);
    staying++;
  }
  if (staying == d->next - d->piece_first) d->sent = d->next;
}

static int read_piece(struct row_shuffle *shuffle, struct delivery *d) {
  int64_t count = smaller(d->piece_rows, d->last - d->next);
  shuffle->ended = count == 0;
  if (shuffle->ended) return OK;
  TRY(d->column.read(d->dataset, d->next, count, d->piece));
  d->piece_first = d->next;
  d->next += count;
  take_staying(d);
  return OK;
}

/* Columns: a record is the row at its owner and its value. */
static int send_values(struct row_shuffle *shuffle, void *context) {
  struct delivery *d = context;
  for (;; d->sent++) {
    while (d->sent == d->next && !shuffle->ended) TRY(read_piece(shuffle, d));
    if (shuffle->ended) return OK;
    const struct owner owner = owner_of(d, d->sent);
    if (owner.rank == d->directory->rank) continue;
    char *record = row_shuffle_put(shuffle, owner.rank);
    if (!record) return OK;
    memcpy(record, &owner.row, sizeof owner.row);
    memcpy(record + sizeof owner.row, d->piece + (d->sent - d->piece_first) * d->column.bytes,
           (size_t)d->column.bytes);
  }
}

static int take_values(const void *records, int64_t count, void *context) {
  struct delivery *d = context;
  const char *record = records;
  for (int64_t i = 0; i < count; i++, record += (int64_t)sizeof(int32_t) + d->column.bytes) {
    int32_t row;
    memcpy(&row, record, sizeof row);
    memcpy(d->column.own + row * d->column.bytes, record + sizeof row, (size_t)d->column.bytes);
  }
  return OK;
}

/* Moves one column into *own, which it allocates. */
static int deliver_column(struct comm *comm, const struct delivery *of, struct column column, void **own) {
  ENDED_BY(delivery_free) struct delivery d = *of;
  if (column.bytes == 0) return memory_alloc_bytes(own, 0, column.name);
  d.column = column;
  rewind_rows(&d);
  d.piece_rows = larger(row_shuffle_block / column.bytes, 1);
  int code = memory_alloc_bytes(own, d.shard->own * column.bytes, column.name);
  if (code == OK)
    code = memory_alloc(&d.piece, smaller(d.piece_rows, d.last - d.next) * column.bytes, "a block of rows");
  d.column.own = *own;
  TRY(comm_agree(comm, code));
  return row_shuffle_exchange(comm, (int64_t)sizeof(int32_t) + column.bytes, send_values, take_values, &d);
}

static int read_features(struct dataset *dataset, int64_t first, int64_t rows, void *values) {
  return dataset_read_features(dataset, first, rows, values);
}

static int read_label(struct dataset *dataset, int64_t first, int64_t rows, void *values) {
  return dataset_read_label(dataset, first, rows, values);
}

static int read_labels(struct dataset *dataset, int64_t first, int64_t rows, void *values) {
  return dataset_read_labels(dataset, first, rows, values);
}

struct length {
  int32_t row, count;
};

struct entry {
  int32_t row, col;
  float value;
};

/* Rows whose offsets, and entries, are read at a time. */
static int64_t start_rows(void) {
  return row_shuffle_block / 4 / (int64_t)sizeof(int64_t);
}

static int64_t entries_at_once(void) {
  return row_shuffle_block / 4 / (int64_t)sizeof(struct entry);
}

/* Offsets of the next rows of sparse features; shuffle->ended when there are none. */
static int read_starts(struct row_shuffle *shuffle, struct delivery *d) {
  int64_t count = smaller(start_rows(), d->last - d->next);
  shuffle->ended = count == 0;
  if (shuffle->ended) return OK;
  TRY(dataset_read_starts(d->dataset, FEATURE_ROWS, d->next, count, d->start));
  d->piece_first = d->next;
  d->next += count;
  d->entry = d->start[0];
  return OK;
}

static int send_lengths(struct row_shuffle *shuffle, void *context) {
  struct delivery *d = context;
  for (;; d->sent++) {
    if (d->sent == d->next) TRY(read_starts(shuffle, d));
    if (shuffle->ended) return OK;
    const int64_t *start = d->start + (d->sent - d->piece_first);
    if (start[1] - start[0] > d->dataset->features)
      FAIL(BAD_INPUT, "%s: row %lld of /node/features has %lld entries; at most %lld columns are there",
           d->dataset->h5.path, (long long)d->sent, (long long)(start[1] - start[0]),
           (long long)d->dataset->features);
    const struct owner owner = owner_of(d, d->sent);
    struct length *length = row_shuffle_put(shuffle, owner.rank);
    if (!length) return OK;
    *length = (struct length){owner.row, (int32_t)(start[1] - start[0])};
  }
}

static int take_lengths(const void *records, int64_t count, void *context) {
  struct delivery *d = context;
  const struct length *length = records;
  for (int64_t i = 0; i < count; i++) d->shard->feature_rows.start[length[i].row + 1] = length[i].count;
  return OK;
}

static int read_entries(struct delivery *d) {
  int64_t count = smaller(entries_at_once(), d->start[d->next - d->piece_first] - d->entry);
  d->entry_first = d->entry;
  d->entry_last = d->entry + count;
  return dataset_read_entries(d->dataset, FEATURE_ROWS, d->entry, count, d->col, d->value);
}

static int send_entries(struct row_shuffle *shuffle, void *context) {
  struct delivery *d = context;
  for (;; d->sent++) {
    if (d->sent == d->next) TRY(read_starts(shuffle, d));
    if (shuffle->ended) return OK;
    const int64_t end = d->start[d->sent - d->piece_first + 1];
    const struct owner owner = owner_of(d, d->sent);
    for (; d->entry < end; d->entry++) {
      if (d->entry >= d->entry_last || d->entry < d->entry_first) TRY(read_entries(d));
      struct entry *entry = row_shuffle_put(shuffle, owner.rank);
      if (!entry) return OK;
      int64_t at = d->entry - d->entry_first;
      *entry = (struct entry){owner.row, d->col[at], d->value[at]};
    }
  }
}

/* A row has one reader: its entries arrive in the file's order. */
static int take_entries(const void *records, int64_t count, void *context) {
  struct delivery *d = context;
  const struct entry *entry = records;
  for (int64_t i = 0; i < count; i++, entry++) {
    int64_t at = d->shard->feature_rows.start[entry->row] + d->filled[entry->row]++;
    d->shard->feature_rows.col[at] = entry->col;
    d->shard->feature_rows.weight[at] = entry->value;
  }
  return OK;
}

static int prepare_lengths(struct delivery *d) {
  struct csr *rows = &d->shard->feature_rows;
  TRY(memory_arrays("feature offsets", ROOM(&d->start, start_rows() + 1)));
  *rows = (struct csr){.rows = d->shard->own, .cols = d->dataset->features};
  return memory_arrays("sparse features", ROOM(&rows->start, rows->rows + 1));
}

static int prepare_entries(struct delivery *d) {
  struct csr *rows = &d->shard->feature_rows;
  for (int64_t v = 0; v < rows->rows; v++) rows->start[v + 1] += rows->start[v];
  rows->nnz = rows->start[rows->rows];
  TRY(memory_arrays("sparse features", ROOM(&rows->col, rows->nnz), ROOM(&rows->weight, rows->nnz)));
  TRY(memory_arrays("row lengths", ROOM(&d->filled, rows->rows)));
  return memory_arrays("a block of features", ROOM(&d->col, entries_at_once()),
                       ROOM(&d->value, entries_at_once()));
}

static int deliver_sparse(struct comm *comm, const struct delivery *of) {
  ENDED_BY(delivery_free) struct delivery d = *of;
  rewind_rows(&d);
  TRY(comm_agree(comm, prepare_lengths(&d)));
  TRY(row_shuffle_exchange(comm, sizeof(struct length), send_lengths, take_lengths, &d));
  rewind_rows(&d);
  TRY(comm_agree(comm, prepare_entries(&d)));
  return row_shuffle_exchange(comm, sizeof(struct entry), send_entries, take_entries, &d);
}

static void scale_row(float *value, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)value[i];
  if (sum == 0) return;
  for (int64_t i = 0; i < count; i++) value[i] = (float)((double)value[i] / sum);
}

static void normalize_rows(struct shard *shard) {
  const struct csr *sparse = &shard->feature_rows;
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < shard->own; v++) {
    if (shard->sparse)
      scale_row(sparse->weight + sparse->start[v], sparse->start[v + 1] - sparse->start[v]);
    else
      scale_row(shard->feature + v * shard->features, shard->features);
  }
}

static int deliver_features(struct comm *comm, const struct delivery *d) {
  struct shard *shard = d->shard;
  const struct dataset *dataset = d->dataset;
  if (!dataset->has_features) return OK;
  if (dataset->sparse) return deliver_sparse(comm, d);
  struct column dense = {"features of own rows", dataset->features * (int64_t)sizeof(float), read_features,
                         NULL};
  return deliver_column(comm, d, dense, (void **)&shard->feature);
}

static int deliver_labels(struct comm *comm, const struct delivery *d) {
  struct shard *shard = d->shard;
  const struct dataset *dataset = d->dataset;
  if (dataset->task == TASK_NONE) return OK;
  if (dataset->task == TASK_MULTILABEL) {
    struct column labels = {"labels of own rows", dataset->classes, read_labels, NULL};
    return deliver_column(comm, d, labels, (void **)&shard->labels);
  }
  struct column label = {"labels of own rows", sizeof(int32_t), read_label, NULL};
  return deliver_column(comm, d, label, (void **)&shard->label);
}

int shard_read_data(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                    enum normalize normalize, struct shard *shard) {
  const struct delivery delivery = {.dataset = dataset, .directory = directory, .shard = shard};
  TRY(deliver_features(comm, &delivery));
  TRY(deliver_labels(comm, &delivery));
  TRY(shard_hash_data(comm, dataset, shard));
  if (dataset->has_features && normalize == NORMALIZE_ROW) normalize_rows(shard);
  return OK;
}

int shard_read_outline(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                       struct shard *shard) {
  const struct delivery delivery = {.dataset = dataset, .directory = directory, .shard = shard};
  if (dataset->sparse) TRY(deliver_features(comm, &delivery));
  return deliver_labels(comm, &delivery);
}
