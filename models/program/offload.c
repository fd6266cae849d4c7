/* offload: values that the backward reads again wait in the host's memory meanwhile (M. Rhu et al., vDNN,
 * MICRO 2016). An output of a layer is copied there as soon as it is written, beside the steps that follow,
 * and back while the backward is at the layer that reads it. An OFFLOAD or a FETCH begins a copy, waits for
 * the one that was begun before, or both; so at most two are on their way. Those of the lowest layers go
 * first, which wait longest; ahead of them what never changes, features and what was computed once of them,
 * which is on the host from the start and only comes back, to the place that it had. Invariants: no value
 * that waits is written or read between; a step of the backward reads what has come back; memory that a copy
 * reads or writes is no other value's until it has ended. */
#include <assert.h>

#include "models/program/program.h"
#include "runtime/base/base.h"

/* A value that can wait. */
struct stay {
  int value, back; /* what comes back in its place; NONE: it does not wait */
  int written;     /* the last step of the forward that writes it; NONE: the features */
  int read;        /* the first call of the backward that reads it, a head */
  int constant;    /* it never changes */
};

/* Attention adds terms of scores to the rows of its message. */
static int writes(const struct program *p, int step, int place) {
  const int message = p->step[step].kind == STEP_ATTEND ? p->step[step].in[0] : NONE;
  if (message != NONE && program_place(p, message) == place) return 1;
  for (int i = 0; i < STEP_OUTS; i++)
    if (p->step[step].out[i] != NONE && program_place(p, p->step[step].out[i]) == place) return 1;
  return 0;
}

/* Whether the memory of `place` is written in the forward, read in the backward, and left alone by both next
 * to the loss. */
static int find_stay(const struct program *p, int place, struct stay *stay) {
  const int first = p->chunk.rows > 0 ? p->chunk.first : p->loss,
            behind = p->chunk.rows > 0 ? p->chunk.behind : p->loss + 1;
  *stay = (struct stay){place, NONE, NONE, p->steps, place == VALUE_FEATURES};
  for (int s = 0; s < p->steps; s++) {
    if (!program_touches(p, s, place)) continue;
    const int head = program_head(p, s);
    if ((s >= first && s < behind) || (s >= behind && writes(p, s, place))) return 0;
    stay->constant |= p->step[s].aggregation.once && writes(p, s, place);
    if (s < first && writes(p, s, place)) stay->written = s;
    if (s >= behind && head < stay->read) stay->read = head;
  }
  return (stay->written != NONE || stay->constant) && stay->read < p->steps && stay->read >= behind;
}

static int may_wait(const struct program *p, int v) {
  const struct value *value = &p->value[v];
  if (v == VALUE_FEATURES) return p->saved.features_may;
  if (value->place != NONE || value->layer >= p->layers - 1) return 0;
  if (program_passes_by(p, v)) return 0;
  return v != program_place(p, p->logits) && (p->embedding == NONE || v != program_place(p, p->embedding));
}

static int by_writer(const void *left, const void *right) {
  const struct stay *a = left, *b = right;
  return COMPARE(a->written, b->written);
}

static int by_reader(const void *left, const void *right) {
  const struct stay *a = left, *b = right;
  return a->read != b->read ? COMPARE(a->read, b->read) : COMPARE(a->written, b->written);
}

/* The copy of a value, or of a view of one that waits, that the backward reads. */
static int copy_of(struct program *p, int value, int place) {
  struct value copy = p->value[value];
  int64_t held[PLANS];
  memcpy(held, copy.held, sizeof held);
  copy.place = place;
  const int made = program_value(p, copy);
  if (p->code == OK) memcpy(p->value[made].held, held, sizeof held);
  return made;
}

static void give_room(struct program *p, struct stay *stay) {
  struct value *value = &p->value[stay->value];
  if (stay->value == VALUE_FEATURES) {
    p->saved.features = 1;
    for (int plan = 0; plan < PLANS; plan++) value->held[plan] = INT64_MAX; /* one place serves both */
  }
  value->waits = p->saved.waiting;
  p->saved.waiting += plan_bytes_of(value, TRAINING);
  stay->back = stay->constant ? stay->value : copy_of(p, stay->value, NONE);
}

/* Steps of the backward read what comes back. */
static void read_copies(struct program *p, const struct stay *stay) {
  const int values = stay->constant ? 0 : p->values;
  for (int v = 0; v < values && p->code == OK; v++) {
    if (program_place(p, v) != stay->value) continue;
    assert(v == stay->value || p->value[v].place == stay->value);
    int copy = v == stay->value ? stay->back : NONE;
    for (int s = p->loss + 1; s < p->steps; s++) {
      for (int i = 0; i < STEP_INS; i++) {
        if (p->step[s].in[i] != v) continue;
        if (copy == NONE) copy = copy_of(p, v, stay->back);
        p->step[s].in[i] = copy;
      }
    }
  }
}

/* begun: a value whose copy begins; NONE: none does. before: the one whose copy has ended by then. */
static struct step offload(const struct program *p, int begun, int before) {
  struct step step = step_of(STEP_OFFLOAD, p->value[begun != NONE ? begun : before].layer);
  step.in[0] = begun;
  step.in[1] = before;
  return step;
}

static struct step fetch(const struct program *p, int begun, int before) {
  struct step step = step_of(STEP_FETCH, p->value[begun != NONE ? begun : before].layer);
  step.out[0] = begun;
  step.in[1] = before;
  return step;
}

/* Where a value begins to come back: when what came before it is there, and the backward of the layer that
 * reads it begins. */
static int begin_of(const struct program *p, const struct stay *stay, int before) {
  const int layer = p->step[stay->read].layer;
  int s = before != NONE ? before : p->chunk.rows > 0 ? p->chunk.behind : p->loss + 1;
  while (s < stay->read && (p->step[s].layer > layer || p->step[s].head != NONE)) s++;
  return s;
}

/* From behind, so that places in the list stay what they were. */
static void add_fetches(struct program *p, const struct stay *stay, int count) {
  int next = NONE; /* where the value after it begins to come back */
  for (int i = count - 1; i >= 0; i--) {
    const int before = i > 0 ? stay[i - 1].read : NONE, begin = begin_of(p, &stay[i], before);
    if (next != stay[i].read) program_insert(p, stay[i].read, fetch(p, NONE, stay[i].back));
    program_insert(p, begin, fetch(p, stay[i].back, begin == before ? stay[i - 1].back : NONE));
    next = begin;
  }
}

static void add_offloads(struct program *p, const struct stay *stay, int count) {
  program_insert(p, p->chunk.rows > 0 ? p->chunk.first : p->loss, offload(p, NONE, stay[count - 1].value));
  for (int i = count - 1; i >= 0; i--)
    program_insert(p, stay[i].written + 1, offload(p, stay[i].value, i > 0 ? stay[i - 1].value : NONE));
}

/* Those that can wait, in the order in which they are written: what was computed once comes first. */
static void find_stays(struct program *p, struct stay *stay) {
  int count = 0;
  p->saved.constants = 0;
  for (int v = 0; v < p->values; v++) {
    if (!may_wait(p, v) || !find_stay(p, v, &stay[count])) continue;
    p->saved.constants += stay[count++].constant;
  }
  p->saved.can_wait = count;
  qsort(stay, (size_t)count, sizeof *stay, by_writer);
}

int offload_steps(struct program *p, int wanted) {
  FREED struct stay *stay = NULL;
  TRY(memory_arrays("the steps of a model", ROOM(&stay, p->values + 1)));
  find_stays(p, stay);
  const int count = (int)smaller(wanted, p->saved.can_wait),
            constants = (int)smaller(wanted, p->saved.constants);
  if (count <= 0) return OK;
  for (int i = 0; i < count; i++) give_room(p, &stay[i]);
  for (int i = 0; i < count; i++) read_copies(p, &stay[i]);
  TRY(p->code);
  p->saved.waits = count;
  qsort(stay, (size_t)count, sizeof *stay, by_reader);
  add_fetches(p, stay, count);
  qsort(stay, (size_t)count, sizeof *stay, by_writer);
  if (count > constants) add_offloads(p, stay + constants, count - constants);
  return p->code;
}
