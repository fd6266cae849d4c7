#include "models/session/evaluate.h"

#include "io/dataset/dataset.h"
#include "io/file/csv.h"
#include "io/file/path_check.h"
#include "models/session/classes.h"
#include "models/train/report.h"
#include "runtime/base/base.h"

static const char table_head[] = "split,label,prediction,count";

int evaluate_check(const struct config *config, const struct dataset *dataset) {
  const char *path = config->dataset.path;
  if (dataset->task == TASK_MULTILABEL)
    FAIL(BAD_INPUT, "%s: has several labels a node; what --eval writes to --out is of one label a node",
         path);
  if (dataset->classes > EVALUATE_CLASSES)
    FAIL(BAD_INPUT, "%s: has %lld classes; what --eval writes to --out is of %d at most", path,
         (long long)dataset->classes, EVALUATE_CLASSES);
  return OK;
}

int evaluate_check_file(const char *path) {
  static const char *const beginning[] = {table_head, NULL};
  return path_check_replaced(path, beginning, "confusion matrix");
}

static void write_pair(FILE *out, char *const *name, enum split split, int64_t label, int64_t prediction,
                       int64_t count) {
  fprintf(out, "%s,%lld,%lld,%lld", split_name[split], (long long)label, (long long)prediction,
          (long long)count);
  for (int i = 0; i < 2 && name; i++) {
    fputc(',', out);
    csv_write_text(out, name[i ? prediction : label]);
  }
  fputc('\n', out);
}

static void write_pairs(FILE *out, char *const *name, int64_t classes, const struct class_counts *counts) {
  fprintf(out, "%s%s\n", table_head, name ? ",label_class,prediction_class" : "");
  for (enum split s = SPLIT_VAL; s < SPLIT_COUNT; s++) {
    for (int64_t i = 0; i < classes * classes; i++)
      if (counts[s].pair[i] > 0) write_pair(out, name, s, i / classes, i % classes, counts[s].pair[i]);
  }
}

static int write_file(const char *path, struct run *run, char *const *name,
                      const struct class_counts *counts) {
  ENDED_BY(atomic_write_drop) struct atomic_write file = {0};
  FILE *out;
  TRY(make_folder_of(path));
  TRY(atomic_write_open(&file, path));
  TRY(atomic_write_stream(&file, &out));
  write_pairs(out, name, run->shard->classes, counts); /* commit says when that fails */
  return atomic_write_commit(&file);
}

/* Collective; rank 0 writes. counts [SPLIT_COUNT] have pairs, but for those of training. */
static int write_confusion(const char *path, struct run *run, const struct class_counts *counts) {
  const int speaker = run->comm->rank == 0;
  char **name = NULL;
  int code = speaker ? dataset_read_class_names(run->dataset, &name) : OK;
  if (code == OK && speaker) code = write_file(path, run, name, counts);
  h5_free_names(name, run->shard->classes);
  TRY(comm_agree(run->comm, code));
  log_result("wrote %s: the confusion matrices of val and test", path);
  return OK;
}

static void print_split(const struct objective *objective, const struct tally *tally, enum split split) {
  char text[16], loss[32] = "-";
  if (objective->nodes[split] > 0) snprintf(loss, sizeof loss, "%.4f", tally->loss[split]);
  log_result("  %-10s %s  loss %s", split_name[split],
             report_percent(tally_metric(objective, tally, split), text), loss);
}

static int count_classes(struct trainer *trainer, struct run *run, enum split split, int pairs,
                         struct class_counts *counts) {
  TRY(comm_agree(run->comm, class_counts_init(counts, run->shard->classes, pairs)));
  return classes_count(&trainer->model, run, split, counts);
}

/* Of the test part a table, and of both parts the file. */
static int evaluate_classes(struct trainer *trainer, struct run *run, const char *path,
                            struct class_counts *counts) {
  TRY(count_classes(trainer, run, SPLIT_TEST, path != NULL, &counts[SPLIT_TEST]));
  TRY(classes_print(&counts[SPLIT_TEST], run, SPLIT_TEST));
  if (!path) return OK;
  TRY(count_classes(trainer, run, SPLIT_VAL, 1, &counts[SPLIT_VAL]));
  return write_confusion(path, run, counts);
}

int trainer_evaluate(struct trainer *trainer, struct run *run, const char *checkpoint, const char *path) {
  struct objective *objective = &trainer->objective;
  struct class_counts counts[SPLIT_COUNT] = {{0}};
  struct tally tally = {0};
  TRY(trainer_load(trainer, run, checkpoint));
  TRY(epoch_evaluate(&trainer->epoch, run, &tally));
  TRY(tally_reduce(&tally, run->comm));
  if (objective_ranks(objective))
    TRY(objective_rank(objective, run, trainer->epoch.result[0]->logits, &tally));
  log_result("%s on %s", checkpoint, run->config->dataset.path);
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) print_split(objective, &tally, s);
  const int code = evaluate_classes(trainer, run, path, counts);
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) class_counts_free(&counts[s]);
  return code;
}
