#include "partition/halo/halo.h"

#include <assert.h>

#include "partition/graph/id_set.h"
#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

static void relay_free(struct halo_relay *relay) {
  if (!relay) return;
  halo_free(&relay->first);
  halo_free(&relay->second);
  free(relay);
}

void halo_free(struct halo *halo) {
  relay_free(halo->relay);
  free_all(halo->id, halo->peer, halo->send_row, halo->send, halo->recv, halo->near);
  *halo = (struct halo){0};
}

int64_t halo_packed_rows(const struct halo *halo) {
  const struct halo_relay *relay = halo->relay;
  if (!relay) return halo->send_rows;
  return larger(relay->first.send_rows, relay->on_host ? relay->second.send_rows : 0);
}

int64_t halo_landing_rows(const struct halo *halo) {
  return halo->relay ? halo->relay->first.rows : halo->rows;
}

static int64_t plan_bytes(const struct halo *halo) {
  int64_t a_peer = (int64_t)(sizeof *halo->peer + 2 * sizeof(struct message));
  return halo->send_rows * (int64_t)sizeof *halo->send_row + halo->peers * a_peer;
}

int64_t halo_bytes(const struct halo *halo) {
  const struct halo_relay *relay = halo->relay;
  const int64_t relayed = relay ? (int64_t)sizeof *relay + plan_bytes(&relay->first) +
                                      plan_bytes(&relay->second)
                                : 0;
  return halo->rows * (int64_t)sizeof *halo->id + plan_bytes(halo) + relayed;
}

int halo_list_peers(struct halo *halo, int ranks, const int64_t *sent, const int64_t *came) {
  int64_t peers = 0, landed = 0;
  for (int r = 0; r < ranks; r++) peers += sent[r] > 0 || came[r] > 0;
  TRY(memory_arrays("halo plan", ROOM(&halo->peer, peers), ROOM(&halo->send, peers),
                    ROOM(&halo->recv, peers)));
  for (int r = 0; r < ranks; r++) {
    if (sent[r] == 0 && came[r] == 0) continue;
    halo->peer[halo->peers++] = (struct halo_peer){r, {halo->send_rows, sent[r]}, {landed, came[r]}};
    halo->send_rows += sent[r];
    landed += came[r];
  }
  halo->stages = 1;
  halo->stage[0] = (struct halo_stage){0, halo->peers, {0, landed}};
  return OK;
}

/* Of two parts of so many. */
static int stage_of(int a, int b, int parts) {
  int bit = 1;
  while (2 * bit < parts) bit *= 2;
  return ((a ^ b) & bit) == 0;
}

/* The peers of a stage. */
static struct halo_stage find_stage(const struct halo *halo, int stage, int rank, int ranks, int cols) {
  struct halo_stage found = {0};
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    if (stage_of(rank / cols, peer->rank / cols, ranks / cols) != stage) continue;
    if (found.end == 0) found = (struct halo_stage){p, p, {peer->came.first, 0}};
    found.end = p + 1;
    found.came.count += peer->came.count;
  }
  return found;
}

struct halo_stage halo_first_stage(const struct halo *halo, int rank, int ranks, int cols) {
  return find_stage(halo, 0, rank, ranks, cols);
}

void halo_divide(struct halo *halo, int rank, int ranks, int cols) {
  assert(!halo->near);
  halo->stages = HALO_STAGES;
  for (int s = 0; s < HALO_STAGES; s++) halo->stage[s] = find_stage(halo, s, rank, ranks, cols);
}

int halo_messages(const struct halo *halo, const struct halo_stage *stage, enum halo_side side, void *data,
                  int64_t row_bytes, struct message *messages) {
  const int end = stage ? stage->end : halo->peers;
  int count = 0;
  for (int p = stage ? stage->first : 0; p < end; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    const struct halo_rows rows = side == HALO_SENT ? peer->sent : peer->came;
    if (rows.count && !(halo->stored && halo->stored[p]))
      messages[count++] = (struct message){peer->rank, (char *)data + rows.first * row_bytes,
                                           rows.count * row_bytes};
  }
  return count;
}

int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail) {
  FREED char *packed = NULL;
  TRY(comm_agree(comm, memory_alloc(&packed, halo->send_rows * row_bytes, "packed rows")));
  for (int64_t i = 0; i < halo->send_rows; i++)
    memcpy(packed + i * row_bytes, (const char *)own + halo->send_row[i] * row_bytes, (size_t)row_bytes);
  int sends = halo_messages(halo, NULL, HALO_SENT, packed, row_bytes, halo->send);
  int recvs = halo_messages(halo, NULL, HALO_CAME, tail, row_bytes, halo->recv);
  return comm_swap(comm, halo->send, sends, halo->recv, recvs);
}

/* The plan of a halo: every rank asks the owners for the rows it needs, then both sides compare. */

struct request {
  int32_t *position;     /* [halo rows] of each */
  int64_t *rows;         /* [size] halo rows that each rank owns */
  int64_t *bytes;        /* [size] the same in bytes of positions */
  int64_t *wanted_bytes; /* [size] bytes of positions that each rank wants from here */
  int64_t *wanted_rows;  /* [size] how many these are */
  int32_t *wanted;       /* those positions, by rank */
  uint64_t *hash;        /* [2 size] of the ids towards each rank; of what they say */
};

static void request_free(struct request *request) {
  free_all(request->position, request->rows, request->bytes, request->wanted_bytes, request->wanted_rows,
           request->wanted, request->hash);
}

static int request_init(struct comm *comm, const struct halo *halo, struct request *request) {
  return memory_arrays("halo plan", ROOM(&request->position, halo->rows), ROOM(&request->rows, comm->size),
                       ROOM(&request->bytes, comm->size), ROOM(&request->wanted_bytes, comm->size),
                       ROOM(&request->wanted_rows, comm->size),
                       ROOM(&request->hash, (comm->size + 1) * comm->size));
}

/* Positions of the rows as they are listed. */
static int ask(struct comm *comm, const struct directory *directory, const struct halo *halo,
               int32_t *position) {
  FREED int32_t *id = NULL;
  TRY(comm_agree(comm, memory_arrays("halo ids", ROOM(&id, halo->rows))));
  for (int64_t i = 0; i < halo->rows; i++) id[i] = (int32_t)halo->id[i];
  return directory_ask(comm, directory, id, halo->rows, position);
}

/* By position, of which each is there once. */
static int sort_rows(const struct directory *directory, struct halo *halo, int32_t *position) {
  ENDED_BY(id_set_free) struct id_set set = {0};
  int64_t *sorted = NULL;
  TRY(id_set_init(&set, directory->nodes));
  TRY(memory_arrays("halo ids", ROOM(&sorted, halo->rows)));
  for (int64_t i = 0; i < halo->rows; i++) id_set_add(&set, position[i]);
  id_set_seal(&set);
  for (int64_t i = 0; i < halo->rows; i++) sorted[id_set_place(&set, position[i])] = halo->id[i];
  id_set_list(&set, position);
  free(halo->id);
  halo->id = sorted;
  return OK;
}

static void count_rows(const struct comm *comm, const struct directory *directory, const struct halo *halo,
                       struct request *request) {
  for (int64_t i = 0; i < halo->rows; i++) request->rows[directory_peer(directory, request->position[i])]++;
  for (int r = 0; r < comm->size; r++) request->bytes[r] = request->rows[r] * (int64_t)sizeof(int32_t);
}

/* Rows to send, in the order in which they are wanted. */
static int find_rows(struct comm *comm, const struct directory *directory, struct request *request,
                     struct halo *halo) {
  int64_t i = 0;
  for (int r = 0; r < comm->size; r++)
    request->wanted_rows[r] = request->wanted_bytes[r] / (int64_t)sizeof(int32_t);
  TRY(halo_list_peers(halo, comm->size, request->wanted_rows, request->rows));
  TRY(memory_arrays("halo rows to send", ROOM(&halo->send_row, halo->send_rows)));
  for (int r = 0; r < comm->size; r++) {
    for (int64_t n = request->wanted_rows[r]; n > 0; n--, i++) {
      const int32_t position = request->wanted[i];
      if (!directory_has(directory, position))
        FAIL(FAILED, "rank %d asks rank %d for the node at position %d, which belongs to rank %d", r,
             comm->rank, position, directory_owner(directory, position));
      halo->send_row[i] = (int32_t)(position - directory->row_first);
    }
  }
  return OK;
}

static uint64_t sequence_hash(uint64_t sum, int64_t i, int64_t id) {
  return sum + edge_hash(i, id, 0);
}

/* hash[r]: of the ids behind the rows that are packed for rank r, in their order. */
static void hash_sends(const struct halo *halo, const int64_t *global_id, uint64_t *hash) {
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    for (int64_t i = 0; i < peer->sent.count; i++)
      hash[peer->rank] = sequence_hash(hash[peer->rank], i, global_id[halo->send_row[peer->sent.first + i]]);
  }
}

static int compare(struct comm *comm, const struct halo *halo, const uint64_t *said) {
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    uint64_t sum = 0;
    for (int64_t i = 0; i < peer->came.count; i++)
      sum = sequence_hash(sum, i, halo->id[peer->came.first + i]);
    if (sum != said[(int64_t)peer->rank * comm->size + comm->rank])
      FAIL(FAILED, "ranks %d and %d disagree on the %lld halo rows that rank %d sends to rank %d", peer->rank,
           comm->rank, (long long)peer->came.count, peer->rank, comm->rank);
  }
  return OK;
}

int halo_init(struct comm *comm, const struct directory *directory, struct halo *halo) {
  ENDED_BY(request_free) struct request request = {0};
  TRY(comm_agree(comm, request_init(comm, halo, &request)));
  TRY(ask(comm, directory, halo, request.position));
  TRY(comm_agree(comm, sort_rows(directory, halo, request.position)));
  if (comm->lone) return OK; /* halo_lone.h */
  count_rows(comm, directory, halo, &request);
  TRY(comm_all_to_all(comm, request.position, request.bytes, (void **)&request.wanted, request.wanted_bytes));
  TRY(comm_agree(comm, find_rows(comm, directory, &request, halo)));
  hash_sends(halo, directory->id, request.hash);
  uint64_t *said = request.hash + comm->size;
  TRY(comm_gather_all(comm, request.hash, comm->size * (int64_t)sizeof *said, said));
  return comm_agree(comm, compare(comm, halo, said));
}
