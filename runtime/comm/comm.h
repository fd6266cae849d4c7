/* comm: ranks and what they say to each other.
 *
 * Two kinds of traffic. Set-up speaks through host buffers (comm_broadcast, comm_gather, ...), always MPI.
 * Training speaks through the table: halo rows and gradients in the device's memory (comm_mpi for host
 * memory; an implementation for another device's memory is another table). Every wait polls with a deadline
 * of comm.timeout seconds; when it passes, the ranks that do not answer a liveness check are named and the
 * job is ended. No call blocks without that deadline. Messages over 1 GiB are split inside. Collective calls
 * must be made by all ranks in the same order. */
#ifndef RUNTIME_COMM_COMM_H
#define RUNTIME_COMM_COMM_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime/base/tensor.h"

struct device;
struct comm_ops;
struct comm_mpi;

struct comm {
  const struct comm_ops *ops; /* how device buffers travel */
  int rank, size;             /* size 0: comm_open failed when other ranks may wait for this one */
  int local_rank, local_size; /* among the ranks of this node */
  int nodes;
  int lone;              /* the other ranks are not there (runtime/comm/comm_lone.h) */
  int64_t sent;          /* bytes that went to other ranks so far: comm_exchange, and what was stored there */
  double timeout;        /* seconds a wait may last; set from runtime.timeout after comm_open (default 300) */
  struct device *device; /* borrowed; set by comm_attach */
  int *ended;            /* of the open comm_reach; NULL: none */
  void *transport;       /* what ops keep between open and close */
  struct comm_mpi *mpi;  /* what comm itself keeps (runtime/comm/comm_mpi.h) */
};

struct message {
  int peer;
  void *data; /* on the device for the table, on the host for comm_swap */
  int64_t bytes;
};

enum reduction { REDUCE_SUM, REDUCE_MAX, REDUCE_MIN };
enum number { NUMBER_INT64, NUMBER_UINT64, NUMBER_FLOAT, NUMBER_DOUBLE };

struct comm_ops {
  const char *name;                            /* "mpi", "nccl" */
  int (*carries)(const struct device *device); /* whether it can carry that device's buffers */
  /* Of these five NULL has nothing to do: comm_connect and its stop among them. */
  int (*open)(struct comm *comm, struct device *device);
  int (*connect)(struct comm *comm, atomic_int *steps);
  int (*connect_peers)(struct comm *comm, const uint8_t *peer);
  void (*stop)(struct comm *comm);
  void (*close)(struct comm *comm);
  /* Starts all messages at once; the buffers belong to comm until wait. One exchange is under way at a time,
   * or where the device's streams wait several, each behind the one before. */
  int (*exchange)(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count);
  int (*wait)(struct comm *comm); /* NULL: the device's streams wait, and not the host */
  /* The library's own collective: block r of send (bytes each) to rank r, block r of recv from it. */
  int (*all_to_all)(struct comm *comm, const void *send, void *recv, int64_t bytes);
  /* In place over all ranks; the same bits on every rank. */
  int (*allreduce)(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op);
};

/* Starts MPI (a program not started by mpirun is rank 0 of 1). argc and argv may be NULL. */
int comm_open(struct comm *comm, int *argc, char ***argv);

/* Ends MPI; after an error that the ranks agreed on, too. Print the error first: this waits for all ranks,
 * and when one has left with a code that is not 0, mpirun ends the others. Where MPI fails even here, this
 * prints why and ends the job. */
void comm_close(struct comm *comm);

/* Ends every rank of the job at once with that exit code, after flushing stdout and stderr. Does not return.
 */
_Noreturn void comm_abort(struct comm *comm, int code);

/* How device buffers of `device` travel from now on. Collective. */
int comm_attach(struct comm *comm, struct device *device);
/* The same in steps, since connecting may take seconds and needs neither this thread nor MPI. comm_meet
 * (collective) takes the table that can carry the device's buffers, and the ranks tell each other what they
 * must know; the device need not have started. comm_connect, which another thread may call while this one
 * goes on with set-up, counts in *steps what it has done; afterwards the ranks agree on its code.
 * comm_connect_stop makes it return soon, with an error: after a failure elsewhere. */
int comm_meet(struct comm *comm, struct device *device);
int comm_connect(struct comm *comm, atomic_int *steps);
void comm_connect_stop(struct comm *comm);
/* Collective, on an open table. Says with which ranks this one will exchange messages (peer[r] of [size] not
 * 0; each of a pair names the other), and opens the ways to them, for which the table's library may take
 * seconds and memory of the device. The others get none. Without it a way opens at the first message. */
int comm_connect_peers(struct comm *comm, const uint8_t *peer);
int comm_exchange(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count);
int comm_wait(struct comm *comm);
/* Equal blocks between two ranks or more, to measure comm_exchange against; it ends with comm_wait too. */
int comm_exchange_blocks(struct comm *comm, const void *send, void *recv, int64_t bytes);
int comm_allreduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op);

/* Blocks of the ranks' devices that ranks of one host store into themselves. */
struct comm_reach {
  char *block; /* this rank's, borrowed */
  char **at;   /* [size] where this rank's device finds those of others; NULL: out of its reach, or its own */
  int *ended;  /* host memory that the device reads: not 0 once the ranks have come apart */
};

/* Collective. Opens `block`, all of an allocation of the device, to ranks that reach it. Two ranks reach each
 * other or neither does; none where devices have no such way, which is no error. comm_reach_close:
 * collective, before the block is released, after failures too; does nothing where reach is all 0. */
int comm_reach_open(struct comm *comm, void *block, struct comm_reach *reach);
void comm_reach_close(struct comm *comm, struct comm_reach *reach);
/* Collective. near[r] of [size] = whether comm_reach_open will find rank r's block. */
int comm_reach_find(struct comm *comm, uint8_t *near);
/* From now on nothing that this rank has queued waits for others' stores: before memory is released that a
 * kernel which waits would keep. */
void comm_let_go(struct comm *comm);

/* Set-up, host memory. */
int comm_barrier(struct comm *comm);
int comm_broadcast(struct comm *comm, void *data, int64_t bytes, int root);
int comm_reduce(struct comm *comm, void *data, int64_t count, enum number type,
                enum reduction op); /* in place, all */
/* all[r * bytes ..] = what rank r gave in `mine`. */
int comm_gather_all(struct comm *comm, const void *mine, int64_t bytes, void *all);
/* Sends and receives host messages, all at once, and waits for them. Sizes must match pair by pair. */
int comm_swap(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
              int recv_count);
/* send_bytes[r] of `send` (laid out by rank) to each rank r; *recv (caller frees) by rank, recv_bytes[r]
 * each. */
int comm_all_to_all(struct comm *comm, const void *send, const int64_t *send_bytes, void **recv,
                    int64_t *recv_bytes);

/* A heartbeat of life: tells the ranks that wait for this one to go on waiting, and answers their liveness
 * checks. A rank that computes for long while the others wait in a collective call makes it from its main
 * thread about once a second (the work runs in another thread); each call starts the others' deadlines anew.
 */
int comm_alive(struct comm *comm);

/* Waits, as for other ranks, until steps(context) has come to `last`: for work in another thread of this
 * rank. The deadline holds for each of its steps. Errors: another rank has failed. */
int comm_await(struct comm *comm, int (*steps)(void *context), void *context, int last);

/* Agreement at the end of a stage: returns OK on all ranks when `code` was OK on all; otherwise the highest
 * code on all, with the message of the lowest rank that failed kept on that rank and silenced elsewhere.
 * A rank that fails inside a stage comes here at once: the others leave whatever wait they are in with that
 * code, silenced, so a failure needs no collective call to be known. Afterwards nothing is under way between
 * the ranks. An error that was agreed on passes through the agreements of the stages around it. */
int comm_agree(struct comm *comm, int code);

/* The communicator of set-up, as MPI names it to Fortran (MPI_Comm_c2f), for a library that sends messages of
 * its own while all ranks call it. Starts MPI where a single process has not. */
int comm_mpi_handle(struct comm *comm, int *handle);

/* Sums or maxima of one value over the ranks. Errors end the job as above. */
int comm_sum_int64(struct comm *comm, int64_t *value);
/* The lowest rank on the node of rank r: the same one for all that share it. */
int comm_host(const struct comm *comm, int r);
/* The sum over the ranks of this rank's node. Collective over all. */
int comm_sum_on_node(struct comm *comm, int64_t *value);
int comm_max_int64(struct comm *comm, int64_t *value);
int comm_max_double(struct comm *comm, double *value);

/* Threads for this rank: `wanted` when > 0; else what OMP_NUM_THREADS says; else the processors it is bound
 * to, divided among the ranks of the node that share the same binding. *text (size bytes) says how it was
 * found, for the banner. */
int comm_threads(struct comm *comm, int wanted, int *threads, char *text, int64_t size);

/* What OMP_NUM_THREADS says; 0: nothing. Errors: BAD_INPUT: more than can be started. */
int threads_of_environment(int *threads);

#endif
