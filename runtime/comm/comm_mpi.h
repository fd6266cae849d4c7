/* comm_mpi: what comm keeps while MPI runs, and how its parts wait. Inside runtime/ only: the rest of the
 * program includes comm.h.
 *
 * Everything is non-blocking MPI and a polling wait (struct comm_watch) that answers heartbeats of other
 * ranks, notices a rank that has failed, and ends the job when a deadline passes. */
#ifndef RUNTIME_COMM_COMM_MPI_H
#define RUNTIME_COMM_COMM_MPI_H

#include <mpi.h>
#include <stdio.h>

#include "runtime/comm/comm.h"

/* What a rank is doing when another asks. */
enum comm_call {
  CALL_NONE,
  CALL_EXCHANGE,
  CALL_ALLREDUCE,
  CALL_BARRIER,
  CALL_BROADCAST,
  CALL_GATHER,
  CALL_SWAP,
  CALL_ALL_TO_ALL,
  CALL_AGREE,
  CALL_START,
  CALL_CLOSE,
};

/* Short messages between any two ranks at any time. */
enum heartbeat_kind {
  HEARTBEAT_CALL,   /* do you live? */
  HEARTBEAT_HERE,   /* the answer, with what the rank is doing */
  HEARTBEAT_ALIVE,  /* go on waiting for me */
  HEARTBEAT_FAILED, /* this rank has failed and waits in comm_agree */
  HEARTBEAT_ENDING, /* this rank has said who does not answer, and ends the job */
  HEARTBEAT_KINDS,
};

struct heartbeat {
  int kind, number; /* number: of the liveness check, or of the agreement */
  int call, peer; /* HEARTBEAT_HERE: what it is doing and for whom it waits (-1: all); HEARTBEAT_FAILED: call
                     = code */
};

struct comm_peer {
  char host[64];
  int pid, node;           /* node: lowest rank on the same one */
  int unconnected;         /* by comm_connect_peers: no messages of devices go there or come from there */
  struct heartbeat answer; /* to the last liveness check that it has heard */
  double answered;         /* when that came */
  struct heartbeat out[HEARTBEAT_KINDS]; /* being sent */
  MPI_Request sending[HEARTBEAT_KINDS];
};

/* Messages under way, and what is known of each piece of at most comm_message_limit bytes. */
struct comm_requests {
  int count, capacity;
  MPI_Request *request;
  MPI_Status *status;
  struct comm_piece {
    int peer, bytes, receives;
  } * piece;
};

/* Memory of collective calls. */
struct comm_scratch {
  void *memory;
  int64_t bytes;
  void *abandoned; /* what a call that was left may still write to */
};

struct comm_mpi {
  int started;                                 /* MPI_Init was called */
  MPI_Comm setup, exchange, agree, heartbeats; /* each kind of traffic on its own */
  struct comm_peer *peers;                     /* [size] */
  struct heartbeat heartbeat_in;
  MPI_Request heartbeat_request;
  double last_heartbeat; /* when another rank last asked for patience */
  int liveness_checks;
  double called;           /* when the last of them went out */
  double ending;           /* when another rank said that it ends the job, 0: none has */
  struct heartbeat failed; /* the last rank that said so */
  int failed_rank;
  int agreements;                   /* ended so far: the same number on all ranks */
  const struct comm_watch *watch;   /* the wait this rank is in, NULL outside */
  struct comm_requests requests[2]; /* set-up, exchange */
  struct message *sends, *recvs;    /* [size] each, for collective calls */
  struct comm_scratch scratch;
};

/* Messages longer than this are split. Tests lower it. */
extern int64_t comm_message_limit;

/* Up to this size a rank's contribution passes through scratch memory in one collective MPI call. Such calls
 * cannot be cancelled, so they never touch a caller's buffer; longer ones travel as messages, which can. */
enum { COMM_SHORT_BYTES = 16 << 10 };

/* Whether there is nobody to speak to. */
static inline int comm_is_alone(const struct comm *comm) {
  return comm->size == 1 || comm->lone;
}

/* Turns an MPI return value into OK or FAILED with MPI's words. */
int comm_mpi_check(int result, const char *what);
#define TRY_MPI(call) TRY(comm_mpi_check((call), #call))

/* Scratch memory of at least that size, kept for the next call. */
int comm_mpi_scratch(struct comm *comm, int64_t bytes, void **memory);

/* What a collective call that is left may still write to: no call gets that scratch memory any more. */
void comm_mpi_abandon(struct comm_mpi *mpi);

/* A wait: start it, then poll until what it waits for has come. */
struct comm_watch {
  struct comm *comm;
  enum comm_call call;
  const struct comm_requests *requests; /* to name whom it waits for; NULL: all */
  double start, next_look;
  double called;                         /* when the liveness check went out, 0: not */
  enum { NOT_ASKED, ASKED, TOLD } early; /* another one, long before the deadline: see ask_early */
  double noticed;                        /* when another rank's failure was seen, 0: not */
};
void comm_watch_start(struct comm_watch *watch, struct comm *comm, enum comm_call call,
                      const struct comm_requests *requests);
void comm_watch_finish(struct comm_watch *watch);

/* A poll: yields the processor and returns OK to go on. When another rank has failed it takes part in the
 * agreement on that, after which nothing is under way on any rank, and returns the code; but for CALL_AGREE
 * and CALL_CLOSE, to which all ranks come whatever fails. */
int comm_watch_poll(struct comm_watch *watch);

/* "a broadcast", as messages name what a rank waits in. */
const char *comm_call_name(enum comm_call call);

/* Waits for one request of a collective MPI call, so polling. */
int comm_watch_request(struct comm *comm, MPI_Request *request, enum comm_call call);

/* Heartbeats and the liveness check (comm_liveness.c). */
int comm_heartbeats_open(struct comm *comm);
void comm_heartbeats_close(struct comm *comm);
int comm_heartbeats_look(struct comm *comm);
/* Dropped where the last sign of that kind to the peer has not left yet. */
int comm_heartbeats_send(struct comm *comm, int peer, struct heartbeat heartbeat);
int comm_heartbeats_send_all(struct comm *comm, struct heartbeat heartbeat);
int comm_liveness_start(struct comm *comm);
/* Goes on with a liveness check `seconds` old; ends the job once it is known whom to name. */
void comm_liveness_conclude(struct comm_watch *watch, double seconds);
/* The launcher ends the job: names whom this rank has waited for, `seconds` long, if it is a whole host. */
void comm_liveness_name(const struct comm *comm, double seconds);

/* Whether a rank has answered since the last liveness check went out; and who has not (comm_missing.c): "host
 * b (ranks 2, 3) has not answered", hosts of which no rank has and single ranks; and whether no rank of some
 * host has. */
int comm_answered(const struct comm *comm, int r);
void comm_missing_name(const struct comm *comm, FILE *out);
int comm_missing_host(const struct comm *comm);

/* comm_abort in two steps: from the first on the process ends in ten seconds at the latest, whatever blocks.
 */
void comm_abort_start(int code);

/* The first peer that an has_halo request waits for, -1: none or all. */
int comm_requests_peer(const struct comm_requests *requests);

/* Posts messages on `on`; waits until all have come and gone (comm_message.c). */
int comm_requests_post(struct comm *comm, struct comm_requests *requests, MPI_Comm on,
                       const struct message *sends, int send_count, const struct message *recvs,
                       int recv_count);
int comm_requests_wait(struct comm *comm, struct comm_requests *requests, enum comm_call call);
void comm_requests_free(struct comm_requests *requests);

/* Both at once, on the set-up communicator. */
int comm_messages(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count, enum comm_call call);

/* (*all)[r * bytes ..] in scratch memory = what rank r gave; bytes <= COMM_SHORT_BYTES (comm_collective.c).
 */
int comm_gather_post(struct comm *comm, MPI_Comm on, const void *mine, int64_t bytes, char **all,
                     MPI_Request *request); /* and goes on: they are there once the request has come */
int comm_gather_short(struct comm *comm, MPI_Comm on, const void *mine, int64_t bytes, char **all,
                      enum comm_call call);
/* Where block r of `count` numbers starts when each rank has one; block `size` starts at the end. */
int64_t comm_block_start(const struct comm *comm, int64_t count, int r);
/* Sends the own block of data[count] (width bytes each) to all and receives the others. */
int comm_gather_blocks(struct comm *comm, char *data, int64_t count, int64_t width, enum comm_call call);

/* Ends what device buffers travelled by (comm_device.c). */
void comm_detach(struct comm *comm);

/* The tables for buffers in host memory (comm_host.c), and for those of GPUs: NCCL on the device's exchange
 * and compute streams (comm_nccl.c). */
extern const struct comm_ops comm_mpi_ops, comm_nccl_ops;

#endif
