#include "io/dataset_path.h"
#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"
#include "tests/check.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

static struct dataset whole, block;

AFTER_EACH {
  dataset_close(&whole);
  dataset_close(&block);
}

/* What each rank has of the rows is what one that draws all edges has; the first ranks may have more rows,
 * and the last none. */
static void compare(const char *path, int64_t nodes, int64_t step) {
  int64_t first = smaller(nodes, comm.rank * step);
  int64_t rows = (comm.rank == comm.size - 1 ? nodes : smaller(nodes, first + step)) - first;
  assert_ok(dataset_path_open(&whole, path));
  assert_ok(dataset_path_open(&block, path));
  assert_ok(dataset_hold_rows(&whole, GRAPH_ROWS, 0, nodes));
  assert_ok(comm_agree(&comm, dataset_hold_block(&comm, &block, GRAPH_ROWS, first, rows)));
  const struct dataset_made *all = &whole.made, *mine = &block.made;
  assert_int_equal(mine->first, first);
  assert_int_equal(mine->rows, rows);
  for (int64_t v = 0; v <= rows; v++)
    assert_int_equal(mine->start[v], all->start[first + v] - all->start[first]);
  assert_memory_equal(mine->id, all->id + all->start[first], (size_t)mine->start[rows] * sizeof *mine->id);
  dataset_close(&whole);
  dataset_close(&block);
}

static void compare_all(void) {
  compare("synth:nodes=2000,degree=9,features=2,classes=4", 2000, 2000 / comm.size);
  compare("synth:nodes=2000,degree=9,features=2,classes=4,shuffle", 2000, 300);
  compare("synth:nodes=2000,degree=9,features=2,classes=4,rmat,seed=4", 2000, 1000);
  compare("synth:nodes=5,degree=1,features=2,classes=2", 5, 1);
}

TEST(ranks_that_draw_a_share_have_the_rows_of_one_that_draws_all) {
  compare_all();
}

TEST(pairs_travel_in_rounds_of_any_size) {
  int64_t usual = row_shuffle_block;
  row_shuffle_block = 4096;
  compare_all();
  row_shuffle_block = usual;
}

TEST(a_degree_without_room_is_refused_on_every_rank) {
  assert_ok(dataset_path_open(&block, "synth:nodes=100,degree=99,features=2,classes=2"));
  assert_int_equal(comm_agree(&comm, dataset_hold_block(&comm, &block, GRAPH_ROWS, comm.rank * 10, 10)),
                   BAD_INPUT);
  error_clear();
}
