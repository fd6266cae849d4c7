#include "models/core/propagation/grid_sums.h"

#include "kernels/ops/elementwise.h"
#include "models/core/propagation/graph_sums.h"
#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* Columns [first, first + cols) of so many. */
struct slice {
  int64_t first, cols;
};

static int cols_of(const struct run *run) {
  return run->directory->grid.cols;
}

static int own_slice(const struct run *run) {
  return run->comm->rank % cols_of(run);
}

/* The first of the ranks that share this part. */
static int first_rank(const struct run *run) {
  return run->comm->rank - own_slice(run);
}

/* The first slice is as wide as any. */
static struct slice slice_of(const struct run *run, int64_t width, int i) {
  const int64_t each = grid_slice(run->directory->grid, width);
  const int64_t first = smaller(i * each, width);
  return (struct slice){first, smaller(each, width - first)};
}

/* Rows of the i-th rank that shares the part, among those of the part. */
static struct tensor rows_of(const struct run *run, struct tensor t, int i) {
  const int64_t *offset = run->directory->offset + first_rank(run);
  return tensor_rows(t, offset[i] - offset[0], offset[i + 1] - offset[i]);
}

/* Own rows of slice i of a matrix: pieces lie one behind the other. */
static struct tensor piece_of(const struct grid_sums *g, const struct run *run, struct tensor of, int i) {
  struct tensor piece = of;
  int64_t before = 0;
  for (int s = 0; s <= i; s++) {
    if (s > 0) before += tensor_bytes(piece);
    piece = tensor_packed(of, slice_of(run, of.cols, s).cols);
  }
  piece.data = (char *)g->pieces + before;
  return piece;
}

static int grid_sums_init(struct propagation *p, struct run *run, int64_t width) {
  TRY(memory_arrays("messages", ROOM(&p->grid.send, cols_of(run)), ROOM(&p->grid.recv, cols_of(run))));
  return graph_sums_init(p, run, slice_of(run, width, 0).cols);
}

/* What there is of the rows of P, from own ones on. */
static void *of_own_rows(const struct run *run, void *scale) {
  const int64_t *offset = run->directory->offset;
  const int64_t before = offset[run->comm->rank] - offset[first_rank(run)];
  return scale ? (char *)scale + before * dtype_bytes(run->kernels->real) : NULL;
}

static int grid_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  const struct kernels *k = run->kernels;
  const int64_t rows = adjacency_rows(p->forward.adjacency), cols = slice_of(run, width, 0).cols;
  const struct tensor piece = tensor_packed((struct tensor){.dtype = k->real, .rows = run->shard->own}, cols);
  p->grid.pieces = arena_take(arena, cols_of(run) * tensor_bytes(piece));
  p->grid.in = arena_tensor(arena, k->dtype, rows, cols);
  p->grid.out = arena_tensor(arena, k->real, rows, cols);
  TRY(graph_sums_plan(p, run, arena, cols));
  p->forward.col_scale = of_own_rows(run, p->forward.col_scale);
  p->backward.col_scale = of_own_rows(run, p->backward.col_scale);
  return OK;
}

static int64_t grid_sums_workspace(const struct propagation *p, const struct run *run, int64_t width,
                                   int message) {
  const int64_t cols = slice_of(run, width, own_slice(run)).cols;
  (void)message; /* slices come as messages, whatever is asked for */
  return cols > 0 ? graph_sums_workspace(p, run, cols, 1) : 0;
}

static void grid_sums_free(struct propagation *p, struct run *run) {
  free_all(p->grid.send, p->grid.recv);
  graph_sums_free(p, run);
}

static void add_message(struct message *list, int *count, int peer, struct tensor t) {
  if (t.cols > 0 && t.rows > 0) list[(*count)++] = (struct message){peer, t.data, tensor_bytes(t)};
}

static int travel(const struct grid_sums *g, struct run *run, int sends, int recvs) {
  TRY(messages_start(run->comm, run->kernels, g->send, sends, g->recv, recvs));
  return PROFILE("wait", messages_finish(run->comm, run->kernels));
}

/* Own rows times their scale, by slices: the own one to its place in `in`, the others on their way. */
static int pack(const struct grid_sums *g, struct run *run, struct tensor x, const void *scale,
                struct tensor in) {
  for (int i = 0; i < cols_of(run); i++) {
    const struct slice slice = slice_of(run, x.cols, i);
    const struct gather op = {.x = tensor_columns(x, slice.first, slice.cols),
                              .scale = scale,
                              .y = i == own_slice(run) ? rows_of(run, in, i) : piece_of(g, run, x, i)};
    if (slice.cols > 0 && x.rows > 0) TRY(op_gather(run->kernels, &op));
  }
  return OK;
}

static int to_slices(const struct grid_sums *g, struct run *run, struct tensor x, const void *scale,
                     struct tensor in) {
  int sends = 0, recvs = 0;
  TRY(PROFILE("pack", pack(g, run, x, scale, in)));
  for (int i = 0; i < cols_of(run); i++) {
    if (i == own_slice(run)) continue;
    add_message(g->send, &sends, first_rank(run) + i, piece_of(g, run, x, i));
    add_message(g->recv, &recvs, first_rank(run) + i, rows_of(run, in, i));
  }
  return travel(g, run, sends, recvs);
}

static int unpack(const struct grid_sums *g, struct run *run, struct tensor out, struct tensor y) {
  for (int i = 0; i < cols_of(run); i++) {
    const struct slice slice = slice_of(run, y.cols, i);
    const struct add op = {.x = i == own_slice(run) ? rows_of(run, out, i) : piece_of(g, run, y, i),
                           .factor = 1,
                           .y = tensor_columns(y, slice.first, slice.cols)};
    if (slice.cols > 0 && y.rows > 0) TRY(op_add(run->kernels, &op));
  }
  return OK;
}

static int from_slices(const struct grid_sums *g, struct run *run, struct tensor out, struct tensor y) {
  int sends = 0, recvs = 0;
  for (int i = 0; i < cols_of(run); i++) {
    if (i == own_slice(run)) continue;
    add_message(g->send, &sends, first_rank(run) + i, rows_of(run, out, i));
    add_message(g->recv, &recvs, first_rank(run) + i, piece_of(g, run, y, i));
  }
  TRY(travel(g, run, sends, recvs));
  return PROFILE("pack", unpack(g, run, out, y));
}

static int grid_sums_multiply(struct propagation *p, struct run *run, const struct direction *d,
                              struct tensor x, const struct propagate_ends *ends, struct tensor y) {
  static const struct propagate_ends bare = {.message = 1};
  const int64_t cols = slice_of(run, y.cols, own_slice(run)).cols;
  const struct tensor in = tensor_packed(p->grid.in, cols);
  struct tensor out = p->grid.out;
  out.dtype = y.dtype;
  out = tensor_packed(out, cols);
  TRY(to_slices(&p->grid, run, x, ends->message ? NULL : d->col_scale, in));
  if (cols > 0) TRY(graph_sums_multiply(p, run, d, in, &bare, out));
  TRY(from_slices(&p->grid, run, out, y));
  if (ends->added.data)
    TRY(op_add(run->kernels, &(struct add){.x = ends->added, .factor = 1, .accumulate = 1, .y = y}));
  return ends->epilogue ? op_epilogue(run->kernels, ends->epilogue) : OK;
}

const struct propagation_ops grid_propagation = {.init = grid_sums_init,
                                                 .plan = grid_sums_plan,
                                                 .start = graph_sums_start,
                                                 .workspace = grid_sums_workspace,
                                                 .free = grid_sums_free,
                                                 .multiply = grid_sums_multiply};
