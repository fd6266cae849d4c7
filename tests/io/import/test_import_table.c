/* Tables of nodes and edges, whose columns are named. */
#include <omp.h>

#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

static const char node_text[] =
    "name,class,x,part,y\nann,red,1,train,.5\nbob,,2,,1e1\n\"c, \"\"d\"\"\",blue,3,test,-2\n"
    "\xc3\xa9va,red,4,val,0\n";
static const char edge_text[] =
    "from,to,w\nann,bob,2\n\"c, \"\"d\"\"\",ann,3\n\xc3\xa9va,\"bob\",1\nann,bob,5\n";

static struct import_options table_options(const char *nodes, const char *edges) {
  struct import_options options = options_of("table", nodes);
  options.edges = edges;
  return options;
}

/* All that the tables have. */
static struct import_options all_options(const char *nodes, const char *edges) {
  struct import_options options = table_options(nodes, edges);
  options.column = (struct import_columns){.label = "class", .weight = "w"};
  options.features = "y,x";
  options.split = "part";
  return options;
}

static void assert_all(const struct import *import) {
  const struct dataset_source *s = &import->source;
  const float weight[] = {3, 7, 1}, feature[] = {.5F, 1, 10, 2, -2, 3, 0, 4};
  const int32_t label[] = {1, -1, 0, 1};
  const char *const id[] = {"ann", "bob", "c, \"d\"", "\xc3\xa9va"};
  assert_graph(s, "2|0 3|||");
  assert_memory_equal(s->weight, weight, sizeof weight);
  assert_int_equal(s->features, 2);
  assert_memory_equal(s->feature, feature, sizeof feature);
  assert_int_equal(s->classes, 2);
  assert_memory_equal(s->label, label, sizeof label);
  assert_string_equal(s->names.class_name[0], "blue");
  assert_string_equal(s->names.class_name[1], "red");
  assert_null(s->names.id);
  for (int v = 0; v < 4; v++) assert_string_equal(s->names.id_text[v], id[v]);
  assert_int_equal(s->splits, 1);
  for (int p = 0; p < SPLIT_COUNT; p++) assert_int_equal(s->split[0].count[p], 1);
  assert_int_equal(s->split[0].node[SPLIT_VAL][0], 3);
}

/* The text with tabs or semicolons in place of commas outside of quotes, and ends of lines of both kinds. */
static char *written_with(const char *text, char separator, const char *end) {
  char *made = calloc(2 * strlen(text) + 1, 1), *to = made;
  int open = 0;
  assert_non_null(made);
  for (; *text; text++) {
    open ^= *text == '"';
    if (*text == '\n' && !open) {
      to = stpcpy(to, end);
    } else {
      *to++ = *text == ',' && !open ? separator : *text;
    }
  }
  return made;
}

/* A name with a comma in it is that of one column, where there is such a column. */
TEST(several_labels_a_node) {
  struct import import;
  synthetic_text("nodes", "id,\"q, r\",x,p\n7,0,5,1\n8,1,6,0\n9,1,7,1\n");
  synthetic_text("edges", "a,b\n7,8\n");
  struct import_options options = table_options("nodes", "edges");
  options.column.label = "p,\"q, r\"";
  options.features = "x";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.task, TASK_MULTILABEL);
  assert_int_equal(import.source.classes, 2);
  assert_memory_equal(import.source.labels, ((const uint8_t[]){1, 0, 0, 1, 1, 1}), 6);
  assert_string_equal(import.source.names.class_name[0], "p");
  assert_string_equal(import.source.names.class_name[1], "q, r");
  assert_memory_equal(import.source.feature, ((const float[]){5, 6, 7}), 3 * sizeof(float));
  import_free(&import);
}

TEST(tables_are_read_in_each_wrapping) {
  static const struct {
    char separator;
    const char *end;
    int packed;
  } wrapping[] = {{',', "\n", 0}, {',', "\r\n", 1}, {'\t', "\n", 0}, {'\t', "\r\n", 0}, {';', "\n\n", 1}};
  for (size_t i = 0; i < sizeof wrapping / sizeof wrapping[0]; i++) {
    char *nodes = written_with(node_text, wrapping[i].separator, wrapping[i].end);
    char *edges = written_with(edge_text, wrapping[i].separator, wrapping[i].end);
    (wrapping[i].packed ? synthetic_gzip : synthetic_text)("nodes", nodes);
    (wrapping[i].packed ? synthetic_gzip : synthetic_text)("edges", edges);
    free(nodes);
    free(edges);
    struct import_options options = all_options("nodes", "edges");
    struct import import;
    assert_ok(import_read(&import, &options));
    assert_all(&import);
    import_free(&import);
  }
}

TEST(columns_stand_in_any_order) {
  synthetic_text("nodes",
                 "y,part,class,name,x\n.5,train,red,ann,1\n10,,,bob,2\n-2,test,blue,\"c, \"\"d\"\"\",3\n"
                 "0,val,red,\xc3\xa9va,4");
  synthetic_text("edges", "\xef\xbb\xbfw,note,to,from\n2,\"a\n\nb\",bob,ann\n3,,ann,\"c, "
                          "\"\"d\"\"\"\n1,x,bob,\xc3\xa9va\n5,,bob,ann\n");
  struct import_options options = all_options("nodes", "edges");
  options.column.id = "name";
  options.column.from = "from";
  options.column.to = "to";
  struct import import;
  assert_ok(import_read(&import, &options));
  assert_all(&import);
  import_free(&import);
}

TEST(all_features_are_the_columns_of_numbers_that_are_left) {
  const float feature[] = {1, .5F, 2, 10, 3, -2, 4, 0};
  synthetic_text("nodes", node_text);
  synthetic_text("edges", edge_text);
  struct import_options options = table_options("nodes", "edges");
  options.features = "all";
  struct import import;
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.features, 2);
  assert_memory_equal(import.source.feature, feature, sizeof feature);
  assert_null(import.source.weight);
  assert_int_equal(import.source.task, TASK_NONE);
  import_free(&import);
  synthetic_text("nodes", "id,class,7\n1,5,6\n");
  synthetic_text("edges", "a,b\n1,1\n");
  options.column.label = "class";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.features, 1);
  assert_int_equal(import.source.label[0], 0);
  assert_null(import.source.names.class_name);
  import_free(&import);
}

/* What stands beside other formats stands beside tables, too; its ids are the texts. */
TEST(files_and_random_rules_stay) {
  struct import import;
  synthetic_text("nodes", node_text);
  synthetic_text("edges", edge_text);
  synthetic_text("labels", "bob 7\nann 5\n");
  synthetic_text("split", "train\nval\ntest\ntrain\n");
  synthetic_text("f.csv", "1\n2\n3\n4\n");
  struct import_options options = table_options("nodes", "edges");
  options.labels = "labels";
  options.split = "split";
  options.features = "f.csv";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.features, 1);
  assert_memory_equal(import.source.label, ((const int32_t[]){0, 1, -1, -1}), 4 * sizeof(int32_t));
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 1);
  import_free(&import);
  options.labels = "random:2";
  options.split = "random:.5,.25";
  options.features = "random:3";
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.features, 3);
  assert_int_equal(import.source.split[0].count[SPLIT_TRAIN], 2);
  import_free(&import);
}

static void assert_ids(const char *nodes, const int64_t *id, const char *first) {
  struct import import;
  synthetic_text("nodes", nodes);
  synthetic_text("edges", "a,b\n");
  struct import_options options = table_options("nodes", "edges");
  assert_ok(import_read(&import, &options));
  assert_int_equal(import.source.nodes, 3);
  assert_true((import.source.names.id == NULL) == (id == NULL));
  if (id) assert_memory_equal(import.source.names.id, id, 3 * sizeof *id);
  assert_true((import.source.names.id_text == NULL) == (first == NULL));
  if (first) assert_string_equal(import.source.names.id_text[0], first);
  import_free(&import);
}

TEST(whole_numbers_are_kept_as_such_and_texts_as_texts) {
  assert_ids("id\n0\n1\n2\n", NULL, NULL);
  assert_ids("id\n2\n0\n9223372036854775807\n", (const int64_t[]){2, 0, INT64_MAX}, NULL);
  assert_ids("id\n2\n0\n9223372036854775808\n", NULL, "2");
  assert_ids("id\n01\n1\n2\n", NULL, "01");
  assert_ids("id\n-1\n1\n2\n", NULL, "-1");
  assert_ids("id\n a\na\nb\n", NULL, " a");
  assert_ids("id,n\n\"a\r\nb\",\n\"a\nb\",\n\"\"\"\",\n", NULL, "a\r\nb");
}

TEST(what_is_wrong_names_file_and_line) {
  static const struct {
    const char *nodes, *edges, *message;
    struct import_columns column;
    const char *features, *split;
  } bad[] = {
      {"", "a,b\n", "nodes:1: is empty; a line with the names", {0}, NULL, NULL},
      {"id\n", "a,b\n", "nodes: holds no nodes", {0}, NULL, NULL},
      {"id\n1\n", "", "edges:1: is empty; a line with the names", {0}, NULL, NULL},
      {"id\n1\n", "a\n1\n", "edges:1: there is no column left for --to", {0}, NULL, NULL},
      {"1,2\n3,4\n",
       "a,b\n",
       "nodes:1: the first line must name the columns, and \"1\" is a number",
       {0},
       NULL,
       NULL},
      {"id\n1\n",
       "0,1\n1,1\n",
       "edges:1: the first line must name the columns, and \"0\" is a number",
       {0},
       NULL,
       NULL},
      {"id,label\n1,a\n",
       "a,b\n",
       "nodes:1: --label: no column \"lable\" among \"id\", \"label\"; did you mean \"label\"?",
       {.label = "lable"},
       NULL,
       NULL},
      {"id,x,x\n1,2,3\n", "a,b\n", "nodes:1: --features: two columns are called \"x\"", {0}, "x", NULL},
      {"id,x\n1,2\n",
       "a,b\n",
       "nodes:1: column \"x\" stands for two things: --label and --features",
       {.label = "x"},
       "x",
       NULL},
      {"id,p,q\n1,0,1\n2,1,yes\n",
       "a,b\n",
       "nodes:3: column \"q\": expected 0 or 1, found \"yes\"",
       {.label = "p,q"},
       NULL,
       NULL},
      {"id,p,q\n1,0,\n", "a,b\n", "column \"q\": expected 0 or 1, found \"\"", {.label = "p,q"}, NULL, NULL},
      {"id,p\n1,0\n", "a,b\n", "nodes:1: --label: no column \"q\" among", {.label = "p,q"}, NULL, NULL},
      {"id,p\n1,0\n", "a,b\n", "column \"p\" stands for two things", {.label = "p,p"}, NULL, NULL},
      {"id,x\n1,2\n", "a,b\n", "nodes:1: --features: no column \"y\" among \"id\", \"x\"", {0}, "x,y", NULL},
      {"id,x\n1,2\n", "a,b\n", "nodes:1: --split: no column \"parts\" among", {0}, NULL, "parts"},
      {"id\nx\ny\n\nx\n", "a,b\n", "nodes:5: id \"x\" is that of line 2, too", {0}, NULL, NULL},
      {"id,n\n\"x\ny\",\nz,\n\"x\ny\",\n",
       "a,b\n",
       "nodes:5: id \"x...\" is that of line 2, too",
       {0},
       NULL,
       NULL},
      {"id,x\n1,2\n,3\n", "a,b\n", "nodes:3: column \"id\" is empty", {0}, NULL, NULL},
      {"id\n1\n\xff\n", "a,b\n", "nodes:3: column \"id\" is not UTF-8", {0}, NULL, NULL},
      {"id,x\n1,2\n2\n", "a,b\n", "nodes:3: has 1 fields; the first line names 2 columns", {0}, NULL, NULL},
      {"id,x\n1,2\n2,3,4,5\n",
       "a,b\n",
       "nodes:3: has 4 fields; the first line names 2 columns",
       {0},
       NULL,
       NULL},
      {"id,x\n1,2\n2,abc\n",
       "a,b\n",
       "nodes:3: column \"x\": expected a number, found \"abc\"",
       {0},
       "x",
       NULL},
      {"id,x\n1,2\n2,3 4\n",
       "a,b\n",
       "nodes:3: column \"x\": expected a number, found \"3 4\"",
       {0},
       "all",
       NULL},
      {"id,x\n1,2\n2,\n", "a,b\n", "nodes:3: column \"x\" is empty; a number is expected", {0}, "x", NULL},
      {"id,x\n1,2\n2,inf\n", "a,b\n", "nodes:3: column \"x\": \"inf\" is not a finite", {0}, "x", NULL},
      {"id,x\n1,\n", "a,b\n", "nodes:2: column \"x\" is empty, so that nobody can tell", {0}, "all", NULL},
      {"id,x\n1,a\n", "a,b\n", "nodes:2: --features all: no column has numbers", {0}, "all", NULL},
      {"id,p\n1,train\n2,valid\n",
       "a,b\n",
       "nodes:3: column \"p\": expected train, val, test, none or nothing, found \"valid\"",
       {0},
       NULL,
       "p"},
      {"id,c\n1,\n2,-1\n", "a,b\n", "nodes: no node has a label", {.label = "c"}, NULL, NULL},
      {"id,c\n1,\"a\nb\"\n",
       "a,b\n",
       "nodes:2: column \"c\" has a control character",
       {.label = "c"},
       NULL,
       NULL},
      {"id\n1\n\"2\n", "a,b\n", "nodes:3: the quotes of \"2...\" are not closed", {0}, NULL, NULL},
      {"id\n1\n\"2\"3\n4\n",
       "a,b\n",
       "nodes:3: \"3\" stands behind the closing quote of \"2\"",
       {0},
       NULL,
       NULL},
      {"id\n1\n5\" disk\n\"4\"\n", "a,b\n", "nodes:3: a quote inside of \"5\"", {0}, NULL, NULL},
      {"id\n1\n2\n",
       "a,b\n1,2\n\n2,3\n",
       "edges:4: column \"b\": there is no node \"3\" in nodes",
       {0},
       NULL,
       NULL},
      {"id\n1\n2\n",
       "a,b\n1,2\n3,1\n1\n",
       "edges:3: column \"a\": there is no node \"3\" in nodes",
       {0},
       NULL,
       NULL},
      {"id\n1\n2\n",
       "a,b\n1,\n",
       "edges:2: column \"b\" is empty; the id of a node is expected",
       {0},
       NULL,
       NULL},
      {"id\n1\n2\n",
       "a,b,w\n1,2,x\n",
       "edges:2: column \"w\": expected a number, found \"x\"",
       {.weight = "w"},
       NULL,
       NULL},
      {"id\n1\n2\n", "a,b,w\n1,2\n", "edges:2: has 2 fields", {.weight = "w"}, NULL, NULL},
      {"id\n1\n2\n",
       "a,b\n1,2\n",
       "edges:1: column \"a\" stands for two things: --from and --to",
       {.from = "a", .to = "a"},
       NULL,
       NULL},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    synthetic_text("nodes", bad[i].nodes);
    synthetic_text("edges", bad[i].edges);
    struct import_options options = table_options("nodes", "edges");
    options.column = bad[i].column;
    options.features = bad[i].features;
    options.split = bad[i].split;
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
}

TEST(options_that_do_not_fit_are_refused) {
  synthetic_text("nodes", node_text);
  synthetic_text("edges", edge_text);
  struct import_options options = options_of("edgelist", "edges");
  options.column.id = "name";
  assert_fails(import_code(&options), BAD_INPUT, "--id goes with table only");
  options = table_options("nodes", "edges");
  options.weights = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--weight COLUMN says so");
  options = table_options("nodes", "edges");
  options.column.label = "class";
  options.labels = "random:2";
  assert_fails(import_code(&options), BAD_INPUT, "--label and --labels");
}

/* Many blocks of lines, with ends of lines in quotes everywhere: any number of threads reads the same. */
TEST(threads_do_not_matter) {
  enum { ROWS = 300000 };
  FILE *nodes = fopen("nodes", "w"), *edges = fopen("edges", "w");
  assert_true(nodes && edges);
  fputs("note,id,x,class\n", nodes);
  fputs("a,note,b\n", edges);
  for (int v = 0; v < ROWS; v++) {
    const char *note = v % 7 ? "\"some text\nof, two \"\"lines\"\"\"" : v % 2 ? "plain" : "\"\n\n\"";
    fprintf(nodes, "%s,n%d,%d,class %d\n", note, v, v % 100, v % 11);
    fprintf(edges, "n%d,%s,n%d\n", v, note, (int)((int64_t)v * 7919 % ROWS));
  }
  assert_true(fclose(nodes) == 0 && fclose(edges) == 0);
  struct import_options options = table_options("nodes", "edges");
  options.column = (struct import_columns){.id = "id", .label = "class", .to = "b"};
  options.features = "x";
  struct import import[2];
  for (int i = 0; i < 2; i++) {
    omp_set_num_threads(i ? 1 : 5);
    assert_ok(import_read(&import[i], &options));
  }
  omp_set_num_threads(2);
  const struct dataset_source *s = &import[0].source, *other = &import[1].source;
  assert_int_equal(s->nodes, ROWS);
  assert_int_equal(s->classes, 11);
  assert_int_equal(s->start[ROWS], other->start[ROWS]);
  assert_memory_equal(s->start, other->start, (ROWS + 1) * sizeof *s->start);
  assert_memory_equal(s->col, other->col, (size_t)s->start[ROWS] * sizeof *s->col);
  assert_memory_equal(s->label, other->label, ROWS * sizeof *s->label);
  for (int v = 0; v < ROWS; v += 997) {
    char id[16];
    snprintf(id, sizeof id, "n%d", v);
    assert_string_equal(s->names.id_text[v], id);
    assert_true(s->feature[v] == (float)(v % 100));
  }
  for (int i = 0; i < 2; i++) import_free(&import[i]);
}

/* The first one that is wrong is named, whatever the threads. */
TEST(the_first_wrong_row_is_named) {
  enum { ROWS = 400000 };
  FILE *nodes = fopen("nodes", "w");
  assert_non_null(nodes);
  fputs("id,note,x\n", nodes);
  for (int v = 0; v < ROWS; v++)
    fprintf(nodes, "n%d,\"a\nb\",%s\n", v, v == 250000 || v == 250001 || v > 390000 ? "x" : "1");
  assert_int_equal(fclose(nodes), 0);
  synthetic_text("edges", "a,b\n");
  struct import_options options = table_options("nodes", "edges");
  options.features = "x";
  for (int threads = 1; threads < 6; threads += 4) {
    omp_set_num_threads(threads);
    assert_fails(import_code(&options), BAD_INPUT,
                 "nodes:500002: column \"x\": expected a number, found \"x\"");
  }
  omp_set_num_threads(2);
}
