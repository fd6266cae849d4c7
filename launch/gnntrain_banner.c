#include <stdio.h>

#include "launch/gnntrain.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "version.h"

static void print_settings(const struct job *job) {
  const struct config *c = &job->config;
  static const char *const norms[] = {"", ", batch norm", ", layer norm"};
  log_info("gnntrain %s (%s)  %s", GNNTRAIN_VERSION, GNNTRAIN_REVISION, c->path);
  log_info("  ranks       %d on %d node%s, %s", job->comm.size, job->comm.nodes, job->comm.nodes == 1 ? "" : "s",
           job->threads);
  log_info("  device      %s (%s), %s", job->device.ops->name, job->device.name,
           c->runtime.precision == PRECISION_FP64 ? "fp64" : "fp32");
  log_info("  model       %s, %lld layers, hidden %lld%s%s, dropout %g (input %g), %lld parameters", c->model.type,
           (long long)c->model.layers, (long long)c->model.hidden, norms[c->model.norm],
           c->model.residual ? ", residual" : "", c->model.dropout, c->model.dropout_input,
           (long long)job->trainer.model.parameters.count);
  log_info("  training    %lld epochs, lr %g, weight decay %g%s, seed %lld, runs %lld", (long long)c->train.epochs,
           c->train.lr, c->train.weight_decay, c->train.weight_decay_first_only ? " (first layer)" : "",
           (long long)c->train.seed, (long long)c->train.runs);
}

static void print_graph(const struct job *job) {
  const struct dataset *d = &job->dataset;
  const struct shard *shard = &job->shard;
  log_info("  graph       %s: %lld nodes, %lld arcs%s%s, read in %.1f s", d->name, (long long)d->nodes,
           (long long)d->edges, d->directed ? ", directed" : "", d->weighted ? ", weighted" : "", job->seconds_read);
  log_info("  data        %lld features%s, %lld classes%s; %lld train, %lld val, %lld test", (long long)d->features,
           d->sparse ? " (sparse)" : "", (long long)d->classes, d->task == TASK_MULTILABEL ? " (multilabel)" : "",
           (long long)shard->split_global[SPLIT_TRAIN], (long long)shard->split_global[SPLIT_VAL],
           (long long)shard->split_global[SPLIT_TEST]);
}

/* The fullest rank's estimate; it needs every rank's dimensions, so all ranks call. */
static int print_estimate(struct job *job) {
  struct estimate *estimate = &job->estimate;
  estimate_add(estimate, "graph, features and labels", shard_bytes(&job->shard));
  trainer_estimate(&job->trainer, &job->run, estimate);
  int64_t mine = estimate_total(estimate), most = mine;
  TRY(comm_max_int64(&job->comm, &most));
  int speaks = mine == most ? job->comm.rank : job->comm.size;
  int64_t first = speaks;
  TRY(comm_reduce(&job->comm, &first, 1, NUMBER_INT64, REDUCE_MIN));
  TRY(comm_broadcast(&job->comm, estimate->part, 0, (int)first));
  char total[16], part[16];
  log_info("  memory      about %s on the fullest rank:", memory_text(most, total));
  for (int i = 0; i < estimate->parts; i++)
    log_info("              %10s  %s", memory_text(estimate->part[i].bytes, part), estimate->part[i].name);
  return OK;
}

int job_banner(struct job *job) {
  print_settings(job);
  print_graph(job);
  partition_print(&job->partition, &job->config, job->dataset.edges);
  TRY(print_estimate(job));
  log_info(" ");
  return OK;
}
