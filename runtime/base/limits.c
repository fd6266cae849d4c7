#include "runtime/base/limits.h"

#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/base/base.h"

/* Measured, and some more: a rank has 21 descriptors open at most, a program alone 8; threads and the stack
 * of main stay within 128 KiB. */
enum { FILES_OF_RANK = 24, FILES_ALONE = 12, STACK_BYTES = 256 << 10 };

/* What is comfortable, where it is to be had. */
enum { COMFORTABLE_FILES = 1024, COMFORTABLE_STACK = 8 << 20 };

/* Raises the limit in force to `wanted` or as far as it goes; what it is now. */
static rlim_t raise_limit(int resource, rlim_t wanted) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return RLIM_INFINITY;
  if (limit.rlim_cur >= wanted || limit.rlim_cur == limit.rlim_max) return limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  (void)setrlimit(resource, &limit);
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/* Threads have stacks as large as that of main could become when the program began. */
static int raise_stack(void) {
  struct rlimit before;
  char now[16], least[16];
  pthread_attr_t attributes;
  if (getrlimit(RLIMIT_STACK, &before) != 0 || before.rlim_cur >= COMFORTABLE_STACK) return OK;
  rlim_t limit = raise_limit(RLIMIT_STACK, COMFORTABLE_STACK);
  if (limit < STACK_BYTES)
    FAIL(FAILED, "the stack may have %s (ulimit -s); at least %s are needed",
         memory_text((int64_t)limit, now), memory_text(STACK_BYTES, least));
  if (limit == before.rlim_cur || pthread_attr_init(&attributes) != 0) return OK;
  if (pthread_attr_setstacksize(&attributes, limit) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return OK;
}

int limits_raise(int launched) {
  rlim_t least = launched ? FILES_OF_RANK : FILES_ALONE;
  rlim_t files = raise_limit(RLIMIT_NOFILE, COMFORTABLE_FILES);
  if (files < least)
    FAIL(FAILED, "%lld files may be open at a time (ulimit -n); at least %lld are needed", (long long)files,
         (long long)least);
  return raise_stack();
}

/* Threads that are there until the lock is given back. */
static void *stay(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

static int start_threads(pthread_t *thread, int count) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int started = 0;
  pthread_mutex_lock(&lock);
  while (started < count && pthread_create(&thread[started], NULL, stay, &lock) == 0) started++;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  return started;
}

int limits_threads(int threads) {
  int count = 2 * (threads > 0 ? threads : omp_get_max_threads()) - 1, started = 0;
  FREED pthread_t *thread = NULL;
  TRY(memory_arrays("threads", ROOM(&thread, count)));
  started = start_threads(thread, count);
  if (started < count)
    FAIL(FAILED,
         "threads are too few: %d are wanted, %d can be started (ulimit -u, ulimit -v); runtime.threads and "
         "OMP_NUM_THREADS set how many",
         count + 1, started + 1);
  return OK;
}

/* " (ulimit -v: 244.1 MiB)", "" without a limit. */
static void describe_limit(char *text, size_t size) {
  static const struct {
    int resource;
    const char *option;
  } kinds[] = {{RLIMIT_AS, "-v"}, {RLIMIT_DATA, "-d"}};
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < 2; i++) {
    struct rlimit limit;
    char bytes[16];
    if (getrlimit(kinds[i].resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    used += (size_t)snprintf(text + used, size - used, " (ulimit %s: %s)", kinds[i].option,
                             memory_text((int64_t)limit.rlim_cur, bytes));
  }
}

/* Each mapped block keeps the address of the one before. */
int limits_memory(int64_t bytes, int count, const char *what) {
  char text[16], limit[96];
  void *last = NULL;
  int mapped = 0;
  for (; mapped < count; mapped++) {
    void **block = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    *block = last;
    last = block;
  }
  for (void *next; last; last = next) {
    next = *(void **)last;
    munmap(last, (size_t)bytes);
  }
  if (mapped == count) return OK;
  describe_limit(limit, sizeof limit);
  FAIL(FAILED, "out of memory: %s takes %d times %s of address space, %d of them can be had%s", what, count,
       memory_text(bytes, text), mapped, limit);
}
