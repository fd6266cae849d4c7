/* Counts by class over all ranks beside those of the whole graph, node by node. */
#include "models/session/classes.h"
#include "models/train/epoch.h"
#include "tests/models/layers/slope.h"

/* Logits [nodes, classes] of all nodes on every rank. */
static double *all_logits(const struct fixture *f, struct tensor logits) {
  struct run *run = &job.run;
  int64_t classes = logits.cols;
  double *own = calloc((size_t)(logits.rows * classes + 1), sizeof *own);
  double *all = calloc((size_t)(f->nodes * classes), sizeof *all);
  assert_ok(run_download(run, own, logits));
  for (int64_t i = 0; i < logits.rows * classes; i++)
    all[run->shard->global_id[i / classes] * classes + i % classes] = own[i];
  assert_ok(comm_reduce(run->comm, all, f->nodes * classes, NUMBER_DOUBLE, REDUCE_SUM));
  free(own);
  return all;
}

static int is_actual(const struct fixture *f, int64_t v, int64_t c) {
  if (f->multilabel) return draw((uint64_t)(v * f->classes + c), 6) % 2 == 1;
  return draw((uint64_t)v, 5) % (uint32_t)f->classes == c;
}

static int is_predicted(const struct fixture *f, const double *logit, int64_t c) {
  if (f->multilabel) return logit[c] > 0;
  for (int64_t other = 0; other < f->classes; other++) {
    if (logit[other] > logit[c] || (logit[other] == logit[c] && other < c)) return 0;
  }
  return 1;
}

/* Each pair of classes that a node of the test part may be of. */
static void check_pairs(const struct fixture *f, const double *all, const int64_t *pair) {
  for (int64_t i = 0; i < f->classes * f->classes && pair; i++) {
    int64_t expected = 0;
    for (int64_t v = 0; v < f->nodes; v++)
      expected += draw((uint64_t)v, 7) % 3 == SPLIT_TEST && is_actual(f, v, i / f->classes) &&
                  is_predicted(f, all + v * f->classes, i % f->classes);
    assert_int_equal(pair[i], expected);
  }
}

static void check(const struct fixture *f) {
  struct class_score score[8];
  int64_t pair[64];
  struct class_counts counts = {score, f->multilabel ? NULL : pair};
  struct tally tally;
  fixture_open(&job, f, "partition.method = \"random\"");
  struct trainer *trainer = &job.trainer;
  assert_ok(epoch_evaluate(&trainer->epoch, &job.run, &tally));
  assert_ok(tally_reduce(&tally, job.run.comm));
  struct tensor logits = model_logits(&trainer->model);
  double *all = all_logits(f, logits), hits = 0, predicted = 0, actual = 0;
  assert_ok(classes_count(&trainer->model, &job.run, SPLIT_TEST, &counts));
  for (int64_t c = 0; c < f->classes; c++) {
    struct class_score expected = {0};
    for (int64_t v = 0; v < f->nodes; v++) {
      if (draw((uint64_t)v, 7) % 3 != SPLIT_TEST) continue;
      int p = is_predicted(f, all + v * f->classes, c), a = is_actual(f, v, c);
      expected.hits += p && a;
      expected.predicted += p;
      expected.actual += a;
    }
    assert_memory_equal(&score[c], &expected, sizeof expected);
    hits += (double)expected.hits, predicted += (double)expected.predicted, actual += (double)expected.actual;
  }
  assert_close(2 * hits / (predicted + actual), tally_metric(&trainer->objective, &tally, SPLIT_TEST), 1e-12);
  check_pairs(f, all, counts.pair);
  free(all);
  fixture_close(&job);
}

TEST(classes_are_counted_over_all_ranks) {
  check(&plain);
  check(&multilabel);
}

TEST(only_a_split_without_nodes_has_no_micro_f1) {
  const struct tally nothing = {0};
  fixture_open(&job, &multilabel, "partition.method = \"random\"");
  struct objective *objective = &job.trainer.objective;
  assert_true(tally_metric(objective, &nothing, SPLIT_VAL) == 0);
  job.shard.split_global[SPLIT_VAL] = 0;
  assert_ok(objective_start(objective, &job.run));
  assert_true(isnan(tally_metric(objective, &nothing, SPLIT_VAL)));
  fixture_close(&job);
}

TEST(f1_is_the_harmonic_mean) {
  const struct class_score some = {.hits = 3, .predicted = 4, .actual = 6}, none = {0}, missed = {0, 0, 5};
  assert_close(class_f1(&some), 2 / (4. / 3 + 6. / 3), 1e-15);
  assert_true(isnan(class_f1(&none)) && class_f1(&missed) == 0);
}
