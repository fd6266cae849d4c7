/* What each pass over the steps of a model promises (models/program/step.h), for every model at several
 * depths, norms and settings, on any number of ranks. That the numbers are right is checked by differences,
 * test_gradients and others.
 */
#include "models/program/program.h"
#include "tests/models/fixture.h"

static struct job job;
static const struct fixture plain = {.nodes = 211, .features = 40, .classes = 7};
static const struct fixture directed = {.nodes = 97, .features = 40, .classes = 7, .directed = 1};
static const struct fixture sparse = {.nodes = 97, .features = 150, .classes = 7, .sparse = 1};
static const struct fixture hyper = {.nodes = 90, .features = 40, .classes = 7, .hyperedges = 70};
static const struct fixture molecules = {
    .nodes = 120, .features = 40, .classes = 7, .graphs = 14, .arcs = 30};
static const struct fixture bags = {
    .nodes = 120, .features = 150, .classes = 7, .graphs = 14, .arcs = 30, .sparse = 1};

BEFORE_ALL {
  return ranks_open(&job.comm);
}

AFTER_ALL {
  comm_close(&job.comm);
}

typedef void check(const struct program *p, const char *what);

static void check_one(const struct fixture *f, const char *settings, check *checks) {
  fixture_open(&job, f, settings);
  checks(&job.trainer.model.program, settings);
  fixture_close(&job);
}

static void keep_only_signs(struct job *of) {
  assert_ok(model_save(&of->trainer.model, &of->run, 1));
}

/* Of graphs, with the readout of the last layer and with those of all. */
static void for_all_programs_of_graphs(const char *settings, int s, check *checks) {
  static const char *const models[] = {
      "gcn\"\nmodel.residual = true\nmodel.readout = \"mean",
      "mlp\"\nmodel.readout = \"mean",
      "gin",
      "gin\"\nmodel.learn_eps = true\nmodel.readout = \"mean",
      "gcnii\"\nmodel.readout = \"mean",
      "sage\"\nmodel.residual = true\nmodel.activation = \"elu",
      "sage\"\nmodel.aggregator = \"max",
      "gat\"\nmodel.heads = 4\nmodel.residual = true\nmodel.activation = \"elu",
      "gatv2\"\nmodel.heads = 4\nmodel.activation = \"elu",
      "agnn\"\nmodel.residual = true\nmodel.activation = \"elu"};
  char text[512];
  for (int m = 0; m < 10; m++) {
    const int largest = (s + m) % 3 == 0 && !strstr(models[m], "readout");
    fixture_change = (s + m) % 2 && !strstr(settings, "recompute") ? keep_only_signs : NULL;
    snprintf(text, sizeof text, "model.type = \"%s\"\nmodel.readout_layers = \"%s\"\n%s%s", models[m],
             m == s ? "last" : "all", settings, largest ? "\nmodel.readout = \"max\"" : "");
    check_one(largest || m % 2 ? &molecules : &bags, text, checks);
  }
}

/* Calls it for programs of all models. */
static void for_all_programs(check *checks) {
  static const char *const models[] = {"gcn",
                                       "mlp",
                                       "gin",
                                       "gcnii",
                                       "sage",
                                       "sage\"\nmodel.aggregator = \"max",
                                       "sage\"\nmodel.aggregator = \"min",
                                       "sage\"\nmodel.aggregator = \"gcn",
                                       "gin\"\nmodel.learn_eps = true\nmodel.activation = \"elu",
                                       "gat\"\nmodel.heads = 4\nmodel.activation = \"elu",
                                       "gatv2\"\nmodel.heads = 4\nmodel.activation = \"elu",
                                       "agnn",
                                       "sgc",
                                       "appnp"};
  static const char *const hypergraphs[] = {
      "hgnn", "hgnn\"\nmodel.edge_weights = true\nmodel.activation = \"relu", "unigin", "unigcnii"};
  static const char *const settings[] = {
      "model.layers = 3\nmodel.dropout = 0.5",
      "model.layers = 4\nmodel.norm = \"batch\"\nmodel.hidden = 8",
      "model.layers = 8\nmodel.norm = \"layer\"\nmodel.hidden = 256",
      "model.layers = 6\ntrain.recompute = \"layer\"\nmodel.norm = \"batch\"",
      "model.layers = 3\nruntime.once = false\nmodel.dropout_input = 0.2",
      "model.layers = 4\nruntime.offload = \"activations\"\nmodel.dropout = 0.5",
      "model.layers = 5\nruntime.offload = \"activations\"\nmodel.norm = \"batch\"\ntrain.recompute = "
      "\"layer\""};
  static const struct fixture *const graphs[] = {&plain, &directed, &sparse};
  char text[512];
  const int64_t whole = chunk_bytes;
  for (int s = 0; s < 7; s++) {
    for (int m = 0; m < (int)(sizeof models / sizeof models[0]); m++) {
      chunk_bytes = (s + m) % 2 ? whole : 1024;
      fixture_change = (s + m) % 3 ? NULL : keep_only_signs;
      snprintf(text, sizeof text, "model.type = \"%s\"\n%s", models[m], settings[s]);
      check_one(graphs[(s + m) % 3], text, checks);
    }
    for (int m = 0; m < 4; m++) {
      snprintf(text, sizeof text, "model.type = \"%s\"\n%s", hypergraphs[m], settings[s]);
      check_one(&hyper, text, checks);
    }
    for_all_programs_of_graphs(settings[s], s, checks);
    chunk_bytes = whole;
    fixture_change = NULL;
  }
}

/* Whether a step runs in the call of the step `head`. */
static int runs_in(const struct program *p, int s, int head) {
  return program_head(p, s) == head;
}

/* The bytes of values, by the value that was written there last. */
struct block {
  int16_t *owner; /* a unit each */
  int64_t units;
  enum value_plan plan;
};
enum { UNIT = 64 };

static void write_value(const struct program *p, const struct block *block, int value) {
  const int base = program_place(p, value);
  const struct value *v = &p->value[base];
  const int64_t bytes = plan_bytes_of(v, block->plan), offset = v->life[block->plan].offset,
                first = offset / UNIT;
  assert_true(offset >= 0 && offset + bytes <= p->bytes);
  for (int64_t i = first; i < first + (bytes + UNIT - 1) / UNIT; i++) block->owner[i] = (int16_t)base;
}

static void read_value(const struct program *p, const struct block *block, int value, int step,
                       const char *what) {
  const int base = program_place(p, value);
  const struct value *v = &p->value[base];
  const int64_t bytes = plan_bytes_of(v, block->plan), first = v->life[block->plan].offset / UNIT;
  for (int64_t i = first; i < first + (bytes + UNIT - 1) / UNIT; i++) {
    if (block->owner[i] != base)
      fail_msg("%s: step %d (%s) reads %s, where %s lies by then", what, step, step_name[p->step[step].kind],
               v->name, block->owner[i] < 0 ? "nothing" : p->value[block->owner[i]].name);
  }
}

/* All that a call reads is there before and after it writes. */
static void call(const struct program *p, const struct block *block, int head, const char *what) {
  for (int turn = 0; turn < 3; turn++) {
    for (int s = 0; s < p->steps; s++) {
      const struct step *step = &p->step[s];
      if (!runs_in(p, s, head)) continue;
      for (int i = 0; i < STEP_OUTS && turn == 1; i++)
        if (step->out[i] != NONE) write_value(p, block, step->out[i]);
      for (int i = 0; i < STEP_INS && turn != 1; i++) {
        const int writer = step->in[i] == NONE ? NONE : p->value[step->in[i]].writer;
        const int inside = writer != NONE && runs_in(p, writer, head);
        if (writer != NONE && (turn == 2 || !inside)) read_value(p, block, step->in[i], s, what);
      }
    }
  }
}

/* In trainings and in the evaluations between them. */
static void values_are_there_when_they_are_read(const struct program *p, const char *what) {
  struct block block = {.units = p->bytes / UNIT + 1};
  block.owner = malloc((size_t)block.units * sizeof *block.owner);
  memset(block.owner, 0xFF, (size_t)block.units * sizeof *block.owner);
  for (int s = 0; s < p->loss; s++)
    if (p->step[s].aggregation.once) call(p, &block, s, what);
  for (int epoch = 0; epoch < 2; epoch++) {
    for (block.plan = TRAINING; block.plan < PLANS; block.plan++)
      for (int s = 0; s < (block.plan == TRAINING ? p->steps : p->loss); s++)
        if (p->step[s].head == NONE && !p->step[s].aggregation.once) call(p, &block, s, what);
    block.plan = EVALUATION;
    read_value(p, &block, p->logits, p->loss, what);
    if (p->embedding != NONE) read_value(p, &block, p->embedding, p->loss, what);
  }
  free(block.owner);
}

/* The loss may be computed in the call that makes the logits. */
static void the_gradient_of_the_logits_may_come_with_them(const struct program *p, const char *what) {
  const struct value *gradient = &p->value[program_place(p, p->step[p->loss].out[0])];
  const int head = program_head(p, p->value[p->logits].writer);
  for (int i = 0; i < STEP_INS; i++) {
    if (p->step[head].in[i] <= VALUE_FEATURES) continue;
    const struct value *x = &p->value[program_place(p, p->step[head].in[i])];
    const int64_t bytes = plan_bytes_of(x, TRAINING), size = plan_bytes_of(gradient, TRAINING);
    const int64_t at = x->life[TRAINING].offset, grad_at = gradient->life[TRAINING].offset;
    if (at < grad_at + size && grad_at < at + bytes)
      fail_msg("%s: the gradient of the logits overwrites %s", what, x->name);
  }
}

static void the_plan_takes_at_most_1_05_of_what_is_alive_at_once(const struct program *p, const char *what) {
  if ((double)p->bytes > 1.05 * (double)p->least)
    fail_msg("%s: %lld bytes, at least %lld are alive at once", what, (long long)p->bytes,
             (long long)p->least);
  assert_true(p->bytes >= p->least && p->least > 0);
}

static void steps_that_run_along_read_nothing_that_is_written_later(const struct program *p,
                                                                    const char *what) {
  for (int s = 0; s < p->steps; s++) {
    const int head = program_head(p, s);
    for (int i = 0; i < STEP_INS; i++) {
      const int in = p->step[s].in[i], writer = in == NONE ? NONE : p->value[in].writer;
      if (writer != NONE && program_head(p, writer) > head)
        fail_msg("%s: step %d runs with %d, before %d has written what it reads", what, s, head, writer);
    }
  }
}

/* How many steps write the gradient of a parameter. */
static int writers_of(const struct program *p, int parameter) {
  int writers = 0;
  for (int s = p->loss + 1; s < p->steps; s++) {
    const struct step *step = &p->step[s], *of = step->of == NONE ? step : &p->step[step->of];
    const int epilogue = step->kind == STEP_EPILOGUE_BACKWARD;
    const int own = step->kind == STEP_WGRAD || step->kind == STEP_LOOP_GRAD ||
                    step->kind == STEP_HYPEREDGE_GRAD || step->kind == STEP_ATTEND_BACKWARD ||
                    step->kind == STEP_DYNAMIC_BACKWARD || step->kind == STEP_COSINE_BACKWARD;
    writers += epilogue &&
               (of->index.bias == parameter || of->index.gain == parameter || of->index.shift == parameter);
    writers += own && (step->parameter[0] == parameter || step->parameter[1] == parameter);
  }
  return writers;
}

static void each_parameter_has_its_gradient_from_one_step(const struct program *p, const char *what) {
  const struct parameters *parameters = &job.trainer.model.parameters;
  for (int i = 0; i < parameters->length; i++)
    if (writers_of(p, i) != 1)
      fail_msg("%s: %d steps write the gradient of %s", what, writers_of(p, i), parameters->list[i].name);
}

static void an_output_whose_signs_are_kept_is_read_no_more(const struct program *p, const char *what) {
  for (int s = 0; s < p->loss; s++) {
    const struct step *step = &p->step[s];
    if (step->kind != STEP_EPILOGUE || step->out[1] == NONE) continue;
    for (int other = p->loss + 1; other < p->steps; other++)
      if (program_touches(p, other, program_place(p, step->out[0])))
        fail_msg("%s: step %d touches %s", what, other, p->value[step->out[0]].name);
  }
}

/* From the copy that begins to the one that waits for it, in the host's memory and back. */
static void what_waits_is_left_alone(const struct program *p, const char *what) {
  int begun = NONE, offloads = 0, fetches = 0;
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    if (step->kind == STEP_OFFLOAD || step->kind == STEP_FETCH) {
      if (step->in[1] != begun) fail_msg("%s: step %d waits for another copy than was begun", what, s);
      begun = step->kind == STEP_OFFLOAD ? step->in[0] : step->out[0];
      offloads += step->kind == STEP_OFFLOAD && begun != NONE;
      fetches += step->kind == STEP_FETCH && begun != NONE;
    } else if (begun != NONE && step->head == NONE) {
      for (int i = 0; i < STEP_OUTS; i++)
        if (step->out[i] != NONE && program_place(p, step->out[i]) == begun)
          fail_msg("%s: step %d writes what is on its way", what, s);
      if (s > p->loss && program_touches(p, s, begun))
        fail_msg("%s: step %d reads what has not come back", what, s);
    }
  }
  assert_true(begun == NONE && fetches == p->saved.waits);
  assert_true(offloads == fetches || offloads == fetches - p->saved.constants);
}

/* Then it is the last step to add to the gradient of that output. */
static void the_readout_of_an_output_is_its_first_reader(const struct program *p, const char *what) {
  for (int s = 0; s < p->loss; s++) {
    const int x = p->step[s].in[0];
    if (p->step[s].kind != STEP_READOUT || x == VALUE_FEATURES) continue;
    for (int other = p->value[x].writer + 1; other < s; other++)
      for (int i = 0; i < STEP_INS; i++)
        if (p->step[other].in[i] == x && p->step[other].kind != STEP_OFFLOAD)
          fail_msg("%s: step %d reads an output ahead of its readout, step %d", what, other, s);
  }
}

static void all_promises(const struct program *p, const char *what) {
  values_are_there_when_they_are_read(p, what);
  the_gradient_of_the_logits_may_come_with_them(p, what);
  the_plan_takes_at_most_1_05_of_what_is_alive_at_once(p, what);
  steps_that_run_along_read_nothing_that_is_written_later(p, what);
  each_parameter_has_its_gradient_from_one_step(p, what);
  an_output_whose_signs_are_kept_is_read_no_more(p, what);
  what_waits_is_left_alone(p, what);
  the_readout_of_an_output_is_its_first_reader(p, what);
}

/* One after the other over each program: to open a job takes longer than to look through its steps. */
TEST(passes_keep_their_promises_for_every_model) {
  for_all_programs(all_promises);
}

/* The kind of the first step that reads the features, and whether it is hoisted. */
static enum step_kind first_kind(const char *settings, int *once) {
  int first = NONE;
  fixture_open(&job, &plain, settings);
  const struct program *p = &job.trainer.model.program;
  assert_true(program_readers(p, VALUE_FEATURES, &first, NULL) > 0);
  const enum step_kind kind = p->step[first].kind;
  *once = p->step[first].aggregation.once;
  fixture_close(&job);
  return kind;
}

/* 40 features. */
TEST(the_cheaper_of_two_orders_comes_first) {
  int once;
  assert_int_equal(first_kind("runtime.once = false\nmodel.hidden = 64", &once), STEP_AGGREGATE);
  assert_int_equal(first_kind("runtime.once = false\nmodel.hidden = 20", &once), STEP_AGGREGATE);
  assert_int_equal(first_kind("runtime.once = false\nmodel.hidden = 19", &once), STEP_LINEAR);
  assert_int_equal(first_kind("model.type = \"gin\"\nmodel.learn_eps = true\nmodel.hidden = 64", &once),
                   STEP_LINEAR);
}

static int count_steps(const char *settings, enum step_kind kind) {
  int count = 0;
  fixture_open(&job, &molecules, settings);
  const struct program *p = &job.trainer.model.program;
  for (int s = 0; s < p->steps; s++) count += p->step[s].kind == kind;
  fixture_close(&job);
  return count;
}

/* Of the features and of each layer, whatever that is made of; these have no gradient of their maximum. */
TEST(each_layer_has_a_readout) {
  static const char *const largest =
      "model.readout_layers = \"all\"\nmodel.layers = 3\nmodel.readout = \"max\"";
  assert_int_equal(count_steps("model.layers = 3", STEP_READOUT), 1);
  assert_int_equal(count_steps("model.readout_layers = \"all\"\nmodel.layers = 3", STEP_READOUT), 4);
  assert_int_equal(count_steps("model.readout_layers = \"all\"\nmodel.layers = 3", STEP_READOUT_BACKWARD), 4);
  assert_int_equal(
      count_steps("model.readout_layers = \"all\"\nmodel.type = \"gin\"\nmodel.layers = 3", STEP_READOUT), 4);
  assert_int_equal(
      count_steps("model.readout_layers = \"all\"\nmodel.type = \"gcnii\"\nmodel.layers = 3", STEP_READOUT),
      5);
  assert_int_equal(count_steps(largest, STEP_READOUT), 4);
  assert_int_equal(count_steps(largest, STEP_READOUT_BACKWARD), 3);
}

TEST(what_never_changes_is_hoisted) {
  int once;
  assert_int_equal(first_kind("model.hidden = 8", &once), STEP_AGGREGATE);
  assert_true(once);
  first_kind("model.hidden = 64\nruntime.once = false", &once);
  assert_false(once);
  first_kind("model.hidden = 64\nmodel.dropout_input = 0.5", &once);
  assert_false(once);
  first_kind("model.type = \"sage\"\nmodel.hidden = 8", &once);
  assert_true(once);
}

static int64_t bytes_with(const char *settings, int *again) {
  fixture_open(&job, &plain, settings);
  const struct program *p = &job.trainer.model.program;
  int64_t bytes = p->bytes;
  *again = 0;
  for (int s = 0; s < p->steps; s++) *again += p->step[s].again;
  fixture_close(&job);
  return bytes;
}

TEST(recomputed_layers_take_less_memory) {
  static const char *const all = "model.type = \"gat\"\nmodel.heads = 4\nmodel.layers = 8\nmodel.hidden = 64";
  char text[256];
  int again;
  const int64_t kept = bytes_with(all, &again);
  assert_int_equal(again, 0);
  snprintf(text, sizeof text, "%s\ntrain.recompute = \"layer\"", all);
  assert_true((double)bytes_with(text, &again) < .6 * (double)kept);
  assert_int_equal(again, 18); /* product, attention and epilogue of six layers */
}

static int repeated;

static void recompute(struct job *of) {
  assert_ok(model_save(&of->trainer.model, &of->run, 1 + repeated));
}

/* With the inside of the lowest layers computed again: as many as fit best. */
TEST(layers_that_are_recomputed_take_less_memory_and_change_no_bit) {
  static const char *const models[] = {
      "model.type = \"gat\"\nmodel.heads = 4", "model.type = \"gcn\"\nmodel.norm = \"batch\"",
      "model.type = \"sage\"\nmodel.norm = \"layer\"\nmodel.residual = true\nruntime.rows = \"all\"",
      "model.readout_layers = \"all\"\nmodel.readout = \"mean\"\nmodel.norm = \"batch\""};
  char text[256];
  fixture_change = recompute;
  for (int m = 0; m < 4; m++) {
    int64_t bytes[6];
    double first[2] = {0};
    snprintf(text, sizeof text, "%s\nmodel.layers = 6\nmodel.hidden = 32\nmodel.dropout = 0.5", models[m]);
    for (repeated = 0; repeated <= 5; repeated++) {
      double loss[2];
      fixture_open(&job, m < 3 ? &plain : &molecules, text);
      const struct program *p = &job.trainer.model.program;
      const int most = m < 3 ? 4 : 5; /* a layer more stands above the readouts */
      assert_int_equal(p->saved.repeated, repeated < most ? repeated : most);
      bytes[repeated] = p->bytes;
      for (int e = 0; e < 2; e++) assert_ok(epoch_train(&job.trainer.epoch, &job.run, e + 1, &loss[e]));
      if (repeated == 0) memcpy(first, loss, sizeof loss);
      assert_memory_equal(loss, first, sizeof loss);
      fixture_close(&job);
    }
    assert_true(bytes[4] < bytes[2] && bytes[2] < bytes[0] && bytes[5] <= bytes[4]);
  }
  fixture_change = NULL;
}
