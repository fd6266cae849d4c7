#include "partition/halo/halo_exchange.h"

#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "runtime/base/base.h"
#include "runtime/comm/comm_lone.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile.h"

static int prepare(struct halo *halo, struct arena *arena) {
  int64_t bytes = halo->send_rows * (int64_t)sizeof *halo->send_row;
  halo->send_row_device = arena_take(arena, bytes);
  halo->near_device = arena_take(arena, halo_near_bytes(halo));
  if (!arena->base || !bytes) return OK;
  TRY(device_upload(arena->device, STREAM_COMPUTE, halo->send_row_device, halo->send_row, bytes));
  return device_synchronize(arena->device, STREAM_COMPUTE);
}

int halo_prepare(struct halo *halo, struct arena *arena) {
  if (!halo->relay) return prepare(halo, arena);
  TRY(prepare(&halo->relay->first, arena));
  return prepare(&halo->relay->second, arena);
}

/* `stream` goes on when `other` has come so far. */
static int follow(struct kernels *k, enum stream stream, enum stream other, enum event event) {
  TRY(device_record(k->device, event, other));
  return device_wait(k->device, stream, event);
}

/* Messages and stores go on from here, beside each other. */
static int begin(struct kernels *k) {
  TRY(follow(k, STREAM_EXCHANGE, STREAM_COMPUTE, EVENT_PACKED));
  return device_wait(k->device, STREAM_STORES, EVENT_PACKED);
}

/* Both have ended where the stream of messages has come. */
static int join_stores(struct kernels *k) {
  return follow(k, STREAM_EXCHANGE, STREAM_STORES, EVENT_STORED);
}

int messages_start(struct comm *comm, struct kernels *k, const struct message *sends, int send_count,
                   const struct message *recvs, int recv_count) {
  TRY(follow(k, STREAM_EXCHANGE, STREAM_COMPUTE, EVENT_PACKED));
  return comm_exchange(comm, sends, send_count, recvs, recv_count);
}

int messages_finish(struct comm *comm, struct kernels *k) {
  TRY(comm_wait(comm));
  return follow(k, STREAM_COMPUTE, STREAM_EXCHANGE, EVENT_RECEIVED);
}

/* Without the other ranks all go as messages, which take the time of stores where these would be. */
static int exchange_alone(struct halo *halo, struct comm *comm, int sends, int recvs) {
  comm_lone_stores(comm, halo->near != NULL);
  const int code = comm_exchange(comm, halo->send, sends, halo->recv, recvs);
  comm_lone_stores(comm, 0);
  return code;
}

/* The messages that rows of `from` go by, to peers of a stage or to all. */
static int exchange(struct halo *halo, const struct halo_stage *stage, struct comm *comm, struct tensor from,
                    enum halo_side side, struct tensor to) {
  const int64_t row_bytes = from.stride * dtype_bytes(from.dtype);
  const enum halo_side other = side == HALO_SENT ? HALO_CAME : HALO_SENT;
  const int sends = halo_messages(halo, stage, side, from.data, row_bytes, halo->send);
  const int recvs = halo_messages(halo, stage, other, to.data, row_bytes, halo->recv);
  if (comm->lone) return exchange_alone(halo, comm, sends, recvs);
  if (halo->near && sends == 0 && recvs == 0) return OK;
  return comm_exchange(comm, halo->send, sends, halo->recv, recvs);
}

/* Rows for peers [first, end). */
static int pack_for(const struct halo *halo, struct kernels *k, struct gather pack, int first, int end) {
  const int64_t row = halo->peer[first].sent.first;
  int64_t rows = 0;
  for (int p = first; p < end; p++) rows += halo->peer[p].sent.count;
  pack.rows += row;
  pack.y = tensor_rows(pack.y, row, rows);
  return pack.y.rows > 0 ? PROFILE("pack", op_gather(k, &pack)) : OK;
}

/* Those for peers that are not stored to: neighbours together. */
static int pack_far(const struct halo *halo, struct kernels *k, const struct gather *pack) {
  for (int p = 0, first; p < halo->peers; p++) {
    if (halo_is_near(halo, p)) continue;
    for (first = p; p + 1 < halo->peers && !halo_is_near(halo, p + 1);) p++;
    TRY(pack_for(halo, k, *pack, first, p + 1));
  }
  return OK;
}

/* In host memory all rows travel at once, with the first stage. */
static int start_stages(struct halo *halo, struct comm *comm, struct kernels *k,
                        const struct halo_outgoing *what, struct tensor packed, struct tensor tail) {
  if (k->device->ops->on_host) return exchange(halo, NULL, comm, packed, HALO_SENT, tail);
  for (int i = 0; i < halo->stages; i++) {
    TRY(halo_put(halo, i, comm, k, what));
    TRY(exchange(halo, &halo->stage[i], comm, packed, HALO_SENT, tail));
    if (i == halo->stages - 1) break;
    TRY(join_stores(k));
    TRY(device_record(k->device, EVENT_FIRST_STAGE, STREAM_EXCHANGE));
  }
  return OK;
}

/* The exchange of one plan, rows of x to those of tail. */
static int start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
                 struct tensor packed, struct tensor tail) {
  if (!halo->peers) return OK;
  /* Rows travel with their gaps, so they are packed with them where x has as wide ones: whole sectors. */
  if (x.stride == tensor_stride(x.dtype, x.cols)) x.cols = packed.cols = packed.stride;
  const struct gather pack = {.x = x, .rows = halo->send_row_device, .scale = scale, .y = packed};
  const struct halo_outgoing what = {
      .x = x, .scale = scale, .elements = packed.stride, .stride = tail.stride};
  TRY(pack_far(halo, k, &pack));
  TRY(begin(k));
  return start_stages(halo, comm, k, &what, packed, tail);
}

/* On a device: once messages have brought all that is to be handed on, it is stored. */
static int hand_on(struct halo_relay *relay, struct comm *comm, struct kernels *k, struct tensor landed) {
  landed.cols = landed.stride;
  const struct halo_outgoing what = {.x = landed, .elements = landed.stride, .stride = landed.stride};
  if (!relay->second.peers) return OK;
  TRY(begin(k));
  TRY(follow(k, STREAM_STORES, STREAM_EXCHANGE, EVENT_CAME));
  TRY(halo_put(&relay->second, 0, comm, k, &what));
  return exchange(&relay->second, NULL, comm, landed, HALO_SENT, landed);
}

int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
               struct tensor packed, struct tensor tail) {
  struct halo_relay *relay = halo->relay;
  if (!relay) return start(halo, comm, k, x, scale, packed, tail);
  tail.rows = halo_landing_rows(halo);
  TRY(start(&relay->first, comm, k, x, scale, packed, tail));
  if (!relay->on_host) return hand_on(relay, comm, k, tail);
  relay->packed = packed;
  relay->landed = tail;
  return OK;
}

int halo_return_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor from,
                      struct tensor to) {
  const struct halo_outgoing what = {.x = from, .elements = from.stride, .stride = from.stride, .back = 1};
  assert(!halo->relay && halo->stages == 1);
  if (!halo->peers) return OK;
  TRY(begin(k));
  TRY(halo_put(halo, 0, comm, k, &what));
  return exchange(halo, NULL, comm, from, HALO_CAME, to);
}

static int finish(const struct halo *halo, struct comm *comm, struct kernels *k) {
  if (!halo->peers) return OK;
  TRY(join_stores(k));
  return messages_finish(comm, k);
}

static int finish_first(const struct halo *halo, struct comm *comm, struct kernels *k) {
  if (!halo->peers) return OK;
  if (comm->lone) TRY(comm_lone_wait_first(comm));
  return device_wait(k->device, STREAM_COMPUTE, EVENT_FIRST_STAGE);
}

/* In host memory the rows of all stages are there after the first wait, and the second has nothing to do. */
static int finish_stage(const struct halo *halo, int stage, struct comm *comm, struct kernels *k) {
  const int on_host = k->device->ops->on_host;
  if (halo->stages == 1 || (stage == 0) == on_host) return finish(halo, comm, k);
  return on_host ? OK : finish_first(halo, comm, k);
}

int halo_finish(struct halo *halo, int stage, struct comm *comm, struct kernels *k) {
  struct halo_relay *relay = halo->relay;
  if (!relay) return finish_stage(halo, stage, comm, k);
  if (!relay->on_host) return finish(relay->second.peers ? &relay->second : &relay->first, comm, k);
  TRY(finish(&relay->first, comm, k));
  TRY(start(&relay->second, comm, k, relay->landed, NULL, relay->packed, relay->landed));
  return finish(&relay->second, comm, k);
}
