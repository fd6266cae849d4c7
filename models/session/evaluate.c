#include "models/session/evaluate.h"

#include "models/session/classes.h"
#include "models/train/report.h"
#include "runtime/base/base.h"

static void print_split(const struct objective *objective, const struct tally *tally, enum split split) {
  char text[16], loss[32] = "-";
  if (objective->nodes[split] > 0) snprintf(loss, sizeof loss, "%.4f", tally->loss[split]);
  log_result("  %-10s %s  loss %s", split_name[split],
             report_percent(tally_metric(objective, tally, split), text), loss);
}

int trainer_evaluate(struct trainer *trainer, struct run *run, const char *checkpoint) {
  struct objective *objective = &trainer->objective;
  struct tally tally = {0};
  TRY(trainer_load(trainer, run, checkpoint));
  TRY(epoch_evaluate(&trainer->epoch, run, &tally));
  TRY(tally_reduce(&tally, run->comm));
  if (objective_ranks(objective))
    TRY(objective_rank(objective, run, trainer->epoch.result[0]->logits, &tally));
  log_result("%s on %s", checkpoint, run->config->dataset.path);
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) print_split(objective, &tally, s);
  return classes_print(&trainer->model, run, SPLIT_TEST);
}
