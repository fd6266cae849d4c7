/* How many threads a rank may start: what it is bound to, shared fairly with the ranks bound to the same. */
#include <math.h>
#include <sched.h>

#include "runtime/base/base.h"
#include "runtime/base/limits.h"
#include "runtime/comm/comm_mpi.h"

/* What one rank tells the others. */
struct binding {
  int node;
  cpu_set_t mask;
};

/* What the files say: a quota and its period in microseconds, or "max" and a period. */
static double read_quota(const char *quota_path, const char *period_path) {
  double quota = 0, period = 0;
  FILE *file = fopen(quota_path, "r");
  if (!file) return INFINITY;
  int found = fscanf(file, "%lf %lf", &quota, &period);
  fclose(file);
  if (found == 1 && period_path && (file = fopen(period_path, "r"))) {
    found += fscanf(file, "%lf", &period);
    fclose(file);
  }
  return found == 2 && quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* Processors' worth of time that a container grants all its processes together. */
static double container_quota(void) {
  double version_2 = read_quota("/sys/fs/cgroup/cpu.max", NULL);
  if (version_2 < INFINITY) return version_2;
  return read_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
}

/* Processors bound to, ranks that share them, a fair share of them, and the node's total and those that no
 * rank is bound to. */
struct share {
  int bound, ranks, threads, processors, idle;
  double quota; /* of the container, INFINITY: none */
};

/* All processors that this process could be bound to: the kernel keeps out those of other containers. */
static void allowed_processors(const cpu_set_t *bound, cpu_set_t *allowed) {
  cpu_set_t every;
  memset(&every, 0xff, sizeof every);
  *allowed = *bound;
  if (sched_setaffinity(0, sizeof every, &every) != 0) return;
  sched_getaffinity(0, sizeof *allowed, allowed);
  sched_setaffinity(0, sizeof *bound, bound);
}

/* A fair share of a processor is 1 / the number of ranks bound to it. */
static struct share fair_share(const struct binding *bindings, int size, int rank, const cpu_set_t *allowed) {
  const struct binding *mine = &bindings[rank];
  struct share share = {.bound = CPU_COUNT(&mine->mask), .processors = CPU_COUNT(allowed)};
  double sum = 0;
  int local = 0;
  for (int r = 0; r < size; r++) {
    if (bindings[r].node != mine->node) continue;
    local++;
    share.ranks += CPU_EQUAL(&bindings[r].mask, &mine->mask) != 0;
  }
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    int bound = 0;
    for (int r = 0; r < size; r++)
      bound += bindings[r].node == mine->node && CPU_ISSET(cpu, &bindings[r].mask);
    if (CPU_ISSET(cpu, &mine->mask)) sum += 1.0 / bound;
    share.idle += CPU_ISSET(cpu, allowed) && bound == 0;
  }
  share.quota = container_quota();
  if (sum > share.quota / local) sum = share.quota / local;
  share.threads = sum < 1 ? 1 : (int)(sum + 1e-9);
  return share;
}

static void describe(struct share share, char *text, int64_t size) {
  char shared[64] = "", limit[64] = "", hint[160] = "";
  if (share.quota < share.processors)
    snprintf(limit, sizeof limit, ", the container may use %g", share.quota);
  if (share.ranks > 1) snprintf(shared, sizeof shared, " shared by %d ranks", share.ranks);
  if (share.idle >= share.processors / 2 && share.idle > 0)
    snprintf(hint, sizeof hint,
             "; %d of %d processors stay idle: mpirun --map-by slot:PE=n or --bind-to none gives a rank more",
             share.idle, share.processors);
  snprintf(text, (size_t)size, "%d thread%s a rank (bound to %d processor%s%s%s%s)", share.threads,
           share.threads == 1 ? "" : "s", share.bound, share.bound == 1 ? "" : "s", shared, limit, hint);
}

static int from_binding(struct comm *comm, int *threads, char *text, int64_t size) {
  struct binding mine = {.node = comm->mpi->peers[comm->rank].node};
  FREED struct binding *all = NULL;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof mine.mask, &mine.mask) != 0)
    FAIL(FAILED, "cannot find the processors this rank is bound to; set runtime.threads");
  allowed_processors(&mine.mask, &allowed);
  TRY(memory_arrays("processor bindings", ROOM(&all, comm->size)));
  TRY(comm_gather_all(comm, &mine, sizeof mine, all));
  struct share share = fair_share(all, comm->size, comm->rank, &allowed);
  *threads = share.threads;
  describe(share, text, size);
  return OK;
}

int threads_of_environment(int *threads) {
  enum { MOST = 4096 };
  const char *variable = getenv("OMP_NUM_THREADS");
  long set = variable ? strtol(variable, NULL, 10) : 0;
  *threads = 0;
  if (set > MOST)
    FAIL(BAD_INPUT, "OMP_NUM_THREADS is %.20s; allowed: at most %d threads a rank", variable, MOST);
  if (set > 0) *threads = (int)set;
  return OK;
}

int comm_threads(struct comm *comm, int wanted, int *threads, char *text, int64_t size) {
  TRY(from_binding(comm, threads, text, size)); /* collective: on every rank, whatever its environment says */
  int set = 0;
  TRY(comm_agree(comm, wanted > 0 ? OK : threads_of_environment(&set)));
  if (wanted > 0 || set > 0) {
    *threads = wanted > 0 ? wanted : set;
    snprintf(text, (size_t)size, "%d thread%s a rank (%s)", *threads, *threads == 1 ? "" : "s",
             wanted > 0 ? "runtime.threads" : "OMP_NUM_THREADS");
  }
  return comm_agree(comm, limits_threads(*threads));
}
