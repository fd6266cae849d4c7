/* The area under the ROC curve over all ranks beside a count of pairs, with many equal scores; and after an
 * evaluation as after an epoch. */
#include "models/train/epoch.h"
#include "tests/models/layers/slope.h"

static const struct fixture two = {.nodes = 203, .features = 5, .classes = 2};

static int label_of(int64_t v) {
  return (int)(draw((uint64_t)v, 5) % 2);
}

/* Of nodes of that split, from the scores of all nodes and how far each reaches (NULL: nowhere). */
static double expected_roc_auc(enum split split, const double *score, const double *reach) {
  double pairs = 0, won = 0;
  for (int64_t v = 0; v < two.nodes; v++) {
    for (int64_t u = 0; u < two.nodes; u++) {
      if (draw((uint64_t)v, 7) % 3 != (uint32_t)split || draw((uint64_t)u, 7) % 3 != (uint32_t)split)
        continue;
      if (label_of(v) != 1 || label_of(u) != 0) continue;
      pairs++;
      double apart = score[v] - score[u], both = reach ? reach[v] + reach[u] : 0;
      won += apart > both ? 1 : apart >= -both ? .5 : 0;
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

TEST(pairs_in_order_are_counted_over_all_ranks) {
  fixture_open(&job, &two, "train.metric = \"roc_auc\"\npartition.method = \"random\"");
  double score[203], roc_auc[SPLIT_COUNT], other[SPLIT_COUNT];
  for (int64_t v = 0; v < two.nodes; v++) score[v] = (double)(draw((uint64_t)v, 11) % 9) - 4;
  struct tensor narrow = make_logits(&job.run, F32, 1), wide = make_logits(&job.run, F64, -1);
  assert_ok(roc_auc_compute(&job.trainer.objective.roc_auc, &job.run, narrow, roc_auc));
  assert_ok(roc_auc_compute(&job.trainer.objective.roc_auc, &job.run, wide, other));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    assert_close(roc_auc[s], expected_roc_auc(s, score, NULL), 1e-14);
    assert_close(roc_auc[s] + other[s], 1, 1e-14);
  }
  free(narrow.data);
  free(wide.data);
  fixture_close(&job);
}

/* What an evaluation says is the area of the model's logits. */
TEST(evaluations_bring_their_logits) {
  fixture_open(&job, &two, "train.metric = \"roc_auc\"\nmodel.dropout = 0.0\npartition.method = \"random\"");
  struct trainer *trainer = &job.trainer;
  struct run *run = &job.run;
  struct tally tally;
  double *score = calloc((size_t)two.nodes, sizeof *score);
  assert_ok(epoch_evaluate(&trainer->epoch, run, &tally));
  assert_ok(tally_reduce(&tally, run->comm));
  assert_ok(objective_rank(&trainer->objective, run, trainer->epoch.result[0]->logits, &tally));
  struct tensor logits = model_logits(&trainer->model);
  double *value = calloc((size_t)(2 * logits.rows + 1), sizeof *value);
  assert_ok(run_download(run, value, logits));
  for (int64_t i = 0; i < logits.rows; i++) score[run->shard->global_id[i]] = value[2 * i + 1] - value[2 * i];
  assert_ok(comm_reduce(run->comm, score, two.nodes, NUMBER_DOUBLE, REDUCE_SUM));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++)
    assert_close(tally_metric(&trainer->objective, &tally, s), expected_roc_auc(s, score, NULL), 1e-12);
  free(score);
  free(value);
  fixture_close(&job);
}

static const struct fixture twins = {.nodes = 203, .features = 5, .classes = 2, .twins = 7, .thirds = 1};

/* Logits of all nodes on every rank, [nodes, 2]. */
static double *all_logits(struct run *run) {
  struct tensor logits = model_logits(&job.trainer.model);
  double *own = calloc((size_t)(2 * logits.rows + 1), sizeof *own), *all = calloc(2 * 203, sizeof *all);
  assert_ok(run_download(run, own, logits));
  for (int64_t i = 0; i < logits.rows; i++)
    memcpy(all + 2 * run->shard->global_id[i], own + 2 * i, 2 * sizeof *all);
  assert_ok(comm_reduce(run->comm, all, 2 * twins.nodes, NUMBER_DOUBLE, REDUCE_SUM));
  free(own);
  return all;
}

/* open (m + M), as roc_auc.h has it, where all twins have the logits of the first. */
static void find_reaches(enum split split, const double *logit, double open, double *reach) {
  double mean = 0, count = 0;
  for (int64_t v = 0; v < twins.nodes; v++) {
    const double *own = logit + 2 * twin_of(&twins, v);
    reach[v] = fmax(fabs(own[0]), fabs(own[1]));
    if (draw((uint64_t)v, 7) % 3 != (uint32_t)split) continue;
    mean += reach[v];
    count++;
  }
  for (int64_t v = 0; v < twins.nodes; v++) reach[v] = open * (reach[v] + mean / count);
}

/* Nodes that are equal in exact arithmetic tie, whatever the sums of their neighbours gave. Returns how many
 * of them have other logits than their twin. */
static int check_twins(const char *settings, double open) {
  char text[256];
  snprintf(text, sizeof text,
           "train.metric = \"roc_auc\"\npartition.method = \"random\"\nruntime.rows = \"all\"\n%s", settings);
  fixture_open(&job, &twins, text);
  struct run *run = &job.run;
  double score[203], reach[203], roc_auc[SPLIT_COUNT];
  int moved = 0;
  assert_ok(model_forward(&job.trainer.model, run, 0, NULL, NULL));
  double *logit = all_logits(run);
  for (int64_t v = 0; v < twins.nodes; v++) {
    const double *own = logit + 2 * v, *first = logit + 2 * twin_of(&twins, v);
    score[v] = first[1] - first[0];
    moved += own[1] - own[0] != score[v];
  }
  assert_ok(roc_auc_compute(&job.trainer.objective.roc_auc, run, model_logits(&job.trainer.model), roc_auc));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    find_reaches(s, logit, open, reach);
    assert_close(roc_auc[s], expected_roc_auc(s, score, reach), 1e-14);
  }
  free(logit);
  fixture_close(&job);
  return moved;
}

/* Which sums differ is a matter of the processor; of one rank none may. */
TEST(twins_tie_on_any_number_of_ranks) {
  int singles = check_twins("runtime.precision = \"fp32\"", 2e-6), doubles;
  doubles = check_twins("runtime.precision = \"fp64\"", 1e-13);
  singles += check_twins("runtime.precision = \"fp32\"\nmodel.layers = 4", 2e-6);
  singles += check_twins(
      "runtime.precision = \"fp32\"\nmodel.type = \"gat\"\nmodel.heads = 2\nmodel.hidden = 8", 2e-6);
  doubles += check_twins("runtime.precision = \"fp64\"\nmodel.type = \"sage\"", 1e-13);
  if (job.comm.size > 1) assert_true(singles > 0 && doubles > 0); /* or there would be nothing to see */
}

/* Intervals overlap or they do not: a chain of ties does not tie its ends. */
TEST(close_scores_are_no_chain) {
  fixture_open(&job, &two, "train.metric = \"roc_auc\"\npartition.method = \"random\"");
  struct tensor logits = make_logits(&job.run, F64, 1);
  double score[203], roc_auc[SPLIT_COUNT];
  for (int64_t v = 0; v < two.nodes; v++) score[v] = 1 + (double)((v * 89) % two.nodes) * 1.2e-5;
  for (int64_t i = 0; i < logits.rows; i++) {
    double *row = (double *)logits.data + i * logits.stride;
    row[0] = 0, row[1] = score[job.shard.global_id[i]];
  }
  assert_ok(roc_auc_compute(&job.trainer.objective.roc_auc, &job.run, logits, roc_auc));
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++)
    assert_close(roc_auc[s], expected_roc_auc(s, score, NULL), 1e-14);
  free(logits.data);
  fixture_close(&job);
}
