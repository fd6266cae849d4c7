/* What is said before a training: graph, model, ranks, partition and memory in a line each; with --verbose
 * print_details in their place. */
#include "launch/gnntrain/gnntrain_options.h"
#include "partition/cut/star_expansion.h"
#include "runtime/base/base.h"
#include "version.h"

static void print_graph(const struct job *job) {
  const struct dataset *d = &job->dataset;
  const int64_t *nodes = job->shard.split_global;
  char size[128], graphs[48] = "";
  if (d->graphs > 0) snprintf(graphs, sizeof graphs, "%lld graphs, ", (long long)d->graphs);
  if (job->type->on_hypergraph)
    snprintf(size, sizeof size, "%lld vertices, %lld hyperedges", (long long)d->nodes,
             (long long)d->hyperedges);
  else
    snprintf(size, sizeof size, "%s%lld nodes, %lld arcs%s%s", graphs, (long long)d->nodes,
             (long long)d->edges, d->directed ? ", directed" : "", d->weighted ? ", weighted" : "");
  log_info("  %-11s %s: %s, %lld features, %lld classes; %lld train, %lld val, %lld test",
           job->type->on_hypergraph ? "hypergraph"
           : d->graphs > 0          ? "graphs"
                                    : "graph",
           d->name, size, (long long)d->features, (long long)d->classes, (long long)nodes[SPLIT_TRAIN],
           (long long)nodes[SPLIT_VAL], (long long)nodes[SPLIT_TEST]);
}

static void print_model(const struct job *job) {
  static const char *const norms[] = {"", ", batch norm", ", layer norm"};
  const struct config *c = &job->config;
  char runs[32] = "";
  if (c->train.runs > 1) snprintf(runs, sizeof runs, ", %lld runs", (long long)c->train.runs);
  log_info("  model       %s, %lld layers, hidden %lld%s%s, dropout %g, %lld parameters", c->model.type,
           (long long)c->model.layers, (long long)c->model.hidden, norms[c->model.norm],
           c->model.residual ? ", residual" : "", c->model.dropout,
           (long long)job->trainer.model.parameters.numbers);
  log_info("  training    %lld epochs, lr %g, weight decay %g, seed %lld%s", (long long)c->train.epochs,
           c->train.lr, c->train.weight_decay, (long long)c->train.seed, runs);
}

static void print_ranks(const struct job *job) {
  log_info("  ranks       %d on %d node%s, %s", job->comm.size, job->comm.nodes,
           job->comm.nodes == 1 ? "" : "s", job->threads);
  log_info("  device      %s (%s), %s", job->device.ops->name, job->device.name,
           precision_name[job->config.runtime.precision]);
}

static void print_partition(const struct job *job) {
  char text[256];
  if (job->type->on_hypergraph)
    star_expansion_text(&job->partition, &job->config, job->dataset.nodes, job->dataset.incidences, text,
                        sizeof text);
  else
    partition_text(&job->partition, &job->config, job->dataset.edges, text, sizeof text);
  log_info("  partition   %s", text);
}

static void print_saving(const struct program *p) {
  if (p->saved.repeated > 0)
    log_info("recompute: the backward computes the inside of the lowest %d of %d layers again",
             p->saved.repeated, p->layers);
  char bytes[16];
  if (p->saved.waits > 0)
    log_info("offload: %d values, %s, wait in the host's memory for the backward", p->saved.waits,
             memory_text(p->saved.waiting, bytes));
}

/* What a batch job should ask for: a quarter more than the estimate, in whole GiB. */
static long long wanted_gib(int64_t bytes) {
  const int64_t gib = 1ll << 30;
  return (long long)((bytes + bytes / 4 + gib - 1) / gib);
}

/* The node that needs most, all its ranks together. Collective. */
static int print_memory(struct job *job, enum log_level level) {
  int64_t node = estimate_total(&job->footprint.host), device = estimate_total(&job->footprint.device),
          ranks = job->comm.local_size;
  const int cached = job->partition.cached;
  char text[16], of[48] = "";
  TRY(comm_sum_on_node(&job->comm, &node));
  TRY(comm_max_int64(&job->comm, &node));
  TRY(comm_max_int64(&job->comm, &ranks));
  TRY(comm_max_int64(&job->comm, &device));
  if (ranks > 1) snprintf(of, sizeof of, " for its %lld ranks", (long long)ranks);
  log_line(level, "  host memory %s a node%s%s; for Slurm --mem=%lldG", memory_text(node, text), of,
           cached ? ", with the partition as it is kept" : ", the making of the partition included",
           wanted_gib(node));
  if (!job->device.ops->on_host)
    log_line(level, "  GPU memory  %s on the fullest rank", memory_text(device, text));
  return OK;
}

int print_banner(struct job *job, const struct command_line *line) {
  const int evaluates = line->evaluate || line->predict;
  const enum log_level level = line->dry_run ? LOG_RESULT : evaluates ? LOG_DETAIL : LOG_INFO;
  log_line(evaluates ? LOG_DETAIL : LOG_INFO, "gnntrain %s (%s)  %s", GNNTRAIN_VERSION, GNNTRAIN_REVISION,
           job->config.path);
  TRY(print_details(job));
  if (!log_shows(LOG_DETAIL) && !evaluates) {
    print_graph(job);
    print_model(job);
    print_ranks(job);
    print_partition(job);
  }
  if (!evaluates) print_saving(&job->trainer.model.program);
  TRY(print_memory(job, level));
  log_line(evaluates ? LOG_DETAIL : LOG_INFO, " ");
  return OK;
}
