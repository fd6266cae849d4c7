#include "models/session/job.h"

#include <omp.h>

#include "io/dataset_path.h"
#include "kernels/cost/cost_models.h"
#include "models/core/features.h"
#include "models/session/job_grid.h"
#include "models/session/needs.h"
#include "models/train/rank_consistency.h"
#include "partition/cut/partition_ahead.h"
#include "partition/cut/star_expansion.h"
#include "runtime/base/base.h"
#include "runtime/base/fnv.h"
#include "runtime/device/device_list.h"
#include "runtime/profile/profile.h"

/* Rank 0 reads them, so that all ranks choose alike. */
static int read_constants(struct job *job) {
  struct comm *comm = &job->comm;
  struct cost_constants constants = {0};
  int code = comm->rank == 0 ? cost_constants_find(job->config.runtime.constants, &constants) : OK;
  TRY(comm_agree(comm, code));
  TRY(comm_broadcast(comm, &constants, (int64_t)sizeof constants, 0));
  if (constants.path[0]) log_detail("cost model: constants of %s", constants.path);
  return comm_agree(comm, cost_models_read(constants.text, constants.path));
}

static int start_device(struct job *job) {
  struct comm *comm = &job->comm;
  int threads = 1;
  TRY(comm_threads(comm, (int)job->config.runtime.threads, &threads, job->threads, sizeof job->threads));
  return startup_begin(&job->startup, comm, &job->config, threads, &job->device, &job->kernels);
}

/* What is chosen on a GPU that nobody has measured is chosen by another one's constants. */
static void say_constants(const struct job *job) {
  const char *gpu = job->device.name;
  if (job->device.ops->on_host || cost_model_is_own(gpu)) return;
  log_info("cost model: no constants of %s, those of %s stand in; gnnbench calibrate measures them", gpu,
           cost_model_of(gpu)->name);
}

static int finish_device(struct job *job) {
  TRY(startup_finish(&job->startup));
  TRY(startup_connect_peers(&job->startup, &job->config, &job->directory, job->relays, &job->shard));
  say_constants(job);
  footprint_add_program(&job->footprint, &job->device,
                        shard_bytes(&job->shard) + directory_bytes(&job->directory));
  footprint_add_taken(&job->footprint, &job->device, "context, libraries, transport between ranks");
  return OK;
}

static int check_settings(struct job *job) {
  if (job->ranks == 0) job->ranks = job->comm.size;
  TRY(model_type_of(job->config.model.type, &job->type));
  TRY(model_type_check(&job->config, NULL));
  TRY(device_check(job->config.runtime.device));
  return job_grid_read(&job->config, job->ranks, job->type, &job->grid);
}

int job_check_settings(struct job *job) {
  return comm_agree(&job->comm, check_settings(job));
}

static int check_dataset(const struct job *job, const struct dataset *dataset, const char *path) {
  if (job->type->on_hypergraph && dataset->hyperedges == 0)
    FAIL(BAD_INPUT, "%s: has no /hypergraph, on which model.type = \"%s\" runs", path,
         job->config.model.type);
  if (!job->type->on_hypergraph && !dataset->has_graph)
    FAIL(BAD_INPUT, "%s: has no /graph to train on%s", path,
         dataset->hyperedges ? "; model.type hgnn, unigcnii and unigin run on its /hypergraph" : "");
  if (dataset->graphs > 0 && job->grid.cols > 1)
    FAIL(BAD_INPUT, "partition.grid = \"%s\": graphs of %s stay whole; \"%dx1\" is allowed",
         job->config.partition.grid, path, job->ranks);
  if (dataset->task == TASK_NONE)
    FAIL(BAD_INPUT, "%s: has no labels (task = \"none\"); import it with --labels to train", path);
  if (dataset->splits == 0)
    FAIL(BAD_INPUT, "%s: has no /split into train, val and test; import it with --split", path);
  if (!dataset->has_features) FAIL(BAD_INPUT, "%s: has no /node/features; import it with --features", path);
  return OK;
}

static int check_ahead(const struct job *job) {
  TRY(objective_check(&job->config, &job->dataset));
  return partition_check_ahead(&job->config, &job->dataset, job->type->on_hypergraph, job->grid.rows);
}

/* Rank 0 looks at the file in a child process first: damaged metadata can crash the library that reads it. */
static int open_dataset(struct job *job) {
  const char *path = job->config.dataset.path;
  TRY(comm_agree(&job->comm, job->comm.rank == 0 ? dataset_path_probe(path) : OK));
  if (!dataset_path_is_made(path)) TRY(rank_consistency_file(&job->comm, path));
  TRY(comm_agree(&job->comm, dataset_path_open(&job->dataset, path)));
  TRY(comm_agree(&job->comm, check_dataset(job, &job->dataset, path)));
  TRY(comm_agree(&job->comm, model_type_check(&job->config, &job->dataset)));
  return comm_agree(&job->comm, job->comm.rank ? OK : check_ahead(job));
}

/* What graphs begin with belongs to the graph. */
static int hash_graphs(struct dataset *dataset, uint64_t *hash) {
  FREED int64_t *start = NULL;
  if (dataset->graphs == 0) return OK;
  TRY(dataset_read_graphs(dataset, &start));
  *hash = fnv_add(*hash, start, (dataset->graphs + 1) * (int64_t)sizeof *start);
  return OK;
}

/* This rank's block of rows of the graph and the hash of all of it. */
static int read_block(struct job *job, uint64_t *hash) {
  struct comm *comm = &job->comm;
  if (!job->type->on_hypergraph) {
    TRY(graph_read_block(comm, &job->dataset, &job->block, hash));
    return comm_agree(comm, hash_graphs(&job->dataset, hash));
  }
  TRY(star_expansion_read_block(comm, &job->dataset, &job->block));
  return star_expansion_hash(comm, &job->dataset, &job->block, hash);
}

/* NULL: rows are alike. */
static const struct row_work *work_of(const struct job *job) {
  return job->levels.work.level ? &job->levels.work : NULL;
}

static int divide_nodes(struct job *job, uint64_t hash) {
  struct comm *comm = &job->comm;
  TRY(partition_make(comm, &job->config, &job->dataset, hash, &job->block, work_of(job), job->grid.rows,
                     job->config.log.dir, &job->partition));
  return comm_agree(comm, partition_deal(&job->partition, job->grid.cols));
}

/* What the device, or a rank's share of the machine, has in all. */
static int64_t memory_of_rank(const struct job *job) {
  return job->device.ops->on_host ? memory_limit(job->comm.local_size) : job->device.memory;
}

struct grid_machine job_machine(const struct job *job) {
  const int on_host = job->device.ops->on_host;
  const struct cost_model *model = on_host ? &cost_model_cpu : cost_model_of(job->device.name);
  return (struct grid_machine){.model = model,
                               .precision = job->config.runtime.precision,
                               .network = grid_cost_network(model, job->comm.local_size),
                               .threads = omp_get_max_threads(),
                               .overlaps = !on_host && job->config.runtime.overlap,
                               .relays = on_host || job->config.runtime.exchange == EXCHANGE_AUTO,
                               .memory = memory_of_rank(job)};
}

/* Another one where the ranks turn out to share the graph in another way. */
static int divide_by_grid(struct job *job, struct comm *ranks, const struct grid_machine *machine,
                          uint64_t hash) {
  const struct grid before = job->grid;
  TRY(divide_nodes(job, hash));
  if (!machine) return OK;
  if (job->levels.levels.count == 0)
    TRY(job_grid_choose(&job->config, ranks, &job->dataset, &job->partition, machine, &job->grid));
  if (job->grid.cols != before.cols) {
    partition_free(&job->partition);
    TRY(divide_nodes(job, hash));
  }
  return job_grid_relays(&job->config, ranks, &job->dataset, &job->partition, machine, job->grid,
                         &job->relays);
}

int job_divide(struct job *job, struct comm *ranks, const struct grid_machine *machine, uint64_t hash) {
  struct comm *comm = &job->comm;
  if (!job->type->on_hypergraph) return divide_by_grid(job, ranks, machine, hash);
  return star_expansion_partition(comm, &job->config, &job->dataset, hash, &job->block, work_of(job),
                                  comm->size, job->config.log.dir, &job->partition);
}

/* Of a hypergraph that of its star, too, until its hyperedges have come. */
static int make_directory(struct job *job, struct directory *star) {
  struct comm *comm = &job->comm;
  struct directory *directory = job->type->on_hypergraph ? star : &job->directory;
  TRY(directory_init(comm, &job->partition, directory));
  partition_forget_nodes(&job->partition);
  TRY(job_levels_order(&job->levels, comm, directory));
  return job->type->on_hypergraph ? directory_init_first(comm, star, job->dataset.nodes, &job->directory)
                                  : OK;
}

static int divide_hypergraph(struct job *job, const struct directory *star, struct graph *expansion) {
  struct comm *comm = &job->comm;
  struct shard *shard = &job->shard;
  TRY(hyper_init(comm, &job->dataset, star, expansion, &shard->hyper));
  return hyper_add_levels(comm, star, &job->levels.levels, &shard->levels, &shard->hyper);
}

/* A hypergraph's shard has vertices without arcs, and its hyperedges. */
static int divide_graph(struct job *job) {
  struct comm *comm = &job->comm;
  ENDED_BY(graph_free) struct graph expansion = {0};
  ENDED_BY(directory_free) struct directory star = {0};
  TRY(PROFILE_HOST("directory", make_directory(job, &star)));
  if (job->type->on_hypergraph) {
    expansion = job->block;
    job->block = (struct graph){0};
    TRY(comm_agree(comm, graph_without_edges(job->dataset.nodes, &job->block)));
  }
  TRY(shard_init(comm, &job->dataset, &job->directory, &job->block, model_type_loops(job->type, &job->config),
                 &job->shard));
  TRY(PROFILE_HOST("cut levels", shard_add_levels(comm, &job->directory, &job->levels.levels, &job->shard)));
  if (job->type->on_hypergraph) TRY(divide_hypergraph(job, &star, &expansion));
  levels_forget_nodes(&job->levels.levels);
  return OK;
}

static int make_shard(struct job *job) {
  struct comm *comm = &job->comm;
  double begun = profile_clock();
  TRY(PROFILE_HOST("shard", divide_graph(job)));
  TRY(PROFILE_HOST("node data", shard_read_data(comm, &job->dataset, &job->directory,
                                                features_normalized_as_read(&job->config), &job->shard)));
  TRY(shard_read_split(comm, &job->dataset, &job->directory, job->config.dataset.split, &job->shard));
  job->seconds.shard = profile_clock() - begun;
  return OK;
}

/* Where nothing was kept. */
static int64_t making_bytes(const struct job *job) {
  return partition_making_bytes(&job->config, &job->dataset, job->type->on_hypergraph, job->comm.rank,
                                job->comm.size, &job->partition);
}

static void add_training(struct job *job) {
  struct footprint_stages stages = {.graph = shard_bytes(&job->shard),
                                    .owners = directory_bytes(&job->directory),
                                    .making = making_bytes(job),
                                    .made = job->comm.rank == 0 ? job->partition.memory : 0,
                                    .building = shard_build_bytes(&job->shard)};
  footprint_add_training(&job->footprint, &job->trainer, &job->run, &stages);
}

/* Whether the machine, and the devices by what they have in all, can hold it. */
static int check_needs(struct job *job) {
  struct comm *comm = &job->comm;
  struct estimate host = {0}, device = {0};
  int on_host = job->device.ops->on_host;
  int64_t there[2] = {memory_limit(comm->local_size), job->device.memory};
  needs_add(&job->config, &job->dataset, job->type->on_hypergraph, comm->size, &host,
            on_host ? &host : &device);
  TRY(comm_reduce(comm, there, 2, NUMBER_INT64, REDUCE_SUM));
  TRY(comm_agree(comm, needs_check(&host, "memory", comm->size, there[0])));
  if (on_host) return OK;
  return comm_agree(comm, needs_check(&device, "GPU memory", comm->size, there[1]));
}

int job_open(struct job *job) {
  memory_return_large();
  job->comm.timeout = job->config.runtime.timeout;
  TRY(job_check_settings(job));
  TRY(read_constants(job));
  footprint_begin(&job->footprint);
  return open_dataset(job);
}

int job_read(struct job *job, uint64_t *hash) {
  struct comm *comm = &job->comm;
  TRY(comm_agree(comm, comm->rank ? OK : objective_check_splits(&job->config, &job->dataset)));
  TRY(PROFILE_HOST("read graph", read_block(job, hash)));
  return PROFILE_HOST(
      "levels", job_levels_find(&job->levels, comm, &job->config, &job->grid, &job->dataset, &job->block));
}

int job_setup(struct job *job) {
  TRY(job_open(job));
  return job_build(job);
}

int job_build(struct job *job) {
  double begun = profile_clock();
  uint64_t hash = 0;
  TRY(start_device(job));
  TRY(check_needs(job));
  TRY(job_read(job, &hash));
  job->seconds.read = profile_clock() - begun;
  const struct grid_machine machine = job_machine(job);
  TRY(PROFILE_HOST("partition", job_divide(job, &job->comm, &machine, hash)));
  memory_return_freed();
  TRY(make_shard(job));
  TRY(finish_device(job));
  job->run = (struct run){.config = &job->config,
                          .comm = &job->comm,
                          .device = &job->device,
                          .kernels = &job->kernels,
                          .dataset = &job->dataset,
                          .directory = &job->directory,
                          .shard = &job->shard,
                          .dataset_hash = hash};
  TRY(comm_agree(&job->comm, PROFILE_HOST("model", trainer_init(&job->trainer, &job->run))));
  footprint_add_taken(&job->footprint, &job->device, "adjacency and sparse features");
  add_training(job);
  return OK;
}

int job_check_memory(struct job *job) {
  return comm_agree(&job->comm, footprint_check(&job->footprint, &job->device));
}

int job_print_startup(struct job *job) {
  double device = job->startup.device_seconds, transport = job->startup.transport_seconds;
  if (job->device.ops->on_host) return OK;
  TRY(comm_max_double(&job->comm, &device));
  TRY(comm_max_double(&job->comm, &transport));
  log_result("  opened beside the reading of the data: device in %.2f s, transport in %.2f s", device,
             transport);
  return OK;
}

void job_free(struct job *job) {
  startup_stop(&job->startup);
  trainer_free(&job->trainer, &job->run);
  shard_free(&job->shard);
  job_levels_free(&job->levels);
  graph_free(&job->block);
  partition_free(&job->partition);
  directory_free(&job->directory);
  dataset_close(&job->dataset);
  kernels_close(&job->kernels);
  device_close(&job->device);
}
