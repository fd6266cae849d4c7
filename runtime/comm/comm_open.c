/* The start and the end of MPI. */
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/limits.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/comm/launcher.h"

/* MPI's start and end block inside the library: an alarm is their deadline. */
static void too_late(int signal_number) {
  (void)signal_number;
  static const char text[] =
      "gnntrain: MPI did not start or end in time (a rank is missing): ending the job\n";
  launcher_end_later();
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(FAILED);
  _exit(FAILED);
}

static void alarm_start(double seconds) {
  signal(SIGALRM, too_late);
  alarm(seconds < 1 ? 1 : seconds < 1e6 ? (unsigned)seconds : 1000000);
}

static void alarm_stop(void) {
  alarm(0);
  signal(SIGALRM, SIG_DFL);
}

static int launched(void) {
  return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

/* Where the kernel forbids reading a peer's memory (many containers), Open MPI would warn on every message.
 */
static void cost_single_copy(void) {
  char from = 0, to = 0;
  struct iovec local = {&to, 1}, remote = {&from, 1};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1)
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
}

/* Where ranks are more than cores, Open MPI gives way at every poll. Waits do that themselves, see
 * comm_wait.c. */
static void keep_polls_short(void) {
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
}

/* Ranks that Slurm's srun starts by PMIx may leave MPI's start before others can take a message there, and
 * the first one then ends these (decision 051). Nothing but time helps. */
static void let_others_start(void) {
  enum { PAUSE = 300000 };
  if (getenv("PMIX_RANK") && !getenv("OMPI_COMM_WORLD_SIZE")) usleep(PAUSE);
}

static int duplicate(MPI_Comm *copy) {
  TRY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, copy));
  TRY_MPI(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN));
  return OK;
}

static int find_node(struct comm *comm, int *node) {
  MPI_Comm local = MPI_COMM_NULL;
  *node = comm->rank;
  TRY_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &local));
  TRY_MPI(MPI_Comm_rank(local, &comm->local_rank));
  TRY_MPI(MPI_Comm_size(local, &comm->local_size));
  TRY_MPI(MPI_Bcast(node, 1, MPI_INT, 0, local));
  TRY_MPI(MPI_Comm_free(&local));
  return OK;
}

static int gather_peers(struct comm *comm) {
  struct comm_peer *peers = comm->mpi->peers, *me = &peers[comm->rank];
  if (gethostname(me->host, sizeof me->host - 1) != 0) strcpy(me->host, "unknown host");
  me->pid = (int)getpid();
  if (comm->mpi->started) {
    TRY(find_node(comm, &me->node));
    TRY_MPI(
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, peers, sizeof *peers, MPI_BYTE, comm->mpi->setup));
  }
  for (int r = 0; r < comm->size; r++) {
    comm->nodes += peers[r].node == r;
    for (int kind = 0; kind < HEARTBEAT_KINDS; kind++) peers[r].sending[kind] = MPI_REQUEST_NULL;
  }
  return OK;
}

static int start_mpi(struct comm *comm, int *argc, char ***argv) {
  struct comm_mpi *mpi = comm->mpi;
  int provided = 0;
  cost_single_copy();
  keep_polls_short();
  int result = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided); /* before it MPI has no words */
  if (result != MPI_SUCCESS) FAIL(FAILED, "MPI cannot be started: error %d in MPI_Init_thread", result);
  mpi->started = 1;
  comm->size = 0; /* not known yet: whoever fails until then must not leave others waiting */
  /* Open MPI hands the errors of MPI_Test to this communicator, whichever the message belongs to. */
  TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (provided < MPI_THREAD_FUNNELED) FAIL(FAILED, "this MPI does not support threads (MPI_THREAD_FUNNELED)");
  TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank));
  TRY_MPI(MPI_Comm_size(MPI_COMM_WORLD, &comm->size));
  if (comm->size > 1) let_others_start();
  TRY(duplicate(&mpi->setup));
  TRY(duplicate(&mpi->exchange));
  TRY(duplicate(&mpi->agree));
  return duplicate(&mpi->heartbeats);
}

static int open_parts(struct comm *comm) {
  struct comm_mpi *mpi = comm->mpi;
  TRY(memory_arrays("ranks", ROOM(&mpi->peers, comm->size)));
  TRY(memory_arrays("messages", ROOM(&mpi->sends, comm->size), ROOM(&mpi->recvs, comm->size)));
  TRY(gather_peers(comm));
  if (!mpi->started) return OK;
  TRY(launcher_watch(comm));
  return comm_heartbeats_open(comm);
}

static int start(struct comm *comm, int *argc, char ***argv) {
  TRY(memory_arrays("communication", ROOM(&comm->mpi, 1)));
  struct comm_mpi *mpi = comm->mpi;
  mpi->setup = mpi->exchange = mpi->agree = mpi->heartbeats = MPI_COMM_NULL;
  mpi->heartbeat_request = MPI_REQUEST_NULL;
  mpi->failed_rank = -1;
  TRY(limits_raise(launched()));
  if (launched()) TRY(start_mpi(comm, argc, argv));
  return open_parts(comm);
}

int comm_open(struct comm *comm, int *argc, char ***argv) {
  *comm = (struct comm){.size = 1, .local_size = 1, .timeout = 300};
  alarm_start(comm->timeout);
  int code = start(comm, argc, argv);
  alarm_stop();
  return code;
}

/* Nobody leaves before all have come. */
static int meet_at_end(struct comm *comm) {
  MPI_Request request;
  if (comm->mpi->agree == MPI_COMM_NULL) return OK;
  TRY_MPI(MPI_Ibarrier(comm->mpi->agree, &request));
  return comm_watch_request(comm, &request, CALL_CLOSE);
}

static int finalize(struct comm *comm) {
  alarm_start(comm->timeout);
  comm_heartbeats_close(comm);
  int code = comm_mpi_check(MPI_Finalize(), "MPI_Finalize");
  alarm_stop();
  comm->mpi->started = 0;
  return code;
}

/* Who cannot take part in the end must not leave the others waiting for it. */
static void end_mpi(struct comm *comm) {
  int told = error_is_agreed(), code = meet_at_end(comm);
  if (code == OK) code = finalize(comm);
  if (code == OK) return;
  if (!told) error_print(stderr, "gnntrain");
  comm_abort(comm, FAILED);
}

int comm_mpi_handle(struct comm *comm, int *handle) {
  if (!comm->mpi->started) {
    TRY(start_mpi(comm, NULL, NULL));
    TRY(comm_heartbeats_open(comm));
  }
  *handle = MPI_Comm_c2f(comm->mpi->setup);
  return OK;
}

void comm_close(struct comm *comm) {
  struct comm_mpi *mpi = comm->mpi;
  if (!mpi) return;
  comm_detach(comm);
  if (mpi->started) end_mpi(comm);
  if (!comm->lone) launcher_release();
  for (int i = 0; i < 2; i++) comm_requests_free(&mpi->requests[i]);
  free_all(mpi->scratch.memory, mpi->scratch.abandoned, mpi->sends, mpi->recvs, mpi->peers, mpi);
  *comm = (struct comm){0};
}
