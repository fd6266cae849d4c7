#include "launch/bench/gnnbench_halo.h"

#include "io/dataset_path.h"
#include "runtime/base/random.h"

/* `rows` of the ranks nodes each, drawn evenly without repetition, ascending (Knuth, TAOCP 2, algorithm S).
 */
static void draw_rows(int64_t first, int64_t nodes, int64_t rows, uint32_t stream, int64_t *id) {
  const struct philox_key key = random_key(1, 0, stream, RANDOM_SYNTH_EDGE);
  for (int64_t v = 0, taken = 0; v < nodes && taken < rows; v++) {
    struct philox_block block = random_block(key, (uint64_t)v, 0);
    if (random_below(block.word[0], block.word[1], (uint64_t)(nodes - v)) < (uint64_t)(rows - taken))
      id[taken++] = first + v;
  }
}

/* Twice as many rows as travel to one rank: some are sent to several, some to none. */
static int share_rows(struct bench *bench, struct partition *partition) {
  int64_t rows = bench->options->exchange.rows, size = bench->comm.size, nodes = 2 * rows * size;
  if (nodes > INT32_MAX)
    FAIL(BAD_INPUT, "--rows %lld: at most %lld on %lld ranks", (long long)rows,
         (long long)(INT32_MAX / 2 / size), (long long)size);
  TRY(partition_init_parts(partition, (int)size, nodes));
  for (int r = 0; r < size; r++) partition->offset[r + 1] = 2 * rows * (r + 1);
  return OK;
}

static int make_random(struct bench *bench, struct bench_halo *h) {
  ENDED_BY(partition_free) struct partition partition = {0};
  struct comm *comm = &bench->comm;
  struct halo *halo = h->halo = &h->random;
  const int64_t rows = bench->options->exchange.rows;
  int code = share_rows(bench, &partition);
  if (code == OK) code = memory_arrays("halo ids", ROOM(&halo->id, (comm->size - 1) * rows));
  TRY(comm_agree(comm, code));
  for (int r = 0; r < comm->size; r++) {
    if (r == comm->rank) continue;
    draw_rows(r * 2 * rows, 2 * rows, rows, (uint32_t)(comm->rank * comm->size + r), halo->id + halo->rows);
    halo->rows += rows;
  }
  TRY(directory_init(comm, &partition, &h->directory));
  return halo_init(comm, &h->directory, halo);
}

static int read_config(const struct bench_options *options, struct config *config) {
  char method[64];
  TRY(config_parse(config, "", "gnnbench"));
  snprintf(config->dataset.path, sizeof config->dataset.path, "%s", options->dataset);
  snprintf(method, sizeof method, "partition.method=%.40s", options->exchange.method);
  return config_set(config, method);
}

static int open_dataset(struct bench *bench, struct bench_halo *h) {
  struct comm *comm = &bench->comm;
  const char *path = bench->options->dataset;
  TRY(comm_agree(comm, comm->rank == 0 ? dataset_path_probe(path) : OK));
  TRY(comm_agree(comm, dataset_path_open(&h->dataset, path)));
  if (!h->dataset.has_graph) FAIL(BAD_INPUT, "%s: no /graph to partition", path);
  return OK;
}

static int make_shard(struct bench *bench, struct bench_halo *h, struct graph *block) {
  static struct config config; /* large */
  ENDED_BY(partition_free) struct partition partition = {0};
  struct comm *comm = &bench->comm;
  uint64_t hash = 0;
  TRY(comm_agree(comm, read_config(bench->options, &config)));
  TRY(comm_agree(comm, open_dataset(bench, h)));
  TRY(graph_read_block(comm, &h->dataset, block, &hash));
  TRY(partition_make(comm, &config, &h->dataset, hash, NULL, NULL, comm->size, NULL, &partition));
  TRY(directory_init(comm, &partition, &h->directory));
  return shard_init(comm, &h->dataset, &h->directory, block, LOOPS_APART, &h->shard);
}

/* Messages alone go from rank to rank on any hosts. */
static int add_relays(struct bench *bench, struct bench_halo *h) {
  FREED uint8_t *near = NULL;
  struct comm *comm = &bench->comm;
  if (bench->options->exchange.messages) return OK;
  TRY(comm_agree(comm, memory_arrays("peers", ROOM(&near, comm->size))));
  TRY(comm_reach_find(comm, near));
  return shard_add_relays(comm, &h->directory, near, NULL, &h->shard);
}

static int make_from_dataset(struct bench *bench, struct bench_halo *h) {
  ENDED_BY(graph_free) struct graph block = {0};
  TRY(make_shard(bench, h, &block));
  TRY(add_relays(bench, h));
  h->halo = &h->shard.in.halo;
  return OK;
}

int bench_halo_init(struct bench *bench, struct bench_halo *h) {
  TRY(bench->options->dataset ? make_from_dataset(bench, h) : make_random(bench, h));
  h->own = directory_own(&h->directory);
  h->id = directory_own_ids(&h->directory);
  return OK;
}

void bench_halo_free(struct bench_halo *h) {
  halo_free(&h->random);
  shard_free(&h->shard);
  directory_free(&h->directory);
  dataset_close(&h->dataset);
}
