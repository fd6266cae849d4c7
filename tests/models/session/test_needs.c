/* What a run needs at the least lies below what it is found to need once its shards are known, whatever the
 * model, and is refused where there is less. */
#include "models/session/needs.h"
#include "tests/models/layers/slope.h"

static void is_no_more_than_the_estimate(const struct fixture *f, const char *settings) {
  struct estimate least = {0};
  fixture_open(&job, f, settings);
  int64_t exact = estimate_total(&job.footprint.host);
  needs_add(&job.config, &job.dataset, job.type->on_hypergraph, job.comm.size, &least, &least);
  assert_ok(comm_sum_int64(&job.comm, &exact));
  if (estimate_total(&least) > exact)
    fail_msg("%s: at least %lld, estimated %lld", settings, (long long)estimate_total(&least),
             (long long)exact);
  fixture_close(&job);
}

/* Large enough for the rows to be more than what every program has. */
static const struct fixture many = {.nodes = 300, .features = 3000, .classes = 40, .weighted = 1};
static const struct fixture thin = {.nodes = 300, .features = 9000, .classes = 40, .sparse = 1};
static const struct fixture hyper = {.nodes = 300, .features = 3000, .classes = 40, .hyperedges = 300};
static const struct fixture binary = {.nodes = 300, .features = 3000, .classes = 40};

TEST(a_bound_holds_for_every_model) {
  static const char *const of_graphs[] = {"gcn", "sage", "gin", "gcnii", "mlp", "sgc", "appnp"};
  static const char *const of_hypergraphs[] = {"hgnn", "unigin", "unigcnii"};
  char text[256];
  for (int i = 0; i < 7; i++) {
    snprintf(text, sizeof text, "model.type = \"%s\"\nmodel.layers = 3\nmodel.hidden = 256", of_graphs[i]);
    is_no_more_than_the_estimate(&many, text);
  }
  for (int i = 0; i < 3; i++) {
    snprintf(text, sizeof text, "model.type = \"%s\"\nmodel.layers = 3\nmodel.hidden = 256",
             of_hypergraphs[i]);
    is_no_more_than_the_estimate(&hyper, text);
  }
  is_no_more_than_the_estimate(&binary, "model.type = \"gat\"\nmodel.heads = 4\nmodel.hidden = 256");
  is_no_more_than_the_estimate(&binary, "model.type = \"gatv2\"\nmodel.heads = 4\nmodel.hidden = 256");
  is_no_more_than_the_estimate(&binary, "model.type = \"agnn\"\nmodel.layers = 4\nmodel.hidden = 256");
}

TEST(a_bound_holds_for_every_setting) {
  static const char *const setting[] = {
      "runtime.precision = \"fp64\"\nmodel.hidden = 256",
      "train.recompute = \"layer\"\nmodel.layers = 6\nmodel.hidden = 256\nmodel.norm = \"layer\"",
      "runtime.once = false\nmodel.hidden = 256",
      "model.dropout_input = 0.5\nmodel.hidden = 256",
      "model.layers = 1",
      "model.type = \"sage\"\nmodel.hidden = 8",
  };
  for (int i = 0; i < 6; i++) is_no_more_than_the_estimate(&many, setting[i]);
  is_no_more_than_the_estimate(&thin, "model.hidden = 256");
  is_no_more_than_the_estimate(&thin, "model.hidden = 256\nruntime.precision = \"fp64\"");
}

/* On a device with memory of its own the hosts hold the floats, the device what it computes in. */
TEST(devices_are_refused_what_they_cannot_hold) {
  static struct config config;
  const struct dataset dataset = {
      .nodes = 1000000, .features = 1000, .classes = 10, .edges = 50000000, .has_graph = 1};
  struct estimate host = {0}, device = {0};
  assert_ok(config_parse(
      &config, "model.hidden = 500\nmodel.layers = 3\nruntime.precision = \"bf16\"\nruntime.rows = \"all\"",
      "test"));
  needs_add(&config, &dataset, 0, 4, &host, &device);
  int64_t outputs = 1000000LL * (1000 * 2 + 2 * 500 * 2 + 10 * 4), weights = 4LL * 1000 * 500;
  assert_int_equal(estimate_total(&device), outputs + weights * 4 * 4);
  assert_int_equal(estimate_total(&host), 4000000000 + 50000000LL * 4 + 8000000 + weights * 5 * 8);
  assert_ok(needs_check(&device, "GPU memory", 4, estimate_total(&device)));
  assert_fails(
      needs_check(&device, "GPU memory", 4, estimate_total(&device) - 1), FAILED,
      "out of GPU memory: training takes at least 3.8 GiB on 4 ranks together (1.9 GiB for features, ");
  assert_fails(needs_check(&device, "GPU memory", 4, 1 << 30), FAILED, "use more ranks, runtime.precision");
  assert_fails(needs_check(&host, "memory", 4, 1 << 30), FAILED, "use more nodes, ");
}

/* Where rows may be left out, an evaluation's outputs are what is there in any case. */
TEST(rows_that_are_left_out_are_not_asked_for) {
  static struct config config;
  const struct dataset dataset = {.nodes = 1000, .features = 10, .classes = 10, .edges = 1, .has_graph = 1};
  struct estimate host = {0}, all = {0}, needed = {0};
  assert_ok(config_parse(&config, "model.hidden = 500\nmodel.layers = 3\nruntime.rows = \"all\"", "test"));
  needs_add(&config, &dataset, 0, 1, &host, &all);
  config.runtime.rows = ROWS_NEEDED;
  needs_add(&config, &dataset, 0, 1, &host, &needed);
  assert_int_equal(estimate_total(&all) - estimate_total(&needed), 1000 * 500 * 4);
}

/* Of layers whose outputs may wait in the host's memory a device holds two. */
TEST(outputs_that_may_wait_are_not_asked_for) {
  static struct config config;
  const struct dataset dataset = {.nodes = 1000, .features = 10, .classes = 10, .edges = 1, .has_graph = 1};
  struct estimate host = {0}, waiting = {0}, kept = {0};
  assert_ok(config_parse(&config, "model.hidden = 500\nmodel.layers = 8\nruntime.rows = \"all\"", "test"));
  needs_add(&config, &dataset, 0, 1, &host, &waiting);
  config.runtime.offload = OFFLOAD_NONE;
  needs_add(&config, &dataset, 0, 1, &host, &kept);
  assert_int_equal(estimate_total(&kept) - estimate_total(&waiting), 5 * 1000 * 500 * 4);
}

TEST(claims_do_not_overflow) {
  static struct config config;
  const struct dataset dataset = {.nodes = INT32_MAX,
                                  .features = INT32_MAX,
                                  .classes = 1000000,
                                  .edges = INT64_MAX,
                                  .weighted = 1,
                                  .has_graph = 1};
  struct estimate both = {0};
  assert_ok(config_parse(&config, "", "test"));
  needs_add(&config, &dataset, 0, 1 << 20, &both, &both);
  assert_true(estimate_total(&both) > (int64_t)1 << 54);
  assert_fails(needs_check(&both, "memory", 1, memory_limit(1)), FAILED, "out of memory");
}
