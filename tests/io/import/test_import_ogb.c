/* OGB's folders, in text and in archives: what is read, and what is wrong in which line. */
#include <sys/stat.h>

#include "runtime/base/random.h"
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

/* A folder of 4 nodes, 3 edges, 2 features, with one split. */
static const struct {
  const char *name, *text;
} good[] = {{"set/raw/num-node-list.csv.gz", "4\n"},
            {"set/raw/num-edge-list.csv.gz", "3\n"},
            {"set/raw/edge.csv.gz", "0,1\n2,1\n3,0\n"},
            {"set/raw/node-feat.csv.gz", "1.5,-2\n0,0.25\n1e-3,4\n5,6\n"},
            {"set/raw/node-label.csv.gz", "3\n0\n7\n3\n"},
            {"set/raw/node_year.csv.gz", "2011\n2012\n2013\n2014\n"},
            {"set/split/time/train.csv.gz", "3\n0\n"},
            {"set/split/time/valid.csv.gz", "1\n"},
            {"set/split/time/test.csv.gz", "2\n"}};
enum { FILES = sizeof good / sizeof good[0] };

static void make_folders(void) {
  if (system("rm -rf set") != 0) fail_msg("%s", "rm");
  const char *folders[] = {"set", "set/raw", "set/split", "set/split/time"};
  for (int i = 0; i < 4; i++) assert_int_equal(mkdir(folders[i], 0777), 0);
}

static void make_set(void) {
  make_folders();
  for (int i = 0; i < FILES; i++) synthetic_gzip(good[i].name, good[i].text);
}

static void assert_features(const struct dataset_source *source) {
  const float feature[] = {1.5F, -2, 0, .25F, 1e-3F, 4, 5, 6};
  assert_int_equal(source->features, 2);
  assert_memory_equal(source->feature, feature, sizeof feature);
}

TEST(text_folders_are_read) {
  make_set();
  struct import import;
  struct import_options options = options_of("ogb", "set");
  assert_ok(import_read(&import, &options));
  const struct dataset_source *s = &import.source;
  const int32_t label[] = {1, 0, 2, 1}; /* of classes 0, 3, 7 */
  assert_graph(s, "3|0 2|||");
  assert_true(s->directed);
  assert_features(s);
  assert_int_equal(s->task, TASK_MULTICLASS);
  assert_int_equal(s->classes, 3);
  assert_memory_equal(s->label, label, sizeof label);
  assert_int_equal(s->splits, 1);
  assert_int_equal(s->split[0].count[SPLIT_TRAIN], 2);
  assert_int_equal(s->split[0].node[SPLIT_TRAIN][0], 0);
  assert_int_equal(s->split[0].node[SPLIT_VAL][0], 1);
  assert_int_equal(s->split[0].node[SPLIT_TEST][0], 2);
  import_free(&import);

  options.undirected = 1;
  assert_ok(import_read(&import, &options));
  assert_graph(&import.source, "1 3|0 2|1|0|");
  assert_false(import.source.directed);
  import_free(&import);
}

TEST(unpacked_files_and_missing_tables_are_fine) {
  make_folders();
  synthetic_text("set/raw/num-node-list.csv", "4\r\n");
  synthetic_text("set/raw/edge.csv", "0,1\r\n2,1\r\n3,0");
  struct import import;
  struct import_options options = options_of("ogb", "set");
  if (system("rm -r set/split") != 0) fail_msg("%s", "rm");
  assert_ok(import_read(&import, &options));
  assert_graph(&import.source, "3|0 2|||");
  assert_int_equal(import.source.features, 0);
  assert_int_equal(import.source.task, TASK_NONE);
  assert_int_equal(import.source.splits, 0);
  import_free(&import);
}

TEST(several_labels_and_several_splits_are_read) {
  make_set();
  synthetic_gzip("set/raw/node-label.csv.gz", "1,0,0\n0,0,0\n1,1,1\n0,1,0\n");
  assert_int_equal(mkdir("set/split/random", 0777), 0);
  synthetic_text("set/split/random/train.csv", "1\n");
  synthetic_text("set/split/random/valid.csv", "");
  synthetic_text("set/split/random/test.csv", "0\n");
  struct import import;
  struct import_options options = options_of("ogb", "set");
  assert_ok(import_read(&import, &options));
  const struct dataset_source *s = &import.source;
  const uint8_t labels[] = {1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0};
  assert_int_equal(s->task, TASK_MULTILABEL);
  assert_int_equal(s->classes, 3);
  assert_memory_equal(s->labels, labels, sizeof labels);
  assert_int_equal(s->splits, 2); /* random, time */
  assert_int_equal(s->split[0].node[SPLIT_TRAIN][0], 1);
  assert_int_equal(s->split[0].count[SPLIT_VAL], 0);
  assert_int_equal(s->split[1].count[SPLIT_TRAIN], 2);
  import_free(&import);
}

TEST(nodes_may_lack_a_label) {
  make_set();
  synthetic_gzip("set/raw/node-label.csv.gz", "nan\n2.0\n-1\n5\n");
  struct import import;
  struct import_options options = options_of("ogb", "set");
  assert_ok(import_read(&import, &options));
  const int32_t label[] = {-1, 0, -1, 1};
  assert_memory_equal(import.source.label, label, sizeof label);
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 1);
  assert_int_equal(import.unlabelled, 2);
  import_free(&import);
  synthetic_gzip("set/raw/node-label.csv.gz", "nan \n2.0\nNaN\n5\n");
  assert_ok(import_read(&import, &options));
  assert_memory_equal(import.source.label, label, sizeof label);
  import_free(&import);
}

TEST(large_labels_stay_apart) {
  make_set();
  synthetic_gzip("set/raw/node-label.csv.gz", "16777216\n16777217\n16777218\n16777216\n");
  struct import import;
  struct import_options options = options_of("ogb", "set");
  assert_ok(import_read(&import, &options));
  const int32_t label[] = {0, 1, 2, 0};
  assert_int_equal(import.source.classes, 3);
  assert_memory_equal(import.source.label, label, sizeof label);
  import_free(&import);
}

#define ARRAY(name, descr, shape, data) \
  { name, descr, shape, data, sizeof(data), 0 }

static void make_archives(const int64_t *pairs) {
  static const int64_t nodes[] = {4}, edges[] = {3};
  static const float feature[] = {1.5F, -2, 0, .25F, 1e-3F, 4, 5, 6}, label[] = {3, 0, NAN, 3};
  const struct synthetic_array data[] = {{"edge_index", "<i8", "(2, 3)", pairs, 48, 0},
                                         ARRAY("node_feat", "<f4", "(4, 2)", feature),
                                         ARRAY("num_nodes_list", "<i8", "(1,)", nodes),
                                         ARRAY("num_edges_list", "<i8", "(1,)", edges)};
  const struct synthetic_array labels[] = {ARRAY("node_label", "<f4", "(4, 1)", label)};
  make_folders();
  synthetic_npz("set/raw/data.npz", data, 4);
  synthetic_npz("set/raw/node-label.npz", labels, 1);
  for (int i = FILES - 3; i < FILES; i++) synthetic_gzip(good[i].name, good[i].text);
}

TEST(archives_of_large_sets_are_read) {
  static const int64_t pairs[] = {0, 2, 3, 1, 1, 0}, wrong[] = {0, 2, 4, 1, 1, 0};
  make_archives(pairs);
  struct import import;
  struct import_options options = options_of("ogb", "set");
  assert_ok(import_read(&import, &options));
  const int32_t label[] = {1, 0, -1, 1};
  assert_graph(&import.source, "3|0 2|||");
  assert_features(&import.source);
  assert_memory_equal(import.source.label, label, sizeof label);
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 2);
  assert_int_equal(import.source.split[0].count[SPLIT_TEST], 0);
  import_free(&import);
  make_archives(wrong);
  assert_fails(import_code(&options), BAD_INPUT,
               "set/raw/data.npz: edge_index: edge 2 names node 4, outside 0 .. 3");
  const struct synthetic_array two[] = {ARRAY("edge_index", "<i8", "(2, 3)", pairs),
                                        {"num_nodes_list", "<i8", "(2,)", pairs, 16, 0}};
  synthetic_npz("set/raw/data.npz", two, 2);
  assert_fails(import_code(&options), BAD_INPUT,
               "num_nodes_list: lists 2 graphs; sets of one graph are read");
}

TEST(wrong_tables_name_file_and_line) {
  static const struct {
    const char *file, *text, *message;
  } bad[] = {
      {"raw/num-node-list.csv.gz", "4\n5\n", "num-node-list.csv.gz:2: there is more than one graph"},
      {"raw/num-node-list.csv.gz", "four\n",
       "num-node-list.csv.gz:1: expected how many there are, found \"four\""},
      {"raw/num-node-list.csv.gz", "", "num-node-list.csv.gz:0: the file ends after 0 of 1 rows"},
      {"raw/num-node-list.csv.gz", "0\n", "num-node-list.csv.gz:1: the graph has no nodes"},
      {"raw/num-node-list.csv.gz", "2000000000\n",
       "num-node-list.csv.gz:1: nodes: 2000000000 is out of proportion"},
      {"raw/num-edge-list.csv.gz", "4\n",
       "num-edge-list.csv.gz:1: declares 4 edges, set/raw/edge.csv.gz has 3"},
      {"raw/edge.csv.gz", "0,1\n1,4\n3,0\n", "edge.csv.gz:2: node 4 is outside 0 .. 3"},
      {"raw/edge.csv.gz", "0,1\n1\n3,0\n", "edge.csv.gz:2: expected two node ids, found the end of the line"},
      {"raw/edge.csv.gz", "0,1\n1,2\n3,0,1\n", "edge.csv.gz:3: expected two node ids, found \"1\""},
      {"raw/edge.csv.gz", "source,target\n", "edge.csv.gz:1: expected two node ids, found \"source\""},
      {"raw/node-feat.csv.gz", "1,2\n3,4\n5\n6,7\n",
       "node-feat.csv.gz:3: expected a feature value, found the end"},
      {"raw/node-feat.csv.gz", "1,2\n3,4\n5,6,7\n6,7\n",
       "node-feat.csv.gz:3: expected as many values as in the first"},
      {"raw/node-feat.csv.gz", "1,2\n3,,4\n5,6\n6,7\n", "node-feat.csv.gz:2: field 2 is empty"},
      {"raw/edge.csv.gz", "0,1\n2,,1\n3,0\n", "edge.csv.gz:2: field 2 is empty"},
      {"raw/node-label.csv.gz", "1\n2\n9007199254740993\n4\n",
       "node-label.csv.gz:3: label \"9007199254740993\"; allowed: -1 or nan (none), 0, 1, ... 2^53 - 1"},
      {"raw/node-feat.csv.gz", "1,2\n3,x\n5,6\n6,7\n",
       "node-feat.csv.gz:2: expected a feature value, found \"x\""},
      {"raw/node-feat.csv.gz", "1,2\n3,4\n5,inf\n6,7\n", "node-feat.csv.gz:3: \"inf\" is not a finite"},
      {"raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n", "node-feat.csv.gz:3: the file ends after 3 of 4 rows"},
      {"raw/node-feat.csv.gz", "1\n2\n3\n4\n5\n",
       "node-feat.csv.gz:5: there are more rows than the 4 expected"},
      {"raw/node-label.csv.gz", "1\n2\n", "node-label.csv.gz:2: the file ends after 2 of 4 rows"},
      {"raw/node-label.csv.gz", "1\n2.5\n3\n4\n",
       "node-label.csv.gz:2: label \"2.5\"; allowed: -1 or nan (none), 0"},
      {"raw/node-label.csv.gz", "1\n2\n-3\n4\n", "node-label.csv.gz:3: label \"-3\"; allowed"},
      {"raw/node-label.csv.gz", "1,0\n0,0\n0,2\n0,0\n", "node-label.csv.gz:3: label \"2\"; allowed: 0, 1"},
      {"split/time/train.csv.gz", "3\n4\n", "train.csv.gz:2: node 4 is outside 0 .. 3"},
      {"split/time/test.csv.gz", "2\n1\n", "test.csv.gz:2: node 1 is in val and again in test"},
      {"split/time/valid.csv.gz", "1\nx\n", "valid.csv.gz:2: expected a node id, found \"x\""},
      {"raw/triplet-type-list.csv.gz", "a,b,c\n", "triplet-type-list.csv.gz: the graph has several kinds"},
  };
  struct import_options options = options_of("ogb", "set");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char path[128];
    make_set();
    snprintf(path, sizeof path, "set/%s", bad[i].file);
    synthetic_gzip(path, bad[i].text);
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
  make_set();
  assert_int_equal(remove("set/raw/edge.csv.gz"), 0);
  assert_fails(import_code(&options), BAD_INPUT, "set/raw/edge.csv.gz: cannot be opened: No such file");
  make_set();
  assert_int_equal(remove("set/split/time/test.csv.gz"), 0);
  assert_fails(import_code(&options), BAD_INPUT, "set/split/time/test.csv.gz: cannot be opened");
  options.weights = 1;
  make_set();
  assert_fails(import_code(&options), BAD_INPUT, "--weights: set has no edge values");
  options = options_of("ogb", "set/raw");
  assert_fails(import_code(&options), BAD_INPUT, "set/raw: holds no folder raw");
}

TEST(tables_that_no_file_of_that_size_holds_are_refused) {
  static const char *const table[] = {"set/raw/node-feat.csv.gz", "set/raw/node-label.csv.gz"};
  enum { COLUMNS = 20000 };
  char *row = malloc(2 * COLUMNS + 1);
  for (int i = 0; i < COLUMNS; i++) memcpy(row + 2 * i, i + 1 < COLUMNS ? "1," : "1\n", 2);
  row[2 * COLUMNS] = '\0';
  for (int t = 0; t < 2; t++) {
    make_set();
    synthetic_gzip("set/raw/num-node-list.csv.gz", "1000000\n");
    synthetic_gzip(table[t], row);
    if (t == 1) assert_int_equal(remove(table[0]), 0);
    struct import_options options = options_of("ogb", "set");
    assert_fails(import_code(&options), BAD_INPUT,
                 ".csv.gz:1: has 20000 values; 1000000 such lines are expected");
  }
  free(row);
}

enum { ROUNDS = 300 };

/* One table after the other gets wrong bytes, or loses its end. */
TEST(damaged_tables_are_read_or_refused) {
  static const char spice[] = "0123456789-+. \n\t,ena";
  struct philox_key key = random_key(13, 0, 0, RANDOM_IMPORT);
  struct import_options options = options_of("ogb", "set");
  make_set();
  for (int round = 0; round < ROUNDS; round++) {
    struct philox_block hit = random_block(key, (uint64_t)round, 0);
    int file = round % FILES;
    char text[64];
    snprintf(text, sizeof text, "%s", good[file].text);
    for (uint32_t i = 0; i <= hit.word[0] % 3; i++) {
      struct philox_block place = random_block(key, (uint64_t)round, i + 1);
      text[place.word[0] % strlen(good[file].text)] = spice[place.word[1] % (sizeof spice - 1)];
    }
    if (round % 4 == 0) text[hit.word[1] % strlen(good[file].text)] = '\0';
    synthetic_gzip(good[file].name, text);
    int code = import_code(&options);
    if (code != OK && code != BAD_INPUT) fail_msg("round %d: code %d: %s", round, code, error_message());
    error_clear();
    synthetic_gzip(good[file].name, good[file].text);
  }
}
