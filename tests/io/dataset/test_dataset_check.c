#include "tests/check.h"

#include "tests/io/tiny.h"

static char path[300], said[8000];
IN_TINY_FILE("dataset_check", path);

static void remember(const char *violation, void *context) {
  (void)context;
  strncat(said, violation, sizeof said - strlen(said) - 2);
  strcat(said, "\n");
}

/* Writes the source as it is and checks the file; what was found stands in `said`. */
static void find_violations(struct dataset_source *s, int64_t *count) {
  struct dataset d;
  said[0] = '\0';
  assert_ok(dataset_write(s, path));
  dataset_source_free(s);
  assert_ok(dataset_open(&d, path));
  assert_ok(dataset_check(&d, remember, NULL, count));
  dataset_close(&d);
}

static void assert_finds(struct dataset_source *s, int64_t expected, const char *text) {
  int64_t count;
  find_violations(s, &count);
  if (!strstr(said, text)) fail_msg("\"%s\" was not said, but:\n%s", text, said);
  if (count != expected)
    fail_msg("%lld violations, %lld expected:\n%s", (long long)count, (long long)expected, said);
}

TEST(a_good_dataset_has_no_violation) {
  static const enum task task[] = {TASK_NONE, TASK_MULTICLASS, TASK_MULTILABEL};
  for (int t = 0; t < 3; t++) {
    for (int filled = 1; filled < 6; filled += 4) {
      struct dataset_source s = tiny_source(task[t], filled, 1 + t);
      assert_finds(&s, 0, "");
    }
  }
}

TEST(the_graph_is_checked) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.start[4] = 9; /* was 8: row 4 would be one short */
  s.start[5] = 7;
  assert_finds(&s, 1, "/graph/indptr[5] is 7 after 9; offsets must not descend");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.start[0] = 1;
  assert_finds(&s, 1, "/graph/indptr[0] is 1; it must be 0");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[9] = 99;
  assert_finds(&s, 1, "/graph/indices[9], in row 4, is 99; 0 to 11 are allowed");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[9] = -1;
  assert_finds(&s, 1, "/graph/indices[9], in row 4, is -1");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[8] = 5;
  s.col[9] = 3;
  assert_finds(&s, 1, "/graph/indices[9], in row 4, is 3 after 5; a row must ascend");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[9] = s.col[8];
  assert_finds(&s, 1, "is 3 after 3; a row must ascend without duplicates");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.weight[3] = NAN;
  assert_finds(&s, 1, "/graph/weights[3] is nan");
}

static struct dataset_source with_hyperedges(void) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  tiny_hypergraph(&s);
  return s;
}

TEST(the_hypergraph_is_checked) {
  struct dataset_source s = with_hyperedges();
  assert_finds(&s, 0, "");
  s = with_hyperedges();
  s.hyper.start[2] = 10;
  assert_finds(&s, 1, "/hypergraph/indptr[3] is 9 after 10; offsets must not descend");
  s = with_hyperedges();
  s.hyper.vertex[5] = TINY_NODES;
  assert_finds(&s, 1, "/hypergraph/indices[5], in row 1, is 12; 0 to 11 are allowed");
  s = with_hyperedges();
  s.hyper.vertex[1] = 0;
  assert_finds(&s, 1, "/hypergraph/indices[1], in row 0, is 0 after 0; a row must ascend without duplicates");
}

static struct dataset_source with_graphs(void) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  tiny_graphs(&s);
  return s;
}

TEST(many_graphs_are_checked) {
  struct dataset_source s = with_graphs();
  assert_finds(&s, 0, "");
  s = with_graphs();
  s.graphs.start[1] = 12;
  assert_finds(&s, 1, "/graphs/indptr[1] is 12; 1 to 11 are allowed there");
  s = with_graphs();
  s.graphs.start[0] = 1;
  assert_finds(&s, 1, "/graphs/indptr[0] is 1; 0 to 0 are allowed there");
  s = with_graphs();
  s.label[7] = 2;
  assert_finds(&s, 1, "node 7 has label 2; a graph's label stands at its first node, 6");
  s = with_graphs();
  s.graphs.start[1] = 5; /* node 5 has no label, and two of its neighbours are in the other graph */
  int64_t count;
  find_violations(&s, &count);
  assert_non_null(strstr(said, "is 5, in another graph than its row"));
  assert_non_null(strstr(said, "node 6 has label 0; a graph's label stands at its first node, 5"));
}

TEST(undirected_means_symmetric) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[9] = 7; /* 4 -> 7 in place of 4 -> 5 */
  int64_t count;
  find_violations(&s, &count);
  assert_int_equal(count, 2);
  assert_non_null(strstr(said, "row 4 lists 7, but row 7 does not list 4"));
  assert_non_null(strstr(said, "row 5 lists 4, but row 4 does not list 5"));
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.weight[9] = 3;
  assert_finds(&s, 1, "edge 4 - 5 weighs 3 one way and 1.125 the other");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.col[9] = 7;
  s.weight[3] = 100;
  s.directed = 1;
  assert_finds(&s, 0, "");
}

TEST(features_and_labels_are_checked) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.feature[3 * TINY_FEATURES + 7] = INFINITY;
  assert_finds(&s, 1, "/node/features: node 3, column 7 is inf");
  s = tiny_source(TASK_MULTICLASS, 1, 1);
  s.feature[3 * TINY_FEATURES + 3] = NAN;
  assert_finds(&s, 1, "/node/features/data[3] is nan");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.label[5] = 3;
  assert_finds(&s, 1, "/node/labels: node 5 has label 3; -1 to 2 are allowed");
  s = tiny_source(TASK_MULTILABEL, 5, 1);
  s.labels[5 * TINY_CLASSES + 1] = 2;
  assert_finds(&s, 1, "/node/labels: node 5, class 1 is 2");
}

TEST(splits_are_checked) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 2);
  s.split[1].node[SPLIT_VAL][3] = 12;
  assert_finds(&s, 1, "/split/1/val[3] is 12; 0 to 11 are allowed");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.split[0].node[SPLIT_TRAIN][1] = 0;
  assert_finds(&s, 1, "/split/train[1] is 0 after 0; node ids must ascend");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.split[0].node[SPLIT_TEST][0] = 0;
  assert_finds(&s, 1, "/split/test: node 0 is in train of the same split, too");
  s = tiny_source(TASK_MULTICLASS, 5, 1);
  s.label[3] = -1;
  assert_finds(&s, 1, "/split/train: node 3 has no label (-1)");
}

TEST(violations_of_a_kind_are_said_twenty_times_and_counted) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  for (int e = 0; e < TINY_EDGES; e++) s.col[e] = 100;
  int64_t count, lines = 0;
  find_violations(&s, &count);
  for (const char *c = said; *c; c++) lines += *c == '\n';
  assert_int_equal(count, TINY_EDGES);
  assert_int_equal(lines, 20);
}

/* Reading says the same sentences, without the check. */
TEST(reading_refuses_what_it_meets) {
  struct dataset d;
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  int64_t start[TINY_NODES + 1], *node, count;
  int32_t col[TINY_EDGES];
  float weight[TINY_EDGES], feature[TINY_NODES * TINY_FEATURES];
  int32_t label[TINY_NODES];
  s.start[5] = 7;
  s.col[9] = 99;
  s.weight[20] = NAN;
  s.feature[3 * TINY_FEATURES + 7] = NAN;
  s.label[5] = 3;
  s.split[0].node[SPLIT_TEST][0] = 9;
  s.split[0].node[SPLIT_VAL][3] = 12;
  assert_ok(dataset_write(&s, path));
  dataset_source_free(&s);
  assert_ok(dataset_open(&d, path));
  assert_fails(dataset_read_starts(&d, GRAPH_ROWS, 0, TINY_NODES, start), BAD_INPUT,
               "/graph/indptr[5] is 7; 8 to 24");
  assert_fails(dataset_read_entries(&d, GRAPH_ROWS, 6, 6, col, NULL), BAD_INPUT,
               "/graph/indices[9] is 99; 0 to 11");
  assert_fails(dataset_read_entries(&d, GRAPH_ROWS, 18, 6, col, weight), BAD_INPUT,
               "/graph/weights[20] is nan");
  assert_fails(dataset_read_features(&d, 2, 4, feature), BAD_INPUT, "node 3, column 7 is nan");
  assert_fails(dataset_read_label(&d, 4, 4, label), BAD_INPUT, "/node/labels[5] is 3; -1 to 2");
  assert_fails(dataset_read_split(&d, 0, SPLIT_TEST, &node, &count), BAD_INPUT, "[1] is 5 after 9");
  assert_null(node);
  assert_fails(dataset_read_split(&d, 0, SPLIT_VAL, &node, &count), BAD_INPUT,
               "/split/val[3] is 12; 0 to 11 are allowed");
  assert_null(node);
  dataset_close(&d);
}

TEST(reading_refuses_labels_that_are_neither_0_nor_1) {
  struct dataset d;
  struct dataset_source s = tiny_source(TASK_MULTILABEL, 5, 1);
  uint8_t labels[TINY_NODES * TINY_CLASSES];
  s.labels[5 * TINY_CLASSES + 1] = 2;
  assert_ok(dataset_write(&s, path));
  dataset_source_free(&s);
  assert_ok(dataset_open(&d, path));
  assert_ok(dataset_read_labels(&d, 0, 5, labels));
  assert_fails(dataset_read_labels(&d, 4, 4, labels), BAD_INPUT, "node 5, class 1 is 2; 0 and 1 are allowed");
  dataset_close(&d);
}

/* Each node of a ring and the `REACH` before and behind it: rows of many blocks, which threads look through
 * at once. */
enum { RING = 1 << 20, REACH = 9, RING_ROW = 2 * REACH };

static int compare_ids(const void *a, const void *b) {
  return *(const int32_t *)a - *(const int32_t *)b;
}

static struct dataset_source ring(void) {
  struct dataset_source s = {.nodes = RING, .name = "ring"};
  s.start = malloc((RING + 1) * sizeof *s.start);
  s.col = malloc((size_t)RING * RING_ROW * sizeof *s.col);
  assert_true(s.start && s.col);
  for (int64_t v = 0; v <= RING; v++) s.start[v] = v * RING_ROW;
  for (int v = 0; v < RING; v++) {
    int32_t *row = s.col + (int64_t)v * RING_ROW;
    for (int k = 0; k < REACH; k++) {
      row[2 * k] = (v + k + 1) % RING;
      row[2 * k + 1] = (v + RING - k - 1) % RING;
    }
    qsort(row, RING_ROW, sizeof *row, compare_ids);
  }
  return s;
}

TEST(rows_of_several_blocks_are_checked) {
  static const int64_t rows[] = {70000, 932067}; /* of the first block and of the second */
  struct dataset_source s = ring();
  int64_t count;
  char text[100];
  assert_true((int64_t)RING * RING_ROW * 4 > DATASET_BLOCK);
  assert_finds(&s, 0, "");
  for (int k = 0; k < 2; k++) {
    int64_t e = rows[k] * RING_ROW + 3;
    s = ring();
    s.col[e] = s.col[e - 1];
    snprintf(text, sizeof text, "/graph/indices[%lld], in row %lld, is", (long long)e, (long long)rows[k]);
    assert_finds(&s, 1, text);
    s = ring();
    s.col[e + RING_ROW - 4] += 1; /* the last one of the row: its reverse is gone, and another has none */
    find_violations(&s, &count);
    snprintf(text, sizeof text, "row %lld lists %lld, but", (long long)rows[k],
             (long long)rows[k] + REACH + 1);
    if (count != 2 || !strstr(said, text))
      fail_msg("%lld violations, without \"%s\":\n%s", (long long)count, text, said);
  }
}

TEST(names_of_classes_are_checked) {
  const char *name[TINY_CLASSES];
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  for (int c = 0; c < TINY_CLASSES; c++) name[c] = c < 2 ? "a\tb" : "good";
  s.names.class_name = malloc(sizeof name);
  memcpy(s.names.class_name, name, sizeof name);
  assert_finds(&s, 2, "/node/class_names[1] has a control character");
}
