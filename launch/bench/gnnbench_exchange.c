/* exchange: halo rows as training sends them, gathered and packed, beside contiguous blocks of as many bytes
 * that the transport sends in its own ways. */
#include "launch/bench/gnnbench_halo.h"
#include "partition/halo/halo_exchange.h"

/* What NCCL brings out of each GPU of one host over NVLink in an all-to-all of 512 MiB. */
static const double NVLINK_GBYTES = 330;

struct exchange {
  struct comm *comm;
  const struct bench_halo *plan;
  struct arena arena; /* what peers store into lies here */
  struct comm_reach reach;
  struct tensor packed, landing;
  struct bench_matrix x, tail;
};

static int run_exchange(struct kernels *k, const void *op) {
  const struct exchange *e = op;
  TRY(halo_start(e->plan->halo, e->comm, k, e->x.tensor, NULL, e->packed, e->tail.tensor));
  return halo_finish(e->plan->halo, 0, e->comm, k);
}

/* Element j of node `id`: a whole number that every type holds. */
static double expected(int64_t id, int64_t j) {
  return (double)((id * 31 + j * 7) % 251 - 125);
}

static double own_value(const void *id, int64_t i, int64_t j) {
  return expected(((const int64_t *)id)[i], j);
}

static double nothing(const void *context, int64_t i, int64_t j) {
  (void)context, (void)i, (void)j;
  return -1000;
}

static int lay_out(struct exchange *e, enum dtype dtype, int64_t width) {
  struct halo *halo = e->plan->halo;
  TRY(halo_prepare(halo, &e->arena));
  e->packed = tensor_packed(arena_tensor(&e->arena, dtype, halo_packed_rows(halo), width), width);
  e->landing = arena_tensor(&e->arena, dtype, halo_landing_rows(halo), width);
  return OK;
}

static int prepare(struct bench *bench, struct exchange *e, int64_t width) {
  enum dtype dtype = bench->kernels.dtype;
  e->arena = arena_measure(&bench->device);
  TRY(lay_out(e, dtype, width));
  TRY(arena_allocate(&e->arena, "rows to send"));
  TRY(lay_out(e, dtype, width));
  TRY(bench_matrix_fill(bench, &e->x, dtype, e->plan->own, width, own_value, e->plan->id));
  TRY(bench_matrix_fill(bench, &e->tail, dtype, e->plan->halo->rows, width, nothing, NULL));
  TRY(device_copy(&bench->device, STREAM_COMPUTE, e->landing.data, e->tail.tensor.data,
                  tensor_bytes(tensor_rows(e->landing, 0, e->plan->halo->rows))));
  return OK;
}

/* As training does it, unless messages are asked for. */
static int meet(struct bench *bench, struct exchange *e) {
  if (!bench->options->exchange.messages) {
    TRY(comm_reach_open(e->comm, e->arena.base, &e->reach));
    TRY(halo_meet(e->plan->halo, e->comm, &bench->kernels, &e->reach,
                  (struct halo_landing){e->landing.data, 0}, (struct halo_landing){0}));
  }
  e->tail.tensor = halo_landed(e->plan->halo, e->landing, e->landing.cols);
  return OK;
}

static void owned_row(const void *context, int64_t i, double *row) {
  const struct exchange *e = context;
  for (int64_t j = 0; j < e->tail.tensor.cols; j++) row[j] = expected(e->plan->halo->id[i], j);
}

/* Every received number beside the one that its owner holds, over all ranks. */
static int check(struct bench *bench, struct exchange *e, struct bench_row *row) {
  TRY(bench_compare(bench, &(struct bench_check){&e->tail, owned_row, e, INT64_MAX}, &row->error));
  return comm_max_double(&bench->comm, &row->error);
}

/* Equal contiguous blocks, by one collective call or as one message a pair. */
struct blocks {
  struct comm *comm;
  int collective;
  int64_t bytes;
  char *send, *recv; /* a block a rank */
  struct message *sends, *recvs;
};

static int run_blocks(struct kernels *k, const void *op) {
  const struct blocks *b = op;
  int peers = b->comm->size - 1;
  TRY(device_record(k->device, EVENT_PACKED, STREAM_COMPUTE));
  TRY(device_wait(k->device, STREAM_EXCHANGE, EVENT_PACKED));
  TRY(b->collective ? comm_exchange_blocks(b->comm, b->send, b->recv, b->bytes)
                    : comm_exchange(b->comm, b->sends, peers, b->recvs, peers));
  TRY(comm_wait(b->comm));
  TRY(device_record(k->device, EVENT_RECEIVED, STREAM_EXCHANGE));
  return device_wait(k->device, STREAM_COMPUTE, EVENT_RECEIVED);
}

static int make_blocks(struct bench *bench, struct blocks *b) {
  TRY(bench_upload(bench, NULL, b->comm->size * b->bytes, &b->send));
  TRY(bench_upload(bench, NULL, b->comm->size * b->bytes, &b->recv));
  TRY(bench_array(bench, &b->sends, b->comm->size));
  TRY(bench_array(bench, &b->recvs, b->comm->size));
  for (int r = 0, i = 0; r < b->comm->size; r++) {
    if (r == b->comm->rank) continue;
    b->sends[i] = (struct message){r, b->send + r * b->bytes, b->bytes};
    b->recvs[i++] = (struct message){r, b->recv + r * b->bytes, b->bytes};
  }
  return OK;
}

static int measure_blocks(struct bench *bench, struct bench_row *row) {
  static const char *const way[] = {"messages", "all-to-all"};
  static char name[32];
  struct blocks b = {.comm = &bench->comm, .bytes = (int64_t)row->bytes / (bench->comm.size - 1)};
  TRY(comm_agree(b.comm, make_blocks(bench, &b)));
  for (b.collective = 0; b.collective < 2; b.collective++) {
    struct bench_row own = {0};
    TRY(bench_time(bench, run_blocks, &b, &own));
    if (row->peer && own.median >= row->peer_median) continue;
    snprintf(name, sizeof name, "%s %s", b.comm->ops->name, way[b.collective]);
    row->peer = name;
    row->peer_median = own.median;
  }
  return OK;
}

/* Rows that leave their owner: of those that go to another host once, that once. */
static int64_t sent_rows(const struct halo *halo) {
  return halo->relay ? halo->relay->first.send_rows : halo->send_rows;
}

static int measure(struct bench *bench, struct exchange *e, int64_t width) {
  TRY(comm_agree(e->comm, prepare(bench, e, width)));
  TRY(meet(bench, e));
  const int64_t rows = sent_rows(e->plan->halo);
  double bytes = (double)tensor_bytes(tensor_rows(e->packed, 0, rows));
  TRY(comm_max_double(e->comm, &bytes));
  struct bench_row row = bench_row_of(bench, "exchange", e->comm->nodes == 1 ? NVLINK_GBYTES : 0,
                                      "%lld rows out, width %lld, %.1f MiB", (long long)rows,
                                      (long long)width, bytes / (1 << 20));
  row.bytes = bytes;
  TRY(bench_time(bench, run_exchange, e, &row));
  TRY(check(bench, e, &row));
  TRY(measure_blocks(bench, &row));
  bench_print(bench, &row);
  if (row.error != 0)
    FAIL(FAILED, "received rows are not those of their owners: a number is off by %g of the largest",
         row.error);
  return OK;
}

static int measure_width(struct bench *bench, void *plan, int64_t width) {
  struct exchange e = {.comm = &bench->comm, .plan = plan};
  int code = comm_agree(&bench->comm, measure(bench, &e, width));
  halo_leave(e.plan->halo);
  comm_reach_close(e.comm, &e.reach);
  arena_free(&e.arena);
  return code;
}

/* Whether the device has a table for that precision; those that differ in products alone send the same. */
static int has_precision(const struct bench *bench, enum precision precision) {
  for (int i = 0; kernel_list[i]; i++) {
    if (strcmp(kernel_list[i]->device, bench->device.ops->name) == 0 &&
        (kernel_list[i]->precisions >> precision & 1))
      return 1;
  }
  return 0;
}

static int measure_precision(struct bench *bench, struct bench_halo *plan, enum precision precision) {
  TRY(comm_agree(&bench->comm, bench_kernels(bench, precision)));
  return bench_each_width(bench, measure_width, plan);
}

static int measure_all(struct bench *bench, struct bench_halo *plan) {
  static const enum precision each[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_FP64};
  const struct bench_options *options = bench->options;
  if (!options->any_precision) return measure_precision(bench, plan, options->precision);
  for (int i = 0; i < 3; i++) {
    if (has_precision(bench, each[i])) TRY(measure_precision(bench, plan, each[i]));
  }
  return OK;
}

int gnnbench_exchange(struct bench *bench) {
  static struct bench_halo plan;
  if (bench->comm.size < 2)
    FAIL(BAD_INPUT, "an exchange needs two ranks or more: mpirun -n 2 gnnbench exchange");
  int code = bench_halo_init(bench, &plan);
  bench->records = 1;
  if (code == OK) {
    bench_print_head(bench, &bench->device);
    code = measure_all(bench, &plan);
  }
  bench_halo_free(&plan);
  return code;
}
