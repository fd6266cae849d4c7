/* Halo exchange on the device: the right rows land in the tail, in either direction and at any width. */
#include "partition/shard/halo.h"

#include "kernels/ops/kernels.h"
#include "partition/shard/shard.h"
#include "runtime/device/arena.h"
#include "runtime/device/device_list.h"
#include "tests/partition/random_graph.h"
#include "tests/ranks.h"

static struct comm comm;
static struct device device;
static struct kernels kernels;

static void set_rows(struct tensor t, int64_t rows, const int64_t *id) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < t.cols; j++) {
      double value = (double)(id[i] * 100 + j);
      if (t.dtype == F64)
        ((double *)t.data)[i * t.stride + j] = value;
      else
        ((float *)t.data)[i * t.stride + j] = (float)value;
    }
  }
}

static double value_at(struct tensor t, int64_t i, int64_t j) {
  return t.dtype == F64 ? ((double *)t.data)[i * t.stride + j] : (double)((float *)t.data)[i * t.stride + j];
}

static void exchange(struct halo *halo, const struct shard *shard, int64_t width, struct arena *arena) {
  struct tensor x = arena_tensor(arena, kernels.dtype, shard->own + halo->rows, width);
  struct tensor packed = arena_tensor(arena, kernels.dtype, halo_send_rows(halo), width);
  assert_ok(halo_prepare(halo, arena));
  if (!arena->base) return;
  struct tensor own = tensor_rows(x, 0, shard->own), tail = tensor_rows(x, shard->own, halo->rows);
  set_rows(own, shard->own, shard->global_id);
  assert_ok(halo_start(halo, &comm, &kernels, own, NULL, packed, tail));
  assert_ok(halo_finish(halo, &comm, &kernels));
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  for (int64_t i = 0; i < halo->rows; i++) {
    for (int64_t j = 0; j < width; j++) assert_true(value_at(tail, i, j) == (double)(halo->id[i] * 100 + j));
  }
  for (int64_t i = 0; i < shard->own; i++)
    assert_true(value_at(own, i, 0) == (double)(shard->global_id[i] * 100));
}

static void exchange_over_arena(struct halo *halo, const struct shard *shard, int64_t width) {
  struct arena arena = arena_measure(&device);
  exchange(halo, shard, width, &arena);
  assert_ok(arena_allocate(&arena, "halo test"));
  exchange(halo, shard, width, &arena);
  arena_free(&arena);
}

static void exchange_graph(int directed, enum precision precision) {
  struct random_graph g = {
      .nodes = 83, .density = .07, .directed = directed, .task = TASK_MULTICLASS, .seed = 11};
  struct config config;
  struct dataset dataset;
  struct graph block = {0};
  struct partition partition = {0};
  struct shard shard = {0};
  assert_ok(config_parse(&config, "", "test"));
  assert_ok(kernels_open(&kernels, &device, precision));
  random_dataset(&comm, &g, "test_halo", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  assert_ok(partition_make(&comm, &config, &dataset, 1, NULL, NULL, comm.size, NULL, &partition));
  assert_ok(shard_init(&comm, &dataset, &partition, &block, LOOPS_APART, &shard));
  for (int64_t width = 1; width <= 33; width += 16) {
    exchange_over_arena(&shard.in.halo, &shard, width);
    if (directed) exchange_over_arena(&shard.out.halo, &shard, width);
  }
  shard_free(&shard);
  partition_free(&partition);
  kernels_close(&kernels);
  random_end(&comm, &g, &dataset);
}

TEST(halo_rows_land_in_the_tail) {
  exchange_graph(0, PRECISION_FP32);
  exchange_graph(0, PRECISION_FP64);
}

TEST(directed_graphs_have_a_plan_for_each_direction) {
  exchange_graph(1, PRECISION_FP32);
}

/* Rank r owns node r alone and wants the node of every other rank. */
static int plan_all(int64_t *global_id, struct halo *halo) {
  int32_t owner[64], local[64];
  halo->id = calloc((size_t)comm.size, sizeof *halo->id);
  for (int r = 0; r < comm.size; r++) {
    owner[r] = r;
    local[r] = r == comm.rank ? 0 : -1;
    if (r != comm.rank) halo->id[halo->rows++] = r;
  }
  return halo_init(&comm, owner, local, global_id, halo);
}

TEST(plans_list_every_peer) {
  struct halo halo = {0};
  int64_t own = comm.rank;
  assert_ok(plan_all(&own, &halo));
  assert_int_equal(halo.peers, comm.size - 1);
  assert_int_equal(halo_send_rows(&halo), comm.size - 1);
  int64_t *tail = calloc((size_t)comm.size, sizeof *tail);
  assert_ok(halo_swap(&halo, &comm, &own, sizeof own, tail));
  for (int64_t i = 0; i < halo.rows; i++) assert_int_equal(tail[i], halo.id[i]);
  free(tail);
  halo_free(&halo);
}

/* The last rank believes that its row is another node. */
TEST(plans_that_disagree_name_the_pair) {
  struct halo halo = {0};
  int64_t own = comm.rank == comm.size - 1 ? 1000 : comm.rank;
  int code = plan_all(&own, &halo);
  halo_free(&halo);
  if (comm.size == 1) {
    assert_int_equal(code, OK);
    return;
  }
  assert_int_equal(code, FAILED);
  char pair[64];
  snprintf(pair, sizeof pair, "ranks %d and %d disagree", comm.size - 1, comm.rank);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), pair));
  error_clear();
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  TRY(device_open(&device, "cpu", comm.local_rank, comm.local_size, 1));
  return comm_attach(&comm, &device);
}

AFTER_ALL {
  comm_close(&comm);
  device_close(&device);
}
