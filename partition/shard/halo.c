#include "partition/shard/halo.h"

#include "kernels/ops/elementwise.h"
#include "runtime/base/base.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile.h"

void halo_free(struct halo *halo) {
  free_all(halo->id, halo->peer, halo->send_start, halo->recv_start, halo->send_row, halo->send, halo->recv);
  *halo = (struct halo){0};
}

int64_t halo_send_rows(const struct halo *halo) {
  return halo->peers ? halo->send_start[halo->peers] : 0;
}

int64_t halo_bytes(const struct halo *halo) {
  int64_t a_peer = (int64_t)(sizeof *halo->peer + 2 * sizeof(int64_t) + 2 * sizeof(struct message));
  return halo->rows * (int64_t)sizeof *halo->id + halo_send_rows(halo) * (int64_t)sizeof *halo->send_row +
         halo->peers * a_peer;
}

int halo_prepare(struct halo *halo, struct arena *arena) {
  int64_t bytes = halo_send_rows(halo) * (int64_t)sizeof *halo->send_row;
  halo->send_row_device = arena_take(arena, bytes);
  if (!arena->base || !bytes) return OK;
  TRY(device_upload(arena->device, STREAM_COMPUTE, halo->send_row_device, halo->send_row, bytes));
  return device_synchronize(arena->device, STREAM_COMPUTE);
}

/* One message a peer with rows to say; returns how many. */
static int list_messages(const struct halo *halo, const int64_t *start, void *data, int64_t row_bytes,
                         struct message *messages) {
  int count = 0;
  for (int p = 0; p < halo->peers; p++) {
    int64_t rows = start[p + 1] - start[p];
    if (rows)
      messages[count++] = (struct message){halo->peer[p], (char *)data + start[p] * row_bytes,
                                           rows * row_bytes};
  }
  return count;
}

int halo_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor x, const void *scale,
               struct tensor packed, struct tensor tail) {
  if (!halo->peers) return OK;
  /* Rows travel with their gaps, so they are packed with them where x has as wide ones: whole sectors. */
  if (x.stride == tensor_stride(x.dtype, x.cols)) x.cols = packed.cols = packed.stride;
  struct gather pack = {.x = x, .rows = halo->send_row_device, .scale = scale, .y = packed};
  if (packed.rows) TRY(PROFILE("pack", op_gather(k, &pack)));
  TRY(device_record(k->device, EVENT_PACKED, STREAM_COMPUTE));
  TRY(device_wait(k->device, STREAM_EXCHANGE, EVENT_PACKED));
  int64_t row_bytes = packed.stride * dtype_bytes(packed.dtype);
  int sends = list_messages(halo, halo->send_start, packed.data, row_bytes, halo->send);
  int recvs = list_messages(halo, halo->recv_start, tail.data, row_bytes, halo->recv);
  return comm_exchange(comm, halo->send, sends, halo->recv, recvs);
}

int halo_return_start(struct halo *halo, struct comm *comm, struct kernels *k, struct tensor from,
                      struct tensor to) {
  if (!halo->peers) return OK;
  TRY(device_record(k->device, EVENT_PACKED, STREAM_COMPUTE));
  TRY(device_wait(k->device, STREAM_EXCHANGE, EVENT_PACKED));
  int64_t row_bytes = from.stride * dtype_bytes(from.dtype);
  int sends = list_messages(halo, halo->recv_start, from.data, row_bytes, halo->send);
  int recvs = list_messages(halo, halo->send_start, to.data, row_bytes, halo->recv);
  return comm_exchange(comm, halo->send, sends, halo->recv, recvs);
}

int halo_finish(struct halo *halo, struct comm *comm, struct kernels *k) {
  if (!halo->peers) return OK;
  TRY(comm_wait(comm));
  TRY(device_record(k->device, EVENT_RECEIVED, STREAM_EXCHANGE));
  return device_wait(k->device, STREAM_COMPUTE, EVENT_RECEIVED);
}

int halo_swap(struct halo *halo, struct comm *comm, const void *own, int64_t row_bytes, void *tail) {
  char *packed = NULL;
  int code = memory_alloc(&packed, halo_send_rows(halo) * row_bytes, "packed rows");
  code = comm_agree(comm, code);
  if (code == OK) {
    for (int64_t i = 0; i < halo_send_rows(halo); i++)
      memcpy(packed + i * row_bytes, (const char *)own + halo->send_row[i] * row_bytes, (size_t)row_bytes);
    int sends = list_messages(halo, halo->send_start, packed, row_bytes, halo->send);
    int recvs = list_messages(halo, halo->recv_start, tail, row_bytes, halo->recv);
    code = comm_swap(comm, halo->send, sends, halo->recv, recvs);
  }
  free(packed);
  return code;
}
