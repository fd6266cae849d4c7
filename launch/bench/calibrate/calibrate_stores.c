/* Constants of rows that GPUs of one host store into each other's memory (model->stores): halo exchanges as
 * training has them, of rows at random between all ranks. */
#include "launch/bench/calibrate/calibration.h"
#include "launch/bench/gnnbench_halo.h"
#include "partition/halo/halo_exchange.h"

enum { SIZES = 4, WIDTH = 128 };

struct stores {
  struct comm *comm;
  struct halo *halo;
  struct arena arena; /* what peers store into lies here */
  struct comm_reach reach;
  struct tensor x, packed, landing;
};

static int run_stores(struct kernels *k, const void *op) {
  const struct stores *s = op;
  TRY(halo_start(s->halo, s->comm, k, s->x, NULL, s->packed, s->landing));
  return halo_finish(s->halo, 0, s->comm, k);
}

static int lay_out(struct stores *s, enum dtype dtype, int64_t own) {
  TRY(halo_prepare(s->halo, &s->arena));
  s->packed = tensor_packed(arena_tensor(&s->arena, dtype, s->halo->send_rows, WIDTH), WIDTH);
  s->landing = tensor_packed(arena_tensor(&s->arena, dtype, s->halo->rows, WIDTH), WIDTH);
  s->x = tensor_packed(arena_tensor(&s->arena, dtype, own, WIDTH), WIDTH);
  return OK;
}

static int prepare(struct bench *bench, const struct bench_halo *plan, struct stores *s) {
  const enum dtype dtype = bench->kernels.dtype;
  s->halo = plan->halo;
  s->arena = arena_measure(&bench->device);
  TRY(lay_out(s, dtype, plan->own));
  TRY(arena_allocate(&s->arena, "rows to store"));
  return lay_out(s, dtype, plan->own);
}

static int meet(struct bench *bench, struct stores *s) {
  struct comm *comm = s->comm;
  TRY(comm_reach_open(comm, s->arena.base, &s->reach));
  return halo_meet(s->halo, comm, &bench->kernels, &s->reach, (struct halo_landing){s->landing.data, 0},
                   (struct halo_landing){0});
}

static int measure(struct bench *bench, const struct bench_halo *plan, struct stores *s, double *bytes,
                   double *seconds) {
  struct bench_row row = {0};
  *bytes = *seconds = 0;
  TRY(comm_agree(s->comm, prepare(bench, plan, s)));
  TRY(meet(bench, s));
  if (!s->halo->all_near) return OK;
  TRY(bench_time(bench, run_stores, s, &row));
  *bytes = (double)tensor_bytes(s->packed);
  *seconds = row.median / 1e3;
  return comm_max_double(s->comm, seconds);
}

/* So many rows from each rank to each other; bytes that leave a rank, 0: not all ranks are in reach. */
static int time_stores(struct bench *bench, int64_t rows, double *bytes, double *seconds) {
  const struct bench_options *given = bench->options;
  const int first = bench->owned_count;
  struct bench_options options = *given;
  struct bench_halo plan = {0};
  struct stores s = {.comm = &bench->comm};
  options.dataset = NULL;
  options.exchange.rows = rows;
  bench->options = &options;
  int code = bench_halo_init(bench, &plan);
  if (code == OK) code = comm_agree(s.comm, measure(bench, &plan, &s, bytes, seconds));
  bench->options = given;
  if (s.halo) halo_leave(s.halo);
  comm_reach_close(s.comm, &s.reach);
  arena_free(&s.arena);
  bench_halo_free(&plan);
  bench_forget(bench, first);
  return code;
}

int calibrate_stores(struct bench *bench, struct cost_model *model) {
  struct comm *comm = &bench->comm;
  double bytes[SIZES], seconds[SIZES];
  model->stores = (struct cost_exchange){0};
  TRY(comm_agree(comm, bench_kernels(bench, PRECISION_BF16)));
  for (int i = 0; i < SIZES; i++) {
    TRY(time_stores(bench, ((int64_t)1 << (11 + 3 * i)) / comm->size, &bytes[i], &seconds[i]));
    if (bytes[i] == 0) return OK;
    if (comm->rank == 0)
      printf("%9.3f MB stored by each rank: %8.1f us, %6.1f GB/s\n", bytes[i] / 1e6, 1e6 * seconds[i],
             bytes[i] / seconds[i] / 1e9);
  }
  calibrate_way(SIZES, bytes, seconds, &model->stores);
  if (comm->rank == 0)
    printf("stored inside a host: %.3g us, then %.3g GB/s\n", model->stores.start / 1e6,
           1e3 / model->stores.byte);
  return OK;
}
