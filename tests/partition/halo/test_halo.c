/* Halo exchange on the device: the right rows land in the tail, in either direction and at any width. */
#include "partition/halo/halo_exchange.h"

#include "kernels/ops/kernels.h"
#include "partition/shard/shard.h"
#include "runtime/device/arena.h"
#include "runtime/device/device_list.h"
#include "tests/on_hosts.h"
#include "tests/partition/random_graph.h"
#include "tests/ranks.h"

static struct comm comm;
static struct device device;
static struct kernels kernels;

/* Element j of node `id`. */
static double value_of(int64_t id, int64_t j) {
  return (double)(id * 100 + j);
}

static void set_rows(struct tensor t, int64_t rows, const int64_t *id) {
  char *host = calloc(1, (size_t)tensor_bytes(t) + 1);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < t.cols; j++) {
      if (t.dtype == F64)
        ((double *)(void *)host)[i * t.stride + j] = value_of(id[i], j);
      else
        ((float *)(void *)host)[i * t.stride + j] = (float)value_of(id[i], j);
    }
  }
  assert_ok(device_upload(&device, STREAM_COMPUTE, t.data, host,
                          tensor_rows(t, 0, rows).rows * t.stride * dtype_bytes(t.dtype)));
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  free(host);
}

/* Rows of t are those of these nodes, each times its `scale` (NULL: 1). */
static void check_rows(struct tensor t, int64_t rows, const int64_t *id, double scale) {
  char *host = calloc(1, (size_t)tensor_bytes(t) + 1);
  assert_ok(device_download(&device, STREAM_COMPUTE, host, t.data, tensor_bytes(t)));
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < t.cols; j++) {
      const int64_t at = i * t.stride + j;
      const double is = t.dtype == F64 ? ((double *)(void *)host)[at] : (double)((float *)(void *)host)[at];
      assert_true(is == scale * value_of(id[i], j));
    }
  }
  free(host);
}

/* The exchange of one halo, and where it happens. */
struct place {
  struct tensor x, packed, landing, back;
  void *scale;
};

static void lay_out(struct halo *halo, const struct shard *shard, int64_t width, struct arena *arena,
                    struct place *place) {
  place->x = arena_tensor(arena, kernels.dtype, shard->own, width);
  place->packed = tensor_packed(arena_tensor(arena, kernels.dtype, halo_packed_rows(halo), width), width);
  place->landing = arena_tensor(arena, kernels.dtype, halo_landing_rows(halo), width);
  place->back = arena_tensor(arena, kernels.dtype, halo->send_rows + 3, width);
  place->scale = arena_take(arena, shard->own * dtype_bytes(kernels.real));
  assert_ok(halo_prepare(halo, arena));
}

static void set_scale(const struct place *place, int64_t own, double value) {
  struct tensor t = tensor_of(place->scale, kernels.real, own, 1);
  char *host = calloc(1, (size_t)tensor_bytes(t) + 1);
  for (int64_t i = 0; i < own; i++) {
    if (t.dtype == F64)
      ((double *)(void *)host)[i] = value;
    else
      ((float *)(void *)host)[i] = (float)value;
  }
  assert_ok(device_upload(&device, STREAM_COMPUTE, t.data, host, tensor_bytes(t)));
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  free(host);
}

/* There, and without a relay or stages back behind three rows of what the rows came from; several times, as
 * epochs do it. */
static void exchange(struct halo *halo, const struct shard *shard, const struct place *place) {
  const struct tensor tail = halo_landed(halo, place->landing, place->landing.cols);
  struct tensor back = place->back;
  back.stride = tail.stride;
  back = tensor_rows(back, 3, halo->send_rows);
  int64_t *sent = calloc((size_t)halo->send_rows + 1, sizeof *sent);
  for (int64_t i = 0; i < halo->send_rows; i++) sent[i] = shard->global_id[halo->send_row[i]];
  for (int times = 1; times <= 3; times++) {
    const int scaled = times > 1;
    set_rows(place->x, shard->own, shard->global_id);
    set_scale(place, shard->own, times);
    assert_ok(halo_start(halo, &comm, &kernels, place->x, scaled ? place->scale : NULL, place->packed, tail));
    for (int s = 0; s < halo->stages; s++) {
      const struct halo_rows came = halo->stage[s].came;
      assert_ok(halo_finish(halo, s, &comm, &kernels));
      check_rows(tensor_rows(tail, came.first, came.count), came.count, halo->id + came.first, times);
    }
    check_rows(tail, halo->rows, halo->id, times);
    if (halo->relay || halo->stages > 1) continue;
    assert_ok(halo_return_start(halo, &comm, &kernels, tail, back));
    assert_ok(halo_finish(halo, 0, &comm, &kernels));
    check_rows(back, back.rows, sent, times);
    check_rows(place->x, shard->own, shard->global_id, 1);
  }
  free(sent);
}

/* Every other rank is out of reach, as those of another host are. */
static void exchange_with_some(struct halo *halo, const struct shard *shard, const struct place *place,
                               struct comm_reach *reach, struct halo_landing out, struct halo_landing back) {
  char *away[64] = {0};
  for (int r = 0; r < comm.size; r++) {
    if ((r + comm.rank) % 2 == 0) continue;
    away[r] = reach->at[r];
    reach->at[r] = NULL;
  }
  assert_ok(halo_meet(halo, &comm, &kernels, reach, out, back));
  exchange(halo, shard, place);
  for (int r = 0; r < comm.size; r++)
    if (away[r]) reach->at[r] = away[r];
}

/* By messages; then, where devices reach each other's memory, by stores, without which their rows are not
 * handed on. */
static void exchange_each_way(struct halo *halo, const struct shard *shard, const struct place *place,
                              struct comm_reach *reach) {
  const struct halo_landing out = {place->landing.data, 0}, back = {place->back.data, 3};
  if (!halo->relay || !ranks_on_gpu()) exchange(halo, shard, place);
  assert_ok(halo_meet(halo, &comm, &kernels, reach, out, back));
  assert_int_equal(halo->near != NULL, ranks_on_gpu() && comm.size > 1 && !halo->relay);
  exchange(halo, shard, place);
  if (halo->near) exchange_with_some(halo, shard, place, reach, out, back);
  halo_leave(halo);
}

/* In two stages, which have each peer once. */
static void divide(struct halo *halo) {
  int peers = 0;
  halo_divide(halo, comm.rank, comm.size, 1);
  assert_int_equal(halo->stages, HALO_STAGES);
  for (int s = 0; s < halo->stages; s++) peers += halo->stage[s].end - halo->stage[s].first;
  assert_int_equal(peers, halo->peers);
}

static void exchange_over_arena(struct halo *halo, const struct shard *shard, int64_t width) {
  const struct halo_stage whole = halo->stage[0];
  struct arena arena = arena_measure(&device);
  struct comm_reach reach = {0};
  struct place place;
  lay_out(halo, shard, width, &arena, &place);
  assert_ok(arena_allocate(&arena, "halo test"));
  lay_out(halo, shard, width, &arena, &place);
  assert_ok(comm_reach_open(&comm, arena.base, &reach));
  exchange_each_way(halo, shard, &place, &reach);
  if (!halo->relay && comm.size > 1) {
    divide(halo);
    exchange_each_way(halo, shard, &place, &reach);
    halo->stages = 1;
    halo->stage[0] = whole;
  }
  comm_reach_close(&comm, &reach);
  arena_free(&arena);
}

/* The place of a rank among `of` ranks of its host. */
static int place_on_host(int rank, int *of) {
  int place = 0;
  *of = 0;
  for (int r = 0; r < comm.size; r++) {
    if (comm_host(&comm, r) != comm_host(&comm, rank)) continue;
    place += r < rank;
    (*of)++;
  }
  return place;
}

/* An own row goes at most once to each other host, the i-th rank of a host sends to the i-th of the other,
 * and what is handed on stays on the host. */
static void check_relay(const struct halo *halo) {
  if (!halo->relay) return;
  const struct halo *first = &halo->relay->first, *second = &halo->relay->second;
  for (int p = 0; p < first->peers; p++) {
    const struct halo_peer *peer = &first->peer[p];
    const int host = comm_host(&comm, peer->rank), here = comm_host(&comm, comm.rank);
    int mine, there, place = place_on_host(comm.rank, &mine), gateway = place_on_host(peer->rank, &there);
    if (host == here || peer->sent.count == 0) continue;
    assert_int_equal(gateway, place % there);
    for (int q = 0; q < p; q++)
      if (first->peer[q].sent.count > 0) assert_int_not_equal(host, comm_host(&comm, first->peer[q].rank));
    for (int64_t i = peer->sent.first + 1; i < peer->sent.first + peer->sent.count; i++)
      assert_true(first->send_row[i] > first->send_row[i - 1]);
  }
  for (int p = 0; p < second->peers; p++)
    assert_int_equal(comm_host(&comm, second->peer[p].rank), comm_host(&comm, comm.rank));
}

static void exchange_graph(int directed, enum precision precision) {
  static const int64_t width[] = {1, 17, 33, 97, 8001}; /* the last: threads store many pieces each */
  struct random_graph g = {
      .nodes = 83, .density = .07, .directed = directed, .task = TASK_MULTICLASS, .seed = 11};
  struct config config;
  struct dataset dataset;
  struct graph block = {0};
  struct partition partition = {0};
  struct directory directory = {0};
  struct shard shard = {0};
  uint8_t near[64] = {0};
  assert_ok(config_parse(&config, "", "test"));
  assert_ok(kernels_open(&kernels, &device, precision));
  random_dataset(&comm, &g, "test_halo", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  assert_ok(partition_make(&comm, &config, &dataset, 1, NULL, NULL, comm.size, NULL, &partition));
  assert_ok(directory_init(&comm, &partition, &directory));
  assert_ok(shard_init(&comm, &dataset, &directory, &block, LOOPS_APART, &shard));
  assert_ok(comm_reach_find(&comm, near));
  assert_ok(shard_add_relays(&comm, &directory, near, NULL, &shard));
  assert_int_equal(shard.in.halo.relay != NULL, comm.nodes > 1);
  check_relay(&shard.in.halo);
  check_relay(&shard.out.halo);
  for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
    exchange_over_arena(&shard.in.halo, &shard, width[i]);
    if (directed) exchange_over_arena(&shard.out.halo, &shard, width[i]);
  }
  shard_free(&shard);
  directory_free(&directory);
  partition_free(&partition);
  kernels_close(&kernels);
  random_end(&comm, &g, &dataset);
}

TEST(rows_between_hosts_travel_once_and_are_handed_on) {
  for (int each = 2; each < comm.size; each = 2 * each - 1) {
    stand_on_hosts(&comm, each);
    exchange_graph(0, PRECISION_FP32);
    exchange_graph(1, PRECISION_FP32);
  }
  stand_on_hosts(&comm, comm.size);
}

TEST(halo_rows_land_in_the_tail) {
  exchange_graph(0, PRECISION_FP32);
  if (!ranks_on_gpu()) exchange_graph(0, PRECISION_FP64);
}

TEST(directed_graphs_have_a_plan_for_each_direction) {
  exchange_graph(1, PRECISION_FP32);
}

/* Rank r owns node r alone and wants the node of every other rank; own: what it believes its row to be. */
static int plan_all(int64_t own, struct halo *halo) {
  struct partition partition = {0};
  struct directory directory = {0};
  assert_ok(partition_init_parts(&partition, comm.size, comm.size));
  halo->id = calloc((size_t)comm.size, sizeof *halo->id);
  for (int r = 0; r < comm.size; r++) {
    partition.offset[r + 1] = r + 1;
    if (r != comm.rank) halo->id[halo->rows++] = r;
  }
  assert_ok(directory_init(&comm, &partition, &directory));
  directory.id[0] = own;
  int code = halo_init(&comm, &directory, halo);
  directory_free(&directory);
  partition_free(&partition);
  return code;
}

TEST(plans_list_every_peer) {
  struct halo halo = {0};
  int64_t own = comm.rank;
  assert_ok(plan_all(own, &halo));
  assert_int_equal(halo.peers, comm.size - 1);
  assert_int_equal(halo.send_rows, comm.size - 1);
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
  int code = plan_all(own, &halo);
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
  TRY(ranks_need_device(&comm));
  TRY(device_open(&device, ranks_device(), comm.local_rank, comm.local_size, 1));
  return comm_attach(&comm, &device);
}

AFTER_ALL {
  comm_close(&comm);
  device_close(&device);
}
