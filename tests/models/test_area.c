/* The area under the ROC curve over all ranks beside a count of pairs, with many equal scores; and after an
 * evaluation as after an epoch. */
#include "models/epoch.h"
#include "tests/models/slope.h"

static const struct fixture two = {.nodes = 203, .features = 5, .classes = 2};

static int label_of(int64_t v) {
  return (int)(draw((uint64_t)v, 5) % 2);
}

/* Of nodes of that split, from the scores of all nodes. */
static double expected_area(enum split split, const double *score) {
  double pairs = 0, won = 0;
  for (int64_t v = 0; v < two.nodes; v++) {
    for (int64_t u = 0; u < two.nodes; u++) {
      if (draw((uint64_t)v, 7) % 3 != (uint32_t)split || draw((uint64_t)u, 7) % 3 != (uint32_t)split)
        continue;
      if (label_of(v) != 1 || label_of(u) != 0) continue;
      pairs++;
      won += score[v] > score[u] ? 1 : score[v] == score[u] ? .5 : 0;
    }
  }
  return won / pairs;
}

/* Logits of own rows, whose differences are one of nine numbers; `flip`: the other way round. */
static struct tensor make_logits(const struct run *run, enum dtype dtype, double flip) {
  struct tensor t = tensor_padded(NULL, dtype, run->shard->own, 2);
  t.data = calloc((size_t)tensor_bytes(t) + 1, 1);
  for (int64_t i = 0; i < t.rows; i++) {
    double score = flip * ((double)(draw((uint64_t)run->shard->global_id[i], 11) % 9) - 4);
    if (dtype == F64)
      ((double *)t.data)[i * t.stride] = 1, ((double *)t.data)[i * t.stride + 1] = 1 + score;
    else
      ((float *)t.data)[i * t.stride] = 1, ((float *)t.data)[i * t.stride + 1] = (float)(1 + score);
  }
  return t;
}

static void pairs_in_order_are_counted_over_all_ranks(void **state) {
  (void)state;
  fixture_open(&job, &two, "train.metric = \"roc_auc\"\npartition.method = \"random\"");
  double score[203], area[SPLIT_COUNT], other[SPLIT_COUNT];
  for (int64_t v = 0; v < two.nodes; v++) score[v] = (double)(draw((uint64_t)v, 11) % 9) - 4;
  struct tensor narrow = make_logits(&job.run, F32, 1), wide = make_logits(&job.run, F64, -1);
  assert_ok(area_compute(&job.trainer.objective.area, &job.run, narrow, area));
  assert_ok(area_compute(&job.trainer.objective.area, &job.run, wide, other));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    assert_close(area[s], expected_area(s, score), 1e-14);
    assert_close(area[s] + other[s], 1, 1e-14);
  }
  free(narrow.data);
  free(wide.data);
  fixture_close(&job);
}

/* What an evaluation says is the area of the model's logits. */
static void evaluations_bring_their_logits(void **state) {
  (void)state;
  fixture_open(&job, &two, "train.metric = \"roc_auc\"\nmodel.dropout = 0.0\npartition.method = \"random\"");
  struct trainer *trainer = &job.trainer;
  struct run *run = &job.run;
  struct tally tally;
  double *score = calloc((size_t)two.nodes, sizeof *score);
  assert_ok(epoch_evaluate(trainer, run, &tally));
  assert_ok(tally_reduce(&tally, run->comm));
  assert_ok(objective_rank(&trainer->objective, run, trainer->result[0]->logits, &tally));
  struct tensor logits = model_logits(&trainer->model);
  double *value = calloc((size_t)(2 * logits.rows + 1), sizeof *value);
  assert_ok(run_download(run, value, logits));
  for (int64_t i = 0; i < logits.rows; i++) score[run->shard->global_id[i]] = value[2 * i + 1] - value[2 * i];
  assert_ok(comm_reduce(run->comm, score, two.nodes, NUMBER_DOUBLE, REDUCE_SUM));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++)
    assert_close(tally_metric(&trainer->objective, &tally, s), expected_area(s, score), 1e-12);
  free(score);
  free(value);
  fixture_close(&job);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pairs_in_order_are_counted_over_all_ranks),
      cmocka_unit_test(evaluations_bring_their_logits),
  };
  RUN_RANK_TESTS(tests);
}
