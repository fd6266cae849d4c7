#include "partition/graph/owners.h"

#include "partition/graph/graph.h"
#include "runtime/base/base.h"

struct asking {
  struct comm *comm;
  int64_t ids;
  struct question question;
  int64_t *out, *in; /* [size] bytes for each rank, and from each */
  char *sorted;      /* records by owner */
  int32_t *place;    /* [count] of each record among them */
  char *asked;       /* records from all ranks */
  int32_t *said, *heard;
};

static void asking_free(struct asking *a) {
  free_all(a->out, a->in, a->sorted, a->place, a->asked, a->said, a->heard);
}

static int32_t id_of(const struct question *question, int64_t i) {
  int32_t id;
  memcpy(&id, (const char *)question->record + i * question->bytes, sizeof id);
  return id;
}

/* By owner, else in order. */
static int sort_records(struct asking *a) {
  const struct question *q = &a->question;
  const int size = a->comm->size;
  FREED int64_t *next = NULL;
  TRY(memory_arrays("questions", ROOM(&a->out, size), ROOM(&a->in, size), ROOM(&a->place, q->count),
                    ROOM(&a->heard, q->count), ROOM(&next, size + 1)));
  TRY(memory_alloc(&a->sorted, q->count * q->bytes, "questions"));
  for (int64_t i = 0; i < q->count; i++) next[graph_block_of(a->ids, size, id_of(q, i)) + 1]++;
  for (int r = 0; r < size; r++) {
    a->out[r] = next[r + 1] * q->bytes;
    next[r + 1] += next[r];
  }
  for (int64_t i = 0; i < q->count; i++) {
    int64_t at = next[graph_block_of(a->ids, size, id_of(q, i))]++;
    a->place[i] = (int32_t)at;
    memcpy(a->sorted + at * q->bytes, (const char *)q->record + i * q->bytes, (size_t)q->bytes);
  }
  return OK;
}

/* Answers go back as the questions came. */
static int send_back(struct asking *a) {
  struct comm *comm = a->comm;
  FREED struct message *messages = NULL;
  TRY(memory_arrays("messages", ROOM(&messages, 2 * comm->size)));
  char *from = (char *)a->said, *to = (char *)a->heard;
  for (int r = 0; r < comm->size; r++) {
    int64_t asked = a->in[r] / a->question.bytes * (int64_t)sizeof *a->said;
    int64_t own = a->out[r] / a->question.bytes * (int64_t)sizeof *a->heard;
    messages[r] = (struct message){r, from, asked};
    messages[comm->size + r] = (struct message){r, to, own};
    from += asked;
    to += own;
  }
  return comm_swap(comm, messages, comm->size, messages + comm->size, comm->size);
}

int owners_ask(struct comm *comm, int64_t ids, struct question question, owners_answer *say, void *context,
               int32_t *answer) {
  ENDED_BY(asking_free) struct asking a = {.comm = comm, .ids = ids, .question = question};
  int64_t count = 0;
  if (comm->size == 1) {
    say(question.record, question.count, answer, context);
    return OK;
  }
  TRY(sort_records(&a));
  TRY(comm_all_to_all(comm, a.sorted, a.out, (void **)&a.asked, a.in));
  for (int r = 0; r < comm->size; r++) count += a.in[r] / question.bytes;
  if (answer) TRY(memory_arrays("answers", ROOM(&a.said, count)));
  say(a.asked, count, a.said, context);
  if (!answer) return OK;
  TRY(send_back(&a));
  for (int64_t i = 0; i < question.count; i++) answer[i] = a.heard[a.place[i]];
  return OK;
}

struct values {
  const int32_t *own;
  int64_t first;
};

static void say_value(const void *records, int64_t count, int32_t *answer, void *context) {
  const struct values *values = context;
  const int32_t *id = records;
#pragma omp parallel for schedule(static) if (count > 1 << 14)
  for (int64_t i = 0; i < count; i++) answer[i] = values->own[id[i] - values->first];
}

int owners_look_up(struct comm *comm, int64_t ids, const int32_t *own, const int32_t *id, int64_t count,
                   int32_t *value) {
  struct values values = {own, graph_block(ids, comm->size, comm->rank)};
  return owners_ask(comm, ids, (struct question){id, sizeof *id, count}, say_value, &values, value);
}
