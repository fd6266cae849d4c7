#include "partition/halo/halo_relay.h"

#include "partition/graph/id_set.h"
#include "partition/halo/halo_order.h"
#include "runtime/base/base.h"

/* What a rank says to the one that takes its rows for a host: how many, and for each rank there which of
 * these it needs: its number, how many, and where they are among them. */
struct parcels {
  int32_t *out, *in; /* by rank */
  int64_t *out_bytes, *in_bytes;
  int *by;              /* [peers] who takes rows for the peer */
  int64_t *sent, *came; /* [ranks] rows to them to hand on, and from them */
  int64_t *first;       /* [ranks] where those that came from them begin */
};

static void parcels_free(struct parcels *parcels) {
  free_all(parcels->out, parcels->in, parcels->out_bytes, parcels->in_bytes, parcels->by, parcels->sent,
           parcels->came, parcels->first);
}

static int prepare(const struct comm *comm, int cols, struct halo *halo, struct parcels *parcels) {
  struct halo_relay *relay = NULL;
  const int64_t size = comm->size, words = halo_send_rows(halo) + 3 * size;
  TRY(memory_arrays("halo relay", ROOM(&relay, 1)));
  halo->relay = relay;
  TRY(memory_arrays("halo relay", ROOM(&relay->send, 2 * size), ROOM(&relay->recv, 2 * size),
                    ROOM(&parcels->out, words), ROOM(&parcels->out_bytes, size)));
  TRY(memory_arrays("halo relay", ROOM(&parcels->in_bytes, size), ROOM(&parcels->by, size),
                    ROOM(&parcels->sent, size), ROOM(&parcels->came, size)));
  TRY(memory_arrays("halo relay", ROOM(&parcels->first, size + 1),
                    ROOM(&relay->across.send_row, halo_send_rows(halo))));
  for (int p = 0; p < halo->peers; p++) {
    const int near = halo_share_host(comm, halo->peer[p], comm->rank);
    relay->near_peers += near;
    parcels->by[p] = near ? -1 : halo_gateway(comm, cols, comm->rank, halo->peer[p]);
  }
  relay->near_sends = halo->peers ? halo->send_start[relay->near_peers] : 0;
  relay->near_rows = halo->peers ? halo->recv_start[relay->near_peers] : 0;
  return OK;
}

/* The rows for all peers that one rank takes them for, each once, and the parcel that says so. */
static int pack_parcel(const struct halo *halo, int by, int64_t own, struct parcels *parcels, int64_t *rows,
                       int64_t *words) {
  ENDED_BY(id_set_free) struct id_set set = {0};
  TRY(id_set_init(&set, own));
  for (int p = 0; p < halo->peers; p++) {
    for (int64_t i = halo->send_start[p]; parcels->by[p] == by && i < halo->send_start[p + 1]; i++)
      id_set_add(&set, halo->send_row[i]);
  }
  id_set_seal(&set);
  if (set.count == 0) return OK;
  id_set_list(&set, halo->relay->across.send_row + *rows);
  *rows += set.count;
  parcels->sent[by] = set.count;
  const int64_t begun = *words;
  parcels->out[(*words)++] = (int32_t)set.count;
  for (int p = 0; p < halo->peers; p++) {
    const int64_t first = halo->send_start[p], count = halo->send_start[p + 1] - first;
    if (parcels->by[p] != by || count == 0) continue;
    parcels->out[(*words)++] = halo->peer[p];
    parcels->out[(*words)++] = (int32_t)count;
    for (int64_t i = 0; i < count; i++)
      parcels->out[(*words)++] = (int32_t)id_set_place(&set, halo->send_row[first + i]);
  }
  parcels->out_bytes[by] = (*words - begun) * (int64_t)sizeof *parcels->out;
  return OK;
}

static int pack_parcels(const struct comm *comm, const struct halo *halo, int64_t own,
                        struct parcels *parcels) {
  int64_t rows = 0, words = 0;
  for (int r = 0; r < comm->size; r++) {
    int takes = 0;
    for (int p = 0; p < halo->peers; p++) takes |= parcels->by[p] == r;
    if (takes) TRY(pack_parcel(halo, r, own, parcels, &rows, &words));
  }
  return OK;
}

/* Calls for what each rank needs of each parcel: parcels by sender. rows NULL: counts alone. */
static void walk(const struct comm *comm, const struct parcels *parcels, int64_t *count, int32_t *rows) {
  const int32_t *at = parcels->in;
  for (int s = 0; s < comm->size; s++) {
    const int32_t *end = at + parcels->in_bytes[s] / (int64_t)sizeof *at;
    if (at == end) continue;
    for (at++; at < end; at += 2 + at[1]) {
      for (int32_t i = 0; rows && i < at[1]; i++)
        rows[count[at[0]] + i] = (int32_t)(parcels->first[s] + at[2 + i]);
      count[at[0]] += at[1];
    }
  }
}

static int plan_across(const struct comm *comm, struct halo *across, struct parcels *parcels) {
  const int32_t *at = parcels->in;
  for (int s = 0; s < comm->size; s++) {
    parcels->came[s] = parcels->in_bytes[s] ? *at : 0;
    parcels->first[s + 1] = parcels->first[s] + parcels->came[s];
    at += parcels->in_bytes[s] / (int64_t)sizeof *at;
  }
  across->rows = parcels->first[comm->size];
  return halo_list_peers(comm, NULL, parcels->sent, parcels->came, across);
}

static int plan_within(const struct comm *comm, int cols, const struct halo *halo,
                       const struct parcels *parcels, struct halo *within) {
  FREED int64_t *sent = NULL, *received = NULL;
  TRY(memory_arrays("halo relay", ROOM(&sent, comm->size), ROOM(&received, comm->size)));
  walk(comm, parcels, sent, NULL);
  for (int p = halo->relay->near_peers; p < halo->peers; p++)
    received[halo_gateway(comm, cols, halo->peer[p], comm->rank)] += halo->recv_start[p + 1] -
                                                                     halo->recv_start[p];
  TRY(halo_list_peers(comm, NULL, sent, received, within));
  TRY(memory_arrays("halo relay", ROOM(&within->send_row, halo_send_rows(within))));
  for (int p = 0; p < within->peers; p++) sent[within->peer[p]] = within->send_start[p];
  walk(comm, parcels, sent, within->send_row);
  within->rows = halo->rows - halo->relay->near_rows;
  return OK;
}

int halo_relay_init(struct comm *comm, int cols, int64_t own, struct halo *halo) {
  ENDED_BY(parcels_free) struct parcels parcels = {0};
  if (!halo_relays(comm)) return OK;
  int code = prepare(comm, cols, halo, &parcels);
  if (code == OK) code = pack_parcels(comm, halo, own, &parcels);
  TRY(comm_agree(comm, code));
  TRY(comm_all_to_all(comm, parcels.out, parcels.out_bytes, (void **)&parcels.in, parcels.in_bytes));
  code = plan_across(comm, &halo->relay->across, &parcels);
  if (code == OK) code = plan_within(comm, cols, halo, &parcels, &halo->relay->within);
  return comm_agree(comm, code);
}
