/* The cost model: which arcs become tiles, and that its predictions follow its constants. */
#include "kernels/cost/cost_csr.h"
#include "kernels/cost/cost_windows.h"

#include "tests/kernels/cost/cost_cases.h"

TEST(bins_keep_cells_and_arcs) {
  struct density density = {0}, twice = {0};
  int64_t sum = 0, cells = 0;
  for (int64_t arcs = 1; arcs <= TILE_CELLS; arcs++, cells++) {
    density_count(&density, arcs);
    sum += arcs;
  }
  assert_int_equal(density_arcs(&density), sum);
  for (int b = 0; b < DENSITY_BINS; b++) {
    cells -= density.cells[b];
    if (!density.cells[b]) continue;
    double mean = (double)density.arcs[b] / (double)density.cells[b];
    struct density one = {0};
    density_count(&one, (int64_t)mean);
    assert_int_equal(one.cells[b], 1); /* the mean of a bin lies in it */
  }
  assert_int_equal(cells, 0);
  density_add(&twice, &density);
  density_add(&twice, &density);
  assert_int_equal(density_arcs(&twice), 2 * sum);
  density = uniform(1280, 30, 100);
  density_add(&density, &(struct density){.cells = {[10] = 100}, .arcs = {[10] = 1000}});
  assert_close(density_share(&density, 64), .75, 1e-9);
}

static int is_tile(const struct cost_case *c, int64_t arcs) {
  return arcs >= cost_tile_least(c, 200000);
}

/* Tiles pay from a few percent on, earlier where they are wide. */
TEST(dense_cells_become_tiles) {
  struct cost_case narrow = on_h200(PRECISION_BF16, 64), wide = on_h200(PRECISION_BF16, 256);
  assert_true(is_tile(&narrow, TILE_CELLS * 35 / 1000));
  assert_false(is_tile(&narrow, TILE_CELLS * 15 / 1000));
  assert_true(is_tile(&wide, TILE_CELLS * 27 / 1000));
  assert_false(is_tile(&wide, TILE_CELLS * 10 / 1000));
  struct cost_case processor = {&cost_model_cpu, PRECISION_FP32, 64, 0, {0, 0}};
  assert_false(is_tile(&processor, TILE_CELLS));
  struct density density = uniform(1 << 20, 1000, TILE_CELLS);
  assert_int_equal(choose(&processor, &density).tiles, 0);
}

static double seconds_of_arcs(const struct choice *choice) {
  return choice->near_seconds + choice->far_seconds;
}

/* Weights have prices of their own in each tier; where the model has none they cost nothing. */
TEST(weights_have_their_prices) {
  struct cost_model model = cost_model_h200;
  struct density density = uniform(128000, 1000 * 200, 700);
  for (int i = 0; i < 2 * COST_WIDTHS; i++) {
    enum cost_element e = i % 2 ? COST_BF16 : COST_FP32;
    struct cost_case binary = {&model, i % 2 ? PRECISION_BF16 : PRECISION_FP32, 32 << i / 2, 0, {0, 0}};
    struct cost_case weighted = binary;
    weighted.weighted = 1;
    struct choice plain = cost_divided(&binary, &density, TILE_CELLS + 1);
    struct choice gathered = cost_divided(&weighted, &density, TILE_CELLS + 1);
    assert_close(seconds_of_arcs(&gathered), model.arc_weighted[e][i / 2] * seconds_of_arcs(&plain), 1e-9);
    struct choice tiled = cost_divided(&binary, &density, 1), dearer = cost_divided(&weighted, &density, 1);
    assert_close(dearer.tile_seconds / tiled.tile_seconds,
                 model.tile_weighted[e][i / 2] / model.tile[e][i / 2], 1e-9);
    assert_true(is_tile(&weighted, TILE_CELLS / 4));
    assert_close(cost_window_rule(&weighted, 200000, &gathered).block, model.block_weighted[e][i / 2], 1e-9);
  }
  for (int w = 0; w < COST_WIDTHS; w++) {
    model.tile_weighted[COST_BF16][w] *= 1e3;
    model.tile_weighted[COST_FP32][w] = model.arc_weighted[COST_FP32][w] = 0;
  }
  struct cost_case dear = {&model, PRECISION_BF16, 128, 1, {0, 0}},
                   free_of = {&model, PRECISION_FP32, 128, 1, {0, 0}};
  struct cost_case binary = {&model, PRECISION_FP32, 128, 0, {0, 0}};
  assert_true(cost_tile_least(&dear, 200000) > TILE_CELLS);
  assert_close(choose(&free_of, &density).seconds, choose(&binary, &density).seconds, 1e-12);
}

/* Whole products as the gather alone was measured: counts of the five graphs by cells are given by their
 * share of near arcs, which one kind of cell reproduces. */
TEST(gathers_are_predicted_as_measured) {
  const struct {
    int64_t rows, arcs, cell; /* cell: arcs in each */
    double bf16, fp32;        /* ms at width 128 */
  } graph[] = {{232965, 114724500, 64, 2.06, 3.68},
               {2449029, 131000504, 54, 3.07, 5.69},
               {169343, 2480650, 24, .0731, .136},
               {403394, 5083962, 38, .158, .302}};
  for (int i = 0; i < 4; i++) {
    struct density density = uniform(graph[i].rows, graph[i].arcs / graph[i].cell, graph[i].cell);
    struct cost_case bf16 = on_h200(PRECISION_BF16, 128), fp32 = on_h200(PRECISION_FP32, 128);
    assert_close(1e3 * choose(&bf16, &density).gather_seconds, graph[i].bf16, .2 * graph[i].bf16);
    assert_close(1e3 * choose(&fp32, &density).gather_seconds, graph[i].fp32, .2 * graph[i].fp32);
  }
}

TEST(predictions_follow_the_constants) {
  struct cost_case c = on_h200(PRECISION_BF16, 128);
  struct density dense = uniform(12800, 100 * 200, TILE_CELLS), sparse = uniform(12800, 100 * 200, 1);
  struct choice choice = choose(&c, &dense);
  assert_int_equal(choice.tiles, 20000);
  assert_close(choice.tile_seconds, 20000 * 8192 * cost_model_h200.tile[COST_BF16][2] * 1e-12, 1e-12);
  assert_true(choice.seconds < choice.gather_seconds / 20);
  choice = choose(&c, &sparse);
  assert_int_equal(choice.tiles, 0);
  assert_close(choice.near_arcs + choice.far_arcs, 20000, 1e-6);
  assert_true(choice.far_arcs > 19000);
  assert_close(choice.seconds, choice.gather_seconds, 0);
}

/* A graph of few tiles and many rows: adding the two tiers' results costs more than the tiles save. */
TEST(few_tiles_are_left_to_the_gather) {
  struct cost_case c = on_h200(PRECISION_BF16, 128);
  struct density density = uniform(10000000, 10000, 2000);
  assert_int_equal(choose(&c, &density).tiles, 0);
  density = uniform(1280, 10000, 2000);
  density.rows = 2000000; /* most of them in windows without tiles */
  assert_int_equal(choose(&c, &density).tiles, 10000);
  assert_int_equal(choose(&c, &density).merged_rows, 1280);
}

/* Tiles that save less of a product than its prediction may be wrong by, or than their kernel takes to start.
 */
TEST(tiles_that_save_little_are_left_to_the_gather) {
  struct cost_case c = on_h200(PRECISION_BF16, 128);
  struct density density = uniform(1280, 10000, 2000);
  density.rows = 100000000;
  struct choice choice = choose(&c, &density);
  assert_int_equal(choice.tiles, 0);
  assert_close(choice.seconds, choice.gather_seconds, 0);
  assert_true(cost_divided(&c, &density, 1900).seconds < choice.seconds);
  density = uniform(128, 3, 2000);
  assert_int_equal(choose(&c, &density).tiles, 0);
  assert_true(cost_divided(&c, &density, 1900).tile_seconds < choose(&c, &density).near_seconds);
  double start = choose(&c, &density).start_seconds, kernel = cost_model_h200.start.kernel * 1e-12;
  assert_close(cost_divided(&c, &density, 1900).start_seconds, start + kernel, 1e-15);
}

/* A product of few arcs takes as long as its kernels take to start and its longest row to be summed. */
TEST(small_products_take_what_starts_them) {
  const struct cost_start *start = &cost_model_h200.start;
  struct density density = uniform(128, 10, 100);
  struct cost_case c = on_h200(PRECISION_BF16, 64);
  double bare = choose(&c, &density).seconds;
  assert_true(bare > start->launch * 1e-12 && bare < 1.05e-12 * start->launch);
  c.rows = (struct cost_rows){200, 0};
  assert_close(choose(&c, &density).seconds - bare, 200e-12 * start->entry, 1e-12);
  c.rows.cut = 1;
  assert_close(choose(&c, &density).seconds - bare, 1e-12 * (200 * start->entry + start->pieces), 1e-12);
  assert_close(cost_divided(&c, &density, 1).start_seconds - choose(&c, &density).start_seconds,
               1e-12 * start->kernel, 1e-12);
}

/* Ten times the rows take more than ten times as long once neither X nor the result fits the caches. */
TEST(rows_cost_more_where_caches_are_too_small) {
  struct cost_case c = on_h200(PRECISION_FP32, 128);
  struct density small = {.rows = 10000, .cols = 10000}, large = {.rows = 10000000, .cols = 10000000};
  double a_row = choose(&c, &small).rest_seconds / 10000, later = choose(&c, &large).rest_seconds / 10000000;
  assert_close(a_row, 1e-12 * (cost_model_h200.result.row + 512 * cost_model_h200.result.byte_cached), 1e-15);
  assert_close(later, 1e-12 * (cost_model_h200.result.row + 512 * cost_model_h200.result.byte), 1e-15);
}

/* Sixteen floats are as many bytes as 32 numbers of bf16. */
TEST(narrow_floats_are_gathered_as_wide_halves) {
  struct density density = uniform(100000, 400000, 3);
  struct cost_case floats = on_h200(PRECISION_FP32, 16), halves = on_h200(PRECISION_BF16, 32);
  struct choice a = choose(&floats, &density), b = choose(&halves, &density);
  assert_close(a.near_seconds, b.near_seconds, 1e-12);
  assert_close(a.far_seconds, b.far_seconds, 1e-12);
  floats.width = 24;
  assert_true(choose(&floats, &density).far_seconds > a.far_seconds);
}

/* 32 bytes at once, from lines of 128. */
TEST(rows_cost_the_sectors_and_lines_they_touch) {
  struct density density = uniform(100000, 400000, 3);
  for (int e = 0; e < 2; e++) {
    const enum precision precision = e ? PRECISION_FP32 : PRECISION_BF16;
    struct cost_case odd = on_h200(precision, e ? 41 : 33), even = on_h200(precision, 48);
    assert_close(choose(&odd, &density).far_seconds, choose(&even, &density).far_seconds, 1e-12);
    struct cost_case fewer = on_h200(precision, 32), line = on_h200(precision, 64);
    const double middle = (choose(&fewer, &density).far_seconds + choose(&line, &density).far_seconds) / 2;
    assert_true(choose(&even, &density).far_seconds > middle);
    assert_true(choose(&even, &density).far_seconds < choose(&line, &density).far_seconds);
  }
  struct cost_case odd = {&cost_model_cpu, PRECISION_FP32, 33, 0, {0, 0}}, even = odd;
  even.width = 40;
  assert_true(choose(&odd, &density).far_seconds <
              choose(&even, &density).far_seconds); /* no processor does */
}

/* Cliques of 80 rows at 32 columns, of which condensed windows are all but full: they replace tiles a third
 * full, but not where they save less than the margin. */
TEST(windows_take_the_place_of_tiles_where_they_are_faster) {
  static struct condensing counts;
  struct cost_case c = on_h200(PRECISION_BF16, 32);
  struct density density = uniform(256000, 6000, 2500);
  for (int i = 0; i < 12500; i++) condensing_window(&counts, 1200, 80, 10);
  struct choice tiles = cost_divided(&c, &density, 2500), gather = cost_divided(&c, &density, TILE_CELLS + 1);
  struct window_rule rule = cost_window_rule(&c, density.cols, &gather);
  struct window_choice none = {0}, all = cost_windows(&rule, &counts);
  assert_int_equal(all.windows, 12500);
  assert_true(cost_windows_replace(&tiles, &none, &gather, &all) ==
              (gather.seconds * 1.1 + all.seconds < tiles.seconds));
  all.seconds = tiles.seconds - 1.11 * gather.seconds;
  assert_true(cost_windows_replace(&tiles, &none, &gather, &all));
  all.seconds = tiles.seconds - 1.09 * gather.seconds;
  assert_false(cost_windows_replace(&tiles, &none, &gather, &all));
  assert_false(cost_windows_replace(&tiles, &none, &gather, &none));
}

/* What all windows take is gather and windows together; where none of the arcs is left the gather's start is
 * saved. */
TEST(a_product_of_windows_alone_needs_no_long_rows) {
  struct cost_case c = on_h200(PRECISION_BF16, 64);
  struct density density = uniform(256000, 6000, 2500);
  int64_t arcs = density_arcs(&density);
  c.rows = (struct cost_rows){128, 1};
  struct window_choice all = {.windows = 16000, .blocks = 80000, .arcs = arcs}, most = all;
  most.arcs = arcs - 1;
  double start = 1e-12 * cost_rows_start(&c);
  assert_true(start > 0);
  assert_close(cost_product_seconds(&c, &density, TILE_CELLS + 1, &most) -
                   cost_product_seconds(&c, &density, TILE_CELLS + 1, &all),
               start, 1e-9);
}

/* A thousand tiles in one window, as hubs have them, take longer than they save, unless there are many more.
 */
TEST(a_window_of_too_many_tiles_saves_nothing) {
  struct cost_case c = on_h200(PRECISION_FP32, 128);
  struct density density = uniform(1 << 20, 3000, 600);
  density_add(&density, &(struct density){.cells = {[1] = 30000000}, .arcs = {[1] = 30000000}});
  struct choice choice = cost_divided(&c, &density, 500);
  assert_int_equal(choice.tiles, 3000);
  assert_false(cost_is_crowded(&c, &choice, 20) && choice.seconds < choice.gather_seconds);
  assert_true(cost_is_crowded(&c, &choice, 2000));
  density = uniform(1 << 18, 200000, 600);
  choice = choose(&c, &density);
  assert_true(choice.tiles > 0);
  assert_false(cost_is_crowded(&c, &choice, 400));
  choice.tiles = 0;
  assert_false(cost_is_crowded(&c, &choice, 0));
}

/* 132 multiprocessors multiply whole windows of 128 rows, and groups of 128 columns. */
TEST(tiles_end_with_the_multiprocessor_that_has_most) {
  const struct cost_case c = on_h200(PRECISION_BF16, 128), wide = on_h200(PRECISION_BF16, 200);
  struct cost_case processor = c;
  processor.model = &cost_model_cpu;
  assert_close(cost_tile_waves(&c, 132 * 128), 1, 1e-12);
  assert_close(cost_tile_waves(&c, 132 * 128 + 1), 2 * 132. / 133, 1e-12);
  assert_close(cost_tile_waves(&c, 58242), 4 * 132. / 456, 1e-12);
  assert_close(cost_tile_waves(&wide, 66 * 128), 1, 1e-12);
  assert_close(cost_tile_waves(&c, 0), 1, 1e-12);
  assert_close(cost_tile_waves(&processor, 100), 1, 1e-12);
}

TEST(costs_grow_with_width_precision_and_size) {
  const enum precision precisions[] = {PRECISION_BF16, PRECISION_FP32, PRECISION_FP64};
  struct density small = uniform(1000, 50000, 20), large = small;
  large.cols = 50000000;
  double before = 0;
  for (int i = 0; i < 3; i++) {
    double narrower = 0;
    for (int64_t width = 1; width <= 4096; width = width * 3 / 2 + 1) {
      struct cost_case c = on_h200(precisions[i], width), wider = on_h200(precisions[i], 2 * width + 16);
      double seconds = choose(&c, &small).seconds;
      assert_true(seconds >= narrower); /* equal within a sector */
      assert_true(choose(&wider, &small).seconds > seconds);
      assert_true(choose(&c, &large).seconds > seconds || width < 32);
      narrower = seconds;
    }
    assert_true(narrower > before);
    before = narrower;
  }
}

/* Plain rows are as slow as a gather that cuts nothing, slower by a hub that is not cut, and by ids that
 * each group of warps reads. */
TEST(plain_rows_cost_their_longest_and_ids_again) {
  const struct density density = uniform(128000, 4000, 100);
  for (int64_t width = 32; width <= 512; width *= 2) {
    struct cost_case c = on_h200(PRECISION_BF16, width);
    const double gather = cost_divided(&c, &density, TILE_CELLS + 1).seconds,
                 ids = (double)(density_arcs(&density) * 4 + density.rows * 8) * cost_model_h200.pass.byte;
    const double warps = width < 64 ? 1 : (double)width / 64;
    assert_close(cost_csr_seconds(&c, &density), gather + (warps - 1) * ids * 1e-12, 1e-15);
    c.rows.longest = 1000000;
    assert_close(cost_csr_seconds(&c, &density) - gather - (warps - 1) * ids * 1e-12,
                 1e6 * cost_model_h200.start.entry * 1e-12, 1e-12);
  }
}

/* Column vectors that take all arcs of as many blocks and windows cost half of what windows cost beside the
 * gather; those that take none cost nothing. */
TEST(vectors_cost_halves_of_windows) {
  const struct density density = uniform(256000, 6000, 2500);
  const int64_t arcs = density_arcs(&density) / 2;
  for (int weighted = 0; weighted < 2; weighted++) {
    struct cost_case c = on_h200(PRECISION_BF16, 64);
    c.weighted = weighted;
    const struct window_choice windows = {.windows = 16000, .blocks = 80000, .arcs = arcs},
                               none = {.vectors = 3};
    struct window_choice vectors = windows;
    vectors.vectors = 3;
    const struct choice gather = cost_divided(&c, &density, TILE_CELLS + 1);
    const struct window_rule rule = cost_window_rule(&c, density.cols, &gather);
    const double of_windows = 5 * rule.chain + 16000 * rule.window + 80000 * rule.block;
    assert_close(cost_product_seconds(&c, &density, TILE_CELLS + 1, &windows) -
                     cost_product_seconds(&c, &density, TILE_CELLS + 1, &vectors),
                 of_windows / 2 * 1e-12, 1e-12);
    assert_close(cost_product_seconds(&c, &density, TILE_CELLS + 1, &none), gather.seconds, 1e-15);
  }
}

/* What no order changes, starts and the rows of the result, is in both. */
TEST(no_order_takes_less_than_the_least) {
  for (int i = 0; i < 2; i++) {
    struct cost_case c = on_h200(i ? PRECISION_BF16 : PRECISION_FP32, 128);
    c.rows = (struct cost_rows){100, 1};
    struct density none = {.rows = 3000000, .cols = 3000000}, all = uniform(1280, 30, 100);
    assert_close(cost_least(&c, none.rows, 0), choose(&c, &none).seconds, 1e-12);
    assert_true(cost_least(&c, all.rows, density_arcs(&all)) < choose(&c, &all).seconds);
  }
}

TEST(the_explanation_names_the_shares) {
  char text[400], cut[20];
  struct cost_case c = on_h200(PRECISION_BF16, 128);
  struct density density = uniform(12800, 20000, 800);
  density_add(&density, &(struct density){.cells = {[1] = 4000000}, .arcs = {[1] = 4000000}});
  cost_explain(&c, &density, text, sizeof text);
  assert_non_null(strstr(text, "ms at width 128 in bf16 on NVIDIA H200: 80.0% of the arcs in 20000 tiles"));
  assert_non_null(strstr(text, "afar"));
  assert_true(strlen(cost_explain(&c, &density, cut, sizeof cut)) < sizeof cut);
}
