#include "models/session/classes.h"

#include <math.h>

#include "io/dataset/dataset.h"
#include "models/train/report.h"
#include "runtime/base/base.h"

static int64_t largest(const double *logit, int64_t classes) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; c++) {
    if (logit[c] > logit[best]) best = c;
  }
  return best;
}

static void count_node(const struct shard *shard, int64_t v, const double *logit,
                       const struct class_counts *counts) {
  struct class_score *score = counts->score;
  int64_t classes = shard->classes;
  if (!shard->labels) {
    int64_t predicted = largest(logit, classes), actual = shard->label[v];
    score[predicted].predicted++;
    score[actual].actual++;
    score[actual].hits += predicted == actual;
    if (counts->pair) counts->pair[actual * classes + predicted]++;
    return;
  }
  for (int64_t c = 0; c < classes; c++) {
    int predicted = logit[c] > 0, actual = shard->labels[v * classes + c];
    score[c].predicted += predicted;
    score[c].actual += actual;
    score[c].hits += predicted && actual;
  }
}

struct count {
  enum split split;
  struct class_counts *counts;
  int64_t next; /* node of the split */
};

enum { PIECE = 1 << 16 }; /* rows that are brought to the host at a time */

static int count_rows(void *context, struct run *run, const struct logits *logits) {
  struct count *count = context;
  const struct shard *shard = run->shard;
  const int64_t rows = logits->logits.rows, cols = logits->logits.cols;
  FREED double *value = NULL;
  TRY(memory_arrays("logits", ROOM(&value, smaller(rows, PIECE) * cols)));
  for (int64_t done = 0; done < rows; done += PIECE) {
    const int64_t first = logits->first + done, piece = smaller(rows - done, PIECE);
    TRY(run_download(run, value, tensor_rows(logits->logits, done, piece)));
    for (; count->next < shard->split_count[count->split]; count->next++) {
      const int64_t v = shard->split[count->split][count->next];
      if (v >= first + piece) break;
      count_node(shard, v, value + (v - first) * cols, count->counts);
    }
  }
  return OK;
}

int class_counts_init(struct class_counts *counts, int64_t classes, int pairs) {
  *counts = (struct class_counts){0};
  TRY(memory_arrays("counts of classes", ROOM(&counts->score, classes)));
  return pairs ? memory_arrays("counts of pairs of classes", ROOM(&counts->pair, classes * classes)) : OK;
}

void class_counts_free(struct class_counts *counts) {
  free_all(counts->score, counts->pair);
  *counts = (struct class_counts){0};
}

int classes_count(struct model *model, struct run *run, enum split split, struct class_counts *counts) {
  const int64_t classes = run->shard->classes;
  struct count count = {split, counts, 0};
  for (int64_t c = 0; c < classes; c++) counts->score[c] = (struct class_score){0};
  for (int64_t i = 0; i < classes * classes && counts->pair; i++) counts->pair[i] = 0;
  TRY(comm_agree(run->comm, model_forward(model, run, 0, count_rows, &count)));
  TRY(comm_reduce(run->comm, counts->score, 3 * classes, NUMBER_INT64, REDUCE_SUM));
  return counts->pair ? comm_reduce(run->comm, counts->pair, classes * classes, NUMBER_INT64, REDUCE_SUM)
                      : OK;
}

static double share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : NAN;
}

double class_f1(const struct class_score *score) {
  return share(2 * score->hits, score->predicted + score->actual);
}

/* name: what classes are called, or NULL. */
static void print(const struct class_score *score, char *const *name, const struct shard *shard,
                  enum split split) {
  const int64_t classes = shard->classes;
  char precision[16], recall[16], f1[16];
  double sum = 0, count = 0;
  log_result("  %s by class %8s %10s %8s %8s", split_name[split], shard->graphs.all > 0 ? "graphs" : "nodes",
             "precision", "recall", "F1");
  for (int64_t c = 0; c < classes; c++) {
    double mine = class_f1(&score[c]);
    if (!isnan(mine)) sum += mine, count++;
    log_result("  %13lld %8lld %10s %8s %8s%s%s", (long long)c, (long long)score[c].actual,
               report_percent(share(score[c].hits, score[c].predicted), precision),
               report_percent(share(score[c].hits, score[c].actual), recall), report_percent(mine, f1),
               name ? "  " : "", name ? name[c] : "");
  }
  log_result("  %-13s %36s", "macro-F1", report_percent(count > 0 ? sum / count : NAN, f1));
}

int classes_print(const struct class_counts *counts, struct run *run, enum split split) {
  char **name = NULL;
  int code = run->comm->rank == 0 ? dataset_read_class_names(run->dataset, &name) : OK;
  if (code == OK) print(counts->score, name, run->shard, split);
  h5_free_names(name, run->shard->classes);
  return comm_agree(run->comm, code);
}
