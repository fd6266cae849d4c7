#include "partition/halo/halo_relay.h"

#include "partition/graph/id_set.h"
#include "runtime/base/base.h"
#include "runtime/device/device.h"

/* Rows of `source` that a gateway hands on to a rank of its host, as one or the other sees it. */
struct handed {
  int rank, source; /* rank: the other one, or itself */
  struct halo_rows came;
  int64_t origin, sent; /* of what the gateway got from the source: where it lies, rows to hand on ... */
  const int32_t *place; /* [sent] ... and which */
};

struct relaying {
  int *gateway;         /* [peers] of the halo; -1: the peer is on this host */
  int64_t *sent, *came; /* [ranks] rows of the first exchange */
  struct halo_parcels out, in;
  struct handed *handed;
  int64_t count;
};

static void relaying_free(struct relaying *relaying) {
  free_all(relaying->gateway, relaying->sent, relaying->came, relaying->out.words, relaying->out.bytes,
           relaying->in.words, relaying->in.bytes, relaying->handed);
}

static int share_host(const struct comm *comm, int a, int b) {
  return comm_host(comm, a) == comm_host(comm, b);
}

int halo_gateway(const struct comm *comm, int cols, int from, int to) {
  int place = 0, count = 0;
  for (int r = from % cols; r < comm->size; r += cols) {
    place += r < from && share_host(comm, r, from);
    count += share_host(comm, r, to);
  }
  place %= count;
  for (int r = from % cols;; r += cols)
    if (share_host(comm, r, to) && place-- == 0) return r;
}

static int prepare(const struct comm *comm, int cols, struct halo *halo, struct relaying *relaying) {
  const int64_t size = comm->size;
  struct halo_relay *relay = NULL;
  TRY(memory_arrays("halo relay", ROOM(&relay, 1)));
  halo->relay = relay;
  relay->on_host = comm->device->ops->on_host;
  TRY(memory_arrays("halo relay", ROOM(&relay->first.send_row, halo->send_rows),
                    ROOM(&relaying->gateway, halo->peers), ROOM(&relaying->sent, size),
                    ROOM(&relaying->came, size)));
  TRY(memory_arrays("halo relay", ROOM(&relaying->out.words, halo->send_rows + 3 * size),
                    ROOM(&relaying->out.bytes, size), ROOM(&relaying->in.bytes, size)));
  for (int p = 0; p < halo->peers; p++) {
    const int rank = halo->peer[p].rank;
    relaying->gateway[p] = share_host(comm, rank, comm->rank) ? -1
                                                              : halo_gateway(comm, cols, comm->rank, rank);
  }
  return OK;
}

/* The parcel for a gateway: `set` has the rows that go there. */
static void pack_parcel(const struct halo *halo, int gateway, const struct id_set *set,
                        struct relaying *relaying, int64_t *words) {
  int32_t *word = relaying->out.words + *words;
  *word++ = (int32_t)set->count;
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_rows sent = halo->peer[p].sent;
    if (relaying->gateway[p] != gateway || sent.count == 0) continue;
    *word++ = halo->peer[p].rank;
    *word++ = (int32_t)sent.count;
    for (int64_t i = 0; i < sent.count; i++)
      *word++ = (int32_t)id_set_place(set, halo->send_row[sent.first + i]);
  }
  const int64_t packed = word - relaying->out.words - *words;
  relaying->out.bytes[gateway] = packed * (int64_t)sizeof *word;
  *words += packed;
}

/* Rows for all peers whose gateway that rank is, each once. */
static int send_once(const struct halo *halo, int gateway, int64_t own, struct relaying *relaying,
                     int64_t *rows, int64_t *words) {
  ENDED_BY(id_set_free) struct id_set set = {0};
  TRY(id_set_init(&set, own));
  for (int p = 0; p < halo->peers; p++) {
    const int32_t *row = halo->send_row + halo->peer[p].sent.first;
    for (int64_t i = 0; relaying->gateway[p] == gateway && i < halo->peer[p].sent.count; i++)
      id_set_add(&set, row[i]);
  }
  id_set_seal(&set);
  if (set.count == 0) return OK;
  id_set_list(&set, halo->relay->first.send_row + *rows);
  pack_parcel(halo, gateway, &set, relaying, words);
  relaying->sent[gateway] = set.count;
  *rows += set.count;
  return OK;
}

/* The peer of that rank that is on this host; NULL: there is none. */
static const struct halo_peer *near_peer(const struct halo *halo, const struct relaying *relaying, int rank) {
  for (int p = 0; p < halo->peers; p++)
    if (halo->peer[p].rank == rank && relaying->gateway[p] < 0) return &halo->peer[p];
  return NULL;
}

/* Rows of the first exchange, by rank: as ever on this host, once to gateways. */
static int send_all(const struct comm *comm, const struct halo *halo, int64_t own,
                    struct relaying *relaying) {
  int64_t rows = 0, words = 0;
  for (int r = 0; r < comm->size; r++) {
    const struct halo_peer *near = near_peer(halo, relaying, r);
    int takes = 0;
    for (int p = 0; p < halo->peers; p++) takes |= relaying->gateway[p] == r;
    if (takes) TRY(send_once(halo, r, own, relaying, &rows, &words));
    if (!near || near->sent.count == 0) continue;
    memcpy(halo->relay->first.send_row + rows, halo->send_row + near->sent.first,
           (size_t)near->sent.count * sizeof *halo->send_row);
    relaying->sent[r] = near->sent.count;
    rows += near->sent.count;
  }
  return OK;
}

/* Those from this host land where they belong, what is to be handed on behind them. */
static int plan_first(const struct comm *comm, const struct halo *halo, struct relaying *relaying) {
  struct halo *first = &halo->relay->first;
  for (int p = 0; p < halo->peers; p++)
    if (relaying->gateway[p] < 0) relaying->came[halo->peer[p].rank] = halo->peer[p].came.count;
  TRY(halo_list_peers(first, comm->size, relaying->sent, relaying->came));
  first->rows = halo->rows;
  for (int p = 0; p < first->peers; p++) {
    struct halo_rows *came = &first->peer[p].came;
    const struct halo_peer *near = near_peer(halo, relaying, first->peer[p].rank);
    came->first = near ? near->came.first : first->rows;
    first->rows += near ? 0 : came->count;
  }
  return OK;
}

/* What parcels say, and what this rank knows of the gateways that hand rows on to it. */
static int list_handed(const struct comm *comm, int cols, const struct halo *halo,
                       struct relaying *relaying) {
  const int32_t *word = relaying->in.words;
  int64_t words = 0, origin = halo->rows;
  for (int r = 0; r < comm->size; r++) words += relaying->in.bytes[r] / (int64_t)sizeof *word;
  TRY(memory_arrays("halo relay", ROOM(&relaying->handed, words / 3 + halo->peers)));
  for (int source = 0; source < comm->size; source++) {
    const int32_t *end = word + relaying->in.bytes[source] / (int64_t)sizeof *word;
    if (word == end) continue;
    const int64_t rows = relaying->came[source] = *word++;
    for (; word < end; word += 2 + word[1])
      relaying->handed[relaying->count++] = (struct handed){
          .rank = word[0], .source = source, .origin = origin, .sent = word[1], .place = word + 2};
    origin += rows;
  }
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    if (relaying->gateway[p] >= 0 && peer->came.count > 0)
      relaying->handed[relaying->count++] = (struct handed){
          .rank = halo_gateway(comm, cols, peer->rank, comm->rank), .source = peer->rank, .came = peer->came};
  }
  return OK;
}

static int by_rank_and_source(const void *left, const void *right) {
  const struct handed *a = left, *b = right;
  return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                            : (a->source > b->source) - (a->source < b->source);
}

/* Where a rank is its own gateway, what it hands on and what comes are one peer. */
static void add_handed(const struct handed *handed, int again, struct halo *second) {
  if (!again) second->peer[second->peers++] = (struct halo_peer){.rank = handed->rank};
  struct halo_peer *peer = &second->peer[second->peers - 1];
  if (handed->came.count > 0) peer->came = handed->came;
  if (handed->sent == 0) return;
  peer->sent = (struct halo_rows){second->send_rows, handed->sent};
  for (int64_t i = 0; i < handed->sent; i++)
    second->send_row[second->send_rows++] = (int32_t)(handed->origin + handed->place[i]);
}

/* One peer for each rank and source: a pair lists them alike, so that messages meet, in the sources' order.
 */
static int plan_second(const struct relaying *relaying, struct halo *second) {
  struct handed *handed = relaying->handed;
  const int64_t count = relaying->count;
  int64_t rows = 0;
  for (int64_t i = 0; i < count; i++) rows += handed[i].sent;
  TRY(memory_arrays("halo relay", ROOM(&second->send_row, rows), ROOM(&second->peer, count),
                    ROOM(&second->send, count), ROOM(&second->recv, count)));
  if (count > 0) qsort(handed, (size_t)count, sizeof *handed, by_rank_and_source);
  for (int64_t i = 0; i < count; i++)
    add_handed(&handed[i], i > 0 && by_rank_and_source(&handed[i], &handed[i - 1]) == 0, second);
  second->stages = 1;
  second->stage[0] = (struct halo_stage){.end = second->peers};
  return OK;
}

static int take_parcels(struct comm *comm, const struct halo_parcels *known, struct relaying *relaying) {
  int64_t bytes = 0;
  if (!known)
    return comm_all_to_all(comm, relaying->out.words, relaying->out.bytes, (void **)&relaying->in.words,
                           relaying->in.bytes);
  for (int r = 0; r < comm->size; r++) bytes += relaying->in.bytes[r] = known->bytes[r];
  TRY(memory_alloc(&relaying->in.words, bytes, "halo relay"));
  if (bytes > 0) memcpy(relaying->in.words, known->words, (size_t)bytes);
  return OK;
}

int halo_relay_init(struct comm *comm, int cols, int64_t own, const struct halo_parcels *parcels,
                    struct halo *halo) {
  ENDED_BY(relaying_free) struct relaying relaying = {0};
  int code = prepare(comm, cols, halo, &relaying);
  if (code == OK) code = send_all(comm, halo, own, &relaying);
  TRY(comm_agree(comm, code));
  TRY(take_parcels(comm, parcels, &relaying));
  code = list_handed(comm, cols, halo, &relaying);
  if (code == OK) code = plan_first(comm, halo, &relaying);
  if (code == OK) code = plan_second(&relaying, &halo->relay->second);
  return comm_agree(comm, code);
}
