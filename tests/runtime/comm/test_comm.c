/* Messages, collective calls and agreement, on any number of ranks. */
#include "runtime/comm/comm.h"

#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device_list.h"
#include "tests/ranks.h"

static struct comm comm;
static struct device device;

/* Every rank draws the same numbers, so each knows what the others send. */
static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void fill(char *data, int64_t bytes, int from, int to, int round) {
  for (int64_t i = 0; i < bytes; i++) data[i] = (char)(i * 7 + from * 31 + to * 17 + round * 5 + i / 251);
}

static int64_t size_of_message(int from, int to, int round) {
  uint64_t state = (uint64_t)(from * 1000 + to * 10 + round + 1);
  draw(&state);
  switch (draw(&state) % 4) {
  case 0:
    return 0;
  case 1:
    return (int64_t)(draw(&state) % 10);
  case 2:
    return (int64_t)(draw(&state) % 5000);
  default:
    return (int64_t)(draw(&state) % 200000);
  }
}

typedef int (*swap_call)(const struct message *, int, const struct message *, int);

static int by_swap(const struct message *sends, int send_count, const struct message *recvs, int recv_count) {
  return comm_swap(&comm, sends, send_count, recvs, recv_count);
}

static int by_exchange(const struct message *sends, int send_count, const struct message *recvs,
                       int recv_count) {
  TRY(comm_exchange(&comm, sends, send_count, recvs, recv_count));
  int64_t one = 1;
  TRY(comm_sum_int64(&comm, &one)); /* set-up may speak while an exchange is under way */
  return comm_wait(&comm);
}

/* Messages of random sizes between all pairs, the own rank included, arrive whole and unmixed. */
static void swap_randomly(swap_call call, int round) {
  int size = comm.size, rank = comm.rank;
  struct message *sends = calloc((size_t)size, sizeof *sends), *recvs = calloc((size_t)size, sizeof *recvs);
  for (int r = 0; r < size; r++) {
    sends[r] = (struct message){r, NULL, size_of_message(rank, r, round)};
    recvs[r] = (struct message){r, NULL, size_of_message(r, rank, round)};
    sends[r].data = malloc((size_t)sends[r].bytes + 1);
    recvs[r].data = malloc((size_t)recvs[r].bytes + 1);
    fill(sends[r].data, sends[r].bytes, rank, r, round);
    ((char *)recvs[r].data)[recvs[r].bytes] = 99;
  }
  assert_ok(call(sends, size, recvs, size));
  for (int r = 0; r < size; r++) {
    char *expected = malloc((size_t)recvs[r].bytes + 1);
    fill(expected, recvs[r].bytes, r, rank, round);
    assert_memory_equal(recvs[r].data, expected, (size_t)recvs[r].bytes);
    assert_int_equal(((char *)recvs[r].data)[recvs[r].bytes], 99);
    free(expected);
    free(sends[r].data);
    free(recvs[r].data);
  }
  free(sends);
  free(recvs);
}

TEST(messages_arrive_whole) {
  for (int round = 0; round < 10; round++) swap_randomly(by_swap, round);
  for (int round = 10; round < 20; round++) swap_randomly(by_exchange, round);
}

TEST(long_messages_are_split) {
  int64_t limit = comm_message_limit;
  comm_message_limit = 1013;
  for (int round = 20; round < 23; round++) swap_randomly(by_swap, round);
  swap_randomly(by_exchange, 23);
  comm_message_limit = limit;
}

TEST(several_messages_of_a_pair_keep_their_order) {
  int to = (comm.rank + 1) % comm.size, from = (comm.rank + comm.size - 1) % comm.size;
  int32_t sent[50], received[50] = {0};
  struct message sends[50], recvs[50];
  for (int i = 0; i < 50; i++) {
    sent[i] = comm.rank * 100 + i;
    sends[i] = (struct message){to, &sent[i], sizeof sent[i]};
    recvs[i] = (struct message){from, &received[i], sizeof received[i]};
  }
  assert_ok(comm_swap(&comm, sends, 50, recvs, 50));
  for (int i = 0; i < 50; i++) assert_int_equal(received[i], from * 100 + i);
}

TEST(a_message_of_the_wrong_size_is_an_error) {
  int other = comm.rank ^ 1;
  char data[64] = {0}, into[64] = {0};
  if (comm.size == 1) skip();
  for (int wrong = -4; wrong <= 4; wrong += 8) {
    assert_ok(comm_barrier(&comm));
    struct message send = {other, data, 16}, recv = {other, into, 16 + wrong};
    int code = comm_swap(&comm, &send, 1, &recv, 1);
    assert_int_equal(code, FAILED);
    if (!error_is_silent()) assert_non_null(strstr(error_message(), "a message of rank"));
    assert_int_equal(comm_agree(&comm, code), FAILED);
    error_clear();
  }
}

TEST(broadcast_reaches_all) {
  const int64_t sizes[] = {0, 1, 16, 16384, 16385, 300001};
  int64_t limit = comm_message_limit;
  for (int i = 0; i < 12; i++) {
    int64_t bytes = sizes[i % 6];
    comm_message_limit = i < 6 ? limit : 5000;
    int root = i % comm.size;
    char *data = calloc((size_t)bytes + 1, 1), *expected = calloc((size_t)bytes + 1, 1);
    fill(expected, bytes, root, 3, i);
    if (comm.rank == root) fill(data, bytes, root, 3, i);
    assert_ok(comm_broadcast(&comm, data, bytes, root));
    assert_memory_equal(data, expected, (size_t)bytes + 1);
    free(data);
    free(expected);
  }
  comm_message_limit = limit;
}

TEST(gather_brings_everything_to_all) {
  const int64_t sizes[] = {0, 1, 24, 16384, 16385, 100003};
  for (int i = 0; i < 6; i++) {
    int64_t bytes = sizes[i];
    char *mine = calloc((size_t)bytes + 1, 1), *all = calloc((size_t)(bytes * comm.size) + 1, 1);
    char *expected = calloc((size_t)bytes + 1, 1);
    fill(mine, bytes, comm.rank, 0, i);
    assert_ok(comm_gather_all(&comm, mine, bytes, all));
    for (int r = 0; r < comm.size; r++) {
      fill(expected, bytes, r, 0, i);
      assert_memory_equal(all + r * bytes, expected, (size_t)bytes);
    }
    assert_int_equal(all[bytes * comm.size], 0);
    free(mine);
    free(all);
    free(expected);
  }
}

TEST(all_to_all_sorts_by_sender) {
  int64_t send_bytes[64], recv_bytes[64], sent = 0, at = 0;
  for (int round = 0; round < 6; round++, sent = at = 0) {
    for (int r = 0; r < comm.size; r++) sent += send_bytes[r] = size_of_message(comm.rank, r, round);
    char *send = malloc((size_t)sent + 1), *expected = malloc(200000);
    void *recv = NULL;
    for (int r = 0; r < comm.size; at += send_bytes[r++]) fill(send + at, send_bytes[r], comm.rank, r, round);
    assert_ok(comm_all_to_all(&comm, send, send_bytes, &recv, recv_bytes));
    at = 0;
    for (int r = 0; r < comm.size; at += recv_bytes[r++]) {
      assert_int_equal(recv_bytes[r], size_of_message(r, comm.rank, round));
      fill(expected, recv_bytes[r], r, comm.rank, round);
      assert_memory_equal((char *)recv + at, expected, (size_t)recv_bytes[r]);
    }
    free(recv);
    free(send);
    free(expected);
  }
}

TEST(equal_blocks_reach_every_rank) {
  enum { BYTES = 3000 };
  if (comm.size == 1) return;
  char *send = malloc((size_t)comm.size * BYTES), *recv = calloc((size_t)comm.size, BYTES), expected[BYTES];
  for (int r = 0; r < comm.size; r++) fill(send + r * BYTES, BYTES, comm.rank, r, 0);
  assert_ok(comm_exchange_blocks(&comm, send, recv, BYTES));
  assert_ok(comm_wait(&comm));
  for (int r = 0; r < comm.size; r++) {
    fill(expected, BYTES, r, comm.rank, 0);
    assert_memory_equal(recv + r * BYTES, expected, BYTES);
  }
  free(send);
  free(recv);
}

TEST(single_values_are_reduced) {
  int64_t sum = comm.rank + 1, largest = (comm.rank * 5) % 7;
  int64_t expected = 0;
  for (int r = 0; r < comm.size; r++) expected = (r * 5) % 7 > expected ? (r * 5) % 7 : expected;
  int64_t on_node = comm.rank + 1; /* all tests run on one */
  double value = -1.5 * comm.rank - 1;
  assert_ok(comm_sum_int64(&comm, &sum));
  assert_ok(comm_sum_on_node(&comm, &on_node));
  assert_ok(comm_max_int64(&comm, &largest));
  assert_ok(comm_max_double(&comm, &value));
  assert_int_equal(sum, comm.size * (comm.size + 1) / 2);
  assert_int_equal(on_node, sum);
  assert_int_equal(largest, expected);
  assert_true(value == -1.0);
  assert_ok(comm_barrier(&comm));
  assert_ok(comm_alive(&comm));
}

/* Numbers whose sum depends on the order, the same on every rank that draws them. */
static double number_of(int rank, int64_t i) {
  uint64_t state = (uint64_t)(rank * 7919) + (uint64_t)i * 104729u + 1;
  draw(&state);
  return ((double)draw(&state) / 1e9 - 1) * (double)(1 << (draw(&state) % 20));
}

#define CHECK_ALLREDUCE(type, number)                                                                       \
  static void check_##type(int64_t count, enum reduction op, int set_up) {                                  \
    type *data = malloc((size_t)(count + 1) * sizeof *data);                                                \
    for (int64_t i = 0; i < count; i++) data[i] = (type)number_of(comm.rank, i);                            \
    assert_ok(set_up ? comm_reduce(&comm, data, count, number, op)                                          \
                     : comm_allreduce(&comm, data, count, number, op));                                     \
    for (int64_t i = 0; i < count; i++) {                                                                   \
      type expected = (type)number_of(0, i);                                                                \
      for (int r = 1; r < comm.size; r++) {                                                                 \
        type next = (type)number_of(r, i);                                                                  \
        if (op == REDUCE_SUM) expected = (type)(expected + next);                                           \
        if (op == REDUCE_MAX && next > expected) expected = next;                                           \
        if (op == REDUCE_MIN && next < expected) expected = next;                                           \
      }                                                                                                     \
      if (memcmp(&data[i], &expected, sizeof expected) != 0) fail_msg("number %lld differs", (long long)i); \
    }                                                                                                       \
    free(data);                                                                                             \
  }
CHECK_ALLREDUCE(int64_t, NUMBER_INT64)
CHECK_ALLREDUCE(float, NUMBER_FLOAT)
CHECK_ALLREDUCE(double, NUMBER_DOUBLE)

/* Bit for bit the sum in rank order, hence equal on every rank and in every repeat. */
TEST(allreduce_adds_in_rank_order) {
  const int64_t counts[] = {0, 1, 2, 3, 7, 100, 2048, 2049, 4096, 4097, 10007, 70001};
  int64_t limit = comm_message_limit;
  for (int i = 0; i < 12; i++) {
    comm_message_limit = i % 2 ? limit : 4099;
    for (int op = REDUCE_SUM; op <= REDUCE_MIN; op++) {
      check_int64_t(counts[i], (enum reduction)op, i % 2);
      check_float(counts[i], (enum reduction)op, i % 2);
      check_double(counts[i], (enum reduction)op, i % 2);
    }
  }
  comm_message_limit = limit;
}

TEST(nan_is_not_lost_in_a_maximum) {
  for (int r = 0; r < comm.size; r++) {
    double value = comm.rank == r ? (double)NAN : comm.rank;
    assert_ok(comm_max_double(&comm, &value));
    assert_true(isnan(value));
  }
}

TEST(unsigned_numbers_keep_their_upper_half) {
  uint64_t value = (uint64_t)1 << 63 | (uint64_t)comm.rank;
  assert_ok(comm_reduce(&comm, &value, 1, NUMBER_UINT64, REDUCE_MAX));
  assert_true(value == ((uint64_t)1 << 63 | (uint64_t)(comm.size - 1)));
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  TRY(device_open(&device, "cpu", comm.local_rank, comm.local_size, 1));
  return comm_attach(&comm, &device);
}

AFTER_ALL {
  comm_close(&comm);
  device_close(&device);
}
