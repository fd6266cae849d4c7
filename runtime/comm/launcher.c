#include "runtime/comm/launcher.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/comm/comm.h"

enum { LOOK_SECONDS = 1, OUTLIVE_SECONDS = 10, MAY_BE_OPEN = 65536 };

/* One of /proc; a number may be given to another process, which then started later. */
struct process {
  pid_t id, parent;
  long long started; /* clock ticks since boot */
  char state, name[32];
};

static const char *const ours[] = {"mpirun", "mpiexec",        "orterun",         "orted", "prterun",
                                   "prted",  "mpirun.openmpi", "mpiexec.openmpi", NULL}; /* Open MPI's */
static const char *const others[] = {"slurmstepd", "hydra_pmi_proxy", "mpiexec.hydra", NULL};

static struct {
  struct process found; /* id 0: none */
  pid_t parent;         /* 0: not watched */
  int rank, speaks, running;
  pthread_t thread;
  sem_t released;
} launcher;

/* Also used between fork and exit, where memory must not be allocated. */
static int read_process(pid_t id, struct process *process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  char *name = strchr(text, '('), *end = strrchr(text, ')'); /* a name may hold both */
  if (!name || !end || end < name || strlen(end) < 4) return 0;
  *process = (struct process){.id = id, .state = end[2]};
  snprintf(process->name, sizeof process->name, "%.*s", (int)(end - name - 1), name + 1);
  char *field = end + 3;
  process->parent = (pid_t)strtol(field, &field, 10);
  for (int i = 5; i <= 22; i++) process->started = strtoll(field, &field, 10);
  return 1;
}

static int is_named(const struct process *process, const char *const *names) {
  for (; *names; names++)
    if (strcmp(process->name, *names) == 0) return 1;
  return 0;
}

static void find(struct process *found) {
  struct process process;
  *found = (struct process){0};
  for (pid_t id = getppid(); id > 0 && read_process(id, &process); id = process.parent) {
    if (!is_named(&process, ours) && !is_named(&process, others)) continue;
    *found = process;
    return;
  }
}

static int lives(const struct process *process) {
  struct process now;
  return read_process(process->id, &now) && now.started == process->started && now.state != 'Z';
}

/* It may wait in MPI, compute, or hang: main is not asked, and MPI not told, which is that thread's alone. */
static _Noreturn void leave(const char *name, pid_t id) {
  char text[160];
  int length = snprintf(text, sizeof text,
                        "gnntrain: what started rank %d (%s, process %d) is gone: the rank ends\n",
                        launcher.rank, name, (int)id);
  if (launcher.speaks) (void)!write(STDERR_FILENO, text, (size_t)length);
  _exit(FAILED);
}

static struct timespec in_a_while(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += LOOK_SECONDS;
  return t;
}

static void *watch(void *unused) {
  (void)unused;
  for (;;) {
    struct timespec until = in_a_while();
    if (sem_timedwait(&launcher.released, &until) == 0) return NULL;
    if (launcher.found.id && !lives(&launcher.found)) leave(launcher.found.name, launcher.found.id);
    if (launcher.parent && getppid() != launcher.parent) leave("its parent", launcher.parent);
  }
}

/* Signals are for the main thread; a write to a launcher that is gone must not end this one half-way. */
static int start_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result = pthread_create(&launcher.thread, NULL, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result;
}

int launcher_watch(const struct comm *comm) {
  find(&launcher.found);
  launcher.rank = comm->rank;
  launcher.speaks = comm->local_rank == 0;
  launcher.parent = comm->size > 1 && getppid() > 1 ? getppid() : 0;
  if (comm->size == 1 && !is_named(&launcher.found, ours)) launcher.found.id = 0; /* by hand in a batch job */
  if (!launcher.found.id && !launcher.parent) return OK;
  sem_init(&launcher.released, 0, 0);
  if (start_thread() != 0) FAIL(FAILED, "no thread could be started");
  launcher.running = 1;
  return OK;
}

void launcher_release(void) {
  if (!launcher.running) return;
  sem_post(&launcher.released);
  pthread_join(launcher.thread, NULL);
  launcher.running = 0;
}

static int ends_within(int seconds) {
  const struct timespec pause = {0, 100000000};
  for (int i = 0; i < 10 * seconds; i++) {
    if (!lives(&launcher.found)) return 1;
    nanosleep(&pause, NULL);
  }
  return 0;
}

/* mpirun ends its job already, so SIGTERM would only make it say so. */
static void end_launcher(void) {
  if (!ends_within(OUTLIVE_SECONDS)) kill(launcher.found.id, SIGKILL);
}

/* In a session of its own the launcher does not end it with the rank, and without files it holds up nobody
 * who waits for the rank's to be closed. */
void launcher_end_later(void) {
  if (!launcher.found.id) find(&launcher.found); /* MPI's start never ended */
  if (!launcher.found.id || !is_named(&launcher.found, ours) || fork() != 0) return;
  setsid();
  for (int file = 0; file < MAY_BE_OPEN; file++) close(file);
  end_launcher();
  _exit(0);
}
