#include "io/dataset_path.h"
#include "io/synth/synth.h"
#include "tests/check.h"

/* A kind of graph, as the name of a dataset and as options. */
static const struct kind {
  const char *path;
  int shuffle, rmat;
  int64_t hyperedges;
} kinds[] = {
    {"synth:nodes=3000,degree=9.25,features=5,classes=4,seed=3", 0, 0, 0},
    {"synth:nodes=3000,degree=9.25,features=5,classes=4,shuffle,seed=3", 1, 0, 0},
    {"synth:rmat,nodes=3000,degree=9.25,features=5,classes=4,seed=3", 0, 1, 0},
    {"synth:nodes=3000,degree=9.25,features=5,classes=4,seed=3,hyperedges=2000", 0, 0, 2000},
    {"synth:nodes=3000,degree=9.25,features=5,classes=4,seed=3,hyperedges=2000,shuffle", 1, 0, 2000}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct dataset dataset;
static struct dataset_source whole;
static struct synth_features features;

static void unmake(void) {
  dataset_close(&dataset);
  dataset_source_free(&whole);
  synth_features_free(&features);
}

AFTER_EACH {
  unmake();
}

/* The whole as `gnndata synth` makes it, and the same by name. */
static void make(const struct kind *kind) {
  struct synth synth;
  synth_default(&synth);
  synth.nodes = 3000;
  synth.degree = 9.25;
  synth.features = 5;
  synth.classes = 4;
  synth.seed = 3;
  synth.shuffle = kind->shuffle;
  synth.rmat = kind->rmat;
  synth.hyperedges = kind->hyperedges;
  assert_ok(synth_make(&synth, &whole, &features));
  assert_ok(dataset_path_probe(kind->path));
  assert_ok(dataset_path_open(&dataset, kind->path));
}

/* Rows [first, first + rows) as a rank reads them, in two steps. */
static void compare_rows(enum rows_kind kind, int64_t first, int64_t rows) {
  const int64_t *start = (kind == GRAPH_ROWS ? whole.start : whole.hyper.start) + first;
  const int32_t *id = (kind == GRAPH_ROWS ? whole.col : whole.hyper.vertex) + start[0];
  const int64_t count = start[rows] - start[0], half = count / 2, step = rows / 3;
  int64_t *offset = malloc((size_t)(rows + 1) * sizeof *offset);
  int32_t *read = malloc((size_t)(count + 1) * sizeof *read);
  assert_ok(dataset_hold_rows(&dataset, kind, first, rows));
  assert_ok(dataset_read_starts(&dataset, kind, first, step, offset));
  assert_ok(dataset_read_starts(&dataset, kind, first + step, rows - step, offset + step));
  for (int64_t v = 0; v <= rows; v++) assert_int_equal(offset[v], start[v] - start[0]);
  assert_ok(dataset_read_entries(&dataset, kind, 0, half, read, NULL));
  assert_ok(dataset_read_entries(&dataset, kind, half, count - half, read + half, NULL));
  assert_memory_equal(read, id, (size_t)count * sizeof *id);
  free(offset);
  free(read);
}

TEST(rows_in_blocks_are_those_of_the_whole) {
  for (int k = 0; k < KINDS; k++) {
    make(&kinds[k]);
    enum rows_kind kind = kinds[k].hyperedges ? HYPER_ROWS : GRAPH_ROWS;
    int64_t all = kinds[k].hyperedges ? 2000 : 3000;
    compare_rows(kind, 0, 700);
    compare_rows(kind, 700, 1);
    compare_rows(kind, 701, all - 701);
    compare_rows(kind, 0, all);
    unmake();
  }
}

TEST(what_nodes_have_is_that_of_the_whole) {
  for (int k = 0; k < KINDS; k++) {
    float made[2][5 * 1000];
    int32_t label[1000];
    make(&kinds[k]);
    for (int64_t first = 0; first < 3000; first += 1000) {
      assert_ok(whole.made.rows(whole.made.context, first, 1000, made[0]));
      assert_ok(dataset_read_features(&dataset, first, 1000, made[1]));
      assert_memory_equal(made[1], made[0], sizeof made[0]);
      assert_ok(dataset_read_label(&dataset, first, 1000, label));
      assert_memory_equal(label, whole.label + first, sizeof label);
    }
    for (int part = 0; part < SPLIT_COUNT; part++) {
      int64_t *node, count;
      assert_ok(dataset_read_split(&dataset, 0, (enum split)part, &node, &count));
      assert_int_equal(count, whole.split->count[part]);
      assert_memory_equal(node, whole.split->node[part], (size_t)count * sizeof *node);
      free(node);
    }
    unmake();
  }
}

TEST(the_number_of_arcs_is_about_right_until_all_rows_were_held) {
  make(&kinds[0]);
  assert_int_equal(dataset.edges, 27750);
  assert_ok(dataset_hold_rows(&dataset, GRAPH_ROWS, 100, 50));
  assert_int_equal(dataset.edges, 27750);
  assert_ok(dataset_hold_rows(&dataset, GRAPH_ROWS, 0, 3000));
  assert_int_equal(dataset.edges, whole.start[3000]);
  assert_int_equal(dataset.rows[GRAPH_ROWS].entries, whole.start[3000]);
  assert_true(whole.start[3000] != 27750);
}

/* Nothing of it was read. */
static void refuses(const char *list, const char *message) {
  char path[256];
  snprintf(path, sizeof path, "synth:%s", list);
  assert_fails(dataset_path_open(&dataset, path), BAD_INPUT, message);
  dataset_close(&dataset);
}

TEST(what_is_wrong_is_named) {
  refuses("", "synth:nodes N is missing: number of nodes");
  refuses("nodes=10,degree=3,features=4", "synth:classes C is missing");
  refuses("nodes=1", "synth:nodes is \"1\"; allowed: a whole number from 2 to 2147483647");
  refuses("nodes=1e6", "synth:nodes is \"1e6\"; allowed: a whole number");
  refuses("nodes", "synth:nodes needs a value: N");
  refuses("nodes=", "synth:nodes needs a value: N");
  refuses("nodse=5",
          "unknown option \"synth:nodse=5\"; did you mean synth:nodes? gnndata synth --help lists all");
  refuses("nodes=5,,degree=3", "unknown option \"synth:\"");
  refuses("rmat=1", "synth:rmat takes no value, \"1\" was given");
  refuses("nodes=100,degree=3,features=4,classes=2,rmat,inside=.5",
          "synth:inside does not go with synth:rmat, ");
  refuses("nodes=100,degree=3,features=4,classes=2,size-power=.5",
          "synth:size-power goes with synth:hyperedges");
  refuses("nodes=100,degree=3,features=4,classes=90", "50 communities cannot carry 90 classes");
  refuses("nodes=100,degree=3,features=4,classes=2,train=.9,val=.2", "train and val are 0.9 and 0.2");
  refuses("nodes=100,degree=3,features=4,classes=2,hyperedges=1",
          "1 hyperedges of 300 vertices each on average");
}

TEST(more_arcs_than_there_is_room_for_are_refused_when_rows_are_made) {
  assert_ok(dataset_path_open(&dataset, "synth:nodes=100,degree=99,features=4,classes=2"));
  assert_fails(dataset_hold_rows(&dataset, GRAPH_ROWS, 0, 10), BAD_INPUT, "a mean degree of 99 is more than");
}
