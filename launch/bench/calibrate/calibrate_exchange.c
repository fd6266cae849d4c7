/* Constants of the exchange between GPUs (struct cost_exchange): equal messages among all ranks, of sizes
 * from a few KiB to as many MiB, and short reductions of two sizes. Ranks of one host measure the way inside
 * it; ranks of several hosts, one of each, the way between. */
#include "launch/bench/calibrate/calibration.h"

enum { SIZES = 6, FEW = 1 << 10, MORE = 1 << 18 /* numbers of a reduction */ };

/* To each other rank. */
struct traffic {
  struct comm *comm;
  int64_t bytes;
  char *send, *recv;
  struct message *sends, *recvs;
  void *numbers;
  int64_t count;
};

static int run_messages(struct kernels *k, const void *op) {
  const struct traffic *t = op;
  const int peers = t->comm->size - 1;
  TRY(device_record(k->device, EVENT_PACKED, STREAM_COMPUTE));
  TRY(device_wait(k->device, STREAM_EXCHANGE, EVENT_PACKED));
  TRY(comm_exchange(t->comm, t->sends, peers, t->recvs, peers));
  TRY(comm_wait(t->comm));
  TRY(device_record(k->device, EVENT_RECEIVED, STREAM_EXCHANGE));
  return device_wait(k->device, STREAM_COMPUTE, EVENT_RECEIVED);
}

static int run_reduction(struct kernels *k, const void *op) {
  const struct traffic *t = op;
  (void)k;
  return comm_allreduce(t->comm, t->numbers, t->count, NUMBER_FLOAT, REDUCE_SUM);
}

static int prepare(struct bench *bench, struct traffic *t, int64_t most) {
  const int size = t->comm->size;
  TRY(bench_upload(bench, NULL, size * most, &t->send));
  TRY(bench_upload(bench, NULL, size * most, &t->recv));
  TRY(bench_upload(bench, NULL, MORE * (int64_t)sizeof(float), &t->numbers));
  TRY(bench_array(bench, &t->sends, size));
  return bench_array(bench, &t->recvs, size);
}

static int time_messages(struct bench *bench, struct traffic *t, int64_t bytes, double *seconds) {
  struct bench_row row = {0};
  int peers = 0;
  for (int r = 0; r < t->comm->size; r++) {
    if (r == t->comm->rank) continue;
    t->sends[peers] = (struct message){r, t->send + r * bytes, bytes};
    t->recvs[peers++] = (struct message){r, t->recv + r * bytes, bytes};
  }
  TRY(bench_time(bench, run_messages, t, &row));
  *seconds = row.median / 1e3;
  return comm_max_double(t->comm, seconds);
}

static int time_reduction(struct bench *bench, struct traffic *t, int64_t count, double *seconds) {
  struct bench_row row = {0};
  t->count = count;
  TRY(bench_time(bench, run_reduction, t, &row));
  *seconds = row.median / 1e3;
  return comm_max_double(t->comm, seconds);
}

/* The longer one passes its bytes around the ring (Patarasuk and Yuan 2009). */
static int calibrate_reductions(struct bench *bench, struct traffic *t, struct cost_exchange *way) {
  const double ranks = bench->comm.size, passed = 2 * (ranks - 1) / ranks * (MORE - FEW) * sizeof(float);
  double few, more;
  TRY(time_reduction(bench, t, FEW, &few));
  TRY(time_reduction(bench, t, MORE, &more));
  way->reduce_start = few * 1e12 / log2(ranks);
  way->reduce_byte = fmax(more - few, 0) * 1e12 / passed;
  return OK;
}

void calibrate_way(int sizes, const double *bytes, const double *seconds, struct cost_exchange *way) {
  double one = 0, x = 0, xx = 0, y = 0, xy = 0;
  for (int i = 0; i < sizes; i++) {
    const double weight = 1 / (seconds[i] * seconds[i]);
    one += weight;
    x += weight * bytes[i];
    xx += weight * bytes[i] * bytes[i];
    y += weight * seconds[i];
    xy += weight * bytes[i] * seconds[i];
  }
  const double byte = (one * xy - x * y) / (one * xx - x * x);
  way->byte = fmax(byte, 0) * 1e12;
  way->start = fmax((y - byte * x) / one, 0) * 1e12;
}

/* The first ranks' way: all on one host, or none on the same. */
static int which_way(struct bench *bench, struct cost_model *model, struct cost_exchange **way) {
  const struct comm *comm = &bench->comm;
  *way = comm->nodes == 1 ? &model->exchange : &model->between;
  if (comm->nodes == 1 || comm->nodes == comm->size) return OK;
  FAIL(BAD_INPUT,
       "calibrate: %d ranks on %d hosts; all on one host measure the way inside it, one on each the way "
       "between",
       comm->size, comm->nodes);
}

int calibrate_exchange(struct bench *bench, struct cost_model *model) {
  struct traffic t = {.comm = &bench->comm};
  const int64_t most = (int64_t)256 << 20;
  const int peers = bench->comm.size - 1;
  struct cost_exchange *way = NULL;
  double bytes[SIZES], seconds[SIZES];
  TRY(comm_agree(t.comm, which_way(bench, model, &way)));
  TRY(comm_agree(t.comm, prepare(bench, &t, most / bench->comm.size)));
  bench->records = 1;
  for (int i = 0; i < SIZES; i++) {
    const int64_t each = (most >> 3 * (SIZES - 1 - i)) / bench->comm.size / 16 * 16;
    bytes[i] = (double)(each * peers);
    TRY(time_messages(bench, &t, each, &seconds[i]));
    if (t.comm->rank == 0)
      printf("%9.3f MB out of each rank: %8.1f us, %6.1f GB/s\n", bytes[i] / 1e6, 1e6 * seconds[i],
             bytes[i] / seconds[i] / 1e9);
  }
  calibrate_way(SIZES, bytes, seconds, way);
  TRY(calibrate_reductions(bench, &t, way));
  if (t.comm->rank == 0)
    printf("%s: %.3g us, then %.3g GB/s; a short sum over two ranks %.3g us, then %.3g GB/s\n",
           bench->comm.nodes == 1 ? "inside a host" : "between hosts", way->start / 1e6, 1e3 / way->byte,
           way->reduce_start / 1e6, 1e3 / way->reduce_byte);
  return OK;
}
