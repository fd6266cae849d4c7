/* liveness: values that are not alive at the same time share memory. A value lives from the step that writes
 * it to the last one that reads it, steps that run along with a head at the time of the head. Largest first,
 * each value comes to the lowest place that is free while it lives (Y. Pisarchyk and J. Lee, Efficient Memory
 * Management for Deep Neural Net Inference, 2020). Invariant: values that live at the same time do not
 * overlap. */
#include "models/program/program.h"
#include "runtime/base/base.h"

static int64_t align(int64_t bytes) {
  enum { UNIT = 256 };
  return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* What is empty has a place of its own, too. */
static int64_t bytes_of(const struct value *value) {
  const int64_t bytes = value->rows * value->stride * dtype_bytes(value->dtype);
  return align(bytes > 0 ? bytes : 1);
}

static void extend(struct program *p, int value, int time) {
  struct value *place = &p->value[program_place(p, value)];
  if (time < place->begin) place->begin = time;
  if (time > place->end) place->end = time;
}

/* What is computed once stays for ever; the panels that it is made of are gone before the first step. */
static void find_lives(struct program *p) {
  const int never = p->steps + 1;
  for (int v = 0; v < p->values; v++) {
    p->value[v].begin = never;
    p->value[v].end = NONE - 1;
  }
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    const int time = step->aggregation.once ? NONE : program_head(p, s);
    for (int i = 0; i < STEP_INS; i++)
      if (step->in[i] > VALUE_FEATURES) extend(p, step->in[i], time);
    for (int i = 0; i < STEP_OUTS; i++)
      if (step->out[i] != NONE) extend(p, step->out[i], time);
    if (step->aggregation.once && !program_passes_by(p, step->out[0])) extend(p, step->out[0], p->steps);
  }
  extend(p, p->logits, p->loss);
  extend(p, p->step[p->loss].out[0], program_head(p, p->value[p->logits].writer)); /* a loss may come along */
  if (p->embedding != NONE) extend(p, p->embedding, p->loss);
  if (p->panel != NONE) extend(p, p->panel, NONE);
}

/* Values with memory of their own that some step writes. */
static int owns_memory(const struct program *p, int v) {
  const struct value *value = &p->value[v];
  return v != VALUE_FEATURES && value->place == NONE && value->begin <= value->end;
}

static int64_t alive_at(const struct program *p, int time) {
  int64_t alive = 0;
  for (int v = 0; v < p->values; v++) {
    const struct value *value = &p->value[v];
    if (owns_memory(p, v) && value->begin <= time && time <= value->end) alive += bytes_of(value);
  }
  return alive;
}

/* Where most is alive is where room is scarce: each value's breadth is the most that is alive beside it. The
 * largest of all is what no plan can do without. */
static void find_breadths(struct program *p) {
  for (int time = NONE; time <= p->steps; time++) {
    const int64_t alive = alive_at(p, time);
    if (alive > p->least) p->least = alive;
    for (int v = 0; v < p->values; v++) {
      struct value *value = &p->value[v];
      if (value->begin <= time && time <= value->end && alive > value->breadth) value->breadth = alive;
    }
  }
}

/* The lowest offset at which v touches none of the values that were placed before and live at the same time.
 */
static int64_t lowest_place(const struct program *p, const int *placed, int count, int v) {
  const struct value *value = &p->value[v];
  const int64_t bytes = bytes_of(value);
  int64_t at = 0;
  for (int i = 0, moved = 1; moved;) {
    for (i = 0, moved = 0; i < count; i++) {
      const struct value *other = &p->value[placed[i]];
      const int together = other->begin <= value->end && value->begin <= other->end;
      if (!together || other->offset >= at + bytes || other->offset + bytes_of(other) <= at) continue;
      at = other->offset + bytes_of(other);
      moved = 1;
    }
  }
  return at;
}

static const struct program *sorted; /* qsort has no context */

static int by_size(const void *left, const void *right) {
  const int a = *(const int *)left, b = *(const int *)right;
  const int64_t one = bytes_of(&sorted->value[a]), other = bytes_of(&sorted->value[b]);
  return one != other ? COMPARE(other, one) : COMPARE(a, b);
}

static int by_breadth(const void *left, const void *right) {
  const struct value *a = &sorted->value[*(const int *)left], *b = &sorted->value[*(const int *)right];
  return a->breadth != b->breadth ? COMPARE(b->breadth, a->breadth) : by_size(left, right);
}

static int by_begin(const void *left, const void *right) {
  const struct value *a = &sorted->value[*(const int *)left], *b = &sorted->value[*(const int *)right];
  return a->begin != b->begin ? COMPARE(a->begin, b->begin) : by_size(left, right);
}

static int by_life(const void *left, const void *right) {
  const struct value *a = &sorted->value[*(const int *)left], *b = &sorted->value[*(const int *)right];
  const int one = a->end - a->begin, other = b->end - b->begin;
  return one != other ? COMPARE(other, one) : by_size(left, right);
}

/* Places the values in that order; the bytes that it takes. */
static int64_t place(struct program *p, int *order, int count, int (*by)(const void *, const void *)) {
  int64_t bytes = 0;
  sorted = p;
  qsort(order, (size_t)count, sizeof *order, by);
  for (int i = 0; i < count; i++) {
    struct value *value = &p->value[order[i]];
    value->offset = lowest_place(p, order, i, order[i]);
    if (value->offset + bytes_of(value) > bytes) bytes = value->offset + bytes_of(value);
  }
  return bytes;
}

int plan_values(struct program *p) {
  static int (*const orders[])(const void *, const void *) = {by_size, by_breadth, by_begin, by_life};
  FREED int *order = NULL;
  int count = 0, best = 0;
  find_lives(p);
  find_breadths(p);
  TRY(memory_arrays("the places of values", ROOM(&order, p->values + 1)));
  for (int v = 0; v < p->values; v++)
    if (owns_memory(p, v)) order[count++] = v;
  for (int i = 0; i < 4; i++) {
    const int64_t bytes = place(p, order, count, orders[i]);
    if (i == 0 || bytes < p->bytes) p->bytes = bytes, best = i;
  }
  place(p, order, count, orders[best]);
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

void place_values(struct program *p, const struct run *run, struct arena *arena) {
  char *block = arena_take(arena, p->bytes);
  for (int v = 1; v < p->values; v++) {
    struct value *value = &p->value[v];
    const struct value *base = &p->value[program_place(p, v)];
    int64_t first = 0;
    for (int at = v; p->value[at].place != NONE; at = p->value[at].place) first += p->value[at].first;
    value->tensor = (struct tensor){NULL, value->dtype, value->rows, value->cols, value->stride};
    if (!block || base->begin > base->end) continue;
    value->tensor.data = block + base->offset + first * dtype_bytes(value->dtype);
  }
  char *running = arena_take(arena, program_statistics(p) * dtype_bytes(run->kernels->real));
  p->running = running;
  for (int i = 0; i < p->norms; i++) place_norm(&p->norm[i], run, arena, &running);
}
