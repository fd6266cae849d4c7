/* Loaded before the C library (LD_PRELOAD), lets the n-th call of a function fail. The environment says
 * which:
 *
 *   FAULT_PROGRAM=gnntrain   only in programs of that name
 *   FAULT_RANK=1             only in that rank; unset: in every process
 *   FAULT_CALL=write,pwrite  the functions; their calls are counted together
 *   FAULT_AT=3               the third of their calls fails; without it none does
 *   FAULT_ALWAYS=1           and every one after it, as on a full disk
 *   FAULT_ERROR=ENOSPC       what it fails with; or "short": half of the bytes are read or written;
 *                            or "kill": the process ends on the spot; or "TERM", "INT", "HUP", "USR1":
 *                            it gets that signal, and a second later the call goes on. MPI's and
 *                            HDF5's have their own
 *   FAULT_IN=/folder         calls on files below it count whoever makes them; others only when the
 *                            program's own code makes them, libstdc++ taken as part of it
 *   FAULT_FILE=.h5           of those below FAULT_IN only the ones whose path has this
 *   FAULT_EXCEPT=1a00-2b00   addresses in the program that are not its own code: a library linked into it
 *   FAULT_LOG=/file          gets a line for a call that failed: function, number, place of the caller
 *   FAULT_COUNTS=/file       gets a line "function calls" for each that was called, at a good end
 *   FAULT_PLACES=/file       gets a line for a call that comes by a way on which none came before: function,
 * number, and the places in the program of all its calls that are under way
 *
 * A call is counted in a process and the children that it forks together, so that one of them fails. */
#include "faults/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_TEXTS = 8, DEEPEST = 48, MOST_WAYS = 1 << 16 };

/* All calls, as the linker puts them side by side. */
extern struct fault_call fault_first[] __asm__("__start_fault_calls"), fault_end[] __asm__(
                                                                           "__stop_fault_calls");

struct name {
  const char *name;
  int number;
};
static const struct name signals[] = {
    {"kill", SIGKILL}, {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}};
static const struct name errors[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
    {"ENOMEM", ENOMEM}, {"EINTR", EINTR},   {"EACCES", EACCES}, {"EBUSY", EBUSY},   {"EAGAIN", EAGAIN}};

/* Where the program's own code lies. */
static struct text { uintptr_t start, end; } texts[MOST_TEXTS];

static struct {
  int active, error, signal, shortens, always, text_count;
  long at;
  const char *calls, *folder, *file, *log, *counts, *places;
  uintptr_t base;
  struct text except;  /* from the base on */
  atomic_long *shared; /* [0]: calls that FAULT_CALL names; [1 + i]: of call i */
  atomic_long *ways;   /* those that calls came by, each where its number says or behind */
} fault;

static int note_texts(struct dl_phdr_info *object, size_t size, void *context) {
  int *first = context, is_program = *first;
  const char *more = getenv("FAULT_LIBRARY"), *name = object->dlpi_name;
  (void)size;
  *first = 0;
  if (is_program) fault.base = object->dlpi_addr;
  if (!is_program && !strstr(name, "libstdc++") && !(more && strstr(name, more))) return 0;
  for (int i = 0; i < object->dlpi_phnum && fault.text_count < MOST_TEXTS; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    uintptr_t start = object->dlpi_addr + part->p_vaddr;
    texts[fault.text_count++] = (struct text){start, start + part->p_memsz};
  }
  return 0;
}

static int is_named(const char *name) {
  size_t length = strlen(name);
  for (const char *at = fault.calls; (at = strstr(at, name)); at += length) {
    if ((at == fault.calls || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
  }
  return 0;
}

static void cost_error(const char *name) {
  fault.shortens = strcmp(name, "short") == 0;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    if (strcmp(name, signals[i].name) == 0) fault.signal = signals[i].number;
  }
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (strcmp(name, errors[i].name) == 0) fault.error = errors[i].number;
  }
}

/* What getenv finds is copied: programs change their environment. */
static const char *setting(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value ? strdup(value) : otherwise;
}

__attribute__((constructor)) static void start(void) {
  const char *rank = getenv("FAULT_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
  const char *program = getenv("FAULT_PROGRAM");
  int first = 1;
  if (!program || strcmp(program, program_invocation_short_name) != 0) return;
  if (rank && (!own || strcmp(rank, own) != 0)) return;
  dl_iterate_phdr(note_texts, &first);
  fault.calls = setting("FAULT_CALL", "");
  fault.folder = setting("FAULT_IN", "/nowhere");
  fault.file = setting("FAULT_FILE", "");
  fault.log = setting("FAULT_LOG", NULL);
  fault.counts = setting("FAULT_COUNTS", NULL);
  fault.places = setting("FAULT_PLACES", NULL);
  fault.at = atol(setting("FAULT_AT", "0"));
  fault.always = getenv("FAULT_ALWAYS") != NULL;
  cost_error(setting("FAULT_ERROR", "EIO"));
  (void)!sscanf(setting("FAULT_EXCEPT", ""), "%" SCNxPTR "-%" SCNxPTR, &fault.except.start,
                &fault.except.end);
  for (struct fault_call *call = fault_first; call < fault_end; call++) call->is_named = is_named(call->name);
  size_t calls = (size_t)(fault_end - fault_first);
  fault.shared = mmap(NULL, (1 + calls + MOST_WAYS) * sizeof *fault.shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  fault.active = fault.shared != MAP_FAILED;
  fault.ways = fault.shared + 1 + calls;
}

static int is_own(uintptr_t caller) {
  if (caller - fault.base >= fault.except.start && caller - fault.base < fault.except.end) return 0;
  for (int i = 0; i < fault.text_count; i++) {
    if (caller >= texts[i].start && caller < texts[i].end) return 1;
  }
  return 0;
}

/* Whether `path`, taken from the folder that descriptor `at` is of, lies in FAULT_IN. */
static int is_inside(int at, const char *path) {
  char link[64], full[2 * PATH_MAX] = "";
  size_t length = strlen(fault.folder);
  if (path[0] != '/') {
    snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    if (readlink(link, full, PATH_MAX) < 0) return 0;
    if (path[0]) strcat(full, "/");
  }
  strncat(full, path, PATH_MAX - 1);
  return strncmp(full, fault.folder, length) == 0 && strchr("/", full[length]) && strstr(full, fault.file);
}

static int concerns(const struct fault_call *call, uintptr_t caller, long first, long second) {
  if (is_own(caller) && (fault.file[0] == '\0' || call->place == FAULT_NO_FILE)) return 1;
  switch (call->place) {
  case FAULT_PATH:
    return is_inside(AT_FDCWD, (const char *)first);
  case FAULT_DESCRIPTOR:
    return first >= 0 && is_inside((int)first, "");
  case FAULT_PATH_AT:
    return is_inside((int)first, (const char *)second);
  case FAULT_NO_FILE:
    break;
  }
  return 0;
}

/* Not through the functions that are replaced. */
static void append(const char *path, const char *text) {
  int saved = errno;
  long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file >= 0) {
    syscall(SYS_write, file, text, strlen(text));
    syscall(SYS_close, file);
  }
  errno = saved;
}

static int is_new_way(uint64_t way) {
  for (uint64_t i = way; i < way + MOST_WAYS; i++) {
    long empty = 0;
    if (atomic_compare_exchange_strong(&fault.ways[i % MOST_WAYS], &empty, (long)way)) return 1;
    if (empty == (long)way) return 0;
  }
  return 0;
}

static void note_place(const char *name, long n) {
  char line[DEEPEST * 20];
  void *frame[DEEPEST];
  uint64_t way = 1;
  int frames = backtrace(frame, DEEPEST), length = snprintf(line, sizeof line, "%s %ld", name, n);
  for (int i = 0; i < frames; i++) {
    uintptr_t place = (uintptr_t)frame[i] - fault.base;
    if (place >= texts[0].end - fault.base) continue;
    way = (way ^ place) * 1099511628211u;
    length += snprintf(line + length, sizeof line - (size_t)length, " %lx", (unsigned long)place);
  }
  snprintf(line + length, sizeof line - (size_t)length, "\n");
  if (is_new_way(way)) append(fault.places, line);
}

static int is_due(struct fault_call *call, uintptr_t caller) {
  char line[160];
  long calls = 1 + atomic_fetch_add(&fault.shared[1 + (call - fault_first)], 1);
  if (fault.places) note_place(call->name, calls);
  if (!call->is_named) return 0;
  long n = 1 + atomic_fetch_add(&fault.shared[0], 1);
  if (fault.at == 0 || (fault.always ? n < fault.at : n != fault.at)) return 0;
  snprintf(line, sizeof line, "%s %ld 0x%lx\n", call->name, n, (unsigned long)(caller - fault.base));
  if (fault.log) append(fault.log, line);
  if (fault.signal) kill(getpid(), fault.signal);
  if (fault.signal && n == fault.at)
    sleep(1); /* the thread that waits for it may have to wait for a processor */
  errno = fault.error;
  return fault.signal == 0;
}

int fault_strikes(struct fault_call *call, const void *caller, long first, long second) {
  static _Thread_local int inside;
  if (!fault.active || inside) return 0;
  inside = 1;
  int strikes = concerns(call, (uintptr_t)caller, first, second) && is_due(call, (uintptr_t)caller);
  inside = 0;
  return strikes;
}

int fault_shortens(void) {
  return fault.shortens;
}

int fault_concerns_path(const char *path) {
  return fault.active && is_inside(AT_FDCWD, path);
}

int fault_concerns_file(int descriptor) {
  return fault.active && is_inside(descriptor, "");
}

void *fault_next(struct fault_call *call) {
  if (!call->next) call->next = dlsym(RTLD_NEXT, call->name);
  if (!call->next) abort();
  return call->next;
}

__attribute__((destructor)) static void end(void) {
  char line[160];
  if (!fault.active || !fault.counts) return;
  for (struct fault_call *call = fault_first; call < fault_end; call++) {
    long calls = fault.shared[1 + (call - fault_first)];
    snprintf(line, sizeof line, "%s %ld\n", call->name, calls);
    if (calls > 0) append(fault.counts, line);
  }
}
