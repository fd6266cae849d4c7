/* liveness: values that are not alive at the same time share memory. A value lives from the step that writes
 * it to the last one that reads it, steps that run along with a head at the time of the head. Largest first,
 * each value comes to the lowest place that is free while it lives (Y. Pisarchyk and J. Lee, Efficient Memory
 * Management for Deep Neural Net Inference, 2020); other orders follow, where that wastes room. Invariants:
 * values of a plan that live at the same time do not overlap; what is computed once lies in the same place in
 * both plans. */
#include "models/program/program.h"
#include "runtime/base/base.h"

static int64_t align(int64_t bytes) {
  enum { UNIT = 256 };
  return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* What is empty has a place of its own, too. */
int64_t plan_bytes_of(const struct value *value, enum value_plan plan) {
  const int64_t rows = smaller(value->held[plan], value->rows);
  const int64_t bytes = rows * value->stride * dtype_bytes(value->dtype);
  return align(bytes > 0 ? bytes : 1);
}

/* The plan that is being made; qsort has no context. */
static struct program *p;
static enum value_plan plan;

static int64_t bytes_of(int v) {
  return plan_bytes_of(&p->value[v], plan);
}

static struct life *life_of(int v) {
  return &p->value[v].life[plan];
}

static void extend(int value, int time) {
  struct life *life = life_of(program_place(p, value));
  if (time < life->begin) life->begin = time;
  if (time > life->end) life->end = time;
}

/* All rows of a value that chunks touch are there while these run. */
static void extend_to(int value, int s, int time) {
  extend(value, time);
  if (!program_is_chunked(p, s) || p->value[value].chunked) return;
  extend(value, p->chunk.first);
  extend(value, plan == TRAINING ? p->chunk.behind - 1 : p->loss);
}

static void extend_by(int s, int time) {
  const struct step *step = &p->step[s];
  for (int i = 0; i < STEP_INS; i++)
    if (step->in[i] > VALUE_FEATURES) extend_to(step->in[i], s, time);
  for (int i = 0; i < STEP_OUTS; i++)
    if (step->out[i] != NONE) extend_to(step->out[i], s, time);
}

/* What never changes may wait from its last reader in the forward until a FETCH brings it back. */
static void find_absence(int fetch) {
  const int v = p->step[fetch].out[0];
  struct life *life = v == NONE ? NULL : life_of(v);
  if (!life || life->begin != NONE) return;
  life->away = NONE;
  life->back = fetch;
  for (int s = 0; s < p->loss; s++)
    if (program_touches(p, s, v) && program_head(p, s) > life->away) life->away = program_head(p, s);
}

/* What never changes stays for ever; the panels that it is made of are gone before the first step. */
static void find_lives(void) {
  const int never = p->steps + 1, steps = plan == TRAINING ? p->steps : p->loss;
  for (int v = 0; v < p->values; v++) *life_of(v) = (struct life){.begin = never, .end = NONE - 1};
  for (int s = 0; s < steps; s++) {
    const struct step *step = &p->step[s];
    extend_by(s, step->aggregation.once ? NONE : program_head(p, s));
    if (step->aggregation.once && !program_passes_by(p, step->out[0])) extend(step->out[0], p->steps);
  }
  if (p->saved.features) *life_of(VALUE_FEATURES) = (struct life){.begin = NONE, .end = p->steps};
  extend(p->logits, p->loss);
  if (plan == TRAINING) /* a loss may come along */
    extend(p->step[p->loss].out[0], program_head(p, p->value[p->logits].writer));
  if (p->embedding != NONE) extend(p->embedding, p->loss);
  if (p->panel != NONE) extend(p->panel, NONE);
  for (int s = p->loss; s < steps; s++)
    if (p->step[s].kind == STEP_FETCH) find_absence(s);
}

static int is_alive(int v, int time) {
  const struct life *life = life_of(v);
  return life->begin <= time && time <= life->end && !(life->away < time && time < life->back);
}

/* Whether the memory of one is free while the other one lives. */
static int is_absent_while(const struct life *one, const struct life *other) {
  return one->away < other->begin && other->end < one->back;
}

static int live_together(const struct life *a, const struct life *b) {
  return a->begin <= b->end && b->begin <= a->end && !is_absent_while(a, b) && !is_absent_while(b, a);
}

/* Values with memory of their own that some step writes, or that wait for it. */
static int owns_memory(int v) {
  return p->value[v].place == NONE && life_of(v)->begin <= life_of(v)->end;
}

/* It lies in the same place in both plans. */
static int stays_for_ever(int v) {
  return life_of(v)->begin == NONE && life_of(v)->end == p->steps;
}

static int64_t alive_at(int time) {
  int64_t alive = 0;
  for (int v = 0; v < p->values; v++)
    if (owns_memory(v) && is_alive(v, time)) alive += bytes_of(v);
  return alive;
}

/* Where most is alive is where room is scarce: each value's breadth is the most that is alive beside it. The
 * largest of all is what no plan can do without. */
static int64_t find_breadths(void) {
  int64_t bound = 0;
  for (int time = NONE; time <= p->steps; time++) {
    const int64_t alive = alive_at(time);
    bound = larger(bound, alive);
    for (int v = 0; v < p->values; v++) {
      struct life *life = life_of(v);
      if (is_alive(v, time) && alive > life->breadth) life->breadth = alive;
    }
  }
  p->least = larger(p->least, bound);
  return bound;
}

/* The lowest offset at which v touches none of the values that were placed before and live at the same time.
 */
static int64_t lowest_place(const int *placed, int count, int v) {
  const struct life *life = life_of(v);
  const int64_t bytes = bytes_of(v);
  int64_t at = 0;
  for (int i = 0, moved = 1; moved;) {
    for (i = 0, moved = 0; i < count; i++) {
      const struct life *other = life_of(placed[i]);
      const int64_t end = other->offset + bytes_of(placed[i]);
      if (!live_together(life, other) || other->offset >= at + bytes || end <= at) continue;
      at = end;
      moved = 1;
    }
  }
  return at;
}

/* First of all what lies in the same place in both plans. */
static int by_stay(int a, int b) {
  return COMPARE(stays_for_ever(b), stays_for_ever(a));
}

static int by_size(const void *left, const void *right) {
  const int a = *(const int *)left, b = *(const int *)right;
  const int64_t one = bytes_of(a), other = bytes_of(b);
  if (by_stay(a, b)) return by_stay(a, b);
  return one != other ? COMPARE(other, one) : COMPARE(a, b);
}

static int by_number(const void *left, const void *right, int64_t one, int64_t other) {
  const int a = *(const int *)left, b = *(const int *)right;
  if (by_stay(a, b)) return by_stay(a, b);
  return one != other && !stays_for_ever(a) ? COMPARE(one, other) : by_size(left, right);
}

static int by_breadth(const void *left, const void *right) {
  return by_number(left, right, life_of(*(const int *)right)->breadth, life_of(*(const int *)left)->breadth);
}

static int by_begin(const void *left, const void *right) {
  return by_number(left, right, life_of(*(const int *)left)->begin, life_of(*(const int *)right)->begin);
}

static int64_t length_of(const void *value) {
  const struct life *life = life_of(*(const int *)value);
  return life->end - life->begin;
}

static int by_life(const void *left, const void *right) {
  return by_number(left, right, length_of(right), length_of(left));
}

static int64_t end_of(int v) {
  return life_of(v)->offset + bytes_of(v);
}

/* Places the values in that order; the bytes that it takes. */
static int64_t place(const int *order, int count) {
  int64_t bytes = 0;
  for (int i = 0; i < count; i++) {
    life_of(order[i])->offset = lowest_place(order, i, order[i]);
    bytes = larger(bytes, end_of(order[i]));
  }
  return bytes;
}

/* The value that lies highest comes first, behind what stays. */
static void raise_highest(int *order, int count) {
  int first = 0;
  while (first < count && stays_for_ever(order[first])) first++;
  int highest = first;
  for (int i = first; i < count; i++)
    if (end_of(order[i]) > end_of(order[highest])) highest = i;
  if (first == count) return;
  const int value = order[highest];
  memmove(order + first + 1, order + first, (size_t)(highest - first) * sizeof *order);
  order[first] = value;
}

/* From an order on, others in which what lay highest is placed first, until no byte is wasted. */
static void try_orders(int *order, int count, int64_t bound, int *best, int64_t *least) {
  enum { TRIES = 48 };
  for (int i = 0; *least > bound && i < TRIES; i++) {
    const int64_t bytes = place(order, count);
    if (bytes < *least) memcpy(best, order, (size_t)count * sizeof *order), *least = bytes;
    raise_highest(order, count);
  }
}

/* order, best: [values] */
static void make_plan(int *order, int *best) {
  static int (*const orders[])(const void *, const void *) = {by_size, by_breadth, by_begin, by_life};
  int64_t least = INT64_MAX;
  int count = 0;
  find_lives();
  const int64_t bound = find_breadths();
  for (int v = 0; v < p->values; v++)
    if (owns_memory(v)) order[count++] = v;
  for (int i = 0; i < 4; i++) {
    qsort(order, (size_t)count, sizeof *order, orders[i]);
    try_orders(order, count, bound, best, &least);
  }
  p->bytes = larger(p->bytes, place(best, count));
}

int plan_values(struct program *program) {
  FREED int *order = NULL, *best = NULL;
  const int room = program->values + 1;
  TRY(memory_arrays("the places of values", ROOM(&order, room), ROOM(&best, room)));
  p = program;
  for (plan = TRAINING; plan < PLANS; plan++) make_plan(order, best);
  return OK;
}

static void place_norm(struct norm_state *norm, const struct run *run, struct arena *arena, char **running) {
  const int64_t real = dtype_bytes(run->kernels->real);
  const int batch = norm->norm == NORM_BATCH;
  const int64_t statistics = batch ? norm->cols : run->shard->own;
  norm->mean = arena_take(arena, statistics * real);
  norm->rstd = arena_take(arena, statistics * real);
  norm->running = *running;
  if (*running) *running += norm->statistics * real;
  if (batch && run->comm->size > 1) norm->own_sum = arena_take(arena, statistics * real);
}

static struct tensor tensor_of_value(const struct program *program, int v, enum value_plan in, char *block) {
  const struct value *value = &program->value[v];
  const struct life *life = &program->value[program_place(program, v)].life[in];
  struct tensor tensor = {NULL, value->dtype, value->rows, value->cols, value->stride};
  int64_t first = 0;
  for (int at = v; program->value[at].place != NONE; at = program->value[at].place)
    first += program->value[at].first;
  if (block && life->begin <= life->end)
    tensor.data = block + life->offset + first * dtype_bytes(value->dtype);
  return tensor;
}

void place_values(struct program *program, const struct run *run, struct arena *arena) {
  char *block = arena_take(arena, program->bytes);
  for (int v = program->saved.features ? VALUE_FEATURES : VALUE_FEATURES + 1; v < program->values; v++)
    for (enum value_plan in = TRAINING; in < PLANS; in++)
      program->value[v].tensor[in] = tensor_of_value(program, v, in, block);
  char *running = arena_take(arena, program_statistics(program) * dtype_bytes(run->kernels->real));
  program->running = running;
  for (int i = 0; i < program->norms; i++) place_norm(&program->norm[i], run, arena, &running);
}
