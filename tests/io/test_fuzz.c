/* Damaged and lying files: whatever is in them, the readers answer OK, BAD_INPUT or FAILED, soon and in
 * little memory. Each file is read in a child of its own. Deterministic; FUZZ_ROUNDS=N tries more. */
#include "tests/check.h"

#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "io/h5.h"
#include "runtime/memory.h"
#include "tests/io/tiny.h"

enum { SECONDS = 90, MEMORY_KIB = 1 << 20, ROUNDS = 60 };

static const char *folder;
static char path[300];

/* As programs read: sizes come from the file. */
static int read_nodes(struct dataset *d, int64_t *start, int32_t *narrow, float *value) {
  if (d->sparse) {
    TRY(dataset_read_feature_starts(d, 0, d->nodes, start));
    TRY(dataset_read_feature_entries(d, 0, d->feature_nnz, narrow, value));
  } else if (d->has_features) {
    TRY(dataset_read_features(d, 0, d->nodes, value));
  }
  if (d->task == TASK_MULTICLASS) TRY(dataset_read_label(d, 0, d->nodes, narrow));
  if (d->task == TASK_MULTILABEL) TRY(dataset_read_labels(d, 0, d->nodes, (uint8_t *)narrow));
  for (int64_t s = 0; s < d->splits; s++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      int64_t *node, count;
      TRY(dataset_read_split(d, s, (enum split)p, &node, &count));
      free(node);
    }
  }
  return OK;
}

static int read_all(struct dataset *d) {
  int64_t *start = NULL, *wide = NULL;
  int32_t *narrow = NULL;
  float *value = NULL;
  char **text = NULL;
  int64_t most = d->nodes + 1 + d->edges + d->feature_nnz + (d->sparse ? 0 : d->nodes * d->features) +
                 (d->task == TASK_MULTILABEL ? d->nodes * d->classes : 0);
  TRY(memory_alloc(&start, (d->nodes + 1) * 8, "test"));
  TRY(memory_alloc(&wide, most * 8, "test"));
  TRY(memory_alloc(&narrow, most * 4, "test"));
  TRY(memory_alloc(&value, most * 4, "test"));
  TRY(memory_alloc(&text, d->nodes * 8, "test"));
  if (d->has_graph) TRY(dataset_read_starts(d, 0, d->nodes, start));
  if (d->has_graph) TRY(dataset_read_edges(d, 0, d->edges, wide, d->weighted ? value : NULL));
  TRY(read_nodes(d, start, narrow, value));
  if (d->ids == 1) TRY(dataset_read_ids(d, 0, d->nodes, wide));
  if (d->ids == 2) TRY(dataset_read_id_strings(d, 0, d->nodes, text));
  return OK;
}

static void hear(const char *violation, void *context) {
  (void)violation, (void)context;
}

static int use_dataset(const char *file) {
  struct dataset d = {0};
  int64_t violations = 0;
  TRY(h5_probe(file));
  int code = dataset_open(&d, file);
  int opened = code == OK;
  if (opened) code = read_all(&d);
  int checked = opened ? dataset_check(&d, hear, NULL, &violations) : OK;
  dataset_close(&d);
  return code != OK ? code : violations > 0 ? BAD_INPUT : checked;
}

static struct checkpoint *some_checkpoint(void) {
  static float weight[40 * 30];
  static int64_t epoch = 7;
  static double best = .5;
  static char config[100] = "train.lr = 0.1";
  static struct checkpoint_item item[] = {{"parameters/layer0.weight", H5_FLOAT, 40, 30, weight},
                                          {"moments/layer0.weight", H5_FLOAT, 1200, 0, weight}};
  static struct checkpoint_value value[] = {
      {.name = "epoch", .kind = CHECKPOINT_INT, .integer = &epoch},
      {.name = "best", .kind = CHECKPOINT_REAL, .real = &best},
      {.name = "config", .kind = CHECKPOINT_TEXT, .text = config, .text_size = sizeof config}};
  static struct checkpoint checkpoint = {item, 2, value, 3};
  return &checkpoint;
}

static int use_checkpoint(const char *file) {
  return checkpoint_read(some_checkpoint(), file);
}

/* Reads the file in a child. Returns its code; a crash, a hang or much memory fails the test. */
static int survive(int (*use)(const char *file), const char *what) {
  struct rusage usage;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    alarm(SECONDS);
    _exit(use(path));
  }
  assert_int_equal(wait4(pid, &status, 0, &usage), pid);
  if (!WIFEXITED(status)) fail_msg("%s: killed by signal %d", what, WTERMSIG(status));
  int code = WEXITSTATUS(status);
  if (code != OK && code != BAD_INPUT && code != FAILED) fail_msg("%s: code %d", what, code);
  if (usage.ru_maxrss > MEMORY_KIB) fail_msg("%s: took %ld KiB", what, usage.ru_maxrss);
  return code;
}

/* ---- damage ---- */

struct bytes {
  unsigned char *data;
  size_t size;
};

static struct bytes load(void) {
  struct bytes b;
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  b.size = (size_t)status.st_size;
  b.data = malloc(b.size);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(b.data, 1, b.size, file), b.size);
  fclose(file);
  return b;
}

static void store(const unsigned char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static int64_t rounds(void) {
  const char *text = getenv("FUZZ_ROUNDS");
  return text ? atoll(text) : ROUNDS;
}

/* One of: a bit, a byte, a field of 2 to 8 bytes of ones or zeros, two places swapped. */
static void damage(struct bytes b, uint64_t *random, char *what, size_t size) {
  size_t place = next_random(random) % (b.size - 8);
  unsigned kind = (unsigned)(next_random(random) % 5);
  size_t width = 2 + next_random(random) % 7;
  snprintf(what, size, "damage %u at %zu, width %zu", kind, place, width);
  if (kind == 0) b.data[place] ^= (unsigned char)(1u << next_random(random) % 8);
  if (kind == 1) b.data[place] = (unsigned char)next_random(random);
  if (kind == 2) memset(b.data + place, 0xff, width);
  if (kind == 3) memset(b.data + place, 0, width);
  if (kind == 4) memmove(b.data + place, b.data + next_random(random) % (b.size - 8), width);
}

static void survives_damage(int (*use)(const char *file), uint64_t seed) {
  struct bytes b = load(), copy = {malloc(b.size), b.size};
  char what[100];
  int64_t good = 0, bad = 0;
  for (int64_t i = 0; i < rounds(); i++) {
    memcpy(copy.data, b.data, b.size);
    uint64_t random = seed + (uint64_t)i;
    for (int64_t times = i % 4; times >= 0; times--) damage(copy, &random, what, sizeof what);
    store(copy.data, copy.size);
    int code = survive(use, what);
    good += code == OK;
    bad += code != OK;
  }
  assert_true(bad > 0);
  for (int i = 0; i < 24; i++) {
    snprintf(what, sizeof what, "truncated");
    store(b.data, b.size * (size_t)i / 24);
    assert_int_not_equal(survive(use, what), OK);
  }
  store(b.data, b.size);
  assert_int_equal(survive(use, "whole"), OK);
  free(b.data);
  free(copy.data);
}

static void a_damaged_dataset_is_survived(void **state) {
  (void)state;
  static const enum task task[] = {TASK_MULTICLASS, TASK_MULTILABEL};
  for (int t = 0; t < 2; t++) {
    struct dataset_source s = tiny_source(task[t], t ? 1 : 5, 1 + t);
    assert_ok(dataset_write(&s, path));
    dataset_source_free(&s);
    survives_damage(use_dataset, 100 + (uint64_t)t);
  }
}

static void a_damaged_checkpoint_is_survived(void **state) {
  (void)state;
  assert_ok(checkpoint_write(some_checkpoint(), path));
  survives_damage(use_checkpoint, 300);
}

/* ---- files as other programs write them: old metadata without checksums, variable-length strings ---- */

static void foreign_attr(hid_t file, const char *name, hid_t type, const void *value) {
  hid_t space = H5Screate(H5S_SCALAR), id = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(id, type, value) >= 0);
  H5Aclose(id);
  H5Sclose(space);
}

static void foreign_set(hid_t file, const char *name, hid_t type, int dims, const hsize_t *dim, hsize_t chunk,
                        const void *data) {
  hid_t links = H5Pcreate(H5P_LINK_CREATE), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  hsize_t chunks[3] = {chunk, dims > 1 ? dim[1] : 1, dims > 2 ? dim[2] : 1};
  if (chunk) H5Pset_chunk(creation, dims, chunks);
  if (chunk) H5Pset_deflate(creation, 1);
  hid_t space = H5Screate_simple(dims, dim, NULL);
  hid_t id = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
  assert_true(id >= 0);
  if (data) assert_true(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(id);
  H5Sclose(space);
  H5Pclose(creation);
  H5Pclose(links);
}

static void foreign_attrs(hid_t file, hid_t string, int64_t nodes, int64_t edges) {
  const char *format = "gnntrain-dataset", *task = "multiclass", *name = "foreign";
  int64_t version = 1, features = 2, directed = 0;
  int32_t classes = TINY_CLASSES;
  foreign_attr(file, "format", string, &format);
  foreign_attr(file, "task", string, &task);
  foreign_attr(file, "name", string, &name);
  foreign_attr(file, "version", H5T_NATIVE_INT64, &version);
  foreign_attr(file, "num_nodes", H5T_NATIVE_INT64, &nodes);
  foreign_attr(file, "num_edges", H5T_NATIVE_INT64, &edges);
  foreign_attr(file, "num_features", H5T_NATIVE_INT64, &features);
  foreign_attr(file, "num_classes", H5T_NATIVE_INT32, &classes);
  foreign_attr(file, "directed", H5T_NATIVE_INT64, &directed);
}

static void write_foreign(hsize_t chunk) {
  struct dataset_source s = tiny_source(TASK_MULTICLASS, 5, 1);
  double feature[TINY_NODES][2] = {{1, 2}};
  const char *id[TINY_NODES];
  for (int v = 0; v < TINY_NODES; v++) id[v] = v % 2 ? "odd" : "an even node";
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), string = H5Tcopy(H5T_C_S1);
  assert_true(file >= 0);
  H5Tset_size(string, H5T_VARIABLE);
  foreign_attrs(file, string, TINY_NODES, TINY_EDGES);
  foreign_set(file, "/graph/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES + 1}, chunk, s.start);
  foreign_set(file, "/graph/indices", H5T_NATIVE_INT32, 1, (hsize_t[]){TINY_EDGES}, chunk, s.col);
  foreign_set(file, "/node/features", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){TINY_NODES, 2}, chunk, feature);
  foreign_set(file, "/node/labels", H5T_NATIVE_INT32, 1, (hsize_t[]){TINY_NODES}, chunk, s.label);
  foreign_set(file, "/node/id", string, 1, (hsize_t[]){TINY_NODES}, 0, id);
  foreign_set(file, "/split/train", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, chunk, s.split[0].node[0]);
  foreign_set(file, "/split/val", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, 0, s.split[0].node[1]);
  foreign_set(file, "/split/test", H5T_NATIVE_INT64, 1, (hsize_t[]){4}, 0, s.split[0].node[2]);
  H5Tclose(string);
  H5Fclose(file);
  dataset_source_free(&s);
}

static void a_damaged_file_of_another_program_is_survived(void **state) {
  (void)state;
  for (hsize_t chunk = 0; chunk < 2; chunk++) {
    write_foreign(4 * chunk);
    assert_int_equal(survive(use_dataset, "foreign"), OK);
    survives_damage(use_dataset, 500 + chunk);
  }
}

/* ---- lies: valid HDF5 ---- */

static hid_t reopen(void) {
  write_foreign(0);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file >= 0);
  return file;
}

static void assert_refused(hid_t file, const char *text) {
  struct dataset d = {0};
  H5Fclose(file);
  assert_int_equal(survive(use_dataset, text), BAD_INPUT);
  assert_ok(h5_probe(path));
  int code = dataset_open(&d, path);
  if (code == OK) {
    code = read_all(&d);
  }
  dataset_close(&d);
  if (code != BAD_INPUT || !strstr(error_message(), text))
    fail_msg("\"%s\" is not in \"%s\" (code %d)", text, error_message(), code);
  error_clear();
}

static void replace_int(hid_t file, const char *name, int64_t value) {
  H5Adelete(file, name);
  foreign_attr(file, name, H5T_NATIVE_INT64, &value);
}

static void replace_set(hid_t file, const char *name, hid_t type, int dims, const hsize_t *dim, hsize_t chunk,
                        const void *data) {
  H5Ldelete(file, name, H5P_DEFAULT);
  if (dims) foreign_set(file, name, type, dims, dim, chunk, data);
}

static void lying_attributes_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t value;
    const char *text;
  } lie[] = {
      {"version", 2, "is a dataset of version 2"},
      {"num_nodes", INT64_MAX, "\"num_nodes\" is 9223372036854775807; 1 to 2147483647"},
      {"num_nodes", -1, "\"num_nodes\" is -1"},
      {"num_nodes", 0, "\"num_nodes\" is 0"},
      {"num_nodes", 2000000000, "claims 2000000000 nodes"},
      {"num_nodes", 13, "/graph/indptr: has 13 rows; 14 are expected"},
      {"num_edges", INT64_MAX, "/graph/indices: has 24 rows"},
      {"num_edges", -5, "\"num_edges\" is -5"},
      {"num_features", INT64_MAX, "\"num_features\" is"},
      {"num_features", 3, "/node/features: has 2 columns; 3 are expected"},
      {"num_features", 0, "/node/features: is there, but"},
      {"num_classes", 0, "\"num_classes\" is 0"},
      {"num_classes", INT64_MAX, "\"num_classes\" is"},
      {"num_classes", 2, "/node/labels[2] is 2; -1 to 1"},
      {"directed", 2, "\"directed\" is 2; 0 to 1"},
  };
  for (size_t i = 0; i < sizeof lie / sizeof lie[0]; i++) {
    hid_t file = reopen();
    replace_int(file, lie[i].name, lie[i].value);
    assert_refused(file, lie[i].text);
  }
  hid_t file = reopen();
  replace_int(file, "task", 3);
  assert_refused(file, "\"task\" is not a string");
  file = reopen();
  H5Adelete(file, "num_edges");
  assert_refused(file, "\"num_edges\" is missing");
  file = reopen();
  H5Adelete(file, "format");
  assert_refused(file, "is not a dataset");
}

static void lying_shapes_and_types_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int dims;
    hsize_t dim[3], chunk;
    const char *text;
  } lie[] = {
      {"/graph/indptr", 0, {0}, 0, "/graph/indptr: is missing, but"},
      {"/graph/indptr", 2, {13, 1}, 0, "/graph/indptr: has 2 dimensions"},
      {"/graph/indptr", 1, {0}, 0, "/graph/indptr: has 0 rows"},
      {"/graph/indices", 0, {0}, 0, "/graph/indices: is missing"},
      {"/graph/indices", 1, {25}, 0, "/graph/indices: has 25 rows"},
      {"/graph/indices", 1, {(hsize_t)1 << 50}, 1 << 10, "more than a file of"},
      {"/graph/indices", 1, {(hsize_t)1 << 62}, 1 << 10, "/graph/indices: claims"},
      {"/node/features", 3, {12, 2, 2}, 0, "/node/features: has 3 dimensions"},
      {"/node/features", 1, {12}, 0, "/node/features: has 1 dimensions"},
      {"/node/features", 2, {12, 1 << 28}, 1, "/node/features: has chunks of"},
      {"/node/labels", 1, {11}, 0, "/node/labels: has 11 rows"},
      {"/node/id", 1, {11}, 0, "/node/id: 12 integers or strings"},
      {"/split/val", 0, {0}, 0, "/split/val: is missing"},
      {"/split/val", 1, {13}, 0, "/split/val: has 13 rows"},
      {"/split/val", 2, {4, 4}, 0, "/split/val: has 2 dimensions"},
  };
  for (size_t i = 0; i < sizeof lie / sizeof lie[0]; i++) {
    hid_t file = reopen();
    replace_set(file, lie[i].name, H5T_NATIVE_INT64, lie[i].dims, lie[i].dim, lie[i].chunk, NULL);
    assert_refused(file, lie[i].text);
  }
  hid_t file = reopen();
  replace_set(file, "/graph/indices", H5T_NATIVE_FLOAT, 1, (hsize_t[]){TINY_EDGES}, 0, NULL);
  assert_refused(file, "/graph/indices: has the wrong type; integers are expected");
  hid_t pair = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(pair, "a", 0, H5T_NATIVE_INT64);
  file = reopen();
  replace_set(file, "/node/labels", pair, 1, (hsize_t[]){TINY_NODES}, 0, NULL);
  assert_refused(file, "/node/labels: has a type that is not allowed");
  H5Tclose(pair);
}

static void groups_and_links_in_place_of_datasets_are_refused(void **state) {
  (void)state;
  hid_t file = reopen();
  H5Ldelete(file, "/graph/indices", H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "/graph/indices", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  assert_refused(file, "/graph/indices: is a group");
  file = reopen();
  H5Ldelete(file, "/graph/indices", H5P_DEFAULT);
  H5Lcreate_external("/dev/zero", "/x", file, "/graph/indices", H5P_DEFAULT, H5P_DEFAULT);
  assert_refused(file, "/graph/indices: is a link to elsewhere");
  file = reopen();
  H5Ldelete(file, "/graph/indices", H5P_DEFAULT);
  H5Lcreate_soft("/graph/indices", file, "/graph/indices", H5P_DEFAULT, H5P_DEFAULT);
  assert_refused(file, "/graph/indices: is a link to elsewhere");
  file = reopen();
  H5Lcreate_hard(file, "/", file, "/node/loop", H5P_DEFAULT, H5P_DEFAULT); /* harmless, but endless */
  H5Fclose(file);
  assert_int_equal(survive(use_dataset, "a loop of groups"), OK);
  file = reopen();
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, (hsize_t[]){TINY_EDGES}, NULL);
  H5Pset_external(creation, "/dev/zero", 0, TINY_EDGES * 8);
  H5Ldelete(file, "/graph/indices", H5P_DEFAULT);
  H5Dclose(H5Dcreate2(file, "/graph/indices", H5T_NATIVE_INT64, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
  assert_refused(file, "/graph/indices: keeps its data in other files");
}

static void lying_content_is_refused(void **state) {
  (void)state;
  static const int64_t descending[TINY_NODES + 1] = {0, 2, 4, 6, 8, 7, 12, 14, 16, 18, 20, 22, 24};
  static const int64_t far[TINY_NODES + 1] = {0, 2, 4, 6, 8, INT64_MAX, 12, 14, 16, 18, 20, 22, 24};
  int64_t wide[TINY_EDGES] = {1, (int64_t)1 << 32};
  hid_t file = reopen();
  replace_set(file, "/graph/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES + 1}, 0, descending);
  assert_refused(file, "/graph/indptr[5] is 7; 8 to 24");
  file = reopen();
  replace_set(file, "/graph/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES + 1}, 0, far);
  assert_refused(file, "/graph/indptr[5] is 9223372036854775807; 8 to 24");
  file = reopen();
  replace_set(file, "/graph/indices", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_EDGES}, 0, wide);
  assert_refused(file, "/graph/indices[1] is 4294967296; 0 to 11");
  file = reopen();
  wide[0] = 0;
  replace_set(file, "/node/labels", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES}, 0, wide);
  assert_refused(file, "/node/labels[1] is 4294967296; -1 to 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_damaged_dataset_is_survived),
      cmocka_unit_test(a_damaged_checkpoint_is_survived),
      cmocka_unit_test(a_damaged_file_of_another_program_is_survived),
      cmocka_unit_test(lying_attributes_are_refused),
      cmocka_unit_test(lying_shapes_and_types_are_refused),
      cmocka_unit_test(groups_and_links_in_place_of_datasets_are_refused),
      cmocka_unit_test(lying_content_is_refused),
  };
  folder = tiny_folder("fuzz");
  snprintf(path, sizeof path, "%s/fuzz.h5", folder);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tiny_remove_folder(folder);
  return failed;
}
