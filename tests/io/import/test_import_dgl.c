/* DGL's Reddit: both archives, both forms of the matrix, and what does not fit together in them. */
#include <sys/stat.h>

#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

#define ARRAY(name, descr, shape, data) \
  { name, descr, shape, data, sizeof(data), 0 }

/* 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 1; 3 nodes */
static const int64_t shape[] = {3, 3}, label[] = {1, 0, 1};
static const int32_t row[] = {0, 1, 1, 2}, col[] = {1, 0, 2, 1}, far[] = {1, 0, 3, 1},
                     indptr[] = {0, 1, 3, 4};
static const double ones[] = {1, 1, 1, 1};
static const float feature[] = {1, 2, 3, 4, 5, 6};
static const int32_t types[] = {1, 3, 2}, none[] = {1, 0, 2}, strange[] = {1, 4, 2};

enum { COO = 5, DATA = 3 };

static void make_coo(const char *path, const int32_t *cols) {
  const struct synthetic_array array[COO] = {ARRAY("row", "<i4", "(4,)", row),
                                             {"col", "<i4", "(4,)", cols, sizeof col, 0},
                                             {"format", "|S3", "()", "coo", 3, 0},
                                             ARRAY("shape", "<i8", "(2,)", shape),
                                             ARRAY("data", "<f8", "(4,)", ones)};
  synthetic_npz(path, array, COO);
}

static void make_data(const int32_t *type, const char *rows) {
  const struct synthetic_array array[DATA] = {{"feature", "<f4", rows, feature, sizeof feature, 0},
                                              ARRAY("label", "<i8", "(3,)", label),
                                              {"node_types", "<i4", "(3,)", type, sizeof types, 0}};
  synthetic_npz("reddit/reddit_data.npz", array, DATA);
}

static void start(void) {
  if (system("rm -rf reddit") != 0) fail_msg("%s", "rm");
  assert_int_equal(mkdir("reddit", 0777), 0);
  make_data(types, "(3, 2)");
}

static void assert_reddit(const struct dataset_source *s) {
  const int32_t expected[] = {1, 0, 1};
  assert_graph(s, "1|0 2|1|");
  assert_false(s->directed);
  assert_null(s->weight);
  assert_int_equal(s->features, 2);
  assert_memory_equal(s->feature, feature, sizeof feature);
  assert_int_equal(s->classes, 2);
  assert_memory_equal(s->label, expected, sizeof expected);
  assert_int_equal(s->split[0].node[SPLIT_TRAIN][0], 0);
  assert_int_equal(s->split[0].node[SPLIT_VAL][0], 2);
  assert_int_equal(s->split[0].node[SPLIT_TEST][0], 1);
}

TEST(both_forms_of_the_matrix_are_read) {
  struct import import;
  struct import_options options = options_of("dgl", "reddit");
  start();
  make_coo("reddit/reddit_graph.npz", col);
  assert_ok(import_read(&import, &options));
  assert_reddit(&import.source);
  import_free(&import);

  const struct synthetic_array csr[] = {ARRAY("indptr", "<i4", "(4,)", indptr),
                                        ARRAY("indices", "<i4", "(4,)", col),
                                        {"format", "|S3", "()", "csr", 3, 0},
                                        ARRAY("shape", "<i8", "(2,)", shape),
                                        ARRAY("data", "<f8", "(4,)", ones)};
  start();
  synthetic_npz("reddit/reddit_self_loop_graph.npz", csr, 5);
  assert_ok(import_read(&import, &options));
  assert_reddit(&import.source);
  import_free(&import);
}

TEST(nodes_may_be_in_no_part) {
  struct import import;
  struct import_options options = options_of("dgl", "reddit");
  start();
  make_coo("reddit/reddit_graph.npz", col);
  make_data(none, "(3, 2)");
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.split[0].count[SPLIT_TEST], 0);
  import_free(&import);
}

TEST(coordinates_alone_are_a_graph) {
  struct import import;
  struct import_options options = options_of("npz", "coo.npz");
  make_coo("coo.npz", col);
  assert_ok(import_read(&import, &options));
  assert_graph(&import.source, "1|0 2|1|");
  import_free(&import);
}

TEST(what_does_not_fit_is_named) {
  struct import_options options = options_of("dgl", "reddit");
  start();
  assert_fails(import_code(&options), BAD_INPUT,
               "reddit: holds neither reddit_graph.npz nor reddit_self_loop_graph.npz");
  make_coo("reddit/reddit_graph.npz", far);
  assert_fails(import_code(&options), BAD_INPUT, "reddit_graph.npz: col: element 2 is 3, outside 0 .. 2");
  make_coo("reddit/reddit_graph.npz", col);
  make_data(strange, "(3, 2)");
  assert_fails(import_code(&options), BAD_INPUT,
               "reddit_data.npz: node_types: node 1 has type 4; allowed: 0");
  make_data(types, "(2, 3)");
  assert_fails(import_code(&options), BAD_INPUT, "reddit_data.npz: feature: has 2 rows");
  const struct synthetic_array few[DATA] = {ARRAY("feature", "<f4", "(3, 2)", feature),
                                            ARRAY("label", "<i8", "(3,)", label),
                                            {"node_types", "<i4", "(2,)", types, 8, 0}};
  synthetic_npz("reddit/reddit_data.npz", few, DATA);
  assert_fails(import_code(&options), BAD_INPUT,
               "node_types: has 2 elements, expected one for each of 3 nodes");
  make_data(types, "(2, 3)");
  assert_fails(import_code(&options), BAD_INPUT, "reddit_data.npz: feature: has 2 rows");
  assert_int_equal(remove("reddit/reddit_data.npz"), 0);
  assert_fails(import_code(&options), BAD_INPUT, "reddit/reddit_data.npz: cannot be opened");
  const struct synthetic_array csc[] = {ARRAY("indptr", "<i4", "(4,)", indptr),
                                        ARRAY("indices", "<i4", "(4,)", col),
                                        {"format", "|S3", "()", "csc", 3, 0},
                                        ARRAY("shape", "<i8", "(2,)", shape),
                                        ARRAY("data", "<f8", "(4,)", ones)};
  synthetic_npz("reddit/reddit_graph.npz", csc, 5);
  assert_fails(import_code(&options), BAD_INPUT, "a scipy matrix of format \"csc\"; save it as csr or coo");
  const struct synthetic_array cut[] = {{"row", "<i4", "(3,)", row, 12, 0},
                                        ARRAY("col", "<i4", "(4,)", col),
                                        ARRAY("shape", "<i8", "(2,)", shape),
                                        ARRAY("data", "<f8", "(4,)", ones)};
  synthetic_npz("reddit/reddit_graph.npz", cut, 4);
  assert_fails(import_code(&options), BAD_INPUT,
               "3 rows, 4 columns and 4 values of entries do not go together");
}
