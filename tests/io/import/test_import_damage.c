/* Wrong text files get their sentence; damaged ones of every format are read or refused, quickly and in
 * little memory. */
#include <omp.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "runtime/base/memory.h"
#include "runtime/base/random.h"
#include "tests/io/import/importing.h"

IN_MADE_FOLDER;

#define MTX "%%MatrixMarket matrix coordinate pattern general\n"

TEST(wrong_files_name_file_and_line) {
  static const struct {
    const char *format, *content, *message;
  } bad[] = {
      {"edgelist", "# c\n0 1\n1 abc\n", "bad:3: expected two node ids, found \"abc\""},
      {"edgelist", "0 1\n1\n", "bad:2: expected two node ids, found the end of the line"},
      {"edgelist", "0 1\n1 -2\n", "bad:2: node id \"-2\"; ids start at 0"},
      {"edgelist", "0 99999999999999999999\n",
       "bad:1: the number \"99999999999999999999\" does not fit in 64 bits"},
      {"edgelist", "0 9223372036854775807\n",
       "bad:1: node id \"9223372036854775807\"; at most 9223372036854775806 is allowed"},
      {"edgelist", "0 1\n1,,2\n", "bad:2: field 2 is empty"},
      {"edgelist", "0 1\n,1,2\n", "bad:2: field 1 is empty"},
      {"edgelist", "0,1\n,\n", "bad:2: field 1 is empty"},
      {"konect", "1 2 ,,3\n", "bad:1: field 2 is empty"},
      {"mtx", MTX "2 2 1\n1,,2\n", "bad:3: field 2 is empty"},
      {"metis", "2 1\n2,\n1\n", "bad:2: field 2 is empty"},
      {"edgelist", "0 1 x\n", "bad:1: expected an edge value, found \"x\""},
      {"edgelist", "0 1 2 3 4\n", "bad:1: expected two node ids, a value and a time, found \"4\""},
      {"edgelist", "0 1.5\n", "bad:1: expected two node ids, found \"1.5\""},
      {"edgelist", "# Nodes: 3 Edges: 3\n0 1\n1 2\n", "bad:1: declares 3 arcs, the file has 2"},
      {"edgelist", "# Nodes: 2 Edges: 2\n0 1\n1 2\n",
       "bad: the header declares 2 nodes, 3 different ids are there"},
      {"edgelist", "# Nodes: 2000000000 Edges: 1\n0 1\n",
       "bad:1: declared nodes: 2000000000 is out of proportion"},
      {"edgelist", "# only comments\n", "bad: holds no arcs"},
      {"edgelist", "", "bad: holds no arcs"},
      {"konect", "% asym unweighted\n0 1\n", "bad:2: node id \"0\"; ids start at 1"},
      {"konect", "% asym unweighted\n% 1 3 3\n1 4\n", "bad:3: node id \"4\"; line 2 declares 3 nodes"},
      {"konect", "% bip unweighted\n% 1 3 2\n1 3\n", "bad:3: node id \"3\"; line 2 declares 2 nodes"},
      {"konect", "% asym unweighted\n% 2 3 3\n1 2\n", "bad:2: declares 2 arcs, the file has 1"},
      {"konect", "% bip unweighted\n1 9223372036854775806\n9223372036854775806 1\n", "do not fit in 64 bits"},
      {"mtx", "", "bad: is empty"},
      {"mtx", "1 2\n", "bad:1: expected %%MatrixMarket, found \"1\""},
      {"mtx", "%%MatrixMarket matrix array real general\n", "bad:1: \"matrix array\" is not read"},
      {"mtx", "%%MatrixMarket matrix coordinate complex general\n",
       "entries of type \"complex\" are not read"},
      {"mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n",
       "symmetry \"skew-symmetric\" is not read"},
      {"mtx", "%%MatrixMarket\n", "bad:1: \" \" is not read"},
      {"mtx", MTX, "bad:1: the file ends before the line of rows"},
      {"mtx", MTX "2 2\n", "bad:2: expected rows, columns and entries, found the end"},
      {"mtx", MTX "2 2 1\n1 3\n", "bad:3: index 3 is outside 1 .. 2"},
      {"mtx", MTX "2 2 1\n0 1\n", "bad:3: index 0 is outside 1 .. 2"},
      {"mtx", MTX "2 2 1\n1 1\n1 2\n", "bad:2: declares 1 entries, the file has 2"},
      {"mtx", MTX "2 2 3\n1 1\n1 2\n", "bad:2: declares 3 entries, the file has 2"},
      {"mtx", MTX "2 2 1\n1 2 3\n", "bad:3: expected row and column, found \"3\""},
      {"mtx", MTX "2000000000 2000000000 1\n1 2\n",
       "bad:2: rows and columns: 2000000000 is out of proportion"},
      {"mtx", MTX "3000000000 3000000000 1\n1 2\n", "bad:2: sizes 3000000000 x 3000000000; allowed"},
      {"mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
       "bad:2: a symmetric matrix of 2 x 3"},
      {"mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n",
       "bad:3: expected a value, found \"x\""},
      {"metis", "", "bad: is empty"},
      {"metis", "x\n", "bad:1: expected the number of vertices, found \"x\""},
      {"metis", "3 1 222\n", "bad:1: fmt is 222"},
      {"metis", "3 1 1 1 1\n", "bad:1: expected vertices, edges, fmt and ncon"},
      {"metis", "3 1\n2\n1\n", "bad:3: the file ends after 2 of 3 vertices"},
      {"metis", "2 1\n2\n1\n1\n", "bad:4: more lines than the 2 vertices that line 1 declares"},
      {"metis", "2 1\n3\n1\n", "bad:2: vertex 3 is outside 1 .. 2"},
      {"metis", "2 1\n0\n1\n", "bad:2: vertex 0 is outside 1 .. 2"},
      {"metis", "2 2\n2\n1\n", "bad:1: declares 2 edges, the lists have 2 entries"},
      {"metis", "% c\n3 1\n\n% c\n1 3\n\n", "bad:5: vertex 2 lists 1"},
      {"metis", "2 1 1\n2\n1 1\n", "bad:2: expected an edge weight, found the end of the line"},
      {"metis", "2 1 10\nx 2\n1 1\n", "bad:2: expected a vertex weight, found \"x\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    synthetic_text("bad", bad[i].content);
    struct import_options options = options_of(bad[i].format, "bad");
    assert_fails(import_code(&options), BAD_INPUT, bad[i].message);
  }
  synthetic_text("bad", "2 1 1\n2 5\n1 6\n");
  struct import_options options = options_of("metis", "bad");
  options.weights = 1;
  assert_fails(import_code(&options), BAD_INPUT, "bad:2: edge 1, 2 has weight 5 one way and 6 the other");
  options = options_of("edgelist", "nowhere.txt");
  assert_fails(import_code(&options), BAD_INPUT, "nowhere.txt: cannot be opened");
  synthetic_text("bad", MTX "2 2 1\n1 2\n");
  options = options_of("mtx", "bad");
  options.weights = 1;
  assert_fails(import_code(&options), BAD_INPUT, "--weights: bad has no edge values");
}

enum { ROUNDS = 400, CHILD_SECONDS = 300 /* of all rounds, which take a few; machines may be busy */ };

/* Cuts, flips bits and overwrites with digits, blanks and signs: what a reader is likely to trip over. */
static size_t damage(unsigned char *to, const unsigned char *from, size_t size, int round) {
  static const char spice[] = "0123456789-+. \n\t%#e,\"";
  struct philox_key key = random_key(11, 0, 0, RANDOM_IMPORT);
  struct philox_block block = random_block(key, (uint64_t)round, 0);
  memcpy(to, from, size);
  for (uint32_t i = 0; i < block.word[0] % 4 + (round % 3 != 0); i++) {
    struct philox_block hit = random_block(key, (uint64_t)round, i + 1);
    size_t at = hit.word[0] % size;
    int flipped = to[at] ^ 1 << hit.word[2] % 8;
    to[at] = (unsigned char)(hit.word[1] % 2 ? spice[hit.word[2] % (sizeof spice - 1)] : flipped);
  }
  return round % 3 == 0 ? block.word[1] % size : size;
}

/* What is damaged is a graph by itself, or one of two tables, of nodes or of edges. */
static struct import_options damaged_options(const char *format, int weights) {
  struct import_options options = options_of(format, "damaged");
  const int nodes = strcmp(format, "nodes") == 0, edges = strcmp(format, "edges") == 0;
  options.weights = weights;
  if (!nodes && !edges) return options;
  options = options_of("table", nodes ? "damaged" : "n.csv");
  options.edges = edges ? "damaged" : "e.csv";
  options.column = (struct import_columns){.label = "label", .weight = weights ? "w" : NULL};
  options.features = weights ? "all" : "x,y";
  options.split = "part";
  return options;
}

static int *round_now; /* shared with the child, which may die */

/* In the child: exit status 0 when every damaged copy was read or refused. */
static int read_damaged(const char *format, const unsigned char *bytes, size_t size) {
  unsigned char *copy = malloc(size);
  for (int round = 0; round < ROUNDS; round++) {
    *round_now = round;
    size_t left = damage(copy, bytes, size, round);
    FILE *file = fopen("damaged", "wb");
    if (!file || fwrite(copy, 1, left, file) != left || fclose(file) != 0) return 3;
    struct import_options options = damaged_options(format, round % 2);
    int code = import_code(&options);
    if (code != OK && code != BAD_INPUT) {
      fprintf(stderr, "round %d: code %d: %s\n", round, code, error_message());
      return 4;
    }
    error_clear();
  }
  free(copy);
#ifndef __SANITIZE_ADDRESS__
  if (memory_peak() > 512 << 20) return 5;
#endif
  return 0;
}

static void survives_damage(const char *format, const char *path) {
  size_t size;
  unsigned char *bytes = synthetic_bytes(path, &size);
  round_now = mmap(NULL, sizeof *round_now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(round_now != MAP_FAILED);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(CHILD_SECONDS);
    omp_set_num_threads(1); /* those of the parent are not in the child */
    if (!freopen("/dev/null", "w", stdout)) _exit(6);
    _exit(read_damaged(format, bytes, size));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (status != 0) fail_msg("%s: round %d: the child ended with status %d", format, *round_now, status);
  munmap(round_now, sizeof *round_now);
  free(bytes);
}

TEST(damaged_text_is_read_or_refused) {
  synthetic_text("e", "# Nodes: 6 Edges: 6\n0 1 2\n1 2 3\n2 3 4\n3 4 5\n4 5 6\n5 0 7\n");
  synthetic_text("k", "% bip weighted\n% 4 3 3\n1 1 2 5\n2 1 3 5\n3 2 1 5\n3 3 1 5\n");
  synthetic_text("m",
                 "%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 2\n2 1 1\n3 2 -1\n4 3 0.5\n");
  synthetic_text("g", "4 4 11 1\n9 2 5 3 6\n8 1 5 4 1\n7 1 6 4 2\n1 2 1 3 2\n");
  survives_damage("edgelist", "e");
  survives_damage("konect", "k");
  survives_damage("mtx", "m");
  survives_damage("metis", "g");
}

TEST(damaged_tables_are_read_or_refused) {
  synthetic_text("n.csv",
                 "id,label,x,part,y\na,red,1,train,2\n\"b, \"\"c\"\"\",,2,,3\n\"d\r\ne\",blue,.5,test,4\n");
  synthetic_text("e.csv", "from,to,w\na,\"b, \"\"c\"\"\",1\n\"d\r\ne\",a,2.5\na,a,3\n");
  survives_damage("nodes", "n.csv");
  survives_damage("edges", "e.csv");
}

TEST(damaged_gzip_is_read_or_refused) {
  synthetic_gzip("e.gz", "# Nodes: 6 Edges: 6\n0 1 2\n1 2 3\n2 3 4\n3 4 5\n4 5 6\n5 0 7\n");
  survives_damage("edgelist", "e.gz");
}

TEST(damaged_archives_are_read_or_refused) {
  static const int64_t pairs[] = {0, 1, 2, 1, 3, 0}, labels[] = {0, 1, 1, 0};
  static const uint8_t mask[] = {1, 0, 0, 1};
  const struct synthetic_array array[] = {{"edges", "<i8", "(3, 2)", pairs, sizeof pairs, 0},
                                          {"node_labels", "<i8", "(4,)", labels, sizeof labels, 0},
                                          {"train_masks", "|b1", "(1, 4)", mask, sizeof mask, 0}};
  synthetic_npz("a.npz", array, 3);
  survives_damage("npz", "a.npz");
}

/* Checksums hide the arrays from random damage: here the arrays themselves are damaged and packed again. */
TEST(archives_of_damaged_arrays_are_read_or_refused) {
  static int64_t indptr[] = {0, 2, 3, 3}, shape[] = {3, 3}, indices[] = {1, 2, 0};
  static float data[] = {1, 2, 3};
  struct philox_key key = random_key(12, 0, 0, RANDOM_IMPORT);
  for (int round = 0; round < ROUNDS; round++) {
    struct philox_block block = random_block(key, (uint64_t)round, 0);
    int64_t *victim[] = {&indptr[block.word[0] % 4], &shape[block.word[0] % 2], &indices[block.word[0] % 3]};
    int64_t *value = victim[block.word[1] % 3], saved = *value;
    *value ^= (int64_t)((uint64_t)1 << block.word[2] % 64);
    const struct synthetic_array array[] = {{"adj_indptr", "<i8", "(4,)", indptr, sizeof indptr, 0},
                                            {"adj_indices", "<i8", "(3,)", indices, sizeof indices, 0},
                                            {"adj_shape", "<i8", "(2,)", shape, sizeof shape, 0},
                                            {"adj_data", "<f4", "(3,)", data, sizeof data, 0}};
    synthetic_npz("lying.npz", array, 4);
    struct import_options options = options_of("npz", "lying.npz");
    int code = import_code(&options);
    if (code != OK && code != BAD_INPUT) fail_msg("round %d: code %d: %s", round, code, error_message());
    error_clear();
    *value = saved;
  }
}
