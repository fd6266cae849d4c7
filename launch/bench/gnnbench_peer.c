#include "launch/bench/bench.h"
#ifdef GNNTRAIN_HAVE_CUSPARSE
#include "kernels/cuda/peer_cusparse.h"
#endif

/* The compiled peers, NULL at the end. */
static const struct peer_ops *const peer_list[] = {
#ifdef GNNTRAIN_HAVE_CUSPARSE
    &peer_cusparse,
#endif
    NULL};

static const struct peer_ops *peer_of(const struct bench *bench) {
  int i = 0;
  while (peer_list[i] && strcmp(peer_list[i]->device, bench->device.ops->name) != 0) i++;
  return peer_list[i];
}

static void end_peer(struct bench *bench, void *matrix) {
  peer_of(bench)->close(&bench->kernels, matrix);
}

int bench_peer_open(struct bench *bench, const struct csr *m, struct bench_peer *peer) {
  *peer = (struct bench_peer){.ops = bench->kernels.dtype == F64 ? NULL : peer_of(bench)};
  if (!peer->ops) return OK;
  int code = peer->ops->open(&bench->kernels, m, &peer->matrix);
  bench_own(bench, end_peer, peer->matrix);
  return code;
}

static void take_faster(const struct bench_peer *peer, const struct bench_row *own, struct bench_row *row) {
  if (!row->peer || own->median < row->peer_median) row->peer_median = own->median;
  row->peer = peer->ops->name;
}

int bench_peer_time_scores(struct bench *bench, struct bench_peer *peer, const struct bench_matrix *x,
                           const struct bench_matrix *y, struct bench_row *row) {
  struct bench_row own = {0};
  struct tensor a, b;
  int able = 0;
  if (!peer->ops) return OK;
  TRY(bench_matrix_floats(bench, x, &a));
  TRY(bench_matrix_floats(bench, y, &b));
  TRY(peer->ops->prepare_scores(&bench->kernels, peer->matrix, a, b, &able));
  if (!able) return OK;
  TRY(bench_time(bench, peer->ops->run_scores, peer->matrix, &own));
  take_faster(peer, &own, row);
  return OK;
}

int bench_peer_time(struct bench *bench, struct bench_peer *peer, const struct bench_matrix *x,
                    const struct bench_matrix *y, struct bench_row *row) {
  struct tensor a, b;
  if (!peer->ops) return OK;
  TRY(bench_matrix_floats(bench, x, &a));
  TRY(bench_matrix_floats(bench, y, &b));
  for (int i = 0; i < peer->ops->algorithms; i++) {
    struct bench_row own = {0};
    int able = 0;
    TRY(peer->ops->prepare(&bench->kernels, peer->matrix, i, a, b, &able));
    if (!able) continue;
    TRY(bench_time(bench, peer->ops->run, peer->matrix, &own));
    take_faster(peer, &own, row);
  }
  return OK;
}
