/* rows: which rows each step has to compute. The loss reads the training rows alone, a sum
 * over the arcs into these the rows of the next level, and so on down; back up, the gradient of a value is 0
 * but in the rows that were needed of it. Rows are the first ones of a shard, up to a level
 * (partition/shard/levels.h), so that a step works on the first rows of its values. A batch norm wants
 * statistics of all rows, and what is not served yet computes all: then so does everything below. An
 * evaluation reads the rows of all parts of a split: it has needs of its own where it has levels of its own.
 * Invariants: what a forward step reads has been computed, in the same rows or more; a backward step finds
 * what it reads of gradients, or zeros that a STEP_ZERO has left where the step that wrote it had no rows. */
#include "models/program/program.h"

#include <assert.h>

#include "runtime/base/base.h"

struct needs {
  struct program *p;
  const struct run *run;
  int *level; /* [values] that is needed, of values of the forward; that is there, of gradients */
  enum value_plan plan;
};

/* Whether the rows of a level are some, not all. */
static int is_partial(const struct needs *n, int level) {
  return level < n->run->shard->levels.count;
}

int level_below(const struct run *run, int level) {
  return shard_level_below(&run->shard->levels, level, ALL_ROWS);
}

/* Whether what a step writes comes from other rows of its input. */
static int passes_arcs(const struct step *step) {
  return step->kind == STEP_AGGREGATE || step->kind == STEP_REDUCE || step->kind == STEP_REDUCE_BACKWARD ||
         step->kind == STEP_ATTEND || step->kind == STEP_ATTEND_BACKWARD || step->kind == STEP_DYNAMIC ||
         step->kind == STEP_DYNAMIC_BACKWARD || step->kind == STEP_COSINE ||
         step->kind == STEP_COSINE_BACKWARD;
}

/* Whether input i, or output i, of a step that passes arcs has the rows of its columns: `from`. */
static int reads_columns(const struct step *step, int i) {
  switch (step->kind) {
  case STEP_AGGREGATE:
  case STEP_REDUCE:
  case STEP_DYNAMIC:
  case STEP_COSINE:
    return i == 0;
  case STEP_ATTEND:
    return i <= 1;
  case STEP_ATTEND_BACKWARD:
  case STEP_DYNAMIC_BACKWARD:
    return i != 1;
  case STEP_COSINE_BACKWARD:
    return i != 1 && i != 4;
  default:
    return step->kind == STEP_REDUCE_BACKWARD;
  }
}

static int writes_columns(const struct step *step, int i) {
  switch (step->kind) {
  case STEP_ATTEND:
  case STEP_COSINE:
    return i == 2;
  case STEP_ATTEND_BACKWARD:
    return i == 1;
  case STEP_DYNAMIC_BACKWARD:
    return i == 1 || i == 2;
  default:
    return 0;
  }
}

/* Whether a step computes all rows, whatever is asked for. */
static int takes_all(const struct needs *n, const struct step *step) {
  switch (step->kind) {
  case STEP_EPILOGUE:
    return step->epilogue.norm == NORM_BATCH && n->plan == TRAINING;
  case STEP_EPILOGUE_BACKWARD:
    return n->p->step[step->of].epilogue.norm == NORM_BATCH;
  case STEP_LINEAR:
  case STEP_DGRAD:
  case STEP_WGRAD:
  case STEP_AGGREGATE:
  case STEP_REDUCE:
  case STEP_REDUCE_BACKWARD:
  case STEP_ATTEND:
  case STEP_ATTEND_BACKWARD:
  case STEP_DYNAMIC:
  case STEP_DYNAMIC_BACKWARD:
  case STEP_COSINE:
  case STEP_COSINE_BACKWARD:
  case STEP_LOOP_GRAD:
  case STEP_HYPEREDGE_GRAD:
  case STEP_ADD:
  case STEP_DROPOUT:
    return 0;
  default:
    return 1;
  }
}

/* Of all values in the same memory. */
static void need(struct needs *n, int value, int level) {
  int *of = &n->level[program_place(n->p, value)];
  if (level > *of) *of = level;
}

/* Whether a step passes over the arcs of rows that have no adjacency of their own. */
static int passes_all_arcs(const struct needs *n, const struct step *step, int level) {
  return passes_arcs(step) && level >= n->run->shard->levels.summed;
}

static void need_forward(struct needs *n, int s) {
  struct step *step = &n->p->step[s];
  struct step_rows *rows = &step->rows[n->plan];
  int level = takes_all(n, step) ? ALL_ROWS : 0;
  if (step->aggregation.once || step->kind == STEP_MAP) {
    rows->level = rows->from = ALL_ROWS;
    return;
  }
  for (int i = 0; i < STEP_OUTS; i++)
    if (step->out[i] != NONE && n->level[program_place(n->p, step->out[i])] > level)
      level = n->level[program_place(n->p, step->out[i])];
  if (passes_all_arcs(n, step, level)) level = ALL_ROWS;
  rows->level = level;
  rows->from = passes_arcs(step) ? level_below(n->run, level) : level;
  for (int i = 0; i < STEP_INS; i++)
    if (step->in[i] != NONE) need(n, step->in[i], reads_columns(step, i) ? rows->from : level);
}

/* A backward step is to find zeros in the rows of a gradient that are not there, up to a level. */
static void add_zeros(struct needs *n, int gradient, int level, int layer) {
  struct step zero = step_of(STEP_ZERO, layer);
  if (gradient == NONE || n->level[gradient] >= level) return;
  zero.in[0] = gradient;
  zero.rows[TRAINING].from = n->level[gradient];
  zero.rows[TRAINING].level = n->level[gradient] = level;
  program_step(n->p, zero);
}

/* Inputs of a step that are parts of the gradient that it writes, NONE where there are fewer. */
static void parts_of(const struct step *step, int part[2]) {
  part[0] = part[1] = NONE;
  if (step->kind == STEP_DGRAD || step->kind == STEP_ADD || step->kind == STEP_AGGREGATE)
    part[0] = step->in[1];
  if (step->kind == STEP_AGGREGATE) part[1] = step->in[2];
  if (step->kind == STEP_COSINE_BACKWARD) part[0] = step->in[4];
  if (step->kind == STEP_READOUT_BACKWARD) part[0] = step->in[2];
}

/* Self loops that are not among the arcs add dy's own row: of rows that are not there, zeros. Attention
 * leaves these rows out. */
static int reads_own_rows(const struct needs *n, const struct step *step) {
  return (step->kind == STEP_AGGREGATE || step->kind == STEP_REDUCE_BACKWARD) &&
         n->run->shard->in.loops == LOOPS_APART;
}

/* A product adds to a part where that lies: if the part has more rows, they stay. */
static int level_of_sum(const struct needs *n, const struct step *step, int part) {
  const int level = part == NONE ? 0 : n->level[part];
  assert(!passes_arcs(step) || level <= step->rows[TRAINING].level);
  return level > step->rows[TRAINING].level ? level : step->rows[TRAINING].level;
}

static void need_backward(struct needs *n, struct step step) {
  const int dy = step.in[step.kind == STEP_WGRAD];
  int part[2];
  parts_of(&step, part);
  if (takes_all(n, &step) || passes_all_arcs(n, &step, n->level[dy])) add_zeros(n, dy, ALL_ROWS, step.layer);
  step.rows[TRAINING].from = step.rows[TRAINING].level = n->level[dy];
  if (passes_arcs(&step)) step.rows[TRAINING].level = level_below(n->run, step.rows[TRAINING].from);
  if (reads_own_rows(n, &step)) add_zeros(n, dy, step.rows[TRAINING].level, step.layer);
  for (int i = 0; i < 2; i++) add_zeros(n, part[i], step.rows[TRAINING].level, step.layer);
  for (int i = 0; i < STEP_OUTS; i++)
    if (step.out[i] != NONE)
      n->level[step.out[i]] = writes_columns(&step, i) ? step.rows[TRAINING].from
                                                       : level_of_sum(n, &step, part[0]);
  program_step(n->p, step);
}

/* The backward list again, with zeros between its steps. */
static int need_gradients(struct needs *n) {
  struct program *p = n->p;
  const int behind = p->steps - p->loss - 1;
  FREED struct step *backward = NULL;
  TRY(memory_arrays("the steps of a model", ROOM(&backward, behind + 1)));
  for (int s = 0; s < behind; s++) backward[s] = p->step[p->loss + 1 + s];
  p->steps = p->loss + 1;
  for (int s = 0; s < behind; s++) {
    if (backward[s].again) {
      backward[s].rows[TRAINING] = p->step[backward[s].of].rows[TRAINING];
      program_step(p, backward[s]);
    } else {
      need_backward(n, backward[s]);
    }
  }
  TRY(p->code);
  program_compact(p);
  return OK;
}

static int64_t rows_of(const struct needs *n, int level) {
  return is_partial(n, level) ? n->run->shard->levels.of[level].rows : INT64_MAX;
}

static void count_rows(struct needs *n, int steps) {
  struct program *p = n->p;
  for (int s = 0; s < steps; s++) {
    struct step_rows *rows = &p->step[s].rows[n->plan];
    const int least = rows->level < rows->from ? rows->level : rows->from;
    rows->count = rows_of(n, rows->level);
    rows->source = rows_of(n, rows->from);
    if (passes_arcs(&p->step[s]) && is_partial(n, least) && least >= p->levels) p->levels = least + 1;
  }
}

/* A value has memory for that many rows, at least; one that is not of nodes, for all. */
static void hold(const struct needs *n, int value, int64_t rows) {
  struct value *of = &n->p->value[program_place(n->p, value)];
  if (of->rows != n->run->shard->own) rows = INT64_MAX;
  if (rows > of->held[n->plan]) of->held[n->plan] = rows;
}

/* A value has memory for the rows of all steps that touch it. */
static void hold_rows(const struct needs *n, int steps) {
  struct program *p = n->p;
  for (int v = 0; v < p->values; v++) p->value[v].held[n->plan] = 0;
  for (int s = 0; s < steps; s++) {
    struct step *step = &p->step[s];
    const struct step_rows *rows = &step->rows[n->plan];
    for (int i = 0; i < STEP_INS; i++)
      if (step->in[i] != NONE) hold(n, step->in[i], reads_columns(step, i) ? rows->source : rows->count);
    for (int i = 0; i < STEP_OUTS; i++)
      if (step->out[i] != NONE) hold(n, step->out[i], writes_columns(step, i) ? rows->source : rows->count);
  }
}

void needed_levels(struct program *p, const struct run *run, int forward, int *level) {
  struct needs n = {p, run, level, TRAINING};
  for (int s = forward - 1; s >= 0; s--) need_forward(&n, s);
}

static void rows_of_training(struct needs *n) {
  struct program *p = n->p;
  needed_levels(p, n->run, p->loss, n->level);
  p->step[p->loss].rows[TRAINING].level = p->step[p->loss].rows[TRAINING].from =
      n->level[program_place(p, p->logits)];
  n->level[p->step[p->loss].out[0]] = p->step[p->loss].rows[TRAINING].level;
}

/* The loss stands for what reads the logits. */
static void rows_of_evaluation(struct needs *n) {
  struct program *p = n->p;
  struct step_rows *read = &p->step[p->loss].rows[EVALUATION];
  memset(n->level, 0, (size_t)p->values * sizeof *n->level);
  n->level[program_place(p, p->logits)] = 1;
  for (int s = p->loss - 1; s >= 0; s--) need_forward(n, s);
  read->level = read->from = n->level[program_place(p, p->logits)];
}

int need_rows(struct program *p, const struct run *run) {
  FREED int *level = NULL;
  if (run->shard->levels.count == 0) return OK;
  TRY(memory_arrays("the rows of values", ROOM(&level, p->values + 1)));
  struct needs training = {p, run, level, TRAINING}, evaluation = {p, run, level, EVALUATION};
  rows_of_training(&training);
  TRY(need_gradients(&training));
  count_rows(&training, p->steps);
  hold_rows(&training, p->steps);
  if (run->shard->levels.stride == 1) return OK;
  rows_of_evaluation(&evaluation);
  count_rows(&evaluation, p->loss + 1);
  hold_rows(&evaluation, p->loss);
  return OK;
}
