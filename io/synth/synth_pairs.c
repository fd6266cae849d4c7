#include "io/synth/synth_pairs.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

/* Numbers are drawn in so many stretches, each by one thread, or a piece at a time; and pairs of a list that
 * others have filled. */
enum { STRETCHES = 256, PIECE = 1 << 20, LIST = 1 << 20 };

void synth_pairs_free(struct synth_pairs *pairs) {
  for (int64_t k = 0; k < pairs->lists; k++) free(pairs->list[k].pair);
  free(pairs->list);
  *pairs = (struct synth_pairs){0};
}

static struct synth_pair draw(const struct synth_drawing *d, int64_t e) {
  struct synth_pair pair = d->model->draw(d->model->context, (uint64_t)e);
  return d->new_id ? (struct synth_pair){d->new_id[pair.u], d->new_id[pair.v]} : pair;
}

static int keep(struct synth_list *list, struct synth_pair pair) {
  const int64_t bytes = (int64_t)sizeof pair;
  if (list->count == list->room) {
    int64_t room = list->room + list->room / 4 + 64;
    TRY(memory_grow(&list->pair, list->count * bytes, room * bytes, "drawn edges"));
    list->room = room;
  }
  list->pair[list->count++] = pair;
  return OK;
}

/* Numbers [first, end), into a list that has nothing yet. */
static int draw_numbers(const struct synth_drawing *d, const struct synth_rows *rows, int64_t first,
                        int64_t end, struct synth_list *list) {
  double likely = fmin(1, 1.1 * 2 * (double)rows->rows / (double)d->nodes);
  list->room = (int64_t)(likely * (double)(end - first));
  TRY(memory_arrays("drawn edges", ROOM(&list->pair, list->room)));
  for (int64_t e = first; e < end; e++) {
    struct synth_pair pair = draw(d, e);
    if (pair.u == pair.v) continue;
    if (synth_rows_has(rows, pair.u) || synth_rows_has(rows, pair.v)) TRY(keep(list, pair));
  }
  return OK;
}

static int draw_stretch(const struct synth_drawing *d, const struct synth_rows *rows, int64_t k,
                        struct synth_list *list) {
  int64_t first = d->draws / STRETCHES * k + smaller(k, d->draws % STRETCHES);
  struct synth_list mine = {0}; /* threads would wait for each other where their lists stand side by side */
  int code = draw_numbers(d, rows, first, first + d->draws / STRETCHES + (k < d->draws % STRETCHES), &mine);
  *list = mine;
  return code;
}

int synth_pairs_draw(const struct synth_drawing *d, const struct synth_rows *rows,
                     struct synth_pairs *pairs) {
  struct error_first failed = {0};
  TRY(memory_arrays("lists of edges", ROOM(&pairs->list, STRETCHES)));
  pairs->lists = STRETCHES;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < STRETCHES; k++) error_note(&failed, k, draw_stretch(d, rows, k, &pairs->list[k]));
  return error_raise_noted(&failed);
}

/* A pair and the ranks that it still has to go to, -1: none. */
struct parcel {
  struct synth_pair pair;
  int32_t to[2];
};

struct exchange {
  const struct synth_drawing *d;
  int ranks;
  int64_t *first;    /* [ranks] of each one's rows */
  int64_t next, end; /* numbers that this rank still has to draw */
  struct parcel *parcel;
  int64_t count, sent; /* parcels at hand, and those of them that are under way */
  struct synth_pairs *pairs;
};

static void exchange_free(struct exchange *x) {
  free_all(x->first, x->parcel);
}

/* The last rank whose rows do not begin behind this one. */
static int32_t owner_of(const struct exchange *x, int32_t row) {
  int low = 0, high = x->ranks;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (x->first[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void draw_piece(struct exchange *x) {
  x->count = smaller(PIECE, x->end - x->next);
  x->sent = 0;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < x->count; i++) {
    struct synth_pair pair = draw(x->d, x->next + i);
    int none = pair.u == pair.v;
    int32_t a = none ? -1 : owner_of(x, pair.u), b = none ? -1 : owner_of(x, pair.v);
    x->parcel[i] = (struct parcel){pair, {a, b == a ? -1 : b}};
  }
  x->next += x->count;
}

/* 0: a rank takes no more in this round. */
static int send_parcel(struct row_shuffle *shuffle, struct parcel *parcel) {
  for (int i = 0; i < 2; i++) {
    if (parcel->to[i] < 0) continue;
    struct synth_pair *record = row_shuffle_put(shuffle, parcel->to[i]);
    if (!record) return 0;
    *record = parcel->pair;
    parcel->to[i] = -1;
  }
  return 1;
}

static int send_pairs(struct row_shuffle *shuffle, void *context) {
  struct exchange *x = context;
  for (;; x->sent++) {
    if (x->sent == x->count) draw_piece(x);
    shuffle->ended = x->count == 0;
    if (shuffle->ended || !send_parcel(shuffle, &x->parcel[x->sent])) return OK;
  }
}

/* A list more, with room, unless the last one has some. */
static int need_room(struct synth_pairs *pairs) {
  const int64_t bytes = (int64_t)sizeof *pairs->list;
  if (pairs->lists) {
    const struct synth_list *last = &pairs->list[pairs->lists - 1];
    if (last->count < last->room) return OK;
  }
  TRY(memory_grow(&pairs->list, pairs->lists * bytes, (pairs->lists + 1) * bytes, "lists of edges"));
  struct synth_list *list = &pairs->list[pairs->lists++];
  list->room = LIST;
  return memory_arrays("drawn edges", ROOM(&list->pair, LIST));
}

static int take_pairs(const void *records, int64_t count, void *context) {
  struct synth_pairs *pairs = ((struct exchange *)context)->pairs;
  const struct synth_pair *from = records;
  while (count > 0) {
    TRY(need_room(pairs));
    struct synth_list *list = &pairs->list[pairs->lists - 1];
    int64_t taken = smaller(count, list->room - list->count);
    memcpy(list->pair + list->count, from, (size_t)taken * sizeof *from);
    list->count += taken;
    from += taken;
    count -= taken;
  }
  return OK;
}

int synth_pairs_exchange(struct comm *comm, const struct synth_drawing *d, const struct synth_rows *rows,
                         struct synth_pairs *pairs) {
  int64_t share = d->draws / comm->size, more = d->draws % comm->size;
  ENDED_BY(exchange_free) struct exchange x = {.d = d, .ranks = comm->size, .pairs = pairs};
  x.next = share * comm->rank + smaller(comm->rank, more);
  x.end = x.next + share + (comm->rank < more);
  TRY(memory_arrays("drawn edges", ROOM(&x.first, comm->size), ROOM(&x.parcel, smaller(PIECE, share + 1))));
  TRY(comm_gather_all(comm, &rows->first, (int64_t)sizeof rows->first, x.first));
  return row_shuffle_exchange(comm, (int64_t)sizeof(struct synth_pair), send_pairs, take_pairs, &x);
}
