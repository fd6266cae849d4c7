/* chunks: the steps next to the loss that work row by row run for some rows after the other where logits of
 * all rows would take much memory: the products that make logits, the loss, and back to the gradients of what
 * those products read. What these steps alone touch has memory for the rows of a chunk (as in the fused
 * linear cross entropy of P. Hsu et al., Liger Kernel, 2024); a gradient may take the place of what a chunk
 * has read. Invariants: nothing beside these steps touches a chunked value; a step of one chunk reads no
 * rows that the steps of another one write. */
#include "models/program/program.h"
#include "runtime/base/base.h"

int64_t chunk_bytes = (int64_t)1 << 30;

/* Not what is summed over arcs, nor what wants to know all rows. */
static int is_row_by_row(const struct program *p, const struct step *step) {
  if (step->rows[TRAINING].level != p->step[p->loss].rows[TRAINING].level) return 0;
  if (step->kind == STEP_EPILOGUE) return step->epilogue.norm == NORM_NONE;
  return step->kind == STEP_LINEAR && step->in[0] != VALUE_FEATURES && step->in[1] != VALUE_FEATURES;
}

/* Backward, of one of the forward steps of the chunks. */
static int goes_back(const struct program *p, const struct step *step) {
  if (step->again || step->of < p->chunk.first || step->of >= p->loss) return 0;
  return step->rows[TRAINING].level == p->step[p->loss].rows[TRAINING].level &&
         (step->kind == STEP_EPILOGUE_BACKWARD || step->kind == STEP_DGRAD || step->kind == STEP_WGRAD);
}

/* They begin with a product: an epilogue goes with what it follows. */
static void find_steps(struct program *p) {
  p->chunk.first = p->loss;
  while (p->chunk.first > 0 && is_row_by_row(p, &p->step[p->chunk.first - 1])) p->chunk.first--;
  while (p->chunk.first < p->loss && p->step[p->chunk.first].kind != STEP_LINEAR) p->chunk.first++;
  p->chunk.behind = p->loss + 1;
  while (p->chunk.behind < p->steps && goes_back(p, &p->step[p->chunk.behind])) p->chunk.behind++;
}

/* The first and the last step that touches the memory of a value. */
static void find_touches(const struct program *p, int place, int *first, int *last) {
  *first = p->steps;
  *last = NONE;
  for (int s = 0; s < p->steps; s++) {
    if (!program_touches(p, s, place)) continue;
    if (s < *first) *first = s;
    *last = s;
  }
}

static int is_embedding(const struct program *p, int place) {
  return p->embedding != NONE && program_place(p, p->embedding) == place;
}

/* The gradient of what a product has read lies where that did, if that was the last time it was read. */
static void write_in_place(struct program *p, int s) {
  const struct step *step = &p->step[s], *linear = &p->step[step->of];
  struct value *gradient = &p->value[step->out[0]];
  const int x = linear->in[linear->parameter[0] != step->parameter[0]];
  const struct value *from = &p->value[x];
  int first, last;
  if (step->in[1] != NONE || gradient->place != NONE || from->place != NONE || is_embedding(p, x)) return;
  if (gradient->dtype != from->dtype || gradient->stride != from->stride) return;
  find_touches(p, x, &first, &last);
  if (last >= s) return;
  p->value[x].held[TRAINING] = larger(from->held[TRAINING], gradient->held[TRAINING]);
  gradient->place = x;
}

/* Memory for the rows of a chunk, where no other step touches it. */
static void shrink(struct program *p, int v) {
  struct value *value = &p->value[v];
  int first, last;
  if (v == VALUE_FEATURES || value->place != NONE || is_embedding(p, v)) return;
  find_touches(p, v, &first, &last);
  if (first < p->chunk.first || last >= p->chunk.behind) return;
  value->chunked = 1;
}

void chunk_steps(struct program *p, const struct run *run) {
  const struct value *logits = &p->value[p->logits];
  const int64_t row = logits->stride * dtype_bytes(logits->dtype), rows = larger(chunk_bytes / row, 1);
  if (rows >= logits->rows || run->config->train.metric == METRIC_ROC_AUC) return;
  find_steps(p);
  if (p->chunk.first == p->loss) return;
  p->chunk.rows = rows;
  for (int s = p->loss + 1; s < p->chunk.behind; s++)
    if (p->step[s].kind == STEP_DGRAD) write_in_place(p, s);
  for (int v = 0; v < p->values; v++) shrink(p, v);
  for (int v = 0; v < p->values; v++) {
    struct value *value = &p->value[v];
    value->chunked = p->value[program_place(p, v)].chunked;
    if (!value->chunked) continue;
    value->rows = rows;
    for (int plan = 0; plan < PLANS; plan++) value->held[plan] = smaller(value->held[plan], rows);
  }
}
