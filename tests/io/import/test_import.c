/* Each format's small graph, in each wrapping, comes out the same. */
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

/* 0 -> 1 (twice), 0 -> 2, 1 -> 2, 2 -> 2, 3 -> 4, 4 -> 3 */
static const char list_text[] = "# a comment\n0 1\n0\t2\n1,2\n\n2 2\n  3 4\n4 3 \n0 1\n";
static const char mtx_text[] = "%%MatrixMarket matrix coordinate integer general\n% comment\n5 5 7\n"
                               "1 2 3\n1 3 1\n2 3 1\n3 3 1\n4 5 2\n5 4 2\n1 2 4\n";
static const char konect_text[] =
    "% asym weighted\n% 7 5 5\n1 2 3 99\n1 3 1 99\n2 3 1 99\n3 3 1 99\n4 5 2 99\n"
    "5 4 2 99\n1 2 4 99\n";
static const char expected_rows[] = "|0|0 1 2|4|3|";

static char *with_crlf(const char *text) {
  char *crlf = calloc(2 * strlen(text) + 1, 1), *to = crlf;
  for (; *text; text++) {
    if (*text == '\n') *to++ = '\r';
    *to++ = *text;
  }
  return crlf;
}

/* Calls `check` for the text as it is, with CRLF, compressed, and both. */
static void in_each_wrapping(const char *format, const char *text, void (*check)(const struct import *import),
                             struct import_options options) {
  char *crlf = with_crlf(text);
  synthetic_text("lf", text);
  synthetic_text("crlf", crlf);
  synthetic_gzip("lf.gz", text);
  synthetic_gzip("crlf.gz", crlf);
  free(crlf);
  const char *paths[] = {"lf", "crlf", "lf.gz", "crlf.gz"};
  for (int i = 0; i < 4; i++) {
    struct import import;
    options.format = format;
    options.input = paths[i];
    assert_ok(import_read(&import, &options));
    check(&import);
    import_free(&import);
  }
}

static void check_plain(const struct import *import) {
  assert_graph(&import->source, expected_rows);
  assert_true(import->source.directed);
  assert_null(import->source.weight);
  assert_int_equal(import->edges.duplicates, 1);
  assert_int_equal(import->source.task, TASK_NONE);
  assert_string_equal(import->source.name, "out");
}

TEST(directed_lists_give_sources_by_row) {
  in_each_wrapping("edgelist", list_text, check_plain, options_of("", ""));
  in_each_wrapping("konect", konect_text, check_plain, options_of("", ""));
  in_each_wrapping("mtx", mtx_text, check_plain, options_of("", ""));
}

static void check_weights(const struct import *import) {
  const float expected[] = {7, 1, 1, 1, 2, 2};
  assert_graph(&import->source, expected_rows);
  assert_memory_equal(import->source.weight, expected, sizeof expected);
  assert_true(import->source.directed);
}

TEST(weights_are_kept_on_request_and_duplicates_summed) {
  struct import_options options = {.output = "out.h5", .splits = 1, .weights = 1};
  in_each_wrapping("konect", konect_text, check_weights, options);
  in_each_wrapping("mtx", mtx_text, check_weights, options);
}

static void check_undirected(const struct import *import) {
  assert_graph(&import->source, "1 2|0 2|0 1|4|3|");
  assert_false(import->source.directed);
  assert_int_equal(import->edges.loops, 1);
  assert_int_equal(import->edges.mirrored, 3);
}

TEST(undirected_mirrors_and_loops_can_go) {
  struct import_options options = {.output = "out.h5", .splits = 1, .undirected = 1, .drop_self_loops = 1};
  in_each_wrapping("edgelist", list_text, check_undirected, options);
  in_each_wrapping("mtx", mtx_text, check_undirected, options);
}

static void check_ids(const struct import *import) {
  const int64_t id[] = {7, 100, 9000000000000000000};
  assert_graph(&import->source, "2|0|1|");
  assert_memory_equal(import->source.names.id, id, sizeof id);
}

TEST(scattered_ids_become_nodes_in_ascending_order) {
  in_each_wrapping("edgelist", "9000000000000000000 7\n7 100\n100 9000000000000000000\n", check_ids,
                   options_of("", ""));
}

static void check_declared(const struct import *import) {
  assert_graph(&import->source, "1||1|||");
  assert_null(import->source.names.id);
}

static void check_from_one(const struct import *import) {
  const int64_t id[] = {1, 2, 3, 4};
  assert_graph(&import->source, "|0 3|||");
  assert_memory_equal(import->source.names.id, id, sizeof id);
}

static void check_gaps(const struct import *import) {
  const int64_t id[] = {10, 20};
  assert_graph(&import->source, "|0|");
  assert_memory_equal(import->source.names.id, id, sizeof id);
}

TEST(declared_nodes_without_arcs_are_nodes) {
  in_each_wrapping("edgelist", "# Nodes: 5 Edges: 2\n1 0\n1 2\n", check_declared, options_of("", ""));
  in_each_wrapping("edgelist", "# x: 5 nodes 2 arcs, made\n1 0\n1 2\n", check_declared, options_of("", ""));
  in_each_wrapping("edgelist", "# Nodes: 4 Edges: 2\n1 2\n4 2\n", check_from_one, options_of("", ""));
  in_each_wrapping("edgelist", "# Nodes: 4 Edges: 1\n10 20\n", check_gaps, options_of("", ""));
  struct import_options options = {.output = "out.h5", .splits = 1, .nodes = 5};
  in_each_wrapping("edgelist", "1 0\n1 2\n", check_declared, options);
}

static void check_two_nodes(const struct import *import) {
  assert_graph(&import->source, "1|0|");
}

TEST(comments_for_people_declare_nothing) {
  static const char *const comment[] = {"# 10 nodes removed, 3 edges added",
                                        "# 10 nodes, 3 edges",
                                        "# we took 10 nodes 3 edges",
                                        "# 10 nodes 3 edges removed",
                                        "# Nodes: 10 of which Edges: 3",
                                        "# Nodes: 10 Edges: 3 are gone",
                                        "# x y: 10 nodes 3 arcs",
                                        "# Nodes: 10",
                                        "#",
                                        "# :"};
  for (size_t i = 0; i < sizeof comment / sizeof comment[0]; i++) {
    char text[128];
    snprintf(text, sizeof text, "%s\n0 1\n1 0\n", comment[i]);
    in_each_wrapping("edgelist", text, check_two_nodes, options_of("", ""));
  }
}

static void check_sides(const struct import *import) {
  const int64_t id[] = {1, 2, 3, 4, 5};
  assert_graph(&import->source, "2 4|3|0|1|0|");
  assert_false(import->source.directed);
  assert_memory_equal(import->source.names.id, id, sizeof id);
}

TEST(sides_of_a_bipartite_list_are_separate) {
  in_each_wrapping("konect", "% bip unweighted\n% 3 2 3\n1 1\n2 2\n1 3\n", check_sides, options_of("", ""));
  in_each_wrapping("konect", "% bip unweighted\n1 1\n2 2\n1 3\n", check_sides, options_of("", ""));
  in_each_wrapping("mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n2 2\n1 3\n",
                   check_sides, options_of("", ""));
}

static void check_triangle(const struct import *import) {
  assert_graph(&import->source, "0 1 2|0|0|");
  assert_false(import->source.directed);
}

TEST(symmetric_files_stand_for_both_directions) {
  in_each_wrapping("mtx",
                   "%%MatrixMarket MATRIX Coordinate Real Symmetric\n\n3 3 3\n1 1 5\n2 1 1.5e0\n3 1 -2\n",
                   check_triangle, options_of("", ""));
  in_each_wrapping("konect", "% sym unweighted\n1 1\n2 1\n3 1\n", check_triangle, options_of("", ""));
  in_each_wrapping("konect", "% sym unweighted\n% of 12 May 2013\n% 3 3 3\n1 1\n2 1\n3 1\n", check_triangle,
                   options_of("", ""));
}

static void check_metis(const struct import *import) {
  assert_graph(&import->source, "1 2|0|0||");
  assert_false(import->source.directed);
  assert_null(import->source.weight);
}

static void check_metis_weights(const struct import *import) {
  const float expected[] = {5, 6, 5, 6};
  assert_graph(&import->source, "1 2|0|0||");
  assert_memory_equal(import->source.weight, expected, sizeof expected);
}

TEST(metis_layouts_are_read) {
  struct import_options weights = {.output = "out.h5", .splits = 1, .weights = 1};
  in_each_wrapping("metis", "% comment\n4 2\n2 3\n% comment\n1\n1\n\n", check_metis, options_of("", ""));
  in_each_wrapping("metis", "4 2 1\n2 5 3 6\n1 5\n1 6\n\n", check_metis, options_of("", ""));
  in_each_wrapping("metis", "4 2 001\n2 5 3 6\n1 5\n1 6\n\n\n", check_metis_weights, weights);
  in_each_wrapping("metis", "4 2 11 2\n9 9 2 5 3 6\n8 8 1 5\n7 7 1 6\n1 1\n", check_metis_weights, weights);
  in_each_wrapping("metis", "4 2 110\n9 9 2 3\n8 8 1\n7 7 1\n1 1\n", check_metis, options_of("", ""));
}

TEST(unit_weights_are_not_stored) {
  struct import import;
  synthetic_text("ones", "0 1 1\n1 0 1.0\n");
  struct import_options options = options_of("edgelist", "ones");
  options.weights = 1;
  assert_ok(import_read(&import, &options));
  assert_null(import.source.weight);
  import_free(&import);
}

TEST(the_written_file_reads_back) {
  struct import import;
  synthetic_text("list", list_text);
  struct import_options options = options_of("edgelist", "list");
  assert_ok(import_read(&import, &options));
  assert_ok(dataset_write(&import.source, "out.h5"));
  struct dataset dataset;
  assert_ok(dataset_open(&dataset, "out.h5"));
  assert_int_equal(dataset.nodes, 5);
  assert_int_equal(dataset.edges, 6);
  assert_true(dataset.directed);
  dataset_close(&dataset);
  import_free(&import);
}
