#include <string.h>

#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#ifdef GNNTRAIN_HAVE_CUSPARSE
#include "kernels/cuda/peer_cusparse.h"
#endif

/* The compiled peers, NULL at the end. */
static const struct peer_ops *const peer_list[] = {
#ifdef GNNTRAIN_HAVE_CUSPARSE
    &peer_cusparse,
#endif
    NULL};

int bench_peer_open(struct bench *bench, const struct csr *m, struct bench_peer *peer) {
  *peer = (struct bench_peer){0};
  if (bench->kernels.dtype == F64) return OK;
  for (int i = 0; peer_list[i]; i++) {
    if (strcmp(peer_list[i]->device, bench->device.ops->name) == 0) peer->ops = peer_list[i];
  }
  return peer->ops ? peer->ops->open(&bench->kernels, m, &peer->matrix) : OK;
}

void bench_peer_close(struct bench *bench, struct bench_peer *peer) {
  if (peer->ops) peer->ops->close(&bench->kernels, peer->matrix);
  *peer = (struct bench_peer){0};
}

int bench_peer_time_scores(struct bench *bench, struct bench_peer *peer, struct tensor x, struct tensor y,
                           struct bench_row *row) {
  struct bench_row own = {0};
  int able = 0;
  if (peer->ops) TRY(peer->ops->prepare_scores(&bench->kernels, peer->matrix, x, y, &able));
  if (!able) return OK;
  TRY(bench_time(bench, peer->ops->run_scores, peer->matrix, &own));
  row->peer_median = own.median;
  row->peer = peer->ops->name;
  return OK;
}

int bench_peer_time(struct bench *bench, struct bench_peer *peer, struct tensor x, struct tensor y,
                    struct bench_row *row) {
  for (int i = 0; peer->ops && i < peer->ops->algorithms; i++) {
    struct bench_row own = {0};
    int able = 0;
    TRY(peer->ops->prepare(&bench->kernels, peer->matrix, i, x, y, &able));
    if (!able) continue;
    TRY(bench_time(bench, peer->ops->run, peer->matrix, &own));
    if (!row->peer || own.median < row->peer_median) row->peer_median = own.median;
    row->peer = peer->ops->name;
  }
  return OK;
}
