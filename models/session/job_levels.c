#include "models/session/job_levels.h"

#include "models/layers/types.h"
#include "runtime/base/base.h"

double job_levels_worth = .8;

/* Of the model; no levels, and why, where all rows are computed. */
static struct model_sums sums_of(struct job_levels *job, const struct config *config, const struct grid *grid,
                                 const struct dataset *dataset) {
  const struct model_type *type = NULL;
  const int constant = config->runtime.once && config->model.dropout_input == 0 && !dataset->sparse;
  struct model_sums sums = {0};
  char *why = job->all_rows;
  if (config->runtime.rows == ROWS_ALL || model_type_of(config->model.type, &type) != OK) {
    snprintf(why, sizeof job->all_rows, "runtime.rows = \"all\"");
    return sums;
  }
  if (grid->cols > 1) {
    snprintf(why, sizeof job->all_rows, "partition.grid = \"%dx%d\"", grid->rows, grid->cols);
    return sums;
  }
  sums = model_type_sums(type, config, constant, dataset->classes);
  if (sums.levels == 0)
    snprintf(why, sizeof job->all_rows, "model.type = \"%s\"%s computes no fewer", type->name,
             config->model.norm == NORM_BATCH ? " with a batch norm" : "");
  if (config->train.runs == 1 || dataset->splits == 1) return sums;
  snprintf(why, sizeof job->all_rows, "train.runs = %lld train on several splits",
           (long long)config->train.runs);
  return (struct model_sums){0};
}

int job_levels_find(struct job_levels *job, struct comm *comm, const struct config *config,
                    const struct grid *grid, struct dataset *dataset, const struct graph *block) {
  struct levels *levels = &job->levels;
  const struct model_sums sums = sums_of(job, config, grid, dataset);
  if (sums.levels == 0) return OK;
  TRY(levels_find(comm, dataset, block, config->dataset.split, sums.levels, levels));
  const double share = levels_share(levels, sums.levels, sums.count, sums.top);
  if (levels->count > 0 && share <= job_levels_worth) {
    if (sums.count > 0) job->work = levels_work(levels, sums.levels, sums.count, sums.top);
    return OK;
  }
  snprintf(job->all_rows, sizeof job->all_rows, "the loss needs %.0f%% of the %s", 100 * share,
           sums.count > 0 ? "sums over arcs" : "rows");
  levels_free(levels);
  return OK;
}

int job_levels_order(const struct job_levels *job, struct comm *comm, struct partition *partition) {
  return job->levels.count > 0 ? comm_agree(comm, levels_order(&job->levels, partition)) : OK;
}

void job_levels_free(struct job_levels *job) {
  levels_free(&job->levels);
}

/* Shares of what a layer computes: of the rows it ends with, of the arcs that its sums pass over. */
struct layer_share {
  double rows, arcs;
  int sums;
};

static double share_at(const double *shares, int count, int level) {
  return level < count ? shares[level] : 1;
}

static struct layer_share share_of(const struct levels *levels, const struct program *p, int layer) {
  struct layer_share share = {1, 0, 0};
  for (int s = 0; s < p->loss; s++) {
    const struct step *step = &p->step[s];
    if (step->layer != layer || step->aggregation.once) continue;
    if (step->kind == STEP_EPILOGUE) share.rows = share_at(levels->rows, levels->count, step->rows.level);
    if (step->kind != STEP_AGGREGATE && step->kind != STEP_REDUCE) continue;
    share.arcs += share_at(levels->arcs, levels->count, step->rows.level);
    share.sums++;
  }
  return share;
}

void job_levels_print(const struct job_levels *job, const struct program *p) {
  if (job->levels.count == 0) {
    log_info("rows: an epoch computes all: %s", job->all_rows);
    return;
  }
  log_info("rows: an epoch computes those that its loss needs, an evaluation all");
  for (int layer = p->layers - 1; layer >= 0; layer--) {
    const struct layer_share share = share_of(&job->levels, p, layer);
    char arcs[48] = "";
    if (share.sums > 0) snprintf(arcs, sizeof arcs, ", %.1f%% of arcs", 100 * share.arcs / share.sums);
    if (share.rows == 1 && share.arcs == share.sums) break;
    log_info("  layer %-5d %.1f%% of rows%s", layer, 100 * share.rows, arcs);
  }
}
