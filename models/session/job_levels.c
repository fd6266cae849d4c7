#include "models/session/job_levels.h"

#include <math.h>

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
  if (dataset->graphs > 0) {
    snprintf(why, sizeof job->all_rows, "labels are of whole graphs");
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

static int asked_nodes(struct dataset *dataset, int64_t split, int64_t *count) {
  int64_t nodes = 0;
  *count = 0;
  for (int part = 0; part < SPLIT_COUNT; part++) {
    FREED int64_t *node = NULL;
    TRY(dataset_read_split(dataset, split, (enum split)part, &node, &nodes));
    *count += nodes;
  }
  return OK;
}

/* What is asked of levels. */
struct search {
  struct comm *comm;
  struct dataset *dataset;
  const struct graph *block;
  const struct model_sums *sums;
  int64_t split;
  double every; /* epochs between evaluations */
};

static int find(const struct search *search, int stride, struct levels *levels) {
  return levels_find(search->comm, search->dataset, search->block, search->split, search->sums->levels,
                     search->sums->count, stride, levels);
}

/* Sums over arcs of an epoch, in those of a forward pass over all rows: forward, back, and the share of an
 * evaluation. */
static double work_of(const struct search *search, double trained, double evaluated) {
  return 2 * trained + evaluated / search->every;
}

static double share_of_loss(const struct search *search, const struct levels *levels) {
  const struct model_sums *sums = search->sums;
  return levels_share(levels, 0, sums->levels, sums->count, sums->top);
}

/* Levels of evaluations, too, where these save more than the loss loses; else those of the loss alone. A look
 * at the first is worth it where the split has few of the nodes, at the others where that leaves doubt. */
static int find_best(const struct search *search, int evaluates, struct levels *levels) {
  const struct model_sums *sums = search->sums;
  ENDED_BY(levels_free) struct levels both = {0};
  double trained = 0, work = INFINITY;
  if (evaluates) TRY(find(search, 2, &both));
  if (both.count > 1) {
    trained = share_of_loss(search, &both);
    work = work_of(search, trained, levels_share(&both, 1, sums->levels, sums->count, sums->top));
    trained -= levels_added(&both, sums->levels, sums->count, sums->top);
  }
  if (work > work_of(search, trained, 1)) TRY(find(search, 1, levels));
  if (levels->count > 0 && work_of(search, share_of_loss(search, levels), 1) <= work) return OK;
  levels_free(levels);
  *levels = both;
  both = (struct levels){0};
  return OK;
}

int job_levels_find(struct job_levels *job, struct comm *comm, const struct config *config,
                    const struct grid *grid, struct dataset *dataset, const struct graph *block) {
  struct levels *levels = &job->levels;
  const struct model_sums sums = sums_of(job, config, grid, dataset);
  const struct search search = {
      comm, dataset, block, &sums, config->dataset.split, (double)config->train.eval_every};
  int64_t asked = 0;
  if (sums.levels == 0) return OK;
  TRY(comm_agree(comm, asked_nodes(dataset, config->dataset.split, &asked)));
  TRY(find_best(&search, !job->predicts && asked <= dataset->nodes / 2, levels));
  const double share = share_of_loss(&search, levels);
  if (levels->count > 0 && share <= job_levels_worth) {
    if (sums.count > 0) job->work = levels_work(levels, sums.levels, sums.count, sums.top);
    return OK;
  }
  snprintf(job->all_rows, sizeof job->all_rows, "the loss needs %.0f%% of the %s", 100 * share,
           sums.count > 0 ? "sums over arcs" : "rows");
  levels_free(levels);
  return OK;
}

int job_levels_order(const struct job_levels *job, struct comm *comm, struct directory *directory) {
  const int64_t offset[] = {0, directory->rows};
  if (job->levels.count == 0) return OK;
  TRY(comm_agree(comm, levels_order(&job->levels, 1, offset, directory->id)));
  return directory_tell(comm, directory);
}

int job_levels_order_all(const struct job_levels *job, struct partition *partition) {
  if (job->levels.count == 0) return OK;
  TRY(partition_want_order(partition));
  return levels_order(&job->levels, partition->parts, partition->offset, partition->order);
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

static struct layer_share share_of(const struct levels *levels, const struct program *p, int layer,
                                   enum value_plan plan) {
  struct layer_share share = {1, 0, 0};
  for (int s = 0; s < p->loss; s++) {
    const struct step *step = &p->step[s];
    const int level = step->rows[plan].level;
    if (step->layer != layer || step->aggregation.once) continue;
    if (step->kind == STEP_EPILOGUE) share.rows = share_at(levels->rows, levels->count, level);
    if (step->kind != STEP_AGGREGATE && step->kind != STEP_REDUCE) continue;
    share.arcs += share_at(levels->arcs, levels->count, level);
    share.sums++;
  }
  return share;
}

static int is_all(const struct layer_share *share) {
  return share->rows == 1 && share->arcs == share->sums;
}

void job_levels_print(const struct job_levels *job, const struct program *p) {
  const int evaluates = job->levels.stride == 2;
  if (job->levels.count == 0) {
    log_detail("rows: an epoch computes all: %s", job->all_rows);
    return;
  }
  log_detail("rows: an epoch computes those that its loss needs, an evaluation %s",
             evaluates ? "those that its split needs" : "all");
  for (int layer = p->layers - 1; layer >= 0; layer--) {
    const struct layer_share trained = share_of(&job->levels, p, layer, TRAINING),
                             evaluated = share_of(&job->levels, p, layer, EVALUATION);
    char arcs[48] = "", rest[48] = "";
    if (is_all(&trained) && is_all(&evaluated)) break;
    if (trained.sums > 0) snprintf(arcs, sizeof arcs, ", %.1f%% of arcs", 100 * trained.arcs / trained.sums);
    if (evaluates)
      snprintf(rest, sizeof rest, trained.sums > 0 ? "; evaluated %.1f%%, %.1f%%" : "; evaluated %.1f%%",
               100 * evaluated.rows, 100 * evaluated.arcs / evaluated.sums);
    log_detail("  layer %-5d %.1f%% of rows%s%s", layer, 100 * trained.rows, arcs, rest);
  }
}
