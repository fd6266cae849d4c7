/* comm_faults CASE TIMEOUT: ranks that talk to each other until something goes wrong, for
 * test_comm_faults.sh. Each rank writes its process id to pid.<rank> when all have started, and goes on when
 * all have written theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/worker.h"
#include "runtime/comm/comm.h"
#include "runtime/device/device_list.h"

enum { NUMBERS = 50000 };

static int write_pid(struct comm *comm) {
  char name[32];
  TRY(comm_barrier(comm));
  snprintf(name, sizeof name, "pid.%d", comm->rank);
  FILE *file = fopen(name, "w");
  if (!file) FAIL(FAILED, "cannot write %s", name);
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  return comm_barrier(comm);
}

static int exchange_once(struct comm *comm, float *sent, float *received) {
  int to = (comm->rank + 1) % comm->size, from = (comm->rank + comm->size - 1) % comm->size;
  struct message send = {to, sent, NUMBERS * sizeof *sent}, recv = {from, received, NUMBERS * sizeof *sent};
  TRY(comm_exchange(comm, &send, 1, &recv, 1));
  return comm_wait(comm);
}

/* Steady training: exchanges and allreduces without end. */
static int train(struct comm *comm, float *a, float *b) {
  for (;;) {
    TRY(exchange_once(comm, a, b));
    TRY(comm_allreduce(comm, b, NUMBERS, NUMBER_FLOAT, REDUCE_MAX));
    usleep(1000);
  }
}

/* Rank 1 is in another call than the rest. */
static int mismatch(struct comm *comm, float *a, float *b) {
  if (comm->rank == 1) return comm_barrier(comm);
  return exchange_once(comm, a, b);
}

/* Rank 0 computes long past the deadline and the liveness check; with heartbeats of life the others wait for
 * it. */
static int compute(struct comm *comm, float *a, int heartbeats) {
  for (int i = 0; i < (int)(10 * comm->timeout + 70) && comm->rank == 0; i++) {
    if (heartbeats && i % 5 == 0) TRY(comm_alive(comm));
    usleep(100000);
  }
  TRY(comm_broadcast(comm, a, NUMBERS * sizeof *a, 0));
  if (comm->rank == 0) printf("the broadcast came through\n");
  return OK;
}

/* Rank 1 fails while the others are in a call that needs it. */
static int fail_inside(struct comm *comm, float *a, float *b) {
  usleep(100000);
  if (comm->rank == 1) FAIL(BAD_INPUT, "rank 1 found a negative number");
  TRY(exchange_once(comm, a, b));
  return comm_allreduce(comm, a, NUMBERS, NUMBER_FLOAT, REDUCE_SUM);
}

/* Work in a second thread of each rank. */
struct start {
  struct worker worker;
  atomic_int steps, last;
  useconds_t microseconds; /* of a step */
  int fails;
};

static int take_steps(void *context) {
  struct start *start = context;
  while (start->steps < start->last) {
    usleep(start->microseconds);
    if (start->fails) FAIL(BAD_INPUT, "rank 1 has no memory for its context");
    start->steps++;
  }
  return OK;
}

static int steps_of(void *context) {
  struct start *start = context;
  return worker_wait(&start->worker, 0) ? 1000 : start->steps;
}

/* Fifteen steps of 0.6 s; rank 1 fails in its first while those of the others would go on, or stands still.
 */
static int start_worker(struct comm *comm, int fails, int stands) {
  struct start start = {.last = fails ? 100 : 15, .microseconds = 600000};
  if (comm->rank == 1) start.fails = fails;
  if (comm->rank == 1 && stands) start.microseconds = 100000000;
  TRY(worker_start(&start.worker, take_steps, &start));
  int code = comm_await(comm, steps_of, &start, 1000);
  start.last = 0;
  while (!worker_wait(&start.worker, 1)) continue;
  if (code == OK) code = worker_finish(&start.worker);
  TRY(comm_agree(comm, code));
  if (comm->rank == 0) printf("all have started\n");
  return OK;
}

static int run(struct comm *comm, const char *name, float *a, float *b) {
  TRY(write_pid(comm));
  if (strcmp(name, "train") == 0) return train(comm, a, b);
  if (strcmp(name, "mismatch") == 0) return mismatch(comm, a, b);
  if (strcmp(name, "compute") == 0) return compute(comm, a, 1);
  if (strcmp(name, "mute") == 0) return compute(comm, a, 0);
  if (strcmp(name, "fail") == 0) return fail_inside(comm, a, b);
  if (strcmp(name, "start") == 0) return start_worker(comm, 0, 0);
  if (strcmp(name, "start_fails") == 0) return start_worker(comm, 1, 0);
  if (strcmp(name, "start_stands") == 0) return start_worker(comm, 0, 1);
  if (strcmp(name, "abort") == 0 && comm->rank == 1) comm_abort(comm, 5);
  if (strcmp(name, "abort") == 0) return train(comm, a, b);
  FAIL(BAD_INPUT, "unknown case %s", name);
}

static int start(struct comm *comm, struct device *device, char **argv, float **a, float **b) {
  comm->timeout = atof(argv[2]);
  TRY(device_open(device, "cpu", comm->local_rank, comm->local_size, 1));
  TRY(comm_attach(comm, device));
  TRY(memory_alloc(a, NUMBERS * sizeof **a, "numbers"));
  TRY(memory_alloc(b, NUMBERS * sizeof **b, "numbers"));
  return run(comm, argv[1], *a, *b);
}

int main(int argc, char **argv) {
  struct comm comm = {0};
  struct device device = {0};
  float *a = NULL, *b = NULL;
  if (argc != 3) return BAD_INPUT;
  int code = comm_open(&comm, &argc, &argv);
  if (code == OK) code = comm_agree(&comm, start(&comm, &device, argv, &a, &b));
  if (code != OK) error_print(stderr, "comm_faults");
  free(a);
  free(b);
  comm_close(&comm);
  device_close(&device);
  return code;
}
