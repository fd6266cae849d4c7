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

/* The messages that those rows of `from` go by, `cols` columns of them. */
static int exchange(struct halo *halo, struct comm *comm, struct tensor from, enum halo_side side,
                    struct tensor to, int64_t cols) {
  int64_t row_bytes = cols * dtype_bytes(from.dtype);
  const uint8_t *without = halo->near && !comm->lone ? halo->near->is_near : NULL;
  int sends = halo_messages(halo, side, from.data, row_bytes, without, halo->send);
  int recvs = halo_messages(halo, side == HALO_SENT ? HALO_CAME : HALO_SENT, to.data, row_bytes, without,
                            halo->recv);
  if (halo->near && sends == 0 && recvs == 0) return OK;
  if (comm->lone) return exchange_alone(halo, comm, sends, recvs);
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

int64_t halo_first_half(struct tensor x) {
  const int64_t line = LINE_BYTES / dtype_bytes(x.dtype);
  return tensor_packed(x, x.cols).stride >= 2 * line ? (x.cols / 2 + line - 1) / line * line : 0;
}

/* The exchange of one plan, rows of x to those of tail. */
static int start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
                 struct tensor packed, struct tensor tail, int64_t first_half) {
  if (!halo->peers) return OK;
  /* Rows travel with their gaps, so they are packed with them where x has as wide ones: whole sectors. */
  if (x.stride == tensor_stride(x.dtype, x.cols)) x.cols = packed.cols = packed.stride;
  struct gather pack = {.x = x, .rows = halo->send_row_device, .scale = scale, .y = packed};
  struct halo_columns what = {.x = x, .scale = scale, .stride = tail.stride, .end = first_half};
  TRY(pack_far(halo, k, &pack));
  TRY(begin(k));
  if (first_half > 0) {
    TRY(halo_put(halo, comm, k, &what));
    TRY(exchange(halo, comm, packed, HALO_SENT, tail, first_half));
    TRY(join_stores(k));
    TRY(device_record(k->device, EVENT_FIRST_HALF, STREAM_EXCHANGE));
  }
  what.first = first_half;
  what.end = packed.stride;
  TRY(halo_put(halo, comm, k, &what));
  return exchange(halo, comm, packed, HALO_SENT, tail, packed.stride - first_half);
}

/* On a device: once messages have brought all that is to be handed on, it is stored. */
static int hand_on(struct halo_relay *relay, struct comm *comm, struct kernels *k, struct tensor landed) {
  landed.cols = landed.stride;
  const struct halo_columns what = {.x = landed, .stride = landed.stride, .end = landed.cols};
  if (!relay->second.peers) return OK;
  TRY(begin(k));
  TRY(follow(k, STREAM_STORES, STREAM_EXCHANGE, EVENT_CAME));
  TRY(halo_put(&relay->second, comm, k, &what));
  return exchange(&relay->second, comm, landed, HALO_SENT, landed, landed.cols);
}

int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
               struct tensor packed, struct tensor tail, int64_t first_half) {
  struct halo_relay *relay = halo->relay;
  if (!relay) return start(halo, comm, k, x, scale, packed, tail, first_half);
  tail.rows = halo_landing_rows(halo);
  TRY(start(&relay->first, comm, k, x, scale, packed, tail, 0));
  if (!relay->on_host) return hand_on(relay, comm, k, tail);
  relay->packed = packed;
  relay->landed = tail;
  return OK;
}

int halo_finish_first_half(const struct halo *halo, struct kernels *k) {
  return halo->peers ? device_wait(k->device, STREAM_COMPUTE, EVENT_FIRST_HALF) : OK;
}

int halo_return_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor from,
                      struct tensor to) {
  const struct halo_columns what = {.x = from, .stride = from.stride, .end = from.stride, .back = 1};
  assert(!halo->relay);
  if (!halo->peers) return OK;
  TRY(begin(k));
  TRY(halo_put(halo, comm, k, &what));
  return exchange(halo, comm, from, HALO_CAME, to, from.stride);
}

static int finish(const struct halo *halo, struct comm *comm, struct kernels *k) {
  if (!halo->peers) return OK;
  TRY(join_stores(k));
  return messages_finish(comm, k);
}

int halo_finish(struct halo *halo, struct comm *comm, struct kernels *k) {
  struct halo_relay *relay = halo->relay;
  if (!relay) return finish(halo, comm, k);
  if (!relay->on_host) return finish(relay->second.peers ? &relay->second : &relay->first, comm, k);
  TRY(finish(&relay->first, comm, k));
  TRY(start(&relay->second, comm, k, relay->landed, NULL, relay->packed, relay->landed, 0));
  return finish(&relay->second, comm, k);
}
