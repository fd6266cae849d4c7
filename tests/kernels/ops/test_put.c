/* Rows that a device stores into its own memory, as a rank does that hands rows on to itself. */
#include "tests/kernels/every_table.h"

enum { ROWS = 400 };

struct shape {
  int peers, rows; /* of the longest; there are some of none */
  int blocks;
  int64_t cols;
};

static const struct shape shapes[] = {{1, 9000, 32, 48}, {1, 9000, 16, 47}, {3, 700, 32, 48},
                                      {7, 300, 5, 41},   {9, 40, 1, 8},     {56, 60, 32, 48},
                                      {56, 60, 16, 7},   {100, 300, 32, 3}, {240, 1, 32, 48},
                                      {240, 9, 20, 128}, {33, 5, 32, 1}};

/* Rows of the put and where each goes, over all peers. */
struct plan {
  int64_t total;
  int32_t *row;
  struct put_peer *peer;
};

static int64_t rows_of(const struct shape *s, int p) {
  return s->peers == 1 ? s->rows : s->rows * (p * 37 % s->peers) / (s->peers - 1);
}

/* The rows of the last peer land first. */
static struct plan plan_of(struct kernels *k, const struct shape *s, struct tensor to) {
  struct plan plan = {.peer = host_block(s->peers * (int64_t)sizeof *plan.peer)};
  uint32_t *signal = device_block(k, NULL, s->peers * PUT_BLOCKS * (int64_t)sizeof *signal);
  assert_ok(device_clear(k->device, STREAM_COMPUTE, signal, s->peers * PUT_BLOCKS * (int64_t)sizeof *signal));
  for (int p = 0; p < s->peers; p++) {
    const int64_t begin = plan.total;
    plan.total += rows_of(s, p);
    plan.peer[p] = (struct put_peer){.to = to.data,
                                     .first = to.rows - plan.total,
                                     .begin = begin,
                                     .end = plan.total,
                                     .signal_to = p % 3 == 1 ? NULL : signal + p * PUT_BLOCKS,
                                     .signal_from = signal + p * PUT_BLOCKS};
  }
  assert_int_equal(plan.total, to.rows);
  plan.row = host_block(plan.total * (int64_t)sizeof *plan.row);
  for (int64_t i = 0; i < plan.total; i++) plan.row[i] = (int32_t)(i * 7 % ROWS);
  return plan;
}

static double *expected_of(const struct plan *plan, const struct shape *s, const double *x,
                           const double *scale) {
  double *expected = host_block(plan->total * s->cols * 8);
  for (int p = 0; p < s->peers; p++) {
    const struct put_peer *peer = &plan->peer[p];
    for (int64_t i = peer->begin; i < peer->end; i++) {
      const int32_t row = plan->row[i];
      double *at = expected + (peer->first + i - peer->begin) * s->cols;
      for (int64_t j = 0; j < s->cols; j++) at[j] = x[row * s->cols + j] * (scale ? scale[row] : 1);
    }
  }
  return expected;
}

static void check_shape(struct kernels *k, const struct shape *s, int scaled, int64_t pad) {
  int64_t total = 0;
  for (int p = 0; p < s->peers; p++) total += rows_of(s, p);
  const double *x = integer_block(1, ROWS * s->cols), *scale = scaled ? row_factors(ROWS) : NULL;
  struct tensor to = padded_matrix(k, NULL, total, s->cols, pad);
  const struct plan plan = plan_of(k, s, to);
  uint32_t *turn = device_block(k, NULL, PUT_BLOCKS * (int64_t)sizeof *turn);
  int *ended = device_block(k, NULL, sizeof *ended);
  assert_ok(device_clear(k->device, STREAM_COMPUTE, turn, PUT_BLOCKS * (int64_t)sizeof *turn));
  assert_ok(device_clear(k->device, STREAM_COMPUTE, ended, sizeof *ended));
  const struct put op = {.x = padded_matrix(k, x, ROWS, s->cols, pad),
                         .rows = device_block(k, plan.row, plan.total * (int64_t)sizeof *plan.row),
                         .scale = scaled ? reals(k, scale, ROWS) : NULL,
                         .stride = to.stride,
                         .blocks = s->blocks,
                         .peers = s->peers,
                         .stored = plan.total,
                         .peer = device_block(k, plan.peer, s->peers * (int64_t)sizeof *plan.peer),
                         .turn = turn,
                         .ended = ended};
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  for (int again = 0; again < 2; again++) assert_ok(op_put(k, &op));
  assert_ok(device_synchronize(k->device, STREAM_STORES));
  assert_all_equal(values_of(k, to), expected_of(&plan, s, x, scale), plan.total * s->cols);
}

static void put(struct kernels *k) {
  if (!k->ops->elementwise->put) return;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    check_shape(k, &shapes[i], 0, OWN_GAPS);
    check_shape(k, &shapes[i], 1, OWN_GAPS);
    check_shape(k, &shapes[i], 1, 1 + shapes[i].cols % 2); /* an odd stride: element by element */
  }
}

TEST(rows_for_any_number_of_peers_land_where_they_should) {
  on_every_table(put);
}
