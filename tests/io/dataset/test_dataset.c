#include "tests/check.h"

#include <sys/stat.h>

#include "tests/io/tiny.h"

static char path[300];
IN_TINY_FILE("dataset", path);

static void write_tiny(struct dataset_source source) {
  assert_ok(dataset_write(&source, path));
  dataset_source_free(&source);
}

TEST(what_was_written_is_read_back) {
  write_tiny(tiny_source(TASK_MULTICLASS, 5, 1));
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  struct dataset d;
  assert_ok(h5_probe(path));
  assert_ok(dataset_open(&d, path));
  assert_string_equal(d.name, "tiny");
  assert_int_equal(d.nodes, TINY_NODES);
  assert_int_equal(d.edges, TINY_EDGES);
  assert_int_equal(d.features, TINY_FEATURES);
  assert_int_equal(d.classes, TINY_CLASSES);
  assert_int_equal(d.task, TASK_MULTICLASS);
  assert_true(d.has_graph && d.has_features && d.task != TASK_NONE && d.weighted && !d.directed && !d.sparse);
  assert_int_equal(d.ids, 1);
  assert_int_equal(d.splits, 1);
  int64_t start[TINY_NODES + 1], id[TINY_NODES];
  int32_t col[TINY_EDGES];
  int32_t label[TINY_NODES];
  float weight[TINY_EDGES], feature[TINY_NODES * TINY_FEATURES];
  assert_ok(dataset_read_starts(&d, GRAPH_ROWS, 0, TINY_NODES, start));
  assert_memory_equal(start, s.start, sizeof start);
  assert_ok(dataset_read_starts(&d, GRAPH_ROWS, 3, 4, start));
  assert_memory_equal(start, s.start + 3, 5 * sizeof *start);
  assert_ok(dataset_read_entries(&d, GRAPH_ROWS, 0, TINY_EDGES, col, weight));
  for (int e = 0; e < TINY_EDGES; e++) assert_int_equal(col[e], s.col[e]);
  assert_memory_equal(weight, s.weight, sizeof weight);
  assert_ok(dataset_read_entries(&d, GRAPH_ROWS, 7, 3, col, NULL));
  for (int e = 0; e < 3; e++) assert_int_equal(col[e], s.col[7 + e]);
  assert_ok(dataset_read_features(&d, 0, TINY_NODES, feature));
  assert_memory_equal(feature, s.feature, sizeof feature);
  assert_ok(dataset_read_label(&d, 0, TINY_NODES, label));
  assert_memory_equal(label, s.label, sizeof label);
  assert_ok(dataset_read_ids(&d, 0, TINY_NODES, id));
  assert_memory_equal(id, s.names.id, sizeof id);
  assert_fails(dataset_read_label(&d, 10, 5, label), BAD_INPUT, "/node/labels: has 12 rows");
  dataset_close(&d);
  dataset_source_free(&s);
}

TEST(features_below_ten_percent_are_sparse_rows) {
  struct dataset d;
  struct dataset_source s = tiny_source(TASK_MULTILABEL, 1, 1);
  assert_ok(dataset_write(&s, path));
  assert_ok(dataset_open(&d, path));
  assert_true(d.sparse);
  assert_int_equal(d.rows[FEATURE_ROWS].entries, TINY_NODES);
  int64_t start[TINY_NODES + 1];
  int32_t col[TINY_NODES];
  float value[TINY_NODES];
  uint8_t labels[TINY_NODES * TINY_CLASSES];
  assert_ok(dataset_read_starts(&d, FEATURE_ROWS, 0, TINY_NODES, start));
  assert_ok(dataset_read_entries(&d, FEATURE_ROWS, 0, TINY_NODES, col, value));
  for (int v = 0; v < TINY_NODES; v++) {
    assert_int_equal(start[v], v);
    assert_int_equal(col[v], v);
    assert_true(value[v] == s.feature[v * TINY_FEATURES + v]);
  }
  assert_ok(dataset_read_labels(&d, 0, TINY_NODES, labels));
  assert_memory_equal(labels, s.labels, sizeof labels);
  dataset_close(&d);
  dataset_source_free(&s);
}

/* Sparse rows of more than a tenth become dense, and the same dense rows come back. */
TEST(sparse_input_above_ten_percent_becomes_dense) {
  struct dataset d;
  struct dataset_source dense = tiny_source(TASK_MULTICLASS, 5, 1), s = tiny_source(TASK_MULTICLASS, 5, 1);
  free(s.feature);
  s.feature = NULL;
  s.sparse.start = calloc(TINY_NODES + 1, sizeof *s.sparse.start);
  s.sparse.col = calloc(TINY_NODES * 5, sizeof *s.sparse.col);
  s.sparse.value = calloc(TINY_NODES * 5, sizeof *s.sparse.value);
  int64_t e = 0;
  for (int v = 0; v < TINY_NODES; v++) {
    for (int c = 0; c < TINY_FEATURES; c++) {
      if (dense.feature[v * TINY_FEATURES + c] == 0) continue;
      s.sparse.col[e] = c;
      s.sparse.value[e++] = dense.feature[v * TINY_FEATURES + c];
    }
    s.sparse.start[v + 1] = e;
  }
  write_tiny(s);
  float feature[TINY_NODES * TINY_FEATURES];
  assert_ok(dataset_open(&d, path));
  assert_false(d.sparse);
  assert_ok(dataset_read_features(&d, 0, TINY_NODES, feature));
  assert_memory_equal(feature, dense.feature, sizeof feature);
  dataset_close(&d);
  dataset_source_free(&dense);
}

TEST(splits_are_plain_or_numbered) {
  struct dataset d;
  int64_t *node, count;
  write_tiny(tiny_source(TASK_MULTICLASS, 5, 3));
  assert_ok(dataset_open(&d, path));
  assert_int_equal(d.splits, 3);
  assert_false(d.plain_split);
  for (int k = 0; k < 3; k++) {
    assert_ok(dataset_read_split(&d, k, SPLIT_VAL, &node, &count));
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(node[i], 3 * i + (1 + k) % 3);
    free(node);
  }
  assert_fails(dataset_read_split(&d, 3, SPLIT_VAL, &node, &count), BAD_INPUT, "has no split 3");
  dataset_close(&d);
  write_tiny(tiny_source(TASK_MULTICLASS, 5, 1));
  assert_ok(dataset_open(&d, path));
  assert_true(d.plain_split);
  dataset_close(&d);
}

TEST(equal_content_gives_equal_bytes) {
  char *bytes[2];
  long size[2];
  for (int i = 0; i < 2; i++) {
    write_tiny(tiny_source(TASK_MULTICLASS, 1, 2));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size[i] = ftell(file);
    rewind(file);
    bytes[i] = malloc((size_t)size[i]);
    assert_int_equal(fread(bytes[i], 1, (size_t)size[i], file), size[i]);
    fclose(file);
    if (i == 0) sleep(1); /* times would differ */
  }
  assert_int_equal(size[0], size[1]);
  assert_memory_equal(bytes[0], bytes[1], (size_t)size[0]);
  free(bytes[0]);
  free(bytes[1]);
}

/* Texts that the source borrows; names[1] may be anything. */
static void write_named(const char *second, int ids) {
  const char *name[TINY_CLASSES], *id[TINY_NODES];
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  for (int c = 0; c < TINY_CLASSES; c++) name[c] = c == 1 ? second : "Z\xc3\xbcrich";
  for (int v = 0; v < TINY_NODES; v++) id[v] = v == 1 ? second : "a\nb";
  if (ids) {
    free(s.names.id);
    s.names.id = NULL;
    s.names.id_text = malloc(sizeof id);
    memcpy(s.names.id_text, id, sizeof id);
  }
  s.names.class_name = malloc(sizeof name);
  memcpy(s.names.class_name, name, sizeof name);
  write_tiny(s);
}

TEST(classes_and_nodes_have_names) {
  struct dataset d;
  char **name, *id[TINY_NODES];
  write_named("b c", 1);
  assert_ok(dataset_open(&d, path));
  assert_int_equal(d.ids, 2);
  assert_ok(dataset_read_class_names(&d, &name));
  assert_string_equal(name[0], "Z\xc3\xbcrich");
  assert_string_equal(name[1], "b c");
  h5_free_names(name, d.classes);
  assert_ok(dataset_read_id_strings(&d, 0, TINY_NODES, id));
  assert_string_equal(id[0], "a\nb");
  assert_string_equal(id[1], "b c");
  for (int v = 0; v < TINY_NODES; v++) free(id[v]);
  dataset_close(&d);
  write_tiny(tiny_source(TASK_MULTICLASS, 5, 1));
  assert_ok(dataset_open(&d, path));
  assert_ok(dataset_read_class_names(&d, &name));
  assert_null(name);
  dataset_close(&d);
}

TEST(names_of_classes_are_checked) {
  static char many[DATASET_CLASS_NAME + 2];
  memset(many, 'x', sizeof many - 1);
  const struct {
    const char *name, *message;
  } bad[] = {{"", "/node/class_names[1] is empty"},
             {"a\nb", "/node/class_names[1] has a control character"},
             {"\xc2\x85", "/node/class_names[1] has a control character"},
             {"\xff", "/node/class_names[1] is not UTF-8"},
             {many, "/node/class_names[1] is longer than 255 bytes"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct dataset d;
    char **name;
    write_named(bad[i].name, 0);
    assert_ok(dataset_open(&d, path));
    assert_fails(dataset_read_class_names(&d, &name), BAD_INPUT, bad[i].message);
    assert_null(name);
    dataset_close(&d);
  }
}
