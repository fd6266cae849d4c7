#include "partition/graph/metis.h"

#include <math.h>
#include <metis.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/base.h"

/* Arcs of the longest row up to which METIS minimises the volume, in place of the cut. Where nodes have many
 * arcs that takes minutes. */
enum { FEW_ARCS = 64 };

/* A hub's non-zeros over a mean part's from which on METIS balances rows alone. Then non-zeros cost fewer
 * rows if they are balanced afterwards. */
static const double HEAVY_HUB = 2;

/* Parts up to which they are found in two ways. */
enum { MOST_TWICE = 64 };

/* One call of METIS_PartGraphKway, or, with `bisects`, of METIS_PartGraphRecursive. */
struct job {
  int bisects;
  idx_t nodes, constraints, parts;
  idx_t *start, *col, *own_col, *weight; /* own_col: col, where it is no other's */
  idx_t *arc_weight;                     /* NULL: 1 */
  real_t balance[2];
  idx_t option[METIS_NOPTIONS];
  idx_t objective; /* METIS's: the volume or the cut reached */
  idx_t *part;
  int status;
};

static void job_free(struct job *job) {
  free_all(job->start, job->own_col, job->weight, job->arc_weight, job->part);
}

int64_t metis_bytes(int64_t nodes, int64_t arcs) {
  enum { NODE = 180, ARC = 38 };
  return (nodes * NODE + arcs * ARC) * (int64_t)sizeof(idx_t) / 4;
}

int metis_fits(int64_t nodes, int64_t arcs, const char *dataset) {
  if (nodes <= IDX_MAX && arcs <= IDX_MAX) return OK;
  FAIL(BAD_INPUT,
       "%s: METIS here has %d-bit indices and cannot take %lld nodes and %lld arcs; use an order other than "
       "\"metis\", or build with a METIS of 64-bit indices",
       dataset, IDXTYPEWIDTH, (long long)nodes, (long long)arcs);
}

/* METIS's copy of the pattern; columns are shared when the types agree. */
static int job_init(const struct csr *pattern, int parts, int64_t seed, struct job *job) {
  job->nodes = (idx_t)pattern->rows;
  job->parts = parts;
  job->constraints = 1;
  TRY(memory_arrays("the graph for METIS", ROOM(&job->start, pattern->rows + 1),
                    ROOM(&job->part, pattern->rows)));
  for (int64_t v = 0; v <= pattern->rows; v++) job->start[v] = (idx_t)pattern->start[v];
  if (sizeof(idx_t) == sizeof *pattern->col) {
    job->col = (idx_t *)pattern->col;
  } else {
    TRY(memory_arrays("the graph for METIS", ROOM(&job->own_col, pattern->nnz)));
    for (int64_t e = 0; e < pattern->nnz; e++) job->own_col[e] = (idx_t)pattern->col[e];
    job->col = job->own_col;
  }
  METIS_SetDefaultOptions(job->option);
  job->option[METIS_OPTION_SEED] = (idx_t)(seed & INT32_MAX);
  return OK;
}

/* METIS says that it is at a loss by a SIGTERM to its own thread, where it is blocked: see
 * runtime/base/stop.h. */
static int has_terminated_itself(void) {
  siginfo_t sent;
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  if (sigtimedwait(&terminate, &sent, &(struct timespec){0}) < 0) return 0;
  if (sent.si_code == SI_TKILL && sent.si_pid == getpid()) return 1;
  kill(getpid(), SIGTERM); /* another's, meant for the process */
  return 0;
}

static int run(void *argument) {
  struct job *job = argument;
  job->status = (job->bisects ? METIS_PartGraphRecursive : METIS_PartGraphKway)(
      &job->nodes, &job->constraints, job->start, job->col, job->weight, NULL, job->arc_weight, &job->parts,
      NULL, job->balance, job->option, &job->objective, job->part);
  if (has_terminated_itself()) job->status = METIS_ERROR;
  return OK;
}

static int solve(struct progress *progress, struct job *job, int32_t *part) {
  TRY(progress_work(progress, "partitioning with METIS", run, job));
  if (job->status == METIS_ERROR_MEMORY)
    FAIL(FAILED, "METIS ran out of memory on %lld nodes and %lld arcs", (long long)job->nodes,
         (long long)job->start[job->nodes]);
  if (job->status != METIS_OK)
    FAIL(FAILED, "METIS failed with status %d on %lld nodes and %lld parts", job->status,
         (long long)job->nodes, (long long)job->parts);
  for (int64_t v = 0; v < job->nodes; v++) part[v] = (int32_t)job->part[v];
  return OK;
}

/* Two weights a node: 1 or its count, and the non-zeros of its row. What the row of a hub alone exceeds, no
 * part need stay below; where that is far above the mean, the first weight is all that METIS gets. */
static int weigh(const int64_t *count, const int64_t *nnz, double balance, struct job *job) {
  int64_t sum = 0, heaviest = 0;
  for (int64_t v = 0; v < job->nodes; v++) {
    sum += nnz[v];
    heaviest = larger(heaviest, nnz[v]);
  }
  const double hub = sum > 0 ? (double)heaviest * job->parts / (double)sum : 0;
  const int64_t unit = sum / (IDX_MAX / 2) + 1; /* of non-zeros that METIS can count */
  job->balance[0] = (real_t)balance;
  job->balance[1] = (real_t)fmax(balance, hub);
  job->constraints = sum > 0 && hub < HEAVY_HUB ? 2 : 1; /* METIS divides by the sum */
  const int64_t weights = job->constraints;
  TRY(memory_alloc(&job->weight, weights * job->nodes * (int64_t)sizeof(idx_t), "weights for METIS"));
  for (int64_t v = 0; v < job->nodes; v++) {
    job->weight[weights * v] = count ? (idx_t)count[v] : 1;
    if (weights > 1) job->weight[weights * v + 1] = (idx_t)((nnz[v] + unit - 1) / unit);
  }
  return OK;
}

/* Weights as whole numbers from 1 on, in proportion as far as their sum lets METIS tell them apart. */
static int weigh_arcs(const struct csr *graph, struct job *job) {
  double sum = 0;
  TRY(memory_arrays("weights for METIS", ROOM(&job->arc_weight, graph->nnz)));
  for (int64_t e = 0; e < graph->nnz; e++) sum += (double)graph->weight[e];
  for (int64_t e = 0; e < graph->nnz; e++) {
    double weight = INT32_MAX / 4 / sum * (double)graph->weight[e];
    job->arc_weight[e] = weight < 1 ? 1 : (idx_t)weight;
  }
  return OK;
}

/* Parts that receive row v; last[part]: the last row that it was counted for. */
static int64_t receivers(const struct job *job, const int32_t *part, idx_t v, int64_t *last) {
  int64_t count = 0;
  for (idx_t e = job->start[v]; e < job->start[v + 1]; e++) {
    const int32_t other = part[job->col[e]];
    if (other == part[v] || last[other] == v + 1) continue;
    last[other] = v + 1;
    count++;
  }
  return count;
}

static int64_t weight_across(const struct job *job, const int32_t *part, idx_t v) {
  int64_t sum = 0;
  for (idx_t e = job->start[v]; e < job->start[v + 1]; e++)
    if (part[job->col[e]] != part[v]) sum += job->arc_weight[e];
  return sum;
}

/* Rows that parts receive, or the weight of the arcs between them. */
static int cost_of(const struct job *job, const int32_t *part, int64_t *cost) {
  FREED int64_t *last = NULL;
  TRY(memory_arrays("rows of parts", ROOM(&last, job->parts)));
  *cost = 0;
  for (idx_t v = 0; v < job->nodes; v++)
    *cost += job->arc_weight ? weight_across(job, part, v) : receivers(job, part, v, last);
  return OK;
}

/* The largest part over the mean, in the weight of which that is most; of hubs, over what one may be. */
static int balance_of(const struct job *job, const int32_t *part, double *worst) {
  FREED int64_t *load = NULL;
  TRY(memory_arrays("loads of parts", ROOM(&load, job->parts)));
  *worst = 1;
  for (idx_t c = 0; c < job->constraints; c++) {
    const double allowed = (double)job->balance[c] / (double)job->balance[0];
    int64_t sum = 0, most = 0;
    memset(load, 0, (size_t)job->parts * sizeof *load);
    for (idx_t v = 0; v < job->nodes; v++) load[part[v]] += job->weight[job->constraints * v + c];
    for (idx_t p = 0; p < job->parts; p++) {
      sum += load[p];
      most = larger(most, load[p]);
    }
    if (sum > 0) *worst = fmax(*worst, (double)job->parts * (double)most / (double)sum / allowed);
  }
  return OK;
}

/* What is out of balance has yet to be mended, at a cost. */
static int is_better(const struct job *job, const int32_t *other, const int32_t *part, int *better) {
  const double limit = (double)job->balance[0] + 1e-3;
  double balance, other_balance;
  int64_t cost, other_cost;
  TRY(balance_of(job, part, &balance));
  TRY(balance_of(job, other, &other_balance));
  TRY(cost_of(job, part, &cost));
  TRY(cost_of(job, other, &other_cost));
  const int stands = balance <= limit, other_stands = other_balance <= limit;
  *better = stands != other_stands ? other_stands : other_cost < cost;
  return OK;
}

/* Parts are found in two ways, neither of which is always the better one: two of them by recursive bisection,
 * too, more with fewer arcs between them in place of fewer rows to receive. */
static int solve_twice(struct progress *progress, struct job *job, int32_t *part) {
  FREED int32_t *other = NULL;
  int better = 0;
  TRY(memory_arrays("parts of nodes", ROOM(&other, job->nodes)));
  TRY(solve(progress, job, part));
  job->bisects = job->parts == 2;
  job->option[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_CUT; /* bisection knows no volume */
  TRY(solve(progress, job, other));
  TRY(is_better(job, other, part, &better));
  if (better) memcpy(part, other, (size_t)job->nodes * sizeof *part);
  return OK;
}

/* Whether METIS minimises the volume, which it does not know of arcs with weights. Where it minimises the
 * cut, nodes are moved afterwards so that parts receive fewer rows; not so those of a star expansion. */
static int minimises_volume(const struct csr *graph, const int64_t *count, int parts) {
  int64_t longest = 0;
  for (int64_t v = 0; v < graph->rows; v++) longest = larger(longest, graph->start[v + 1] - graph->start[v]);
  return !graph->weight && (longest <= FEW_ARCS || (count && parts <= MOST_TWICE));
}

int metis_partition(struct progress *progress, const struct csr *graph, const int64_t *count,
                    const int64_t *nnz, int parts, int64_t seed, double balance, int32_t *part) {
  ENDED_BY(job_free) struct job job = {0};
  TRY(job_init(graph, parts, seed, &job));
  const int volume = minimises_volume(graph, count, parts);
  job.option[METIS_OPTION_OBJTYPE] = volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
  TRY(weigh(count, nnz, balance, &job));
  if (graph->weight) TRY(weigh_arcs(graph, &job));
  const int twice = parts == 2 || (volume && parts <= MOST_TWICE);
  return (twice ? solve_twice : solve)(progress, &job, part);
}

int metis_clusters(struct progress *progress, const struct csr *pattern, int clusters, int64_t seed,
                   int32_t *cluster) {
  ENDED_BY(job_free) struct job job = {.balance = {(real_t)1.1, (real_t)1.1}};
  TRY(job_init(pattern, clusters, seed, &job));
  job.option[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_CUT;
  return solve(progress, &job, cluster);
}
