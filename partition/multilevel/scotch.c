#include "partition/multilevel/scotch.h"

#include <math.h>
#include <stdarg.h>

#include "partition/graph/graph.h"
#include "runtime/base/base.h"

#ifdef GNNTRAIN_HAVE_SCOTCH
#include <mpi.h>
#include <ptscotch.h>

/* What it says of an error comes before the code that says that there was one. */
static char complaint[200];

void SCOTCH_errorProg(const char *const name) {
  (void)name;
}

void SCOTCH_errorPrint(const char *const format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(complaint, sizeof complaint, format, list);
  va_end(list);
}

void SCOTCH_errorPrintW(const char *const format, ...) {
  (void)format;
}

static int check(int status, const char *what) {
  if (status == 0) return OK;
  FAIL(FAILED, "PT-Scotch: %s: %s", what, complaint[0] ? complaint : "no reason given");
}

static const int64_t most = sizeof(SCOTCH_Num) == 4 ? INT32_MAX : INT64_MAX;

int scotch_takes(int64_t arcs) {
  if (arcs <= most) return OK;
  FAIL(BAD_INPUT,
       "partition.method = \"scotch\": PT-Scotch here has %d-bit numbers and cannot take %lld arcs; "
       "\"metis\" can",
       8 * (int)sizeof(SCOTCH_Num), (long long)arcs);
}

/* This rank's rows without loops, in its types. */
struct rows {
  SCOTCH_Num *start, *col, *weight, *part;
};

static void rows_free(struct rows *rows) {
  free_all(rows->start, rows->col, rows->weight, rows->part);
}

static int fill(struct comm *comm, const struct csr *from, struct rows *rows) {
  const int64_t first = graph_block(from->cols, comm->size, comm->rank);
  SCOTCH_Num at = 0;
  TRY(memory_arrays("rows for PT-Scotch", ROOM(&rows->start, from->rows + 1), ROOM(&rows->col, from->nnz),
                    ROOM(&rows->weight, from->rows), ROOM(&rows->part, from->rows)));
  for (int64_t v = 0; v < from->rows; v++) {
    for (int64_t e = from->start[v]; e < from->start[v + 1]; e++)
      if (from->col[e] != first + v) rows->col[at++] = from->col[e];
    rows->start[v + 1] = at;
  }
  return OK;
}

/* As multilevel_partition weighs them, so that their sum over all ranks stays far below the longest number.
 */
static int weigh(struct comm *comm, const struct multilevel_input *input, struct rows *rows) {
  int64_t mean = 0, all = 0;
  TRY(multilevel_weights(comm, input, &mean, &all));
  const double unit = fmax((double)all / (double)(most / 4), 1);
  for (int64_t v = 0; v < input->rows->rows; v++) {
    const int64_t weight = input->nnz[v] + mean * (input->count ? input->count[v] : 1);
    rows->weight[v] = (SCOTCH_Num)fmax((double)weight / unit, 1);
  }
  return OK;
}

static int divide(const struct multilevel_input *input, struct rows *rows, SCOTCH_Dgraph *graph,
                  SCOTCH_Strat *strategy) {
  const SCOTCH_Num own = (SCOTCH_Num)input->rows->rows, arcs = rows->start[own];
  TRY(check(SCOTCH_dgraphBuild(graph, 0, own, own, rows->start, NULL, rows->weight, NULL, arcs, arcs,
                               rows->col, NULL, NULL),
            "the graph"));
  TRY(check(SCOTCH_stratDgraphMapBuild(strategy, SCOTCH_STRATBALANCE, 0, input->parts, input->balance - 1),
            "the strategy"));
  return check(SCOTCH_dgraphPart(graph, input->parts, strategy, rows->part), "the parts");
}

/* Collective, as each call of PT-Scotch here is. */
static int divide_all(struct comm *comm, const struct multilevel_input *input, struct rows *rows) {
  SCOTCH_Dgraph graph;
  SCOTCH_Strat strategy;
  int handle = 0;
  TRY(comm_mpi_handle(comm, &handle));
  SCOTCH_randomSeed((SCOTCH_Num)(input->seed & INT32_MAX));
  SCOTCH_randomReset();
  TRY(check(SCOTCH_dgraphInit(&graph, MPI_Comm_f2c(handle)), "the start"));
  int code = check(SCOTCH_stratInit(&strategy), "the strategy");
  if (code == OK) {
    code = divide(input, rows, &graph, &strategy);
    SCOTCH_stratExit(&strategy);
  }
  SCOTCH_dgraphExit(&graph);
  return code;
}

int scotch_partition(struct progress *progress, const struct multilevel_input *input, int32_t *part) {
  ENDED_BY(rows_free) struct rows rows = {0};
  struct comm *comm = progress->comm;
  progress_say(progress, "PT-Scotch");
  TRY(comm_agree(comm, fill(comm, input->rows, &rows)));
  TRY(weigh(comm, input, &rows));
  TRY(comm_agree(comm, divide_all(comm, input, &rows)));
  for (int64_t v = 0; v < input->rows->rows; v++) part[v] = (int32_t)rows.part[v];
  return OK;
}

#else

int scotch_takes(int64_t arcs) {
  (void)arcs;
  FAIL(
      BAD_INPUT,
      "partition.method = \"scotch\": this gnntrain was built without PT-Scotch; install libptscotch-dev and "
      "build it anew");
}

int scotch_partition(struct progress *progress, const struct multilevel_input *input, int32_t *part) {
  (void)progress, (void)input, (void)part;
  return scotch_takes(0);
}

#endif
