/* Hypergraphs from text: what each kind of file becomes, and one sentence with file and line for wrong ones.
 */
#include "runtime/base/random.h"
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

static void reads(const struct import_options *options, int64_t nodes, const char *rows) {
  struct import import;
  assert_ok(import_read(&import, options));
  assert_hyperedges(&import.source, nodes, rows);
  import_free(&import);
}

TEST(lines_list_vertices_with_commas_or_blanks) {
  synthetic_text("h", "3,0,1\r\n# a comment\n2 4\n1\n");
  struct import_options options = options_of("hypergraph", "h");
  reads(&options, 5, "0 1 3|2 4|1|");
  options.nodes = 7;
  reads(&options, 7, "0 1 3|2 4|1|");
  synthetic_gzip("h.gz", "3,0,1\n2\t4\n");
  options = options_of("hypergraph", "h.gz");
  reads(&options, 5, "0 1 3|2 4|");
}

TEST(vertices_count_from_one_where_the_last_would_not_fit) {
  struct import import;
  synthetic_text("h", "1,2\n4,2\n");
  synthetic_text("labels", "7\n8\n7\n7\n");
  struct import_options options = options_of("hypergraph", "h");
  reads(&options, 4, "0 1|1 3|");
  options.labels = "labels";
  assert_ok(import_read(&import, &options));
  assert_hyperedges(&import.source, 4, "0 1|1 3|");
  assert_int_equal(import.source.names.id[0], 1);
  assert_int_equal(import.source.label[1], 1);
  import_free(&import);
  synthetic_text("labels", "7\n8\n7\n7\n8\n"); /* five vertices: 4 is the last, counted from 0 */
  reads(&options, 5, "1 2|2 4|");
}

static void features_beside(const char *file, int64_t nodes, const char *rows) {
  struct import_options options = options_of("hypergraph", "h");
  options.features = file;
  reads(&options, nodes, rows);
}

TEST(arrays_beside_say_how_many_vertices_there_are) {
  static const float matrix[5] = {1, 2, 3, 4, 5};
  static const int64_t start[5] = {0, 1, 1, 1, 2}, four[] = {4, 1};
  static const int32_t col[] = {0, 0};
  const struct synthetic_array csr[] = {{"indptr", "<i8", "(5,)", start, sizeof start, 0},
                                        {"indices", "<i4", "(2,)", col, sizeof col, 0},
                                        {"shape", "<i8", "(2,)", four, sizeof four, 0},
                                        {"format", "|S3", "()", "csr", 3, 0},
                                        {"data", "<f4", "(2,)", matrix, 8, 0}};
  const struct synthetic_array attr[] = {{"attr_indptr", "<i8", "(5,)", start, sizeof start, 0},
                                         {"attr_indices", "<i4", "(2,)", col, sizeof col, 0},
                                         {"attr_shape", "<i8", "(2,)", four, sizeof four, 0},
                                         {"attr_data", "<f4", "(2,)", matrix, 8, 0}};
  size_t size;
  synthetic_text("h", "1,2\n4,2\n");
  void *bytes = synthetic_npy("<f4", "(4, 1)", 0, 1, matrix, 16, &size);
  synthetic_file("four.npy", bytes, size);
  free(bytes);
  bytes = synthetic_npy("<f4", "(5, 1)", 0, 1, matrix, 20, &size);
  synthetic_file("five.npy", bytes, size);
  free(bytes);
  synthetic_npz("csr.npz", csr, 5);
  synthetic_npz("attr.npz", attr, 4);
  features_beside("four.npy", 4, "0 1|1 3|");
  features_beside("five.npy", 5, "1 2|2 4|");
  features_beside("csr.npz", 4, "0 1|1 3|");
  features_beside("attr.npz", 4, "0 1|1 3|");
  struct import_options options = options_of("hypergraph", "h");
  options.features = "csr.npz";
  options.nodes = 5;
  assert_fails(import_code(&options), BAD_INPUT, "csr.npz: features of 4 x 1 for 5 nodes");
}

TEST(repeated_vertices_merge_and_empty_hyperedges_vanish) {
  synthetic_text("h", "2,0,2\n\n1\n0,2\n");
  struct import_options options = options_of("hypergraph", "h");
  reads(&options, 3, "0 2|1|0 2|");
}

TEST(hmetis_files_are_read_without_their_weights) {
  synthetic_text("h.hgr", "% c\n3 5 11\n2 1 2\n% c\n9 5 1 3\n1 4\n1\n2\n3\n4\n5\n");
  struct import_options options = options_of("hypergraph", "h.hgr");
  reads(&options, 5, "0 1|0 2 4|3|");
  synthetic_text("h.hgr", "2 6\n1 2\n5 1 3\n");
  reads(&options, 6, "0 1|0 2 4|");
}

TEST(konect_lists_are_grouped_by_their_right_side) {
  synthetic_text("out.h", "% bip unweighted\n% 5 4 3\n1 3\n2 1 1 99\n4 3\n1 1\n2 3\n");
  struct import_options options = options_of("hypergraph", "out.h");
  reads(&options, 4, "0 1|0 1 3|");
}

TEST(written_hypergraphs_read_back) {
  struct import import;
  struct dataset dataset;
  int64_t start[3], violations;
  int32_t vertex[4];
  synthetic_text("h", "3,0,1\n2\n");
  struct import_options options = options_of("hypergraph", "h");
  options.features = "random:2";
  options.labels = "random:2";
  options.split = "random:0.5,0.25";
  assert_ok(import_read(&import, &options));
  assert_ok(dataset_write(&import.source, "h.h5"));
  import_free(&import);
  assert_ok(dataset_open(&dataset, "h.h5"));
  assert_int_equal(dataset.has_graph, 0);
  assert_int_equal(dataset.hyperedges, 2);
  assert_ok(dataset_read_starts(&dataset, HYPER_ROWS, 0, 2, start));
  assert_ok(dataset_read_entries(&dataset, HYPER_ROWS, 0, 4, vertex, NULL));
  assert_int_equal(start[1], 3);
  assert_int_equal(start[2], 4);
  assert_int_equal(vertex[2], 3);
  assert_int_equal(vertex[3], 2);
  assert_ok(dataset_check(&dataset, NULL, NULL, &violations));
  assert_int_equal(violations, 0);
  dataset_close(&dataset);
}

TEST(wrong_files_name_file_and_line) {
  static const struct {
    const char *file, *content, *message;
  } bad[] = {
      {"bad", "", "bad: holds no hyperedges"},
      {"bad", "\n\n", "bad: its hyperedges are empty"},
      {"bad", "0,1\n1,x\n", "bad:2: expected a vertex, found \"x\""},
      {"bad", "0,-1\n", "bad:1: vertex \"-1\"; 0 to 2147483647 are allowed"},
      {"bad", "0,,1\n", "bad:1: field 2 is empty"},
      {"bad", "% bip\n1,,1\n", "bad:2: field 2 is empty"},
      {"bad.hgr", "1 3\n1,,2\n", "bad.hgr:2: field 2 is empty"},
      {"bad", "0,1.5\n", "bad:1: expected a vertex, found \"1.5\""},
      {"bad", "0,2147483000\n", "bad: vertices: 2147483001 is out of proportion"},
      {"bad", "0,99999999999999999999\n", "bad:1: the number \"99999999999999999999\" does not fit"},
      {"bad.hgr", "", "bad.hgr: is empty"},
      {"bad.hgr", "x\n", "bad.hgr:1: expected the number of hyperedges, found \"x\""},
      {"bad.hgr", "2\n", "bad.hgr:1: expected the number of vertices, found the end of the line"},
      {"bad.hgr", "0 3\n", "bad.hgr:1: 0 hyperedges and 3 vertices"},
      {"bad.hgr", "1 3 2\n1 2\n", "bad.hgr:1: fmt is 2; allowed: 0, 1, 10, 11"},
      {"bad.hgr", "2 3\n1 2\n", "bad.hgr:2: the file ends after 1 of 2 hyperedges"},
      {"bad.hgr", "1 3\n1 4\n", "bad.hgr:2: vertex 4 is outside 1 .. 3"},
      {"bad.hgr", "1 3\n0 1\n", "bad.hgr:2: vertex 0 is outside 1 .. 3"},
      {"bad.hgr", "1 3\n1 2\n3\n", "bad.hgr:3: more lines than line 1 declares"},
      {"bad.hgr", "1 2 10\n1 2\n5\n", "bad.hgr:3: the file ends after 1 weights of 2 vertices"},
      {"bad.hgr", "1 2000000000\n1 2\n", "bad.hgr: vertices: 2000000000 is out of proportion"},
      {"bad", "% bip\n0 1\n", "bad:2: node id \"0\"; ids start at 1"},
      {"bad", "% bip\n% 1 2 2\n1 3\n", "bad:3: node id \"3\"; line 2 declares 2 nodes"},
      {"bad", "% bip\n% 2 2 2\n1 2\n", "bad:2: declares 2 arcs, the file has 1"},
      {"bad", "% bip\n% 1 3000000000 1\n1 1\n", "bad: vertices: 3000000000; at most 2147483647"},
      {"bad", "% bip\n1\n", "bad:2: expected two node ids, found the end of the line"},
      {"bad", "% bip\n1 1 1 1 1\n", "bad:2: expected two node ids, a value and a time"},
      {"bad", "% bip\n", "bad: holds no hyperedges"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    synthetic_text(bad[i].file, bad[i].content);
    struct import_options options = options_of("hypergraph", bad[i].file);
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
}

TEST(options_that_do_not_fit_are_refused) {
  synthetic_text("h", "0,5\n");
  struct import_options options = options_of("hypergraph", "h");
  options.nodes = 4;
  assert_fails(import_code(&options), BAD_INPUT,
               "h: has vertex 5, but --nodes says less; with ids from 0 there must be 6");
  options = options_of("hypergraph", "h");
  synthetic_text("few", "a\nb\n");
  options.labels = "few";
  assert_fails(import_code(&options), BAD_INPUT, "h: has vertex 5, but the files beside list fewer");
  options = options_of("hypergraph", "h");
  options.undirected = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--undirected goes with graphs");
  options = options_of("hypergraph", "h");
  options.weights = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--weights goes with graphs");
}

/* Cut, flipped and overwritten copies are read or refused. */
static void survives_damage(const char *name, const char *content) {
  static const char spice[] = "0123456789-+. \n\t%#e,";
  struct philox_key key = random_key(13, 0, 0, RANDOM_IMPORT);
  size_t size = strlen(content);
  for (int round = 0; round < 600; round++) {
    char copy[256];
    struct philox_block block = random_block(key, (uint64_t)round, 0);
    memcpy(copy, content, size);
    for (uint32_t i = 0; i < block.word[0] % 4; i++) {
      struct philox_block hit = random_block(key, (uint64_t)round, i + 1);
      char *at = copy + hit.word[0] % size;
      if (hit.word[1] % 2)
        *at = spice[hit.word[2] % (sizeof spice - 1)];
      else
        *at = (char)(*at ^ 1 << hit.word[2] % 7);
    }
    synthetic_file(name, copy, round % 3 == 0 ? block.word[1] % size : size);
    struct import_options options = options_of("hypergraph", name);
    int code = import_code(&options);
    if (code != OK && code != BAD_INPUT) fail_msg("round %d: code %d: %s", round, code, error_message());
    error_clear();
  }
}

TEST(damaged_files_are_read_or_refused) {
  survives_damage("d", "3,0,1\n2,4\n# c\n1\n5,6,7,2\n");
  survives_damage("d.hgr", "% c\n3 5 11\n2 1 2\n9 5 1 3\n1 4\n1\n2\n3\n4\n5\n");
  survives_damage("k", "% bip unweighted\n% 5 4 3\n1 3\n2 1 1 99\n4 3\n1 1\n2 3\n");
}
