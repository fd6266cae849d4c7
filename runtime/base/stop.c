#include "runtime/base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/base.h"

static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { SIGNALS = sizeof taken / sizeof taken[0] };

/* What a signal does. It changes between two signals, never during one. */
enum effect { ENDS, LEAVES, REMEMBERS };
static enum effect effect;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static int ignored[SIGNALS]; /* when the program began */
static void (*cleaning)(void);
static int leaving_code;
static int interrupts;
static atomic_int first;

static uint64_t bit_of(int number) {
  return (uint64_t)1 << (number - 1);
}

/* The system call, for the libc and what wraps it may not have started yet. */
void stop_block(void) {
  uint64_t set = 0;
  for (int i = 0; i < SIGNALS; i++) set |= bit_of(taken[i]);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof set);
}

static void fill(sigset_t *set) {
  sigemptyset(set);
  for (int i = 0; i < SIGNALS; i++) sigaddset(set, taken[i]);
}

/* As if nothing had been installed for it. */
static void end_by(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  signal(number, SIG_DFL);
  raise(number); /* for this thread: it comes when no longer blocked */
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void leave(void) {
  static const char said[] = "stopped by a signal before there was anything to save\n";
  (void)!write(STDERR_FILENO, said, sizeof said - 1);
  cleaning();
  _exit(leaving_code);
}

static int is_ignored(int number) {
  if (effect != ENDS && number != SIGHUP) return 0;
  for (int i = 0; i < SIGNALS; i++) {
    if (taken[i] == number) return ignored[i];
  }
  return 0;
}

static void act(int number) {
  if (is_ignored(number)) return;
  if (effect == LEAVES) leave();
  if (effect == ENDS) cleaning();
  interrupts += number == SIGINT;
  if (effect == ENDS || (number == SIGINT && interrupts > 1)) end_by(number);
  if (!first) first = number;
}

static void *take(void *unused) {
  (void)unused;
  sigset_t set;
  fill(&set);
  for (int number;;) {
    if (sigwait(&set, &number) != 0) continue;
    pthread_mutex_lock(&changing);
    act(number);
    pthread_mutex_unlock(&changing);
  }
  return NULL;
}

int stop_start(void (*clean)(void)) {
  enum { STACK_BYTES = 256 << 10 };
  struct sigaction before;
  pthread_attr_t attributes;
  pthread_t thread;
  for (int i = 0; i < SIGNALS; i++)
    ignored[i] = sigaction(taken[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
  cleaning = clean;
  stop_block();
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int started = pthread_create(&thread, &attributes, take, NULL) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) FAIL(FAILED, "no thread could be started to wait for signals (ulimit -u, ulimit -v)");
  return OK;
}

static void change(enum effect to) {
  pthread_mutex_lock(&changing);
  effect = to;
  pthread_mutex_unlock(&changing);
}

void stop_leaves(int code) {
  leaving_code = code;
  change(LEAVES);
}

void stop_remembers(void) {
  change(REMEMBERS);
}

int stop_requested(void) {
  return first;
}

/* strncmp of a library that may not have started yet. */
static int begins_with(const char *text, const char *start) {
  while (*start && *text == *start) text++, start++;
  return *start == '\0';
}

__attribute__((no_sanitize("address", "undefined"))) void load_first(int argc, char **argv,
                                                                     char **environment) {
  static char alone[] = "OPENBLAS_NUM_THREADS=1";
  (void)argc;
  stop_block();
  int count = 0;
  while (environment[count]) count++;
  char *changed[count + 2];
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (begins_with(environment[i], alone) && environment[i][sizeof alone - 1] == '\0') return;
    if (!begins_with(environment[i], "OPENBLAS_NUM_THREADS=")) changed[kept++] = environment[i];
  }
  changed[kept] = alone;
  changed[kept + 1] = NULL;
  execve((const char *)getauxval(AT_EXECFN), argv, changed); /* on failure it goes on as it is */
}
