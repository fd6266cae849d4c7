/* With partition.grid = "auto" ranks take the grid that the model of its cost says, all of them the same. */
#include "models/session/job_grid.h"

#include "tests/models/fixture.h"

static struct job job;
RANK_TESTS(job.comm);

static const struct fixture dense = {.nodes = 400, .features = 12, .classes = 24, .arcs = 60};
static const char *const settings = "model.layers = 3\nmodel.hidden = 96\nruntime.rows = \"all\"\n";

/* Each rank on a host of its own, as far as time goes. */
static struct grid_machine machine_with(double byte) {
  return (struct grid_machine){.model = &cost_model_cpu,
                               .precision = PRECISION_FP32,
                               .network = {{0, byte, 0}, {0, byte, 0}, 0, 1, {0, 0, 0}},
                               .threads = 1,
                               .memory = INT64_MAX};
}

static struct grid chosen(const struct grid_machine *machine) {
  struct grid grid = {job.comm.size, 1};
  assert_ok(job_grid_choose(&job.config, &job.comm, &job.dataset, &job.partition, machine, &grid));
  int64_t cols[2] = {grid.cols, -grid.cols};
  assert_ok(comm_reduce(&job.comm, cols, 2, NUMBER_INT64, REDUCE_MAX));
  assert_int_equal(cols[0], -cols[1]); /* all ranks the same */
  assert_int_equal(grid.rows * grid.cols, job.comm.size);
  return grid;
}

TEST(ranks_take_what_the_model_says) {
  const struct model_type *type = NULL;
  const int size = job.comm.size;
  struct grid second;
  fixture_open(&job, &dense, settings);
  assert_ok(model_type_of("gcn", &type));
  const struct grid_work work = job_grid_work(&job.config, type, &job.dataset, &job.partition);
  assert_int_equal(work.sums, 2);
  assert_int_equal(work.width, 96);
  assert_int_equal(work.topmost, 24);
  if (size > 1) assert_int_in_range((int64_t)(100 * work.halo), 90 * (size - 1), 100 * (size - 1));
  const struct grid_machine slow = machine_with(1e-6), fast = machine_with(1e-15);
  const struct grid least = grid_cost_least(&work, &slow, size, &second);
  assert_int_equal(chosen(&slow).cols, least.cols);
  assert_int_equal(chosen(&fast).cols, 1);
  if (size == 4) assert_int_equal(least.cols, 4);
  fixture_close(&job);
}

/* Rank 0 decides, by the least memory of all. */
TEST(what_ranks_differ_in_makes_no_difference) {
  fixture_open(&job, &dense, settings);
  struct grid_machine machine = machine_with(1e-6);
  if (job.comm.rank == job.comm.size - 1) machine.memory = 0;
  assert_int_equal(chosen(&machine).cols, 1);
  machine = machine_with(job.comm.rank == 0 ? 1e-15 : 1e-6);
  assert_int_equal(chosen(&machine).cols, 1);
  fixture_close(&job);
}

static int relayed(const struct grid_machine *machine) {
  int relays = -1;
  assert_ok(job_grid_relays(&job.config, &job.comm, &job.dataset, &job.partition, machine,
                            (struct grid){job.comm.size, 1}, &relays));
  return relays;
}

/* As if two ranks stood on each host: each needs nearly all rows. Where ranks do not stand so, nothing is
 * predicted. */
TEST(rows_travel_to_a_host_once_where_rank_0_predicts_it) {
  struct grid_machine machine = machine_with(1e-6);
  fixture_open(&job, &dense, settings);
  machine.network.local_size = 2;
  machine.network.within.byte = 1e-8;
  assert_int_equal(relayed(&machine), 0);
  machine.relays = 1;
  assert_int_equal(relayed(&machine), job.comm.size > 2);
  machine.network.within.start = 1;
  assert_int_equal(relayed(&machine), 0);
  if (job.comm.rank > 0) machine.network.within.start = 0;
  assert_int_equal(relayed(&machine), 0);
  job.comm.local_size++;
  assert_int_equal(relayed(&machine), 1);
  job.comm.local_size--;
  fixture_close(&job);
}

TEST(whole_rows_stay_whole) {
  const struct grid_machine slow = machine_with(1e-6);
  fixture_open(&job, &dense, "model.type = \"sage\"\nmodel.aggregator = \"max\"\nruntime.rows = \"all\"\n");
  assert_int_equal(chosen(&slow).cols, 1);
  fixture_close(&job);
  fixture_open(&job, &dense, "model.type = \"gat\"\nruntime.rows = \"all\"\n");
  assert_int_equal(chosen(&slow).cols, 1);
  fixture_close(&job);
}
