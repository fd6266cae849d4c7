#include "partition/graph/partition.h"

#include "runtime/base/base.h"
#include "runtime/base/random.h"

const char *const partition_method_name[] = {"metis", "block", "random", "file", "scotch"};

static const char *method_of(const struct partition *partition, const struct config *config) {
  return partition->graphs > 0 ? "whole graphs" : partition_method_name[config->partition.method];
}

int partition_init_parts(struct partition *partition, int parts, int64_t nodes) {
  *partition = (struct partition){.parts = parts, .grid = {parts, 1}, .nodes = nodes};
  return memory_arrays("partition", ROOM(&partition->offset, parts + 1), ROOM(&partition->halo, parts),
                       ROOM(&partition->nnz, parts), ROOM(&partition->vertices, parts));
}

int partition_init(struct partition *partition, int parts, int64_t nodes) {
  TRY(partition_init_parts(partition, parts, nodes));
  return memory_arrays("partition", ROOM(&partition->part, nodes), ROOM(&partition->order, nodes));
}

int partition_init_block(const struct comm *comm, struct partition *partition, int parts, int64_t nodes) {
  const int64_t own = graph_block(nodes, comm->size, comm->rank + 1) -
                      graph_block(nodes, comm->size, comm->rank);
  TRY(partition_init_parts(partition, parts, nodes));
  return memory_arrays("parts of nodes", ROOM(&partition->part, own));
}

int partition_part(const struct comm *comm, const struct partition *partition, int r) {
  return (int)graph_block(partition->grid.rows, comm->size, r) * partition->grid.cols;
}

int64_t partition_place(const struct comm *comm, const struct partition *partition, int r) {
  return partition->offset[partition_part(comm, partition, r)];
}

int partition_want_order(struct partition *partition) {
  if (partition->order) return OK;
  TRY(memory_arrays("order of nodes", ROOM(&partition->order, partition->nodes)));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < partition->nodes; v++) partition->order[v] = v;
  return OK;
}

void partition_forget_nodes(struct partition *partition) {
  free_all(partition->part, partition->order);
  partition->part = NULL;
  partition->order = NULL;
}

void partition_free(struct partition *partition) {
  partition_forget_nodes(partition);
  free_all(partition->offset, partition->halo, partition->nnz, partition->vertices);
  *partition = (struct partition){0};
}

int partition_share(struct comm *comm, struct partition *partition) {
  const struct partition mine = *partition; /* whose arrays are to be filled */
  const int64_t words = mine.parts * (int64_t)sizeof(int64_t);
  TRY(comm_broadcast(comm, partition, sizeof *partition, 0));
  partition->part = mine.part;
  partition->order = mine.order;
  partition->offset = mine.offset;
  partition->halo = mine.halo;
  partition->nnz = mine.nnz;
  partition->vertices = mine.vertices;
  TRY(comm_broadcast(comm, partition->offset, words + (int64_t)sizeof(int64_t), 0));
  TRY(comm_broadcast(comm, partition->halo, words, 0));
  TRY(comm_broadcast(comm, partition->nnz, words, 0));
  return comm_broadcast(comm, partition->vertices, words, 0);
}

int partition_deal(struct partition *partition, int cols) {
  struct partition dealt = *partition;
  dealt.parts = partition->parts * cols;
  dealt.grid = (struct grid){partition->parts, cols};
  if (cols == 1) return OK;
  TRY(memory_arrays("partition", ROOM(&dealt.offset, dealt.parts + 1), ROOM(&dealt.halo, dealt.parts),
                    ROOM(&dealt.nnz, dealt.parts), ROOM(&dealt.vertices, dealt.parts)));
  for (int p = 0; p < dealt.parts; p++) {
    const int row = p / cols;
    const int64_t first = partition->offset[row], count = partition->offset[row + 1] - first;
    dealt.offset[p + 1] = first + graph_block(count, cols, p % cols + 1);
    dealt.halo[p] = partition->halo[row];
    dealt.nnz[p] = partition->nnz[row];
  }
  dealt.part = NULL;
  free_all(partition->part, partition->offset, partition->halo, partition->nnz, partition->vertices);
  *partition = dealt;
  return OK;
}

void partition_assign_blocks(int parts, int64_t nodes, int64_t first, int64_t count, int32_t *part) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) part[i] = graph_block_of(nodes, parts, first + i);
}

/* A permutation of [0, 2^(2 bits)): a Feistel network of six rounds. Four leave small graphs uneven. */
static uint64_t permuted(struct philox_key key, int bits, uint64_t value) {
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  uint64_t left = value >> bits, right = value & mask;
  for (uint64_t round = 0; round < 6; round++) {
    const uint64_t next = (left ^ random_block(key, right, round).word[0]) & mask;
    left = right;
    right = next;
  }
  return left << bits | right;
}

void partition_assign_random(int parts, int64_t nodes, int64_t seed, int64_t first, int64_t count,
                             int32_t *part) {
  const struct philox_key key = random_key((uint64_t)seed, 0, 0, RANDOM_PARTITION);
  int bits = 1;
  while (nodes > (int64_t)1 << 2 * bits) bits++;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) {
    uint64_t place = (uint64_t)(first + i);
    do place = permuted(key, bits, place);
    while (place >= (uint64_t)nodes);
    part[i] = graph_block_of(nodes, parts, (int64_t)place);
  }
}

static void count_nodes(struct partition *partition, int64_t nodes) {
  memset(partition->offset, 0, (size_t)(partition->parts + 1) * sizeof *partition->offset);
  for (int64_t v = 0; v < nodes; v++) partition->offset[partition->part[v] + 1]++;
}

static void add_up(struct partition *partition) {
  for (int p = 0; p < partition->parts; p++) partition->offset[p + 1] += partition->offset[p];
}

void partition_count(struct partition *partition) {
  count_nodes(partition, partition->nodes);
  add_up(partition);
}

int partition_count_all(struct comm *comm, struct partition *partition) {
  const int64_t nodes = partition->nodes;
  count_nodes(partition,
              graph_block(nodes, comm->size, comm->rank + 1) - graph_block(nodes, comm->size, comm->rank));
  TRY(comm_reduce(comm, partition->offset, partition->parts + 1, NUMBER_INT64, REDUCE_SUM));
  add_up(partition);
  return OK;
}

double partition_node_balance(const struct partition *partition) {
  int64_t most = 0;
  for (int p = 0; p < partition->parts; p++)
    most = larger(most, partition->offset[p + 1] - partition->offset[p]);
  return partition->nodes ? (double)most * partition->parts / (double)partition->nodes : 1;
}

double partition_edge_balance(const struct partition *partition) {
  int64_t most = 0, sum = 0;
  for (int p = 0; p < partition->parts; p++) {
    sum += partition->nnz[p];
    most = larger(most, partition->nnz[p]);
  }
  return sum ? (double)most * partition->parts / (double)sum : 1;
}

/* At one product, whatever the run does, so that orders can be compared. */
static void print_order(const struct partition *partition) {
  struct cost_case product = {&cost_model_h200, PRECISION_BF16, 128, 0, {0, 0}};
  char text[400];
  if (density_arcs(&partition->density) == 0) return;
  log_detail("order: made in %.2f s; %.1f%% of the arcs in cells of 128 x 64 above 3.5%% density",
             partition->order_seconds, 100 * density_share(&partition->density, DENSE_CELL));
  log_detail("predicted %s", cost_explain(&product, &partition->density, text, sizeof text));
}

void partition_origin(const struct partition *partition, char *text, size_t size) {
  char bytes[16];
  int used = snprintf(text, size, ", %.1f s", partition->seconds);
  if (partition->cached)
    snprintf(text + used, size - (size_t)used, ", read from %s", partition->path);
  else if (partition->memory > 0)
    snprintf(text + used, size - (size_t)used, ", %s on rank 0", memory_text(partition->memory, bytes));
}

void partition_how(const struct partition *partition, char *text, size_t size) {
  if (partition->cached)
    snprintf(text, size, ", as kept");
  else
    snprintf(text, size, ", made in %.1f s", partition->seconds);
}

static double percent(int64_t part, int64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void partition_text(const struct partition *partition, const struct config *config, int64_t edges, char *text,
                    size_t size) {
  const struct grid *grid = &partition->grid;
  const double own = (double)larger(partition->nodes, 1) * grid->cols; /* each rank of a row has its halo */
  const char *order = node_order_name[partition->chosen];
  char how[64], slices[48] = "";
  int64_t halo = 0;
  for (int p = 0; p < partition->parts; p++) halo += partition->halo[p];
  partition_how(partition, how, sizeof how);
  if (grid->cols > 1) snprintf(slices, sizeof slices, " in %d slices of columns", grid->cols);
  if (partition->parts == 1)
    snprintf(text, size, "whole graph, order %s%s", order, how);
  else
    snprintf(text, size,
             "%s, %d part%s%s, order %s%s: %.1f%% of the arcs cut, %.2f halo rows for each own one, balance "
             "%.3f",
             method_of(partition, config), grid->rows, grid->rows == 1 ? "" : "s", slices, order, how,
             percent(partition->edge_cut, edges), (double)halo / own, partition_edge_balance(partition));
}

void partition_print(const struct partition *partition, const struct config *config, int64_t edges,
                     int dense) {
  const struct grid *grid = &partition->grid;
  const char *method = grid->rows > 1 ? method_of(partition, config) : "whole graph";
  char origin[sizeof partition->path + 64], order[64], slices[48] = "";
  partition_origin(partition, origin, sizeof origin);
  const int found = config->partition.order == ORDER_AUTO && partition->graphs == 0;
  snprintf(order, sizeof order, "%s%s", found ? "auto: " : "", node_order_name[partition->chosen]);
  if (grid->cols > 1) snprintf(slices, sizeof slices, " in %d slices of columns", grid->cols);
  log_detail("partition: %s, %d %s%s, order %s%s", method, grid->rows, grid->rows == 1 ? "part" : "parts",
             slices, order, origin);
  if (dense) print_order(partition);
  if (partition->parts == 1) return;
  log_detail("edge cut: %lld of %lld arcs (%.1f%%)", (long long)partition->edge_cut, (long long)edges,
             percent(partition->edge_cut, edges));
  log_detail("%6s %12s %14s %12s %10s", "rank", "rows", "non-zeros", "halo rows", "halo/rows");
  for (int p = 0; p < partition->parts; p++) {
    int64_t rows = partition->offset[p + 1] - partition->offset[p];
    log_detail("%6d %12lld %14lld %12lld %10.3f", p, (long long)rows, (long long)partition->nnz[p],
               (long long)partition->halo[p], rows ? (double)partition->halo[p] / (double)rows : 0.0);
  }
  char work[64] = "";
  if (partition->work_balance > 0)
    snprintf(work, sizeof work, ", arcs that an epoch sums %.3f", partition->work_balance);
  log_detail("balance (largest / mean): rows %.3f, non-zeros %.3f%s", partition_node_balance(partition),
             partition_edge_balance(partition), work);
}
