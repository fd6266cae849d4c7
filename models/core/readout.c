#include "models/core/readout.h"

#include "kernels/ops/elementwise.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int takes_largest(const struct run *run) {
  return run->config->model.readout == READOUT_MAX;
}

/* Row v of `members` ends where its graph does, if it is the first one of it; else where it begins, there. */
static void fill(const struct shard_graphs *graphs, struct csr *members, struct csr *graph) {
  for (int64_t g = 0; g < graphs->count; g++) {
    const int64_t first = graphs->start[g], end = graphs->start[g + 1];
    for (int64_t v = first; v < end; v++) {
      members->col[v] = (int32_t)v;
      members->start[v + 1] = end;
      graph->col[v] = (int32_t)first;
      graph->start[v + 1] = v + 1;
    }
  }
}

int readout_init(struct readout *readout, struct run *run) {
  const int64_t own = run->shard->own;
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = run->config->model.hidden};
  *readout = (struct readout){0};
  if (run->shard->graphs.all == 0) return OK;
  TRY(csr_init(&readout->members, own, own, own, 0));
  TRY(csr_init(&readout->graph, own, own, own, 0));
  fill(&run->shard->graphs, &readout->members, &readout->graph);
  TRY(layout_init(run->kernels, &readout->members, &plan, &readout->forward));
  return layout_init(run->kernels, &readout->graph, &plan, &readout->backward);
}

void readout_plan(struct readout *readout, struct run *run, struct arena *arena) {
  if (!readout->forward || run->config->model.readout != READOUT_MEAN) return;
  readout->scale = arena_take(arena, run->shard->own * dtype_bytes(run->kernels->real));
}

int readout_start(struct readout *readout, struct run *run) {
  const struct shard_graphs *graphs = &run->shard->graphs;
  FREED double *scale = NULL;
  if (!readout->scale) return OK;
  TRY(memory_arrays("sizes of graphs", ROOM(&scale, run->shard->own)));
  for (int64_t g = 0; g < graphs->count; g++)
    scale[graphs->start[g]] = 1 / (double)(graphs->start[g + 1] - graphs->start[g]);
  return run_upload_reals(run, readout->scale, run->shard->own, scale);
}

void readout_free(struct readout *readout, struct run *run) {
  layout_free(run->kernels, readout->forward);
  layout_free(run->kernels, readout->backward);
  csr_free(&readout->members);
  csr_free(&readout->graph);
  *readout = (struct readout){0};
}

int64_t readout_workspace(const struct readout *readout, const struct run *run, int64_t width) {
  static const double one; /* a scale is there, whatever it is */
  const struct tensor rows = tensor_padded(NULL, run->kernels->dtype, run->shard->own, width);
  struct spmm op = {.a = readout->forward, .x = rows, .row_scale = &one, .y = rows};
  if (!readout->forward) return 0;
  const int64_t forward = spmm_workspace(run->kernels, &op);
  op = (struct spmm){.a = readout->backward, .x = rows, .col_scale = &one, .y = rows};
  return larger(forward, spmm_workspace(run->kernels, &op));
}

int64_t readout_winner_cols(const struct run *run, int64_t width) {
  const int64_t size = dtype_bytes(run->kernels->dtype), bytes = width * (int64_t)sizeof(int32_t);
  return takes_largest(run) ? (bytes + size - 1) / size : 0;
}

static struct winners winners_in(struct tensor t) {
  return (struct winners){t.data, t.stride * dtype_bytes(t.dtype) / (int64_t)sizeof(int32_t)};
}

int readout_forward(const struct readout *readout, struct run *run, const int64_t *id, struct tensor x,
                    struct tensor y, struct tensor winner) {
  const struct spmm sum = {.a = readout->forward, .x = x, .row_scale = readout->scale, .y = y};
  const struct reduce largest = {.a = readout->forward,
                                 .reducer = REDUCER_MAX,
                                 .x = x,
                                 .col_id = id,
                                 .id = id,
                                 .y = y,
                                 .winner = winners_in(winner)};
  return PROFILE("readout", winner.data ? op_reduce(run->kernels, &largest) : op_spmm(run->kernels, &sum));
}

static int largest_backward(struct run *run, const struct reduce_backward *op, struct tensor added) {
  const struct add add = {.x = added, .factor = 1, .accumulate = 1, .y = op->dx};
  TRY(op_reduce_backward(run->kernels, op));
  return added.data ? op_add(run->kernels, &add) : OK;
}

int readout_backward(const struct readout *readout, struct run *run, const int64_t *id, struct tensor dy,
                     struct tensor winner, struct tensor added, struct tensor dx) {
  const struct spmm sum = {
      .a = readout->backward, .x = dy, .col_scale = readout->scale, .added = added, .y = dx};
  const struct reduce_backward largest = {
      .a = readout->backward, .dy = dy, .winner = winners_in(winner), .id = id, .dx = dx};
  return PROFILE("readout",
                 winner.data ? largest_backward(run, &largest, added) : op_spmm(run->kernels, &sum));
}
