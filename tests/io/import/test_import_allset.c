/* Hypergraphs in AllSet's folders: what either kind becomes, and one sentence for wrong ones. */
#include <sys/stat.h>

#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

static void make_content(const char *content, const char *edges) {
  mkdir("zoo", 0777);
  synthetic_text("zoo/zoo.content", content);
  synthetic_text("zoo/zoo.edges", edges);
}

static void make_lines(const char *hyperedges, const char *labels) {
  mkdir("house", 0777);
  synthetic_text("house/hyperedges-house-bills.txt", hyperedges);
  synthetic_text("house/node-labels-house-bills.txt", labels);
}

static void reads_zoo(const char *rows, int64_t nodes, const char *labels) {
  struct import import;
  const struct import_options options = options_of("allset", "zoo");
  assert_ok(import_read(&import, &options));
  assert_hyperedges(&import.source, nodes, rows);
  assert_all_labels(&import.source, labels);
  assert_int_equal(import.source.features, 2);
  assert_row(&import.source, 1, "0 2.5");
  assert_true(!import.source.names.id);
  import_free(&import);
}

TEST(ids_of_hyperedges_follow_those_of_vertices) {
  make_content("0 1 .5 4\n1\t0\t2.5\t2\n2 1 1 4\n", "0 3\n1 4\n2 3\n1 3\n0\t4\n1 4\n");
  reads_zoo("0 1 2|0 1|", 3, "1 0 1");
}

TEST(lines_for_hyperedges_are_passed_over) {
  make_content("0 1 .5 4\n1 0 2.5 2\n2 1 1 4\n3 0 0 99\n4 x\n", "0 3\n1 4\n2 3\n");
  reads_zoo("0 2|1|", 3, "1 0 1");
}

TEST(ids_and_names_of_classes_are_kept) {
  struct import import;
  make_content("5 1 fish\n7 2 bird\n9 3 fish\n", "9 20\n5 20\n7 11\n");
  const struct import_options options = options_of("allset", "zoo/");
  assert_ok(import_read(&import, &options));
  assert_hyperedges(&import.source, 3, "1|0 2|");
  assert_all_labels(&import.source, "1 0 1");
  assert_string_equal(import.source.names.class_name[0], "bird");
  assert_string_equal(import.source.names.class_name[1], "fish");
  assert_int_equal(import.source.names.id[2], 9);
  import_free(&import);
}

TEST(lines_of_vertices_have_labels_beside) {
  struct import import;
  make_lines("3,1\n2\n\n4,3,3\n", "2\n1\n1\n2\n");
  struct import_options options = options_of("allset", "house");
  assert_ok(import_read(&import, &options));
  assert_hyperedges(&import.source, 4, "0 2|1|2 3|");
  assert_all_labels(&import.source, "1 0 0 1");
  assert_int_equal(import.source.names.id[0], 1);
  assert_int_equal(import.source.features, 0);
  import_free(&import);
  options.features = "random:3";
  options.split = "per-class:1,0";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.features, 3);
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 2);
  import_free(&import);
}

TEST(what_stands_beside_takes_the_place_of_the_folders) {
  struct import import;
  make_content("0 1 .5 4\n1 0 2.5 2\n2 1 1 4\n", "0 3\n1 3\n");
  synthetic_text("labels", "2 a\n0 b\n1 a\n");
  struct import_options options = options_of("allset", "zoo");
  options.labels = "labels";
  options.features = "random:7";
  assert_ok(import_read(&import, &options));
  assert_all_labels(&import.source, "1 0 0");
  assert_int_equal(import.source.features, 7);
  import_free(&import);
}

TEST(files_may_be_compressed_and_stand_in_raw) {
  struct import import;
  mkdir("packed", 0777);
  mkdir("packed/raw", 0777);
  synthetic_text("packed/raw/.hidden.content", "");
  synthetic_gzip("packed/raw/set.content.gz", "0 1 1\n1 2 0\n");
  synthetic_text("packed/raw/set.edges", "0 2\n1 2\n");
  const struct import_options options = options_of("allset", "packed");
  assert_ok(import_read(&import, &options));
  assert_hyperedges(&import.source, 2, "0 1|");
  import_free(&import);
}

/* More lines than a block of the reader holds, and rows that grow. */
TEST(large_folders_come_whole) {
  enum { NODES = 60000, FEATURES = 12 };
  struct import import;
  mkdir("large", 0777);
  FILE *content = fopen("large/large.content", "w"), *edges = fopen("large/large.edges", "w");
  for (int v = 0; v < NODES; v++) {
    fprintf(content, "%d", v);
    for (int j = 0; j < FEATURES; j++) fprintf(content, " %d", (v + j) % 9);
    fprintf(content, " c%d\n", v % 5);
    fprintf(edges, "%d %d\n", v, NODES + v % 1000);
  }
  fclose(content);
  fclose(edges);
  const struct import_options options = options_of("allset", "large");
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.hyper.edges, 1000);
  for (int v = 0; v < NODES; v++) {
    assert_int_equal(import.source.label[v], v % 5);
    assert_close(import.source.feature[(int64_t)v * FEATURES + 11], (v + 11) % 9, 0);
  }
  import_free(&import);
}

TEST(wrong_folders_name_what_is_wrong) {
  static const struct {
    const char *content, *edges, *message;
  } bad[] = {
      {"", "0 2\n", "zoo/zoo.content: holds no vertices"},
      {"5 1\n", "0 2\n", "zoo/zoo.content: holds no vertices"},
      {"0 1\n", "", "zoo/zoo.edges: holds no hyperedges"},
      {"0\n", "0 2\n", "zoo/zoo.content:1: expected an id, up to 16777216 features and a label, found 1"},
      {"0 1 2\n1 1\n", "0 2\n", "zoo/zoo.content:2: expected a label, found the end of the line"},
      {"0 1 2\n1 1 2 3\n", "0 2\n", "zoo/zoo.content:2: expected as many features as in the first line, and"},
      {"0 1 2\n1 x 2\n", "0 2\n", "zoo/zoo.content:2: expected a feature value, found \"x\""},
      {"0 1 2\n1 inf 2\n", "0 2\n", "zoo/zoo.content:2: "},
      {"x 1 2\n", "0 2\n", "zoo/zoo.content:1: expected the id of a vertex, found \"x\""},
      {"-1 1 2\n", "0 2\n", "zoo/zoo.content:1: id -1; ids start at 0"},
      {"1 1 2\n0 1 2\n", "0 2\n", "zoo/zoo.content: id 0 stands behind id 1; ids ascend"},
      {"0 1 2\n0 1 2\n", "0 2\n", "zoo/zoo.content: id 0 stands behind id 0; ids ascend"},
      {"0 1 \xff\n", "0 2\n", "zoo/zoo.content:1: the label is not UTF-8"},
      {"0 1 -1\n", "0 2\n", "zoo/zoo.content: no node has a label"},
      {"0 1 -2\n", "0 2\n", "zoo/zoo.content: label -2 of node 0"},
      {"0 1 2\n", "0 2\n1 3\n", "zoo/zoo.edges: vertex 1 has no line in zoo/zoo.content"},
      {"0 1 2\n1 1 2\n", "0 1\n1 2\n",
       "zoo/zoo.edges: vertex 1 and hyperedge 1; the ids of hyperedges follow"},
      {"0 1 2\n", "0\n", "zoo/zoo.edges:1: expected two node ids"},
      {"0 1 2\n", "0 2 3\n", "zoo/zoo.edges:1: expected two node ids"},
      {"0 1 2\n", "0 2\n0 -2\n", "zoo/zoo.edges:2: node -2 is outside 0 .. 2147483646"},
      {"0 1 2\n", "0 9999999999\n", "zoo/zoo.edges:1: node 9999999999 is outside"},
  };
  const struct import_options options = options_of("allset", "zoo");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    make_content(bad[i].content, bad[i].edges);
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
  assert_int_equal(remove("zoo/zoo.edges"), 0);
  assert_fails(import_code(&options), BAD_INPUT, "zoo/zoo.edges");
  synthetic_text("zoo/other.content", "0 1 2\n");
  assert_fails(import_code(&options), BAD_INPUT,
               "zoo: holds no single NAME.content and no single hyperedges");
  assert_int_equal(remove("zoo/other.content"), 0);
}

TEST(wrong_lines_name_what_is_wrong) {
  static const struct {
    const char *hyperedges, *labels, *message;
  } bad[] = {
      {"1\n", "", "house/node-labels-house-bills.txt: a label a line is expected"},
      {"1\n", "1 2\n", "house/node-labels-house-bills.txt: a label a line is expected"},
      {"", "1\n", "house/hyperedges-house-bills.txt: holds no hyperedges"},
      {"\n", "1\n", "house/hyperedges-house-bills.txt: its hyperedges are empty"},
      {"1,2\n0,1\n", "1\n2\n", "house/hyperedges-house-bills.txt:2: vertex 0 is outside 1 .. 2"},
      {"1,3\n", "1\n2\n", "house/hyperedges-house-bills.txt:1: vertex 3 is outside 1 .. 2"},
      {"1,x\n", "1\n2\n", "house/hyperedges-house-bills.txt:1: expected a vertex, found \"x\""},
      {"1,,2\n", "1\n2\n", "house/hyperedges-house-bills.txt:1: field 2 is empty"},
  };
  struct import_options options = options_of("allset", "house");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    make_lines(bad[i].hyperedges, bad[i].labels);
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
  assert_int_equal(remove("house/node-labels-house-bills.txt"), 0);
  assert_fails(import_code(&options), BAD_INPUT, "house/node-labels-house-bills.txt");
  options = options_of("allset", "nowhere");
  assert_fails(import_code(&options), BAD_INPUT, "nowhere: holds no single NAME.content and no single");
  options.undirected = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--undirected goes with graphs; hyperedges have neither");
}
