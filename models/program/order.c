/* order: P (H W) becomes (P H) W where fewer numbers a row cross the aggregation in a training step, forward
 * and backward. The first layer needs no gradient of its input, so aggregating first costs it one pass; and
 * none where the aggregate is constant. Of several aggregations behind each other each is asked in turn.
 * Invariant: the values that other steps read are the same but for rounding. */
#include "models/program/program.h"

/* The LINEAR that writes a value and whose product may change places with P. */
static struct step *linear_of(struct program *p, int value) {
  struct step *step = value == NONE || p->value[value].writer == NONE ? NULL
                                                                      : &p->step[p->value[value].writer];
  return step && step->kind == STEP_LINEAR && step->in[1] == NONE && step->in[2] == NONE ? step : NULL;
}

static int aggregates_first(const struct program *p, const struct run *run, const struct step *aggregate,
                            const struct step *linear) {
  const int first_layer = program_is_of_features(p, linear->in[0]);
  const int64_t in = p->value[linear->in[0]].cols, out = p->value[linear->out[0]].cols;
  const int64_t before = first_layer ? in : 2 * in, behind = 2 * out;
  if (first_layer && run->shard->sparse) return 0;
  if (first_layer && program_input_is_constant(run)) return 1;
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

void order_steps(struct program *p, const struct run *run) {
  for (int s = 0; s < p->steps; s++) {
    struct step *aggregate = &p->step[s], *linear, *added;
    if (aggregate->kind != STEP_AGGREGATE || aggregate->fixed || aggregate->parameter[0] != NONE) continue;
    linear = linear_of(p, aggregate->in[0]);
    added = linear_of(p, aggregate->in[1]);
    if (!linear || (aggregate->in[1] != NONE && !added)) continue;
    if (aggregates_first(p, run, aggregate, linear)) swap(p, aggregate, linear, added);
  }
  program_compact(p);
}
