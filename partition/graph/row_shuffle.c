#include "partition/graph/row_shuffle.h"

#include <stdlib.h>

#include "io/dataset/dataset.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

int64_t rows_block = DATASET_BLOCK;

enum { NOTICE_MORE, NOTICE_COUNTS }; /* what a rank says: it has not ended; records to each rank */

static int64_t notice_words(const struct rows *rows) {
  return NOTICE_COUNTS + rows->comm->size;
}

static int rows_init(struct rows *rows) {
  int64_t size = rows->comm->size, room = rows_block / 2 / size / rows->bytes;
  rows->room = room > 0 ? room : 1;
  TRY(memory_alloc(&rows->queued, size * (int64_t)sizeof *rows->queued, "message counts"));
  TRY(memory_alloc(&rows->notices, (size + 1) * notice_words(rows) * (int64_t)sizeof *rows->notices,
                   "message counts"));
  TRY(memory_alloc(&rows->out, size * rows->room * rows->bytes, "rows on their way out"));
  TRY(memory_alloc(&rows->in, size * rows->room * rows->bytes, "rows on their way in"));
  return OK;
}

static void rows_free(struct rows *rows) {
  free(rows->out);
  free(rows->in);
  free(rows->queued);
  free(rows->notices);
  *rows = (struct rows){0};
}

void *rows_put(struct rows *rows, int rank) {
  if (rows->queued[rank] == rows->room) return NULL;
  return rows->out + (rank * rows->room + rows->queued[rank]++) * rows->bytes;
}

/* Tells every rank what to expect. *more: some rank has not ended. */
static int announce(struct rows *rows, int *more) {
  int size = rows->comm->size;
  int64_t words = notice_words(rows), *mine = rows->notices + size * words;
  mine[NOTICE_MORE] = !rows->ended;
  for (int r = 0; r < size; r++) mine[NOTICE_COUNTS + r] = rows->queued[r];
  TRY(comm_gather_all(rows->comm, mine, words * (int64_t)sizeof *mine, rows->notices));
  *more = 0;
  for (int r = 0; r < size; r++) *more |= rows->notices[r * words + NOTICE_MORE] != 0;
  return OK;
}

static int64_t incoming(const struct rows *rows, int from) {
  return rows->notices[from * notice_words(rows) + NOTICE_COUNTS + rows->comm->rank];
}

static int swap(struct rows *rows, struct message *messages) {
  int size = rows->comm->size, sends = 0, recvs = 0;
  struct message *recv = messages + size;
  for (int r = 0; r < size; r++) {
    int64_t slot = r * rows->room * rows->bytes;
    if (r == rows->comm->rank) continue; /* its own records are taken where they stand */
    if (rows->queued[r])
      messages[sends++] = (struct message){r, rows->out + slot, rows->queued[r] * rows->bytes};
    if (incoming(rows, r))
      recv[recvs++] = (struct message){r, rows->in + slot, incoming(rows, r) * rows->bytes};
  }
  return comm_swap(rows->comm, messages, sends, recv, recvs);
}

static int take_all(struct rows *rows, rows_take *take, void *context) {
  for (int r = 0; r < rows->comm->size; r++) {
    const char *from = r == rows->comm->rank ? rows->out : rows->in;
    if (incoming(rows, r)) TRY(take(from + r * rows->room * rows->bytes, incoming(rows, r), context));
    rows->queued[r] = 0;
  }
  return OK;
}

static int run_rounds(struct rows *rows, struct message *messages, rows_fill *fill, rows_take *take,
                      void *context) {
  for (int more = 1; more;) {
    if (!rows->ended) TRY(fill(rows, context));
    TRY(announce(rows, &more));
    TRY(swap(rows, messages));
    TRY(take_all(rows, take, context));
  }
  return OK;
}

int rows_exchange(struct comm *comm, int64_t bytes, rows_fill *fill, rows_take *take, void *context) {
  struct rows rows = {.comm = comm, .bytes = bytes};
  struct message *messages = NULL;
  int code = rows_init(&rows);
  if (code == OK) code = memory_alloc(&messages, 2 * comm->size * (int64_t)sizeof *messages, "messages");
  if (code == OK) code = run_rounds(&rows, messages, fill, take, context);
  free(messages);
  rows_free(&rows);
  return comm_agree(comm, code); /* a rank that failed calls the others out of their rounds */
}
