/* What the banner says with --verbose. */
#include "launch/gnntrain/gnntrain_options.h"
#include "partition/cut/star_expansion.h"
#include "runtime/base/base.h"

static void print_model(const struct job *job) {
  static const char *const norms[] = {"", ", batch norm", ", layer norm"};
  const struct config *c = &job->config;
  log_detail("  model       %s, %lld layers, hidden %lld%s%s, dropout %g (input %g), %lld parameters",
             c->model.type, (long long)c->model.layers, (long long)c->model.hidden, norms[c->model.norm],
             c->model.residual ? ", residual" : "", c->model.dropout, c->model.dropout_input,
             (long long)job->trainer.model.parameters.numbers);
}

static void print_settings(const struct job *job) {
  const struct config *c = &job->config;
  char convolutions[48] = "", threshold[48] = "";
  log_detail("  ranks       %d on %d node%s, %s", job->comm.size, job->comm.nodes,
             job->comm.nodes == 1 ? "" : "s", job->threads);
  log_detail("  device      %s (%s), %s", job->device.ops->name, job->device.name,
             precision_name[c->runtime.precision]);
  if (c->runtime.layout == LAYOUT_VECTORS)
    snprintf(threshold, sizeof threshold, " (%lld non-zeros and more)",
             (long long)c->runtime.vector_threshold);
  if (c->runtime.layout != LAYOUT_AUTO)
    log_detail("  layout      %s%s of sparse products, on GPUs", layout_name[c->runtime.layout], threshold);
  if (job->type->on_hypergraph && c->runtime.incidence != INCIDENCE_AUTO)
    log_detail("  hyperedges  %s", incidence_name[c->runtime.incidence]);
  print_model(job);
  if (c->train.weight_decay_convolutions >= 0)
    snprintf(convolutions, sizeof convolutions, " (convolutions %g)", c->train.weight_decay_convolutions);
  log_detail("  training    %lld epochs, lr %g, weight decay %g%s%s, seed %lld, runs %lld",
             (long long)c->train.epochs, c->train.lr, c->train.weight_decay,
             c->train.weight_decay_first_only ? " (first layer)" : "", convolutions, (long long)c->train.seed,
             (long long)c->train.runs);
}

static void print_graph(const struct job *job) {
  const struct dataset *d = &job->dataset;
  char graphs[48] = "";
  if (d->graphs > 0) snprintf(graphs, sizeof graphs, "%lld graphs, ", (long long)d->graphs);
  const struct shard *shard = &job->shard;
  if (job->type->on_hypergraph)
    log_detail("  hypergraph  %s: %lld vertices, %lld hyperedges, %lld incidences, read in %.1f s", d->name,
               (long long)d->nodes, (long long)d->hyperedges, (long long)d->incidences, job->seconds.read);
  else
    log_detail("  graph       %s: %s%lld nodes, %lld arcs%s%s, read in %.1f s", d->name, graphs,
               (long long)d->nodes, (long long)d->edges, d->directed ? ", directed" : "",
               d->weighted ? ", weighted" : "", job->seconds.read);
  log_detail("  data        %lld features%s, %lld classes%s; %lld train, %lld val, %lld test",
             (long long)d->features, d->sparse ? " (sparse)" : "", (long long)d->classes,
             d->task == TASK_MULTILABEL ? " (multilabel)" : "", (long long)shard->split_global[SPLIT_TRAIN],
             (long long)shard->split_global[SPLIT_VAL], (long long)shard->split_global[SPLIT_TEST]);
}

/* Each part on the rank that needs most of it. Collective. */
static int print_estimate(struct comm *comm, const char *name, const struct estimate *estimate) {
  int64_t most = estimate_total(estimate), part[ESTIMATE_PARTS];
  for (int i = 0; i < estimate->parts; i++) part[i] = estimate->part[i].bytes;
  TRY(comm_max_int64(comm, &most));
  TRY(comm_reduce(comm, part, estimate->parts, NUMBER_INT64, REDUCE_MAX));
  char text[16];
  log_detail("  %-11s about %s on the fullest rank", name, memory_text(most, text));
  for (int i = 0; i < estimate->parts; i++) {
    if (part[i] > 0) log_detail("              %10s  %s", memory_text(part[i], text), estimate->part[i].name);
  }
  return OK;
}

static int print_partition(struct job *job) {
  const struct dataset *d = &job->dataset;
  if (!job->type->on_hypergraph) {
    partition_print(&job->partition, &job->config, d->edges, !job->device.ops->on_host);
    return OK;
  }
  star_expansion_print(&job->partition, &job->config, d->nodes, d->incidences);
  return hyper_print(&job->comm, &job->shard.hyper);
}

int print_details(struct job *job) {
  print_settings(job);
  print_graph(job);
  TRY(print_partition(job));
  job_levels_print(&job->levels, &job->trainer.model.program);
  TRY(print_estimate(&job->comm, "memory", &job->footprint.host));
  return job->device.ops->on_host ? OK : print_estimate(&job->comm, "GPU memory", &job->footprint.device);
}
