/* Features, labels and splits given beside the graph. */
#include <omp.h>

#include "io/import/tickets.h"
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

enum { NODES = 6 };
static const char ring[] = "10 20\n20 30\n30 40\n40 50\n50 60\n60 10\n";

/* Imports the ring with these options; the caller frees. */
static int import_ring(struct import *import, const char *features, const char *labels, const char *split) {
  static struct import_options options;
  synthetic_text("ring", ring);
  options = options_of("edgelist", "ring");
  options.features = features;
  options.labels = labels;
  options.split = split;
  return import_read(import, &options);
}

TEST(features_come_from_csv_npy_and_npz) {
  struct import import;
  float expected[2 * NODES];
  for (int i = 0; i < 2 * NODES; i++) expected[i] = (float)i / 8;
  synthetic_text("f.csv", "# two columns\n0,0.125\n.25 .375\n0.5,0.625\n0.75\t0.875\n1,1.125\n1.25, 1.375\n");
  assert_ok(import_ring(&import, "f.csv", NULL, NULL));
  assert_int_equal(import.source.features, 2);
  assert_memory_equal(import.source.feature, expected, sizeof expected);
  import_free(&import);
  size_t size;
  void *bytes = synthetic_npy("<f4", "(6, 2)", 0, 1, expected, sizeof expected, &size);
  synthetic_file("f.npy", bytes, size);
  free(bytes);
  assert_ok(import_ring(&import, "f.npy", NULL, NULL));
  assert_int_equal(import.source.features, 2);
  assert_memory_equal(import.source.feature, expected, sizeof expected);
  import_free(&import);
  const int64_t indptr[] = {0, 1, 1, 1, 1, 1, 2}, shape[] = {6, 9}, column[] = {8, 0};
  const struct synthetic_array array[] = {{"indptr", "<i8", "(7,)", indptr, sizeof indptr, 0},
                                          {"indices", "<i8", "(2,)", column, sizeof column, 0},
                                          {"shape", "<i8", "(2,)", shape, sizeof shape, 0},
                                          {"data", "<f4", "(2,)", expected + 1, 8, 0}};
  synthetic_npz("f.npz", array, 4);
  assert_ok(import_ring(&import, "f.npz", NULL, NULL));
  assert_int_equal(import.source.features, 9);
  assert_int_equal(import.source.sparse.col[0], 8);
  assert_true(import.source.sparse.value[1] == expected[2]);
  import_free(&import);
}

TEST(random_features_depend_on_the_seed_alone) {
  enum { ROWS = 1000, COLUMNS = 7 };
  struct import a, b;
  synthetic_text("list", "0 999\n");
  struct import_options options = options_of("edgelist", "list");
  options.nodes = ROWS;
  options.features = "random:7";
  options.seed = 5;
  assert_ok(import_read(&a, &options));
  assert_ok(import_read(&b, &options));
  assert_memory_equal(a.source.feature, b.source.feature, ROWS * COLUMNS * sizeof(float));
  import_free(&b);
  options.seed = 6;
  assert_ok(import_read(&b, &options));
  assert_memory_not_equal(a.source.feature, b.source.feature, ROWS * COLUMNS * sizeof(float));
  double sum = 0, squares = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    sum += (double)a.source.feature[i];
    squares += (double)a.source.feature[i] * (double)a.source.feature[i];
  }
  assert_close(sum / (ROWS * COLUMNS), 0, .05);
  assert_close(squares / (ROWS * COLUMNS), 1, .07);
  import_free(&a);
  import_free(&b);
}

static void assert_labels(const char *content, int64_t classes, const int32_t *expected) {
  struct import import;
  synthetic_text("labels", content);
  assert_ok(import_ring(&import, NULL, "labels", NULL));
  assert_int_equal(import.source.classes, classes);
  assert_memory_equal(import.source.label, expected, NODES * sizeof *expected);
  assert_int_equal(import.source.task, TASK_MULTICLASS);
  import_free(&import);
}

TEST(label_files_are_read_in_both_forms) {
  assert_labels("0\n1\n2\n-1\n1\n0\n", 3, (const int32_t[]){0, 1, 2, -1, 1, 0});
  assert_labels("# note\n 5\r\n7 \n11\n-1\n7\n5", 3, (const int32_t[]){0, 1, 2, -1, 1, 0});
  assert_labels("cat\nant\nbee\n-1\nant\ncat\n", 3, (const int32_t[]){2, 0, 1, -1, 0, 2});
  assert_labels("10\n9\n10\n9\nx\nx\n", 3, (const int32_t[]){0, 1, 0, 1, 2, 2}); /* words: "10" < "9" < "x" */
  assert_labels("cat\nant\nbee\nnan\nant\nNaN\n", 3, (const int32_t[]){2, 0, 1, -1, 0, -1});
  assert_labels("10\n9\nnan\n9\n10\n-1\n", 2, (const int32_t[]){1, 0, -1, 0, 1, -1}); /* numbers: 9 < 10 */
  assert_labels("2.0\n10.0\n-1.000e+00\n2\nnan\n1e1\n", 2,
                (const int32_t[]){0, 1, -1, 0, -1, 1}); /* numpy's */
  assert_labels("b\na\n-1.0\n0.5\nb\n-1\n", 3, (const int32_t[]){2, 1, -1, 0, 2, -1});
  assert_labels("60 b\n10\ta\n30,b\n99 a\n", 2, (const int32_t[]){0, -1, 1, -1, -1, 1});
  assert_labels("10 4\n20 4\n30 2\n40 4\n50 2\n60 4\n", 2, (const int32_t[]){1, 1, 0, 1, 0, 1});
}

TEST(labels_come_from_npy_and_chance) {
  struct import import;
  size_t size;
  void *bytes = synthetic_npy("|u1", "(6, 3)", 0, 1, "\1\0\0\0\1\1\0\0\0\1\1\1\0\0\1\1\0\0", 18, &size);
  synthetic_file("l.npy", bytes, size);
  free(bytes);
  assert_ok(import_ring(&import, NULL, "l.npy", NULL));
  assert_int_equal(import.source.task, TASK_MULTILABEL);
  assert_int_equal(import.source.classes, 3);
  assert_int_equal(import.source.labels[5], 1);
  import_free(&import);
  bytes = synthetic_npy(
      ">f8", "(6,)", 0, 1,
      "\0\0\0\0\0\0\0\0\x3F\xF0\0\0\0\0\0\0\xBF\xF0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0",
      48, &size);
  synthetic_file("l.npy", bytes, size);
  free(bytes);
  assert_ok(import_ring(&import, NULL, "l.npy", NULL));
  const int32_t expected[] = {0, 1, -1, 0, 0, 0};
  assert_memory_equal(import.source.label, expected, sizeof expected);
  import_free(&import);
  assert_ok(import_ring(&import, NULL, "random:4", NULL));
  assert_int_equal(import.source.classes, 4);
  for (int v = 0; v < NODES; v++) assert_int_in_range(import.source.label[v], 0, 3);
  import_free(&import);
}

/* part[v] of split k: 0, 1, 2 or -1; every node at most once, lists ascending. */
static void parts_of(const struct dataset_source *source, int64_t k, int *part) {
  for (int64_t v = 0; v < source->nodes; v++) part[v] = -1;
  for (int p = 0; p < SPLIT_COUNT; p++) {
    const struct split_list *list = &source->split[k];
    for (int64_t i = 0; i < list->count[p]; i++) {
      int64_t node = list->node[p][i];
      assert_true(i == 0 || list->node[p][i - 1] < node);
      assert_int_equal(part[node], -1);
      part[node] = p;
    }
  }
}

TEST(more_classes_than_a_dataset_may_have_are_refused) {
  enum { LABELS = DATASET_CLASSES + 1 };
  size_t size;
  FILE *file = fopen("many", "w");
  for (int i = 0; i < LABELS; i++) fprintf(file, "%d\n", i);
  fclose(file);
  synthetic_text("list", "0 1\n");
  struct import_options options = options_of("edgelist", "list");
  options.nodes = LABELS;
  options.labels = "many";
  assert_fails(import_code(&options), BAD_INPUT, "many: has 1000001 different labels; at most 1000000");
  void *zeros = calloc(LABELS, 1), *bytes = synthetic_npy("|u1", "(1, 1000001)", 0, 1, zeros, LABELS, &size);
  synthetic_file("many.npy", bytes, size);
  free(bytes);
  free(zeros);
  synthetic_text("list", "0 0\n");
  options.nodes = 1;
  options.labels = "many.npy";
  assert_fails(import_code(&options), BAD_INPUT, "many.npy: has 1000001 classes; at most 1000000");
}

TEST(split_files_are_read) {
  struct import import;
  int part[NODES];
  synthetic_text("split", "# parts\ntrain\nval\r\n test\nnone\ntrain\ntest\n");
  synthetic_text("labels", "0\n1\n2\n1\n1\n-1\n");
  assert_ok(import_ring(&import, NULL, "labels", "split"));
  parts_of(&import.source, 0, part);
  const int expected[] = {0, 1, 2, -1, 0, -1};
  assert_memory_equal(part, expected, sizeof expected);
  assert_int_equal(import.unlabelled, 1);
  import_free(&import);
  const uint8_t mask[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
  const struct synthetic_array array[] = {{"train_masks", "|b1", "(2, 6)", mask, sizeof mask, 0}};
  synthetic_npz("split.npz", array, 1);
  assert_ok(import_ring(&import, NULL, NULL, "split.npz"));
  assert_int_equal(import.source.splits, 2);
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 2);
  assert_int_equal(import.source.split[1].node[SPLIT_TRAIN][0], 4);
  assert_int_equal(import.source.split[1].count[SPLIT_TEST], 0);
  import_free(&import);
  const struct synthetic_array other[] = {{"masks", "|b1", "(2, 6)", mask, sizeof mask, 0}};
  synthetic_npz("split.npz", other, 1);
  assert_fails(import_ring(&import, NULL, NULL, "split.npz"), BAD_INPUT,
               "--split split.npz: has neither train_idx nor train_mask nor train_masks");
}

enum { MANY = 1000 };
static int import_many(struct import *import, const char *split, int64_t splits, int64_t seed) {
  static struct import_options options;
  FILE *file = fopen("many.labels", "w");
  assert_non_null(file);
  for (int v = 0; v < MANY; v++) fprintf(file, "%d\n", v % 10 == 9 ? -1 : v % 10 % 3);
  fclose(file);
  synthetic_text("list", "0 999\n");
  options = options_of("edgelist", "list");
  options.nodes = MANY;
  options.labels = "many.labels";
  options.split = split;
  options.splits = splits;
  options.seed = seed;
  return import_read(import, &options);
}

TEST(random_splits_have_their_fractions_and_differ) {
  struct import import, again;
  int part[2][MANY], other[MANY];
  assert_ok(import_many(&import, "random:0.5,0.25", 3, 1));
  assert_int_equal(import.source.splits, 3);
  for (int64_t k = 0; k < 3; k++) {
    parts_of(&import.source, k, part[k == 1]);
    assert_int_equal(import.source.split[k].count[SPLIT_TRAIN], 450);
    assert_int_equal(import.source.split[k].count[SPLIT_VAL], 225);
    assert_int_equal(import.source.split[k].count[SPLIT_TEST], 225);
    for (int v = 9; v < MANY; v += 10) assert_int_equal(part[k == 1][v], -1);
  }
  assert_memory_not_equal(part[0], part[1], sizeof part[0]);
  assert_ok(import_many(&again, "random:0.5,0.25", 1, 1));
  parts_of(&again.source, 0, other);
  parts_of(&import.source, 0, part[0]);
  assert_memory_equal(other, part[0], sizeof other); /* split 0 does not depend on how many there are */
  import_free(&again);
  assert_ok(import_many(&again, "random:0.5,0.25", 1, 2));
  parts_of(&again.source, 0, other);
  assert_memory_not_equal(other, part[0], sizeof other);
  import_free(&again);
  import_free(&import);
}

TEST(tickets_ascend_and_are_the_same_on_any_number_of_threads) {
  enum { ITEMS = 100000 };
  struct import_options options = options_of("edgelist", "list");
  struct import import = {.options = &options, .source = {.nodes = ITEMS}};
  struct ticket *ticket = calloc(ITEMS, sizeof *ticket), *again = calloc(ITEMS, sizeof *again);
  char *there = calloc(ITEMS, 1);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(7);
  assert_int_equal(tickets_draw(&import, 0, ticket), ITEMS);
  omp_set_num_threads(1);
  assert_int_equal(tickets_draw(&import, 0, again), ITEMS);
  omp_set_num_threads(threads);
  assert_memory_equal(ticket, again, ITEMS * sizeof *ticket);
  for (int64_t i = 0; i < ITEMS; i++) {
    assert_true(i == 0 || ticket[i - 1].key <= ticket[i].key);
    there[ticket[i].item]++;
  }
  for (int64_t i = 0; i < ITEMS; i++) assert_int_equal(there[i], 1);
  free(ticket);
  free(again);
  free(there);
}

TEST(splits_per_class_count_in_each_class) {
  struct import import;
  int part[MANY], count[3][SPLIT_COUNT] = {0};
  assert_ok(import_many(&import, "per-class:20,30", 2, 1));
  parts_of(&import.source, 1, part);
  for (int v = 0; v < MANY; v++) {
    if (part[v] >= 0) count[import.source.label[v]][part[v]]++;
  }
  for (int c = 0; c < 3; c++) {
    assert_int_equal(count[c][SPLIT_TRAIN], 20);
    assert_int_equal(count[c][SPLIT_VAL], 30);
    assert_int_equal(count[c][SPLIT_TEST], 250);
  }
  import_free(&import);
}

/* A graph says how many rows there must be, the first row how long they are: together that may be terabytes.
 */
TEST(rows_that_no_file_of_that_size_holds_are_refused) {
  enum { COLUMNS = 20000 };
  char *row = malloc(2 * COLUMNS + 1);
  for (int i = 0; i < COLUMNS; i++) memcpy(row + 2 * i, i + 1 < COLUMNS ? "1," : "1\n", 2);
  row[2 * COLUMNS] = '\0';
  synthetic_text("wide.csv", row);
  synthetic_gzip("wide.csv.gz", row);
  synthetic_text("many.mtx", "%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 1\n1 2\n");
  free(row);
  struct import_options options = options_of("mtx", "many.mtx");
  options.features = "wide.csv";
  assert_fails(import_code(&options), BAD_INPUT,
               "wide.csv:1: has 20000 values; 1000000 such lines are expected, and the file is too small");
  options.features = "wide.csv.gz";
  assert_fails(import_code(&options), BAD_INPUT, "wide.csv.gz:1: has 20000 values; 1000000 such lines");
}

TEST(bad_options_say_what_is_allowed) {
  synthetic_text("short.csv", "1,2\n3,4\n");
  synthetic_text("ragged.csv", "1,2\n3\n");
  synthetic_text("wide.csv", "1,2\n3,4,5\n");
  synthetic_text("words.csv", "a,b\n");
  synthetic_text("more.csv", "1\n1\n1\n1\n1\n1\n1\n");
  synthetic_text("blank.csv", "\n");
  synthetic_text("hole.csv", "1,2\n3,,4\n5,6\n");
  synthetic_text("few", "0\n1\n");
  synthetic_text("mixed", "0\n1 2\n");
  synthetic_text("twice", "10 1\n10 1\n");
  synthetic_text("minus", "0\n1\n-2\n1\n1\n1\n");
  synthetic_text("least", "0\n1\n-9223372036854775808\n1\n1\n1\n");
  synthetic_text("seven", "0\n1\n2\n1\n1\n1\n1\n");
  synthetic_text("none", "-1\n-1\n-1\n-1\n-1\n-1\n");
  synthetic_text("who", "x 1\n");
  synthetic_text("part", "train\nvalid\n");
  synthetic_text("parts", "train\n");
  synthetic_text("comma", "train\nval,\n");
  const struct {
    const char *features, *labels, *split, *message;
  } bad[] = {
      {"random:0", NULL, NULL, "--features random:: expected a whole number from 1"},
      {"random:x", NULL, NULL, "found \"x\""},
      {NULL, "random:", NULL, "--labels random:: expected"},
      {"missing.npy", NULL, NULL, "missing.npy: cannot be opened"},
      {"missing.csv", NULL, NULL, "missing.csv: cannot be opened"},
      {"missing.npz", NULL, NULL, "missing.npz: cannot be opened"},
      {"short.csv", NULL, NULL, "short.csv:2: the file ends after 2 of 6 rows"},
      {"ragged.csv", NULL, NULL, "ragged.csv:2: expected a feature value, found the end of the line"},
      {"wide.csv", NULL, NULL, "wide.csv:2: expected as many values as in the first row, found \"5\""},
      {"words.csv", NULL, NULL, "words.csv:1: expected a feature value, found \"a\""},
      {"more.csv", NULL, NULL, "more.csv:7: there are more rows than the 6 expected"},
      {"hole.csv", NULL, NULL, "hole.csv:2: field 2 is empty"},
      {NULL, "hole.csv", NULL, "hole.csv:2: field 2 is empty"},
      {NULL, "random:1000001", NULL, "--labels random:: expected a whole number from 1 to 1000000"},
      {"blank.csv", NULL, NULL, "blank.csv:1: expected 1 to 16777216 numbers, found 0"},
      {NULL, "few", NULL, "few:2: the file ends after 2 labels of 6 nodes"},
      {NULL, "mixed", NULL, "mixed:2: expected a label as in the first line"},
      {NULL, "twice", NULL, "twice:2: node \"10\" has two labels"},
      {NULL, "minus", NULL, "minus: label -2 of node 2"},
      {NULL, "least", NULL, "least: label -9223372036854775808 of node 2; allowed: -1 (none) and more"},
      {NULL, "seven", NULL, "seven:7: there are more labels than the 6 nodes"},
      {NULL, "none", NULL, "none: no node has a label"},
      {NULL, "who", NULL, "who:1: expected a node id, found \"x\""},
      {NULL, NULL, "part", "part:2: expected train, val, test or none, found \"valid\""},
      {NULL, NULL, "comma", "comma:2: field 2 is empty"},
      {NULL, NULL, "parts", "parts:1: the file ends after 1 of 6 rows"},
      {NULL, NULL, "random:0.5", "--split random:0.5: expected random:TRAIN,VAL"},
      {NULL, NULL, "random:0.7,0.5", "--split random:0.7,0.5: expected"},
      {NULL, NULL, "random:-0.1,0.5", "--split random:-0.1,0.5: expected"},
      {NULL, NULL, "random:nan,0.5", "--split random:nan,0.5: expected"},
      {NULL, NULL, "random:0.1,0.5x", "--split random:0.1,0.5x: expected"},
      {NULL, "random:2", "per-class:2.5,3", "--split per-class:2.5,3: expected"},
      {NULL, NULL, "per-class:2,3", "needs one label a node; this graph has no labels"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct import import;
    assert_fails(import_ring(&import, bad[i].features, bad[i].labels, bad[i].split), BAD_INPUT,
                 bad[i].message);
    import_free(&import);
  }
}

TEST(options_that_do_not_go_together_are_errors) {
  synthetic_text("ring", ring);
  struct import_options options = options_of("edgelist", "ring");
  options.splits = 3;
  assert_fails(import_code(&options), BAD_INPUT, "--splits goes with --split random");
  options.split = "some.file";
  assert_fails(import_code(&options), BAD_INPUT, "--splits goes with --split random");
  options = options_of("konect", "ring");
  options.nodes = 3;
  assert_fails(import_code(&options), BAD_INPUT, "--nodes goes with edgelist and hypergraph only");
  options = options_of("edgelist", "ring");
  options.binarize = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--binarize: ring has no features");
  options = options_of("edgelist", "ring");
  options.weights = 1;
  assert_fails(import_code(&options), BAD_INPUT, "ring:1: expected an edge value");
  options = options_of("csv", "ring");
  assert_fails(import_code(&options), BAD_INPUT,
               "unknown format \"csv\"; allowed: npz, edgelist, konect, mtx, metis");
}
