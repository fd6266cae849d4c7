/* Reduction over the ranks in the order of their numbers, so that every rank gets the same bits and a repeat
 * gets them again. Short arrays: every rank gathers all of them and reduces alone. Long ones: each rank
 * reduces one block and sends the result round, which moves 2 (size - 1) / size of the array a rank. */
#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"

enum { PARALLEL_COUNT = 1 << 16 };

static int64_t number_bytes(enum number type) {
  return type == NUMBER_FLOAT ? (int64_t)sizeof(float) : 8;
}

/* A NaN that arrives stays: the second comparison is false for every other value. */
#define COMBINE(name, type)                                                                                  \
  static void name(type *to, const type *from, int64_t count, enum reduction op) {                           \
    _Pragma("omp parallel for schedule(static) if (count >= PARALLEL_COUNT)") for (int64_t i = 0; i < count; \
                                                                                   i++) {                    \
      if (op == REDUCE_SUM)                                                                                  \
        to[i] += from[i];                                                                                    \
      else if (from[i] != from[i] || (op == REDUCE_MAX ? from[i] > to[i] : from[i] < to[i]))                 \
        to[i] = from[i];                                                                                     \
    }                                                                                                        \
  }
COMBINE(combine_int64, int64_t)
COMBINE(combine_uint64, uint64_t)
COMBINE(combine_float, float)
COMBINE(combine_double, double)

static void combine(void *to, const void *from, int64_t count, enum number type, enum reduction op) {
  if (type == NUMBER_INT64) combine_int64(to, from, count, op);
  if (type == NUMBER_UINT64) combine_uint64(to, from, count, op);
  if (type == NUMBER_FLOAT) combine_float(to, from, count, op);
  if (type == NUMBER_DOUBLE) combine_double(to, from, count, op);
}

static int reduce_short(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  int64_t bytes = count * number_bytes(type);
  char *all = NULL;
  TRY(comm_gather_short(comm, comm->mpi->setup, data, bytes, &all, CALL_ALLREDUCE));
  for (int r = 1; r < comm->size; r++) combine(all, all + r * bytes, count, type, op);
  memcpy(data, all, (size_t)bytes);
  return OK;
}

/* Sends every rank its block and reduces the own one from all ranks. */
static int reduce_block(struct comm *comm, char *data, int64_t count, enum number type, enum reduction op) {
  int64_t width = number_bytes(type), start = comm_block_start(comm, count, comm->rank);
  int64_t own = comm_block_start(comm, count, comm->rank + 1) - start;
  struct message *sends = comm->mpi->sends, *recvs = comm->mpi->recvs;
  char *blocks = NULL;
  TRY(comm_mpi_scratch(comm, comm->size * own * width, (void **)&blocks));
  for (int i = 0; i < comm->size; i++) {
    int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
    int64_t first = comm_block_start(comm, count, to), end = comm_block_start(comm, count, to + 1);
    sends[i] = (struct message){to, data + first * width, (end - first) * width};
    recvs[i] = (struct message){from, blocks + from * own * width, own * width};
  }
  TRY(comm_messages(comm, sends, comm->size, recvs, comm->size, CALL_ALLREDUCE));
  for (int r = 1; r < comm->size; r++) combine(blocks, blocks + r * own * width, own, type, op);
  memcpy(data + start * width, blocks, (size_t)(own * width));
  return OK;
}

int comm_reduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  if (comm_is_alone(comm) || count == 0) return OK;
  if (count * number_bytes(type) <= COMM_SHORT_BYTES) return reduce_short(comm, data, count, type, op);
  TRY(reduce_block(comm, data, count, type, op));
  return comm_gather_blocks(comm, data, count, number_bytes(type), CALL_ALLREDUCE);
}

int comm_sum_int64(struct comm *comm, int64_t *value) {
  return comm_reduce(comm, value, 1, NUMBER_INT64, REDUCE_SUM);
}

int comm_host(const struct comm *comm, int r) {
  return comm->mpi->peers[r].node;
}

int comm_sum_on_node(struct comm *comm, int64_t *value) {
  char *all = NULL;
  if (comm_is_alone(comm)) return OK;
  TRY(comm_gather_short(comm, comm->mpi->setup, value, sizeof *value, &all, CALL_ALLREDUCE));
  *value = 0;
  for (int r = 0; r < comm->size; r++) {
    if (comm_host(comm, r) == comm_host(comm, comm->rank)) *value += ((const int64_t *)(const void *)all)[r];
  }
  return OK;
}

int comm_max_int64(struct comm *comm, int64_t *value) {
  return comm_reduce(comm, value, 1, NUMBER_INT64, REDUCE_MAX);
}

int comm_max_double(struct comm *comm, double *value) {
  return comm_reduce(comm, value, 1, NUMBER_DOUBLE, REDUCE_MAX);
}
