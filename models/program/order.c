/* order: P (H W) becomes (P H) W where that moves fewer numbers in a training step, forward and backward:
 * over the arcs, which P passes as wide rows as W reads or as it writes; and through the product, which makes
 * the rows that P reads or those that P writes, fewer where only these are needed (rows.c). There the
 * evaluations count, too, whose rows are all and many more. The first layer needs no gradient of its input,
 * so aggregating first costs it one pass; and none where the aggregate is constant. Of several aggregations
 * behind each other each is asked in turn.
 * Invariant: the values that other steps read are the same but for rounding. */
#include "models/program/program.h"
#include "runtime/base/base.h"

struct ordering {
  struct program *p;
  const struct run *run;
  const int *level; /* [values] rows that are needed of each, at its place */
};

/* The LINEAR that writes a value and whose product may change places with P. */
static struct step *linear_of(struct program *p, int value) {
  struct step *step = value == NONE || p->value[value].writer == NONE ? NULL
                                                                      : &p->step[p->value[value].writer];
  return step && step->kind == STEP_LINEAR && step->in[1] == NONE && step->in[2] == NONE ? step : NULL;
}

/* Of the nodes, on all ranks; and arcs into them, a node of the graph. */
static double rows_of(const struct run *run, int level) {
  return level < run->shard->levels.count ? run->shard->levels.of[level].rows_share : 1;
}

static double arcs_of(const struct run *run, int level) {
  const double degree = (double)run->dataset->edges / (double)larger(run->shard->global_nodes, 1);
  return level < run->shard->levels.count ? run->shard->levels.of[level].arcs_share * degree : degree;
}

/* Arcs that evaluations pass in each epoch, a node, where a training passes those of a level. */
static double evaluated_arcs(const struct run *run, int level) {
  if (run->shard->levels.count == 0) return 0;
  return arcs_of(run, run->shard->levels.stride == 2 ? level + 1 : ALL_ROWS) /
         (double)run->config->train.eval_every;
}

static int aggregates_first(const struct ordering *o, const struct step *aggregate,
                            const struct step *linear) {
  const struct program *p = o->p;
  const int first_layer = program_is_of_features(p, linear->in[0]);
  const int level = o->level[program_place(p, aggregate->out[0])], below = level_below(o->run, level);
  const int64_t in = p->value[linear->in[0]].cols, out = p->value[linear->out[0]].cols;
  const int64_t sums_before = first_layer ? in : 2 * in, sums_behind = 2 * out,
                product = (first_layer ? 2 : 3) * (in + out);
  if (first_layer && o->run->shard->sparse) return 0;
  if (first_layer && program_input_is_constant(o->run)) return 1;
  const double arcs = arcs_of(o->run, level), evaluated = evaluated_arcs(o->run, level);
  const double before = arcs * (double)sums_before + rows_of(o->run, level) * (double)product +
                        evaluated * (double)in,
               behind = arcs * (double)sums_behind + rows_of(o->run, below) * (double)product +
                        evaluated * (double)out;
  return before < behind || (before == behind && (first_layer || aggregate->aggregation.ties_first));
}

/* z = P (x W) (+ x W2) becomes z = (P x) W (+ x W2): the LINEAR's place is the AGGREGATE's and the other way
 * round. */
static void swap(struct program *p, struct step *aggregate, struct step *linear, struct step *added) {
  const int x = linear->in[0], z = aggregate->out[0], between = linear->out[0];
  struct value *value = &p->value[between];
  struct step before = *aggregate, behind = *linear;
  value->cols = p->value[x].cols;
  value->stride = tensor_stride(value->dtype, value->cols);
  before.in[0] = x;
  before.in[1] = NONE;
  before.out[0] = between;
  before.exchange = value->cols;
  behind.in[0] = between;
  behind.out[0] = z;
  if (added) {
    behind.in[1] = added->in[0];
    behind.parameter[1] = added->parameter[0];
    added->kind = STEP_KINDS;
  }
  *linear = before;
  *aggregate = behind;
}

int order_steps(struct program *p, const struct run *run) {
  FREED int *level = NULL;
  TRY(memory_arrays("the rows of values", ROOM(&level, p->values + 1)));
  if (run->shard->levels.count > 0) needed_levels(p, run, p->steps, level);
  const struct ordering o = {p, run, level};
  for (int s = 0; s < p->steps; s++) {
    struct step *aggregate = &p->step[s], *linear, *added;
    if (aggregate->kind != STEP_AGGREGATE || aggregate->fixed || aggregate->parameter[0] != NONE) continue;
    linear = linear_of(p, aggregate->in[0]);
    added = linear_of(p, aggregate->in[1]);
    if (!linear || (aggregate->in[1] != NONE && !added)) continue;
    if (aggregates_first(&o, aggregate, linear)) swap(p, aggregate, linear, added);
  }
  program_compact(p);
  return OK;
}
