#include "runtime/comm/row_shuffle.h"

#include "runtime/base/base.h"

int64_t row_shuffle_block = 64 << 20;

enum { NOTICE_MORE, NOTICE_COUNTS }; /* what a rank says: it has not ended; records to each rank */

static int64_t notice_words(const struct row_shuffle *shuffle) {
  return NOTICE_COUNTS + shuffle->comm->size;
}

static int row_shuffle_init(struct row_shuffle *shuffle) {
  int64_t size = shuffle->comm->size;
  shuffle->room = larger(row_shuffle_block / 2 / size / shuffle->bytes, 1);
  TRY(memory_arrays("message counts", ROOM(&shuffle->queued, size),
                    ROOM(&shuffle->notices, (size + 1) * notice_words(shuffle))));
  TRY(memory_alloc(&shuffle->out, size * shuffle->room * shuffle->bytes, "rows on their way out"));
  return memory_alloc(&shuffle->in, size * shuffle->room * shuffle->bytes, "rows on their way in");
}

static void row_shuffle_free(struct row_shuffle *shuffle) {
  free_all(shuffle->out, shuffle->in, shuffle->queued, shuffle->notices);
  *shuffle = (struct row_shuffle){0};
}

void *row_shuffle_put(struct row_shuffle *shuffle, int rank) {
  const struct comm *comm = shuffle->comm;
  if (comm->lone && rank != comm->rank)
    return shuffle->out + rank * shuffle->room * shuffle->bytes; /* gone */
  if (shuffle->queued[rank] == shuffle->room) return NULL;
  return shuffle->out + (rank * shuffle->room + shuffle->queued[rank]++) * shuffle->bytes;
}

/* Tells every rank what to expect. *more: some rank has not ended. */
static int announce(struct row_shuffle *shuffle, int *more) {
  int size = shuffle->comm->size;
  int64_t words = notice_words(shuffle), *mine = shuffle->notices + size * words;
  mine[NOTICE_MORE] = !shuffle->ended;
  for (int r = 0; r < size; r++) mine[NOTICE_COUNTS + r] = shuffle->queued[r];
  TRY(comm_gather_all(shuffle->comm, mine, words * (int64_t)sizeof *mine, shuffle->notices));
  *more = 0;
  for (int r = 0; r < size; r++) *more |= shuffle->notices[r * words + NOTICE_MORE] != 0;
  return OK;
}

static int64_t incoming(const struct row_shuffle *shuffle, int from) {
  return shuffle->notices[from * notice_words(shuffle) + NOTICE_COUNTS + shuffle->comm->rank];
}

static int swap(struct row_shuffle *shuffle, struct message *messages) {
  int size = shuffle->comm->size, sends = 0, recvs = 0;
  struct message *recv = messages + size;
  for (int r = 0; r < size; r++) {
    int64_t slot = r * shuffle->room * shuffle->bytes;
    if (r == shuffle->comm->rank) continue; /* its own records are taken where they stand */
    if (shuffle->queued[r])
      messages[sends++] = (struct message){r, shuffle->out + slot, shuffle->queued[r] * shuffle->bytes};
    if (incoming(shuffle, r))
      recv[recvs++] = (struct message){r, shuffle->in + slot, incoming(shuffle, r) * shuffle->bytes};
  }
  return comm_swap(shuffle->comm, messages, sends, recv, recvs);
}

static int take_all(struct row_shuffle *shuffle, row_shuffle_take *take, void *context) {
  for (int r = 0; r < shuffle->comm->size; r++) {
    const char *from = r == shuffle->comm->rank ? shuffle->out : shuffle->in;
    if (incoming(shuffle, r))
      TRY(take(from + r * shuffle->room * shuffle->bytes, incoming(shuffle, r), context));
    shuffle->queued[r] = 0;
  }
  return OK;
}

static int run_rounds(struct row_shuffle *shuffle, struct message *messages, row_shuffle_fill *fill,
                      row_shuffle_take *take, void *context) {
  for (int more = 1; more;) {
    if (!shuffle->ended) TRY(fill(shuffle, context));
    TRY(announce(shuffle, &more));
    TRY(swap(shuffle, messages));
    TRY(take_all(shuffle, take, context));
  }
  return OK;
}

int row_shuffle_exchange(struct comm *comm, int64_t bytes, row_shuffle_fill *fill, row_shuffle_take *take,
                         void *context) {
  struct row_shuffle shuffle = {.comm = comm, .bytes = bytes};
  struct message *messages = NULL;
  int code = row_shuffle_init(&shuffle);
  if (code == OK) code = memory_alloc(&messages, 2 * comm->size * (int64_t)sizeof *messages, "messages");
  if (code == OK) code = run_rounds(&shuffle, messages, fill, take, context);
  free(messages);
  row_shuffle_free(&shuffle);
  return comm_agree(comm, code); /* a rank that failed calls the others out of their rounds */
}
