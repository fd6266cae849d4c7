#include "partition/halo/halo_near.h"

#include "kernels/ops/elementwise.h"
#include "runtime/base/base.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile.h"

/* What a rank tells a peer; places are bytes from the begin of its block. -1: there is none. */
struct site {
  int64_t out, out_first, back, back_first, signal;
};

struct meeting {
  struct site *mine, *theirs;  /* [peers] for each, of each */
  struct put_peer *out, *back; /* [peers] of near ones, one behind the other */
};

static void meeting_free(struct meeting *meeting) {
  free_all(meeting->mine, meeting->theirs, meeting->out, meeting->back);
}

void halo_leave(struct halo *halo) {
  free(halo->near);
  halo->near = NULL;
  halo->stored = NULL;
  halo->all_near = 0;
  if (!halo->relay) return;
  halo_leave(&halo->relay->first);
  halo_leave(&halo->relay->second);
}

int64_t halo_near_bytes(const struct halo *halo) {
  return halo->peers * 2 * (int64_t)sizeof(struct put_peer) +
         (halo->peers + HALO_STAGES) * PUT_BLOCKS * (int64_t)sizeof(uint32_t);
}

/* On the device: the peers of either direction, the counters that each writes, and how often those of each
 * stage met. */
static struct put_peer *peers_of(const struct halo *halo, int back) {
  return (struct put_peer *)halo->near_device + back * halo->peers;
}

static uint32_t *counters_of(const struct halo *halo, int peer) {
  return (uint32_t *)(void *)peers_of(halo, 2) + (int64_t)peer * PUT_BLOCKS;
}

static int64_t place_of(const struct comm_reach *reach, const void *data) {
  return data ? (const char *)data - reach->block : -1;
}

/* Between two GPUs half the blocks store rows about as fast, and leave more of the device to what is computed
 * meanwhile. Among more that was not measured. */
static int blocks_among(int ranks) {
  return ranks == 2 ? PUT_BLOCKS / 2 : PUT_BLOCKS;
}

static int prepare(struct halo *halo, struct comm *comm, struct kernels *k, const struct comm_reach *reach,
                   struct meeting *meeting) {
  const int64_t peers = halo->peers;
  TRY(memory_arrays("near peers", ROOM(&meeting->mine, peers), ROOM(&meeting->theirs, peers),
                    ROOM(&meeting->out, peers), ROOM(&meeting->back, peers)));
  TRY(memory_alloc(&halo->near, (int64_t)sizeof *halo->near + peers, "near peers"));
  halo->stored = comm->lone ? NULL : halo->near->is_near;
  halo->near->lone = comm->lone;
  halo->near->blocks = blocks_among(comm->local_size);
  halo->near->ended = reach->ended;
  halo->near->turn = counters_of(halo, halo->peers);
  TRY(device_clear(k->device, STREAM_COMPUTE, counters_of(halo, 0),
                   (peers + HALO_STAGES) * PUT_BLOCKS * (int64_t)sizeof(uint32_t)));
  return device_synchronize(k->device, STREAM_COMPUTE); /* the block is zeroed before peers write there */
}

static int tell_sites(struct halo *halo, struct comm *comm, const struct comm_reach *reach,
                      struct halo_landing out, struct halo_landing back, struct meeting *meeting) {
  const int64_t bytes = sizeof(struct site);
  for (int p = 0; p < halo->peers; p++) {
    meeting->mine[p] = (struct site){.out = place_of(reach, out.data),
                                     .out_first = out.before + halo->peer[p].came.first,
                                     .back = place_of(reach, back.data),
                                     .back_first = back.before + halo->peer[p].sent.first,
                                     .signal = place_of(reach, counters_of(halo, p))};
    halo->send[p] = (struct message){halo->peer[p].rank, &meeting->mine[p], bytes};
    halo->recv[p] = (struct message){halo->peer[p].rank, &meeting->theirs[p], bytes};
  }
  return comm_swap(comm, halo->send, halo->peers, halo->recv, halo->peers);
}

/* Several that are the same rank, which follow each other, need one signal. */
static void add_peer(const struct halo *halo, int p, char *at, const struct meeting *meeting) {
  struct halo_near *near = halo->near;
  const struct site *site = &meeting->theirs[p];
  const int again = p > 0 && halo->peer[p - 1].rank == halo->peer[p].rank;
  struct put_peer peer = {.signal_to = again ? NULL : (uint32_t *)(void *)(at + site->signal),
                          .signal_from = counters_of(halo, p)};
  near->is_near[p] = 1;
  peer.to = at + site->out;
  peer.first = site->out_first;
  peer.begin = halo->peer[p].sent.first;
  peer.end = peer.begin + halo->peer[p].sent.count;
  meeting->out[near->peers] = peer;
  peer.to = at + site->back;
  peer.first = site->back_first;
  peer.begin = halo->peer[p].came.first;
  peer.end = peer.begin + halo->peer[p].came.count;
  meeting->back[near->peers++] = peer;
}

static int upload(struct halo *halo, struct kernels *k, const struct meeting *meeting) {
  struct halo_near *near = halo->near;
  const int64_t bytes = near->peers * (int64_t)sizeof *near->out;
  near->out = peers_of(halo, 0);
  near->back = peers_of(halo, 1);
  TRY(device_upload(k->device, STREAM_COMPUTE, near->out, meeting->out, bytes));
  TRY(device_upload(k->device, STREAM_COMPUTE, near->back, meeting->back, bytes));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* A rank hands rows on to itself, too. */
static char *block_of(const struct comm *comm, const struct comm_reach *reach, int rank) {
  return rank == comm->rank ? reach->block : reach->at[rank];
}

static int meet(struct halo *halo, struct comm *comm, struct kernels *k, const struct comm_reach *reach,
                struct halo_landing out, struct halo_landing back) {
  ENDED_BY(meeting_free) struct meeting meeting = {0};
  TRY(comm_agree(comm, prepare(halo, comm, k, reach, &meeting)));
  if (!comm->lone) TRY(tell_sites(halo, comm, reach, out, back, &meeting));
  for (int p = 0; p < halo->peers; p++) {
    char *at = block_of(comm, reach, halo->peer[p].rank);
    if (at) add_peer(halo, p, at, &meeting);
  }
  return comm_agree(comm, upload(halo, k, &meeting));
}

/* Streams of devices do not wait for messages of a second exchange. */
static int check_reach(const struct halo *second) {
  if (!second->near || second->near->peers < second->peers)
    FAIL(FAILED, "GPUs of this host do not reach each other's memory any more; runtime.exchange = "
                 "\"messages\" needs no such way");
  return OK;
}

static int meet_relay(struct halo_relay *relay, struct comm *comm, struct kernels *k,
                      const struct comm_reach *reach, struct halo_landing out) {
  const struct halo_landing nowhere = {0};
  if (reach->at) TRY(meet(&relay->first, comm, k, reach, out, nowhere));
  if (reach->at) TRY(meet(&relay->second, comm, k, reach, out, nowhere));
  return relay->on_host ? OK : comm_agree(comm, check_reach(&relay->second));
}

int halo_meet(struct halo *halo, struct comm *comm, struct kernels *k, const struct comm_reach *reach,
              struct halo_landing out, struct halo_landing back) {
  halo_leave(halo);
  if (halo->relay) return meet_relay(halo->relay, comm, k, reach, out);
  if (!reach->at) return OK;
  TRY(meet(halo, comm, k, reach, out, back));
  int64_t far = halo->peers - halo->near->peers;
  TRY(comm_max_int64(comm, &far));
  halo->all_near = far == 0;
  return OK;
}

/* What is stored in a stage: by which of the near peers, rows for all of them, those that leave this rank. */
struct stored {
  int first, peers;
  int64_t rows, leaving;
};

static struct stored stored_in(const struct halo *halo, const struct halo_stage *stage,
                               const struct comm *comm, int back) {
  struct stored stored = {0};
  for (int p = 0; p < stage->first; p++) stored.first += halo_is_near(halo, p);
  for (int p = stage->first; p < stage->end; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    const int64_t count = halo_is_near(halo, p) ? (back ? peer->came : peer->sent).count : 0;
    stored.peers += halo_is_near(halo, p);
    stored.rows += count;
    if (peer->rank != comm->rank) stored.leaving += count;
  }
  return stored;
}

int halo_put(const struct halo *halo, int i, struct comm *comm, struct kernels *k,
             const struct halo_outgoing *what) {
  const struct halo_near *near = halo->near;
  if (!near || near->lone) return OK;
  const struct stored stored = stored_in(halo, &halo->stage[i], comm, what->back);
  const int64_t bytes = stored.leaving * what->elements * dtype_bytes(what->x.dtype);
  if (stored.peers == 0) return OK;
  const struct put op = {.x = what->x,
                         .rows = what->back ? NULL : halo->send_row_device,
                         .scale = what->scale,
                         .stride = what->stride,
                         .blocks = near->blocks,
                         .peers = stored.peers,
                         .stored = stored.rows,
                         .peer = (what->back ? near->back : near->out) + stored.first,
                         .turn = near->turn + (int64_t)i * PUT_BLOCKS,
                         .ended = near->ended};
  comm->sent += bytes;
  profile_begin_beside(STREAM_STORES, "exchange", (double)bytes);
  int code = op_put(k, &op);
  profile_end_beside(STREAM_STORES);
  return code;
}
