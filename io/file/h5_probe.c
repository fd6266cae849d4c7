#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "io/file/h5_hdf5.h"
#include "io/file/path_check.h"
#include "runtime/base/base.h"

enum {
  CPU_SECONDS = 5,         /* a damaged file loops; slow storage does not burn processor time */
  WALL_SECONDS = 60,       /* of the child in all */
  MEMORY_BYTES = 1 << 30,  /* on top of what the process has */
  WALK_BYTES = 64 << 20,   /* read in all; then the ends of each dataset only */
  WALK_DEPTH = 8,          /* groups inside groups */
  WALK_OBJECTS = 10 * 1000 /* far more than any file of ours has */
};

/* Of "/": nobody reads those of other objects. */
static void walk_attrs(struct h5 *h5) {
  char attr[256], text[65536];
  int64_t integer;
  double real;
  for (hsize_t i = 0; i < WALK_OBJECTS; i++) {
    ssize_t length = H5Aget_name_by_idx(h5->file, ".", H5_INDEX_NAME, H5_ITER_INC, i, attr, sizeof attr,
                                        H5P_DEFAULT);
    if (length < 0) break;
    if (length >= (ssize_t)sizeof attr) continue;
    /* Which of them succeeds is the reader's matter; here they only must not crash. */
    h5_read_int(h5, attr, &integer);
    h5_read_value(h5, attr, H5_DOUBLE, &real, 0);
    h5_read_text(h5, attr, text, sizeof text);
    error_clear();
  }
}

/* A row in memory, whose numbers may be wider than those in the file. */
static int64_t row_bytes(const struct h5_set *s) {
  int64_t numbers = s->bytes / (int64_t)H5Tget_size(s->type) / s->shape.dim[0];
  return numbers * (int64_t)H5Tget_size(h5_memory_type(s->shape.type));
}

static int walk_rows(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count) {
  FREED void *data = NULL;
  FREED char **text = NULL;
  if (s->shape.type == H5_TEXT) {
    if (s->shape.dims != 1) return OK;
    TRY(memory_arrays("strings", ROOM(&text, count)));
    TRY(h5_read_strings(h5, name, first, count, text));
    for (int64_t i = 0; i < count; i++) free(text[i]);
    return OK;
  }
  TRY(memory_alloc(&data, row_bytes(s) * count, "rows"));
  return h5_read_set(h5, name, s, first, count, s->shape.type, data);
}

/* A filter that this build of HDF5 lacks is no damage. */
static int has_filters(const struct h5_set *s) {
  int filters = H5Pget_nfilters(s->layout), all = filters >= 0;
  for (int i = 0; i < filters; i++) {
    unsigned flags, config;
    size_t values = 0;
    H5Z_filter_t filter = H5Pget_filter2(s->layout, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
    all = all && filter >= 0 && H5Zfilter_avail(filter) > 0;
  }
  return all;
}

struct walk {
  struct h5 h5;
  int64_t objects, bytes; /* seen so far */
};

/* The index of the chunks, then all rows while few bytes have been read, else the first and the last, unless
 * that takes more memory and time than the child has. */
static int walk_set(struct walk *w, const char *name, struct h5_set *s) {
  struct h5 *h5 = &w->h5;
  hsize_t chunks = 0;
  int64_t rows = s->shape.dim[0];
  if (H5Pget_layout(s->layout) == H5D_CHUNKED && H5Dget_num_chunks(s->id, s->space, &chunks) < 0)
    FAIL(BAD_INPUT, "%s: %s: is damaged: its chunks cannot be found", h5->path, name);
  if ((s->shape.dims != 1 && s->shape.dims != 2) || s->bytes == 0 || !has_filters(s)) return OK;
  if (s->chunk_bytes > WALK_BYTES) return OK;
  if (s->bytes <= WALK_BYTES - w->bytes) {
    w->bytes += s->bytes;
    TRY(walk_rows(h5, name, s, 0, rows));
    return OK;
  }
  TRY(walk_rows(h5, name, s, 0, 1));
  return walk_rows(h5, name, s, rows - 1, 1);
}

static int walk(struct walk *w, const char *name, int depth) {
  struct h5 *h5 = &w->h5;
  char **names, child[1024];
  int64_t count;
  struct h5_set s;
  if (depth > WALK_DEPTH || ++w->objects > WALK_OBJECTS) return OK;
  int code = OK;
  if (h5_open_set(h5, name, &s) != OK)
    error_clear(); /* not for us; whoever needs it says why not */
  else if (!s.shape.is_group)
    code = walk_set(w, name, &s);
  if (depth == 0) walk_attrs(h5);
  int is_group = s.shape.is_group;
  h5_close_set(&s);
  if (code != OK || !is_group) return code;
  TRY(h5_list(h5, name, &names, &count));
  for (int64_t i = 0; i < count && code == OK; i++) {
    int fits = snprintf(child, sizeof child, "%s/%s", depth ? name : "", names[i]) < (int)sizeof child;
    if (fits) code = walk(w, child, depth + 1);
  }
  h5_free_names(names, count);
  return code;
}

static int open_and_walk(const char *path) {
  struct walk w = {0};
  int code = h5_open(&w.h5, path);
  if (code == OK) code = walk(&w, "/", 0);
  h5_close(&w.h5);
  return code;
}

/* Dies quietly, whatever the parent installed, and with it: no handlers, no core, no words on stderr,
 * limits. It is one thread: those of the parent are not in it, and each more would take of its memory. */
static void become_expendable(void) {
  static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU, SIGTERM};
  sigset_t none;
  sigemptyset(&none);
  for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) signal(deadly[i], SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(WALL_SECONDS);
  omp_set_num_threads(1);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_SECONDS, CPU_SECONDS});
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory is terabytes of address space */
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file) {
    if (fscanf(file, "%ld", &pages) != 1) pages = 0;
    fclose(file);
  }
  rlim_t limit = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES;
  if (pages > 0) setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
#endif
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDERR_FILENO);
}

/* What the child finds, in memory that it shares with its parent. */
struct verdict {
  int given, code;
  char message[1500];
};

static _Noreturn void child(const char *path, struct verdict *verdict) {
  become_expendable();
  verdict->code = open_and_walk(path);
  snprintf(verdict->message, sizeof verdict->message, "%s", error_message());
  verdict->given = 1;
  _exit(0);
}

/* Waits for the child, whose end closes the other end of the pipe; whether it came in time. */
static int await_end(int pipe_end) {
  struct pollfd entry = {.fd = pipe_end, .events = POLLIN};
  int ready;
  do {
    ready = poll(&entry, 1, 1000 * WALL_SECONDS);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

/* Why the child gave no verdict. Only what HDF5 itself can be the cause of is the file's fault. */
static int fail_unheard(const char *path, int in_time, int status) {
  int sent = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (!in_time || sent == SIGALRM)
    FAIL(FAILED, "%s: could not be looked through in %d s; does its storage answer?", path, WALL_SECONDS);
  if (sent == SIGXCPU)
    FAIL(BAD_INPUT, "%s: is a damaged HDF5 file: the HDF5 library does not come to an end with it", path);
  if (sent == SIGSEGV || sent == SIGBUS || sent == SIGFPE || sent == SIGILL || sent == SIGABRT)
    FAIL(BAD_INPUT, "%s: is a damaged HDF5 file: the HDF5 library crashes on it (signal %d)", path, sent);
  FAIL(FAILED, "%s: cannot be probed: the process that looks through it gives no answer", path);
}

static int probe(const char *path, struct verdict *verdict) {
  int ends[2], status = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) FAIL(FAILED, "%s: cannot be probed: %s", path, strerror(errno));
  pid_t pid = fork();
  if (pid == 0) child(path, verdict);
  int error = errno;
  close(ends[1]);
  int in_time = pid > 0 && await_end(ends[0]);
  close(ends[0]);
  if (pid < 0) FAIL(FAILED, "%s: cannot be probed: %s", path, strerror(error));
  if (!verdict->given) kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!verdict->given) return fail_unheard(path, in_time, status);
  if (verdict->code != OK) FAIL(verdict->code, "%s", verdict->message);
  return OK;
}

int h5_probe(const char *path) {
  TRY(path_check_readable(path));
  struct verdict *verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
  if (verdict == MAP_FAILED) FAIL(FAILED, "%s: cannot be probed: %s", path, strerror(errno));
  int code = probe(path, verdict);
  munmap(verdict, sizeof *verdict);
  return code;
}

static int read_format(const char *path, char *format, int64_t size) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  return h5_has_attr(&h5, "format") ? h5_read_text(&h5, "format", format, size) : OK;
}

int h5_check_replaced(const char *path, const char *format, const char *kind) {
  char found[64] = "";
  struct stat status;
  if (stat(path, &status) != 0 || status.st_size == 0) return OK;
  int code = read_format(path, found, sizeof found);
  if (code != BAD_INPUT) TRY(code);
  error_clear();
  if (strcmp(found, format) != 0)
    FAIL(BAD_INPUT, "%s: is there and is no %s; remove it or name another", path, kind);
  return OK;
}
