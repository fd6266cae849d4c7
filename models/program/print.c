/* print: the program as a table, a line a step: its rows, what it reads and writes, and where that lies. */
#include "models/program/program.h"
#include "runtime/base/base.h"

/* "z2 [64] at 12.0 MiB" */
static void add_value(const struct program *p, int value, int writes, char *text, size_t size, size_t *used) {
  const struct value *v = &p->value[value];
  const struct value *base = &p->value[program_place(p, value)];
  char place[24] = "";
  if (writes && value != VALUE_FEATURES) {
    char bytes[16];
    snprintf(place, sizeof place, " at %s", memory_text(base->life[TRAINING].offset, bytes));
  }
  int written = snprintf(text + *used, size - *used, "%s%s [%lld]%s", *used ? ", " : "", v->name,
                         (long long)v->cols, place);
  *used += written > 0 && (size_t)written < size - *used ? (size_t)written : 0;
}

static void print_step(const struct program *p, int s) {
  const struct step *step = &p->step[s];
  char reads[256] = "", writes[256] = "", how[64] = "", rows[24] = "all";
  size_t in = 0, out = 0;
  for (int i = 0; i < STEP_INS; i++)
    if (step->in[i] != NONE) add_value(p, step->in[i], 0, reads, sizeof reads, &in);
  for (int i = 0; i < STEP_OUTS; i++)
    if (step->out[i] != NONE) add_value(p, step->out[i], 1, writes, sizeof writes, &out);
  if (step->head != NONE)
    snprintf(how, sizeof how, "with step %d", program_head(p, s));
  else if (step->aggregation.once)
    snprintf(how, sizeof how, "once");
  else if (step->again)
    snprintf(how, sizeof how, "again");
  if (step->rows[TRAINING].count != INT64_MAX)
    snprintf(rows, sizeof rows, "%lld", (long long)step->rows[TRAINING].count);
  log_result("  %4d  %-17s %5d %9s  %-12s %s -> %s", s, step_name[step->kind], step->layer, rows, how, reads,
             writes);
}

void program_print(const struct program *p) {
  char bytes[16], least[16];
  log_result(
      "the program of an epoch: step, kind, layer, rows of rank 0, how it runs, what it reads -> what it "
      "writes [columns] and where");
  for (int s = 0; s < p->steps; s++) print_step(p, s);
  log_result("values take %s; at least %s are alive at once", memory_text(p->bytes, bytes),
             memory_text(p->least, least));
}
