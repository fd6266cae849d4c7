#include "partition/halo/halo_lone.h"

#include "runtime/base/base.h"

static int peer_of(const struct directory *directory, int64_t node) {
  return directory_peer(directory, directory->position[node]);
}

/* Calls for each row and peer that it goes to, peers of a row ascending: halo rows are grouped by owner. */
static void walk(const struct directory *directory, const struct halo_reach *reach, int64_t *count,
                 int32_t *send_row) {
  const struct csr *part = reach->part;
  for (int64_t i = 0; i < part->rows && part->row[i] < reach->rows; i++) {
    int before = -1;
    for (int64_t e = part->start[i]; e < part->start[i + 1]; e++) {
      const int64_t node = reach->id[part->col[e]];
      const int peer = peer_of(directory, node);
      if (peer == before || (reach->level && reach->level[node] > reach->last)) continue;
      before = peer;
      if (send_row) send_row[count[peer]] = part->row[i];
      count[peer]++;
    }
  }
}

int halo_foresee(struct comm *comm, const struct directory *directory, const struct halo_reach *reach,
                 struct halo *halo) {
  FREED int64_t *sent = NULL, *received = NULL;
  TRY(memory_arrays("halo plan", ROOM(&sent, comm->size), ROOM(&received, comm->size)));
  for (int64_t i = 0; i < halo->rows; i++) received[peer_of(directory, halo->id[i])]++;
  walk(directory, reach, sent, NULL);
  TRY(halo_list_peers(halo, comm->size, sent, received));
  TRY(memory_arrays("halo rows to send", ROOM(&halo->send_row, halo->send_rows)));
  for (int p = 0; p < halo->peers; p++) sent[halo->peer[p].rank] = halo->peer[p].sent.first;
  walk(directory, reach, sent, halo->send_row);
  return OK;
}
