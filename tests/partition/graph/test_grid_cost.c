/* Which grid of ranks is predicted to take least, beside what was measured (docs/results/scaling.md). */
#include "partition/graph/grid_cost.h"

#include "tests/check.h"

/* GCN 3 x 128 whose first aggregate is computed once; halos and cuts are those of blocks of nodes on 4 ranks,
 * and those of METIS on 6. */
static const struct grid_work reddit = {232965, 114690000, 0, 3, .19, 2, 128, 41},
                              products = {2449029, 131020000, 0, 2.8, .19, 2, 128, 47},
                              dense = {30000, 3000776, 0, 4.95, .54, 2, 128, 16};

static struct grid_machine gpus(const struct cost_model *model, int local_size) {
  return (struct grid_machine){.model = model,
                               .precision = PRECISION_BF16,
                               .network = grid_cost_network(model, local_size),
                               .overlaps = 1,
                               .memory = (int64_t)model->memory_bytes};
}

/* Links of 1 Gbit/s between hosts of two ranks, whose threads are one each. */
static struct grid_machine hosts(int local_size) {
  return (struct grid_machine){.model = &cost_model_cpu,
                               .precision = PRECISION_FP32,
                               .network = grid_cost_network(&cost_model_cpu, local_size),
                               .threads = 1,
                               .memory = INT64_MAX};
}

static double seconds(const struct grid_work *work, const struct grid_machine *machine, int rows, int cols) {
  return grid_cost(work, machine, (struct grid){rows, cols}).all;
}

static void takes(const struct grid_work *work, const struct grid_machine *machine, int rows, int cols,
                  struct grid second) {
  struct grid other = {0, 0};
  const struct grid grid = grid_cost_least(work, machine, rows * cols, &other);
  assert_int_equal(grid.rows, rows);
  assert_int_equal(grid.cols, cols);
  assert_int_equal(other.rows, second.rows);
  assert_int_equal(other.cols, second.cols);
}

/* Measured 1.52, 2.07 and 2.69 ms an epoch; 2.39, 2.97 and 3.34; 6.22, 8.81 and 9.96; 2.37, 3.88 and 4.65. */
TEST(four_gpus_of_a_host_take_parts_alone) {
  const struct grid_machine h200 = gpus(&cost_model_h200, 4), h100 = gpus(&cost_model_h100, 4);
  struct grid_work wide_reddit = reddit, short_products = products;
  wide_reddit.width = short_products.width = 256;
  short_products.sums = 1;
  const struct grid_work *const work[] = {&reddit, &wide_reddit, &products, &short_products};
  for (int i = 0; i < 4; i++) {
    const struct grid_machine *machine = i < 2 ? &h200 : &h100;
    takes(work[i], machine, 4, 1, (struct grid){2, 2});
    assert_true(seconds(work[i], machine, 4, 1) < .9 * seconds(work[i], machine, 2, 2));
    assert_true(seconds(work[i], machine, 2, 2) < .9 * seconds(work[i], machine, 1, 4));
  }
}

/* Measured 559, 388, 348 and 272 ms, in which products with weights are. */
TEST(three_hosts_with_slow_links_take_columns_of_a_dense_graph) {
  const struct grid_machine three = hosts(2);
  takes(&dense, &three, 1, 6, (struct grid){6, 1});
  assert_true(seconds(&dense, &three, 1, 6) < .9 * seconds(&dense, &three, 2, 3));
  assert_true(seconds(&dense, &three, 2, 3) < seconds(&dense, &three, 3, 2));
  assert_true(seconds(&dense, &three, 3, 2) < .7 * seconds(&dense, &three, 6, 1));
  assert_close(seconds(&dense, &three, 6, 1) - seconds(&dense, &three, 3, 2), .171, .03);
}

/* Where rows travel to a host once: measured 388, 375, 354 and 283 ms. */
TEST(they_take_columns_though_rows_travel_once) {
  struct grid_machine three = hosts(2);
  const double before = seconds(&dense, &three, 6, 1);
  three.relays = 1;
  takes(&dense, &three, 1, 6, (struct grid){6, 1});
  assert_true(seconds(&dense, &three, 6, 1) < .6 * before);
  assert_true(seconds(&dense, &three, 1, 6) < .9 * seconds(&dense, &three, 2, 3));
}

TEST(parts_alone_are_taken_where_little_travels_or_ways_are_fast) {
  const struct grid_machine one = hosts(6), three = hosts(2), six = hosts(1), two = gpus(&cost_model_h100, 4);
  struct grid_work sparse = dense, none = dense;
  sparse.halo = .5;
  sparse.arcs = 300000;
  none.sums = 0;
  takes(&dense, &one, 6, 1, (struct grid){3, 2});
  takes(&sparse, &six, 6, 1, (struct grid){3, 2});
  takes(&none, &three, 6, 1, (struct grid){3, 2});
  takes(&reddit, &two, 1, 1, (struct grid){1, 1});
  takes(&reddit, &two, 7, 1, (struct grid){1, 7});
}

TEST(arcs_of_a_part_take_a_quarter_of_the_memory_at_most) {
  struct grid_machine three = hosts(2);
  three.memory = 4 * 2 * dense.arcs * 4;
  takes(&dense, &three, 1, 6, (struct grid){6, 1});
  three.memory -= 4;
  takes(&dense, &three, 2, 3, (struct grid){6, 1});
  three.memory = 4 * 2 * dense.arcs * 4 / 3;
  takes(&dense, &three, 3, 2, (struct grid){6, 1});
  three.memory = 4 * 2 * dense.arcs * 4 / 6;
  takes(&dense, &three, 6, 1, (struct grid){6, 1});
}

/* Rows that come, times what a row takes on the way, where starts take nothing: 4 hosts of a rank each. */
TEST(an_exchange_is_of_the_rows_that_travel) {
  const struct grid_work work = {8000, 80000, 0, 3, .75, 1, 64, 64};
  struct grid_machine machine = gpus(&cost_model_h100, 1);
  machine.network.between = (struct network_link){.start = 0, .byte = 1e-9};
  const double row = 2 * 64 * 2 * 1e-9; /* forward and backward, bf16 */
  assert_close(grid_cost(&work, &machine, (struct grid){4, 1}).exchange, 6000 * row, 1e-12);
  assert_close(grid_cost(&work, &machine, (struct grid){2, 2}).exchange, (2000 + 2 * 1000) * row, 1e-12);
  assert_close(grid_cost(&work, &machine, (struct grid){1, 4}).exchange, 2 * 1500 * row, 1e-12);
}

/* Of two hosts of four ranks: a row of the grid may lie on one of them, half of it, or on both. */
TEST(what_stays_in_a_host_takes_no_time_between_them) {
  const struct grid_work work = {8000, 80000, 0, 7, .875, 1, 64, 64};
  struct grid_machine machine = gpus(&cost_model_h100, 4);
  machine.network.within = (struct network_link){.start = 0, .byte = 1e-15};
  machine.network.between = (struct network_link){.start = 0, .byte = 1e-9};
  const double row = 2 * 64 * 2 * 1e-9;
  assert_close(grid_cost(&work, &machine, (struct grid){8, 1}).exchange, 4000 * row, 1e-9);
  assert_close(grid_cost(&work, &machine, (struct grid){4, 2}).exchange, 6000 / 2 * (2. / 3) * row, 1e-9);
  assert_close(grid_cost(&work, &machine, (struct grid){2, 4}).exchange, 4000 / 4 * row, 1e-9);
  assert_close(grid_cost(&work, &machine, (struct grid){1, 8}).exchange, 2 * 1000 / 8. * 4 * row, 1e-9);
}

/* Of two hosts of four ranks, whose halo would be 1 row a node were each host one part: of 7 rows that come
 * to a rank 4 are from the other host. A row comes to the host once, a quarter of them to each rank, and goes
 * on to the three others; in a grid a half to each of two, and to the other. */
TEST(rows_that_travel_to_a_host_once_are_shared_by_its_ranks) {
  const struct grid_work work = {8000, 8000000, 0, 7, .875, 1, 64, 64};
  struct grid_machine machine = gpus(&cost_model_h100, 4);
  machine.network.stored = (struct network_link){.start = 0, .byte = 1e-10};
  machine.network.between = (struct network_link){.start = 0, .byte = 1e-9};
  machine.relays = 1;
  const double row = 2 * 64 * 2;
  assert_close(grid_cost(&work, &machine, (struct grid){8, 1}).exchange,
               row * (4000 / 4 * 1e-9 + 4000 * .75 * 1e-10), 1e-9);
  machine.network.within = (struct network_link){.start = 0, .byte = 1e-15};
  assert_close(grid_cost(&work, &machine, (struct grid){4, 2}).exchange,
               row / 2 * (4000 / 2 * 1e-9 + 4000 * .5 * 1e-10), 1e-9);
  const struct grid parts = {2, 4};
  const double with = grid_cost(&work, &machine, parts).exchange;
  machine.relays = 0;
  assert_close(grid_cost(&work, &machine, parts).exchange, with, 0);
}

/* Where the second way takes longer than it saves, or nothing is to be saved, they travel as ever. */
TEST(rows_travel_once_where_that_is_shorter) {
  const struct grid_work work = {8000, 8000000, 0, 7, .875, 1, 64, 64};
  struct grid_work more = work;
  struct grid_machine machine = gpus(&cost_model_h100, 4);
  const struct grid parts = {8, 1}, columns = {2, 4};
  machine.network.stored = (struct network_link){.start = 0, .byte = 1e-10};
  machine.network.between = (struct network_link){.start = 0, .byte = 1e-9};
  assert_int_equal(grid_cost_relays(&work, &machine, parts, 8), 0);
  machine.relays = 1;
  assert_int_equal(grid_cost_relays(&work, &machine, parts, 8), 1);
  assert_int_equal(grid_cost_relays(&work, &machine, columns, 8), 0);
  machine.network.stored.start = 64 * 2 * 4000 * 1e-9;
  const double as_ever = grid_cost(&work, &machine, parts).exchange;
  assert_int_equal(grid_cost_relays(&work, &machine, parts, 8), 0);
  machine.relays = 0;
  assert_close(grid_cost(&work, &machine, parts).exchange, as_ever, 0);
  machine.relays = 1; /* of two sums one is wide enough */
  more.sums = 2;
  more.width = 640;
  assert_int_equal(grid_cost_relays(&more, &machine, parts, 8), 1);
  more.sums = 0;
  assert_int_equal(grid_cost_relays(&more, &machine, parts, 8), 0);
}

/* Slices are of eight columns and more: those that have one receive as much as if there were no others. */
TEST(narrow_sums_leave_ranks_idle) {
  const struct grid_work work = {8000, 80000, 0, 3, .75, 1, 16, 16};
  struct grid_machine machine = gpus(&cost_model_h100, 1);
  machine.network.between = (struct network_link){.start = 0, .byte = 1e-9};
  assert_close(grid_cost(&work, &machine, (struct grid){1, 4}).exchange, 2 * 3. * 2000 * 8 * 2 * 2e-9, 1e-12);
}

TEST(what_is_behind_own_columns_takes_a_share_of_the_time_alone) {
  struct grid_machine overlaps = gpus(&cost_model_h100, 4), waits = overlaps;
  waits.overlaps = 0;
  const struct grid_seconds after = grid_cost(&reddit, &waits, (struct grid){4, 1}),
                            beside = grid_cost(&reddit, &overlaps, (struct grid){4, 1});
  assert_close(after.exchange, beside.exchange, 0);
  assert_close(after.all - beside.all, (1 - overlaps.network.beside) * after.exchange, 1e-9);
}

/* Halos and cuts of METIS's parts: soc-Slashdot0902, amazon_computers, and two made ones, without structure
 * and with communities. */
TEST(halos_of_fewer_parts_are_about_what_they_are) {
  enum { GRAPHS = 4, CUTS = 5 };
  static const int parts[CUTS] = {2, 4, 8, 16, 64};
  static const struct {
    int64_t nodes, arcs, halo[CUTS], cut[CUTS];
  } graph[GRAPHS] = {
      {82168, 1086763, {30368, 74889, 135257, 208478, 398785}, {272804, 485030, 623804, 712384, 807788}},
      {13752, 491722, {7171, 15135, 28934, 45412, 101446}, {65424, 111616, 195350, 207008, 329140}},
      {1000000,
       24999970,
       {985691, 2751631, 5837915, 9918117, 17135437},
       {9807200, 16349442, 19257944, 20980848, 22036498}},
      {2449029,
       131011822,
       {2400787, 6727977, 12845587, 19100274, 28300212},
       {19914332, 32200818, 31396214, 31723808, 32828124}}};
  for (int g = 0; g < GRAPHS; g++)
    for (int known = 1; known < CUTS; known++)
      for (int i = 0; i < known; i++) {
        const double nodes = (double)graph[g].nodes;
        const struct grid_work work = {.nodes = graph[g].nodes,
                                       .arcs = graph[g].arcs,
                                       .halo = (double)graph[g].halo[known] / nodes,
                                       .cut = (double)graph[g].cut[known] / (double)graph[g].arcs};
        const double tolerance = parts[known] <= 8 * parts[i] ? .25 : .85;
        assert_close(grid_cost_halo(&work, parts[known], parts[i]) * nodes / (double)graph[g].halo[i], 1,
                     tolerance);
      }
  const struct grid_work all = {.nodes = 8000, .arcs = 8000000, .halo = 63, .cut = .98},
                         none = {.nodes = 8000};
  assert_close(grid_cost_halo(&all, 64, 8), 7, .01);
  assert_close(grid_cost_halo(&all, 64, 1), 0, 0);
  assert_close(grid_cost_halo(&all, 64, 64), 63, 0);
  assert_close(grid_cost_halo(&none, 64, 8), 0, 0);
  assert_close(grid_cost_halo(&none, 1, 1), 0, 0);
}

/* Halos are stored where GPUs reach each other; slices are messages. */
TEST(halos_inside_a_host_are_stored_and_slices_are_messages) {
  const struct grid_work work = {8000, 80000, 0, 3, .75, 1, 64, 64};
  struct grid_machine machine = gpus(&cost_model_h100, 4);
  machine.network.within = (struct network_link){.start = 0, .byte = 4e-9};
  machine.network.stored = (struct network_link){.start = 0, .byte = 1e-9};
  const double row = 2 * 64 * 2 * 1e-9;
  assert_close(grid_cost(&work, &machine, (struct grid){4, 1}).exchange, 6000 * row, 1e-12);
  assert_close(grid_cost(&work, &machine, (struct grid){1, 4}).exchange, 4 * 2 * 1500 * row, 1e-12);
}

TEST(a_port_of_a_host_is_shared_by_its_processors_and_a_gpu_has_its_own) {
  assert_close(grid_cost_network(&cost_model_cpu, 4).between.byte, 4 * 8e-9, 1e-15);
  assert_close(grid_cost_network(&cost_model_h100, 8).between.byte, 1 / 50e9, 1e-18);
  assert_close(grid_cost_network(&cost_model_h100, 8).within.byte, 3.3e-12, 1e-18);
}
