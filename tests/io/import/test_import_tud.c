/* Collections of graphs: what TUDataset's folders and the text of GIN's authors become, splits of graphs, and
 * one sentence with file and line for wrong ones. */
#include <sys/stat.h>

#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

/* A path of three nodes, then an edge. */
static void make_set(void) {
  mkdir("set", 0777);
  synthetic_text("set/set_A.txt", "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n");
  synthetic_text("set/set_graph_indicator.txt", "1\n1\n1\n2\n2\n");
  synthetic_text("set/set_graph_labels.txt", "1\n-1\n");
  synthetic_text("set/set_node_labels.txt", "7\n9\n7\n8\n7\n");
}

TEST(a_folder_becomes_graphs_with_labels_at_their_first_nodes) {
  struct import import;
  make_set();
  const struct import_options options = options_of("tud", "set");
  assert_ok(import_read(&import, &options));
  const struct dataset_source *source = &import.source;
  assert_graph(source, "1|0 2|1|4|3|");
  assert_int_equal(source->graphs.count, 2);
  assert_true(source->graphs.start[0] == 0 && source->graphs.start[1] == 3 && source->graphs.start[2] == 5);
  assert_all_labels(source, "1 -1 -1 0 -1");
  assert_string_equal(source->names.class_name[0], "-1");
  assert_string_equal(source->names.class_name[1], "1");
  assert_row(source, 1, "0 0 1");
  assert_row(source, 3, "0 1 0");
  assert_true(!source->directed && !source->names.id);
  import_free(&import);
}

TEST(attributes_come_before_a_column_for_each_label) {
  struct import import;
  make_set();
  synthetic_text("set/set_node_attributes.txt", "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n");
  const struct import_options options = options_of("tud", "set/");
  assert_ok(import_read(&import, &options));
  assert_row(&import.source, 1, "1.5 2 0 0 1");
  import_free(&import);
  assert_int_equal(remove("set/set_node_attributes.txt"), 0);
}

TEST(degrees_stand_in_for_features) {
  struct import import;
  make_set();
  struct import_options options = options_of("tud", "set");
  options.features = "degree:2";
  assert_ok(import_read(&import, &options));
  assert_row(&import.source, 0, "0 1");
  assert_row(&import.source, 1, "0 1"); /* two neighbours, and no column for them */
  import_free(&import);
}

TEST(the_text_of_gin_is_the_same_set) {
  struct import import;
  synthetic_gzip("set.txt.gz", "2\n3 1\n7 1 1\n9 2 0 2\n7 1 1\n2 -1\n8 1 1\n7 1 0\n");
  const struct import_options options = options_of("gin", "set.txt.gz");
  assert_ok(import_read(&import, &options));
  assert_graph(&import.source, "1|0 2|1|4|3|");
  assert_all_labels(&import.source, "1 -1 -1 0 -1");
  assert_row(&import.source, 1, "0 0 1");
  import_free(&import);
}

TEST(attributes_follow_the_neighbours_there) {
  struct import import;
  synthetic_text("set.txt", "1\n2 0\n4 1 1 0.5 1.5\n4 1 0 2.5 3.5\n");
  const struct import_options options = options_of("gin", "set.txt");
  assert_ok(import_read(&import, &options));
  assert_row(&import.source, 1, "2.5 3.5 1");
  import_free(&import);
}

/* Thirty graphs of two nodes in two classes, 10 and 20 of them. */
static void make_thirty(void) {
  FILE *out = fopen("thirty.txt", "w");
  fprintf(out, "30\n");
  for (int g = 0; g < 30; g++) fprintf(out, "2 %d\n0 1 1\n0 1 0\n", g % 3 == 0);
  fclose(out);
}

/* How often a graph is in that part of the splits; all of them stand at first nodes. */
static int64_t times_in(const struct dataset_source *source, int64_t graph, int part) {
  int64_t times = 0;
  for (int64_t k = 0; k < source->splits; k++) {
    const struct split_list *list = &source->split[k];
    for (int64_t i = 0; i < list->count[part]; i++) {
      assert_int_equal(list->node[part][i] % 2, 0);
      times += list->node[part][i] == 2 * graph;
    }
  }
  return times;
}

TEST(each_graph_is_tested_in_one_fold_and_classes_are_spread) {
  struct import import;
  make_thirty();
  struct import_options options = options_of("gin", "thirty.txt");
  options.split = "folds:5";
  assert_ok(import_read(&import, &options));
  const struct dataset_source *source = &import.source;
  assert_int_equal(source->splits, 5);
  for (int64_t g = 0; g < 30; g++) {
    assert_int_equal(times_in(source, g, SPLIT_TEST), 1);
    assert_int_equal(times_in(source, g, SPLIT_VAL), 1);
    assert_int_equal(times_in(source, g, SPLIT_TRAIN), 3);
  }
  for (int64_t k = 0; k < 5; k++) {
    int64_t ones = 0;
    assert_int_equal(source->split[k].count[SPLIT_TEST], 6);
    for (int64_t i = 0; i < 6; i++) ones += source->label[source->split[k].node[SPLIT_TEST][i]];
    assert_int_equal(ones, 2);
  }
  import_free(&import);
}

TEST(other_splits_are_of_graphs_too) {
  struct import import;
  make_thirty();
  struct import_options options = options_of("gin", "thirty.txt");
  options.split = "random:0.5,0.2";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 15);
  for (int64_t g = 0; g < 30; g++)
    assert_int_equal(
        times_in(&import.source, g, 0) + times_in(&import.source, g, 1) + times_in(&import.source, g, 2), 1);
  import_free(&import);
  options.split = "per-class:4,2";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 8);
  import_free(&import);
  make_set();
  synthetic_text("parts", "val\ntrain\n");
  options = options_of("tud", "set");
  options.split = "parts";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.split[0].node[SPLIT_TRAIN][0], 3);
  assert_int_equal(import.source.split[0].node[SPLIT_VAL][0], 0);
  import_free(&import);
}

/* One of the folder's tables is otherwise. */
static void refuses_table(const char *table, const char *text, const char *message) {
  char path[64];
  make_set();
  snprintf(path, sizeof path, "set/set_%s.txt", table);
  synthetic_text(path, text);
  const struct import_options options = options_of("tud", "set");
  assert_fails(import_code(&options), BAD_INPUT, message);
}

TEST(wrong_folders_are_refused) {
  refuses_table("A", "1, 2\n2, 6\n", "set/set_A.txt:2: node 6 is outside 1 .. 5");
  refuses_table("A", "1, 2\n3, 4\n", "an arc leads from graph 1, node 3, into graph 2; graphs stand apart");
  refuses_table("graph_indicator", "1\n1\n3\n3\n3\n",
                "set/set_graph_indicator.txt:3: node 3 is in graph 3 after graph 1; graphs 1, 2, ... follow");
  refuses_table("graph_indicator", "0\n0\n0\n1\n1\n",
                "set/set_graph_indicator.txt:1: node 1 is in graph 0 after graph 0; graphs 1, 2, ... follow");
  refuses_table("graph_indicator", "", "set/set_graph_indicator.txt: is empty");
  refuses_table("graph_labels", "1\n", "set/set_graph_labels.txt");
  refuses_table("graph_labels", "1\n0.5\n", "set/set_graph_labels.txt:2: expected a whole number");
  refuses_table("graph_labels", "1\n99999999999\n", "99999999999 is out of range");
  refuses_table("node_labels", "1\n2\n", "set/set_node_labels.txt");
  make_set();
  struct import_options options = options_of("tud", "nothing");
  assert_fails(import_code(&options), BAD_INPUT, "nothing: holds no single NAME_A.txt");
  options = options_of("tud", "set");
  options.labels = "random:3";
  assert_fails(import_code(&options), BAD_INPUT, "--labels: the labels of set are those of its graphs");
  options.labels = NULL;
  options.split = "folds:2";
  assert_fails(import_code(&options), BAD_INPUT, "--split folds:: expected a whole number from 3 to 1000");
  options.split = "folds:5";
  options.splits = 3;
  assert_fails(import_code(&options), BAD_INPUT,
               "--splits goes with --split random:... or per-class:... only");
}

static void refuses_text(const char *text, const char *message) {
  synthetic_text("set.txt", text);
  const struct import_options options = options_of("gin", "set.txt");
  assert_fails(import_code(&options), BAD_INPUT, message);
}

TEST(wrong_texts_are_refused) {
  refuses_text("", "set.txt: is empty");
  refuses_text("0\n", "set.txt:1: 0 graphs; at least 1 is expected");
  refuses_text("900000000\n1 1\n0 0\n", "the file is too small");
  refuses_text("1\n0 1\n", "set.txt:2: a graph of 0 nodes");
  refuses_text("1\n2 1\n0 1 1\n", "the file ends in graph 0, behind 1 nodes");
  refuses_text("1\n2 1\n0 1 2\n0 0\n", "set.txt:3: neighbour 2 is outside 0 .. 1");
  refuses_text("1\n2 1\n0 3 1 1 1\n0 0\n", "set.txt:3: 3 neighbours in a graph of 2 nodes");
  refuses_text("1\n1 1\n0 0\n0 0\n", "set.txt:4: more lines than 1 graphs take");
  refuses_text("1\n2 1\n0 0 1.5\n0 0\n", "set.txt:4: expected an attribute");
}
