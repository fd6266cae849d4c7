/* The three archive schemas, and what does not fit together in them. */
#include "io/file/npz.h"
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

/* 0 -> 1, 0 -> 2, 1 -> 2 as CSR; 4 nodes */
static const int64_t indptr[] = {0, 2, 3, 3, 3}, shape[] = {4, 4}, wide[] = {4, 3};
static const int32_t indices[] = {2, 1, 2};
static const float ones[] = {1, 1, 1}, values[] = {2, 3, 4};
static const int64_t labels[] = {0, 1, -1, 1}, train[] = {0}, val[] = {3}, test[] = {1, 2};

#define ARRAY(name, descr, shape, data) \
  { name, descr, shape, data, sizeof(data), 0 }

enum { BENCHMARK = 12 };
static void benchmark_arrays(struct synthetic_array array[BENCHMARK]) {
  const struct synthetic_array all[BENCHMARK] = {
      ARRAY("adj_indptr", "<i8", "(5,)", indptr),  ARRAY("adj_indices", "<i4", "(3,)", indices),
      ARRAY("adj_shape", "<i8", "(2,)", shape),    ARRAY("adj_data", "<f4", "(3,)", ones),
      ARRAY("attr_indptr", "<i8", "(5,)", indptr), ARRAY("attr_indices", "<i4", "(3,)", indices),
      ARRAY("attr_shape", "<i8", "(2,)", wide),    ARRAY("attr_data", "<f4", "(3,)", values),
      ARRAY("labels", "<i8", "(4,)", labels),      ARRAY("train_idx", "<i8", "(1,)", train),
      ARRAY("val_idx", "<i8", "(1,)", val),        ARRAY("test_idx", "<i8", "(2,)", test)};
  memcpy(array, all, sizeof all);
}

TEST(benchmark_archives_are_read) {
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  synthetic_npz("a.npz", array, BENCHMARK);
  struct import import;
  struct import_options options = options_of("npz", "a.npz");
  assert_ok(import_read(&import, &options));
  const struct dataset_source *s = &import.source;
  assert_graph(s, "|0|0 1||");
  assert_true(s->directed);
  assert_int_equal(s->features, 3);
  const int32_t sorted_columns[] = {1, 2, 2};
  const float sorted_values[] = {3, 2, 4};
  assert_memory_equal(s->sparse.start, indptr, sizeof indptr);
  assert_memory_equal(s->sparse.col, sorted_columns, sizeof sorted_columns);
  assert_memory_equal(s->sparse.value, sorted_values, sizeof sorted_values);
  assert_int_equal(s->task, TASK_MULTICLASS);
  assert_int_equal(s->classes, 2);
  const int32_t expected[] = {0, 1, -1, 1};
  assert_memory_equal(s->label, expected, sizeof expected);
  assert_int_equal(s->splits, 1);
  assert_int_equal(s->split[0].count[SPLIT_TRAIN], 1);
  assert_int_equal(s->split[0].node[SPLIT_VAL][0], 3);
  assert_int_equal(s->split[0].count[SPLIT_TEST], 1); /* node 2 has no label */
  assert_int_equal(s->split[0].node[SPLIT_TEST][0], 1);
  assert_int_equal(import.unlabelled, 1);
  import_free(&import);
}

/* Features as a full matrix, one split as masks, of which a part may be missing. */
TEST(full_features_and_single_masks_are_read) {
  enum { MEMBERS = 8 };
  static const float matrix[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const uint8_t val_mask[] = {0, 1, 0, 0}, test_mask[] = {1, 0, 0, 1};
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  array[4] = (struct synthetic_array)ARRAY("attr_matrix", "<f4", "(4, 2)", matrix);
  array[5] = array[8]; /* labels */
  array[6] = (struct synthetic_array)ARRAY("val_mask", "|b1", "(4,)", val_mask);
  array[7] = (struct synthetic_array)ARRAY("test_mask", "|b1", "(4,)", test_mask);
  synthetic_npz("a.npz", array, MEMBERS);
  struct import import;
  struct import_options options = options_of("npz", "a.npz");
  assert_ok(import_read(&import, &options));
  const struct dataset_source *s = &import.source;
  assert_int_equal(s->features, 2);
  assert_memory_equal(s->feature, matrix, sizeof matrix);
  assert_int_equal(s->splits, 1);
  assert_int_equal(s->split[0].count[SPLIT_TRAIN], 0);
  assert_int_equal(s->split[0].node[SPLIT_VAL][0], 1);
  assert_int_equal(s->split[0].node[SPLIT_TEST][1], 3);
  import_free(&import);
}

TEST(members_that_nobody_read_are_listed) {
  struct npz npz;
  struct npy read;
  char list[40], short_list[9];
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  synthetic_npz("a.npz", array, 4);
  assert_ok(npz_open(&npz, "a.npz"));
  assert_ok(npz_read(&npz, "adj_indices", &read));
  npy_free(&read);
  npz_unread(&npz, list, sizeof list);
  npz_unread(&npz, short_list, sizeof short_list);
  assert_string_equal(list, "adj_indptr, adj_shape, adj_data");
  assert_string_equal(short_list, "adj_indp");
  npz_close(&npz);
}

TEST(undirected_weights_and_binary_features_apply) {
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  array[3].data = values;
  synthetic_npz("a.npz", array, BENCHMARK);
  struct import import;
  struct import_options options = options_of("npz", "a.npz");
  options.undirected = options.weights = options.binarize = 1;
  assert_ok(import_read(&import, &options));
  assert_graph(&import.source, "1 2|0 2|0 1||");
  const float weight[] = {3, 2, 3, 4, 2, 4}, binary[] = {1, 1, 1};
  assert_memory_equal(import.source.weight, weight, sizeof weight);
  assert_memory_equal(import.source.sparse.value, binary, sizeof binary);
  assert_false(import.source.directed);
  import_free(&import);
}

TEST(multilabel_in_fortran_order_is_read) {
  static const uint8_t many[] = {1, 0, 0, 1, 0, 1, 0, 1}; /* columns of [4, 2] */
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  array[8] = (struct synthetic_array){"labels", "|u1", "(4, 2)", many, sizeof many, 1};
  synthetic_npz("a.npz", array, 9);
  struct import import;
  struct import_options options = options_of("npz", "a.npz");
  assert_ok(import_read(&import, &options));
  const uint8_t expected[] = {1, 0, 0, 1, 0, 0, 1, 1};
  assert_int_equal(import.source.task, TASK_MULTILABEL);
  assert_int_equal(import.source.classes, 2);
  assert_memory_equal(import.source.labels, expected, sizeof expected);
  assert_int_equal(import.source.splits, 0);
  import_free(&import);
}

static const int64_t pairs[] = {0, 1, 2, 1, 0, 0};
static const float dense[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const uint8_t masks[3][8] = {
    {1, 0, 0, 0, 0, 0, 0, 1}, {0, 1, 0, 0, 1, 0, 0, 0}, {0, 0, 1, 1, 0, 1, 1, 0}};
static const int64_t classes[] = {0, 1, 1, 0};
enum { HETEROPHILOUS = 6 };
static void heterophilous_arrays(struct synthetic_array array[HETEROPHILOUS]) {
  const struct synthetic_array all[HETEROPHILOUS] = {
      ARRAY("edges", "<i8", "(3, 2)", pairs),        ARRAY("node_features", "<f4", "(4, 2)", dense),
      ARRAY("node_labels", "<i8", "(4,)", classes),  ARRAY("train_masks", "|b1", "(2, 4)", masks[0]),
      ARRAY("val_masks", "|b1", "(2, 4)", masks[1]), ARRAY("test_masks", "|b1", "(2, 4)", masks[2])};
  memcpy(array, all, sizeof all);
}

TEST(heterophilous_archives_give_a_split_a_mask) {
  struct synthetic_array array[HETEROPHILOUS];
  heterophilous_arrays(array);
  synthetic_npz("h.npz", array, HETEROPHILOUS);
  struct import import;
  struct import_options options = options_of("npz", "h.npz");
  options.undirected = options.drop_self_loops = 1;
  assert_ok(import_read(&import, &options));
  const struct dataset_source *s = &import.source;
  assert_graph(s, "1|0 2|1||");
  assert_int_equal(s->features, 2);
  assert_memory_equal(s->feature, dense, sizeof dense);
  assert_int_equal(s->splits, 2);
  assert_int_equal(s->split[0].node[SPLIT_TRAIN][0], 0);
  assert_int_equal(s->split[1].node[SPLIT_TRAIN][0], 3);
  assert_int_equal(s->split[1].count[SPLIT_TEST], 2);
  assert_int_equal(s->split[1].node[SPLIT_TEST][1], 2);
  import_free(&import);
}

static int import_scipy(const int64_t *start, const char *rows, const int64_t *size, const char *format,
                        struct import *import) {
  static struct import_options options;
  options = options_of("npz", "s.npz");
  const struct synthetic_array array[] = {{"indptr", "<i8", rows, start, strcmp(rows, "(5,)") ? 24 : 40, 0},
                                          ARRAY("indices", "<i4", "(3,)", indices),
                                          {"shape", "<i8", "(2,)", size, 16, 0},
                                          {"format", "|S3", "()", format, 3, 0},
                                          ARRAY("data", "<f4", "(3,)", values)};
  synthetic_npz("s.npz", array, 5);
  return import_read(import, &options);
}

TEST(scipy_matrices_are_graphs_square_or_bipartite) {
  struct import import;
  assert_ok(import_scipy(indptr, "(5,)", shape, "csr", &import));
  assert_graph(&import.source, "|0|0 1||");
  import_free(&import);
  const int64_t two[] = {0, 2, 3}, rectangle[] = {2, 3}; /* rows 0, 1; columns are nodes 2, 3, 4 */
  assert_ok(import_scipy(two, "(3,)", rectangle, "csr", &import));
  assert_graph(&import.source, "3 4|4||0|0 1|");
  assert_false(import.source.directed);
  import_free(&import);
  assert_fails(import_scipy(indptr, "(5,)", shape, "csc", &import), BAD_INPUT,
               "of format \"csc\"; save it as csr");
  struct import_options options = options_of("npz", "a.npz"); /* the graph is fine, its features are not */
  struct synthetic_array array[BENCHMARK];
  benchmark_arrays(array);
  synthetic_npz("a.npz", array, BENCHMARK);
  options.features = "s.npz";
  assert_fails(import_code(&options), BAD_INPUT, "s.npz: a scipy matrix of format \"csc\"; save it as csr");
  import_free(&import);
}

/* One array replaced at a time. */
TEST(arrays_that_do_not_fit_are_named) {
  static const int64_t falling[] = {0, 2, 1, 3, 3}, ending[] = {0, 2, 2, 2, 2}, negative[] = {-1, 4},
                       huge[] = {4, 2000000000}, five[] = {5, 3}, twice[] = {0}, outside[] = {4},
                       low_labels[] = {0, -2, 0, 0};
  static const int32_t far[] = {2, 4, 2};
  static const float nan_values[] = {1, NAN, 1};
  const struct {
    int at;
    struct synthetic_array array;
    const char *message;
  } bad[] = {
      {0, ARRAY("adj_indptr", "<i8", "(5,)", falling), "a.npz: adj_indptr: offset 2 is smaller"},
      {0, ARRAY("adj_indptr", "<i8", "(5,)", ending), "a.npz: adj_indptr: runs from 0 to 2, expected 0 to 3"},
      {0, ARRAY("adj_indptr", "<i8", "(2,)", shape), "adj_indptr: has 2 offsets for 4 rows"},
      {1, ARRAY("adj_indices", "<i4", "(3,)", far), "adj_indices: element 1 is 4, outside 0 .. 3"},
      {2, ARRAY("adj_shape", "<i8", "(2,)", negative), "adj_shape: -1 x 4"},
      {2, ARRAY("adj_shape", "<i8", "(2,)", huge), "adj_shape: 2000000000 is out of proportion"},
      {2, ARRAY("adj_shape", "<i8", "(1,)", train), "adj_shape: has 1 sizes, expected 2"},
      {3, ARRAY("adj_data", "<f4", "(3,)", nan_values), "adj_data: element 1 is not a finite"},
      {3, ARRAY("adj_data", "<i8", "(2,)", shape), "adj_data: has 2 values for 3 indices"},
      {6, ARRAY("attr_shape", "<i8", "(2,)", five), "attr_indptr: has 5 offsets for 5 rows"},
      {8, ARRAY("labels", "<i8", "(1,)", train), "labels: has 1 rows and 1 dimensions, expected [4 nodes]"},
      {8, ARRAY("labels", "<i8", "(4,)", low_labels), "labels: label -2 of node 1"},
      {10, ARRAY("val_idx", "<i8", "(1,)", twice), "val_idx: node 0 is in train and again in val"},
      {11, ARRAY("test_idx", "<i8", "(1,)", outside), "test_idx: node 4 is outside 0 .. 3"},
      {4, ARRAY("attr_indptr", "|O", "(5,)", indptr), "attr_indptr: holds Python objects"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct synthetic_array array[BENCHMARK];
    benchmark_arrays(array);
    array[bad[i].at] = bad[i].array;
    synthetic_npz("a.npz", array, BENCHMARK);
    struct import_options options = options_of("npz", "a.npz");
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
}

TEST(heterophilous_arrays_must_fit) {
  static const int64_t far[] = {0, 4}, grades[] = {0, 1, 1, 0, 0, 2, 1, 1};
  static const uint8_t grey[8] = {2};
  const struct {
    int at;
    struct synthetic_array array;
    const char *message;
  } bad[] = {
      {0, ARRAY("edges", "<i8", "(1, 2)", far), "h.npz: edges: edge 0 names node 4, outside 0 .. 3"},
      {0, ARRAY("edges", "<i8", "(2,)", far), "edges: expected pairs of node ids"},
      {2, ARRAY("node_labels", "<i8", "(2,)", far), "node_labels: has 2 rows"},
      {2, ARRAY("node_labels", "<i8", "(4, 2)", grades),
       "node_labels: label 1 of node 2 is 2; allowed: 0, 1"},
      {3, ARRAY("train_masks", "|u1", "(2, 4)", grey), "train_masks: element 0 is not 0 or 1"},
      {3,
       {"train_masks", "|b1", "(4611686018427387904, 0)", NULL, 0, 0}, /* 2^62 by 4 is 0 in 64 bits */
       "train_masks: expected a mask for each of 4 nodes"},
      {4, ARRAY("val_masks", "|b1", "(4, 2)", masks[1]), "val_masks: expected a mask for each of 4 nodes"},
      {5, ARRAY("test_masks", "|b1", "(2, 4)", masks[0]), "test_masks: node 0 is in train and again in test"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct synthetic_array array[HETEROPHILOUS];
    heterophilous_arrays(array);
    array[bad[i].at] = bad[i].array;
    synthetic_npz("h.npz", array, HETEROPHILOUS);
    struct import_options options = options_of("npz", "h.npz");
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
}

/* An array without columns may have any number of rows. */
TEST(nodes_are_in_proportion_to_edges) {
  static const int64_t pair[] = {0, 1};
  static const char *const shape_of[] = {"(4611686018427387904, 0)", "(2000000000, 0)"};
  static const char *const message[] = {"e.npz: nodes: 4611686018427387904; at most",
                                        "e.npz: nodes: 2000000000 is out of proportion to the 1 entries"};
  for (int i = 0; i < 2; i++) {
    const struct synthetic_array array[] = {ARRAY("edges", "<i8", "(1, 2)", pair),
                                            {"train_mask", "|b1", shape_of[i], NULL, 0, 0}};
    synthetic_npz("e.npz", array, 2);
    struct import_options options = options_of("npz", "e.npz");
    assert_fails(import_code(&options), BAD_INPUT, message[i]);
  }
}

TEST(unknown_archives_say_what_is_known) {
  const struct synthetic_array array[] = {ARRAY("x", "<i8", "(1,)", train)};
  synthetic_npz("x.npz", array, 1);
  struct import_options options = options_of("npz", "x.npz");
  assert_fails(import_code(&options), BAD_INPUT, "x.npz: not a graph archive: neither adj_indptr");
}
