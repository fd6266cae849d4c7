/* Valid HDF5 that lies: about its numbers, shapes and types, with groups and links in place of data, in its
 * content. The readers refuse it with BAD_INPUT and name the place. */
#include "tests/io/bad_files.h"

IN_TINY_FILE("lying", path);

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

TEST(lying_attributes_are_refused) {
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
  hid_t string = H5Tcopy(H5T_C_S1);
  H5Tset_size(string, H5T_VARIABLE);
  file = reopen();
  H5Adelete(file, "task");
  foreign_attr(file, "task", string, &(const char *){"regression"});
  H5Tclose(string);
  assert_refused(file, "\"task\" is \"regression\"; multiclass, multilabel and none are allowed");
  file = reopen();
  H5Adelete(file, "num_edges");
  assert_refused(file, "\"num_edges\" is missing");
  file = reopen();
  H5Adelete(file, "format");
  assert_refused(file, "is not a dataset");
}

TEST(lying_shapes_and_types_are_refused) {
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
  file = reopen();
  foreign_set(file, "/node/class_names", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_CLASSES}, 0, NULL);
  assert_refused(file, "/node/class_names: 3 strings are expected, one a class");
  hid_t string = H5Tcopy(H5T_C_S1);
  H5Tset_size(string, H5T_VARIABLE);
  file = reopen();
  foreign_set(file, "/node/class_names", string, 1, (hsize_t[]){TINY_CLASSES + 1}, 0, NULL);
  assert_refused(file, "/node/class_names: 3 strings are expected, one a class");
  file = reopen();
  foreign_set(file, "/node/class_names", string, 1, (hsize_t[]){TINY_CLASSES}, 0,
              (const char *const[]){"a", "\xff", "b"});
  assert_refused(file, "/node/class_names[1] is not UTF-8");
  H5Tclose(string);
}

TEST(groups_and_links_in_place_of_datasets_are_refused) {
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

TEST(lying_content_is_refused) {
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

TEST(a_dataset_without_a_name_has_its_files) {
  struct dataset d = {0};
  hid_t file = reopen();
  H5Adelete(file, "name");
  H5Fclose(file);
  assert_ok(dataset_open(&d, path));
  assert_string_equal(d.name, "tiny");
  dataset_close(&d);
}

TEST(what_is_missing_or_there_twice_is_refused) {
  hid_t file = reopen();
  H5Ldelete(file, "/graph", H5P_DEFAULT);
  replace_int(file, "num_edges", 0);
  assert_refused(file, "has neither /graph/indptr nor /hypergraph/indptr");
  file = reopen();
  foreign_set(file, "/split/0/train", H5T_NATIVE_INT64, 1, (hsize_t[]){1}, 0, NULL);
  assert_refused(file, "/split/train and /split/0: both stand for split 0");
}

static void remember(const char *violation, void *said) {
  snprintf(said, 600, "%s", violation);
}

static void find_violation(hid_t file, const char *text) {
  struct dataset d = {0};
  char said[600] = "";
  int64_t violations;
  H5Fclose(file);
  assert_ok(dataset_open(&d, path));
  assert_ok(dataset_check(&d, remember, said, &violations));
  dataset_close(&d);
  assert_int_equal(violations, 1);
  if (!strstr(said, text)) fail_msg("\"%s\" is not in \"%s\"", text, said);
}

TEST(lies_that_reading_passes_over_are_violations) {
  static const int64_t early[TINY_NODES + 1] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 23};
  hid_t file = reopen();
  replace_set(file, "/graph/indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){TINY_NODES + 1}, 0, early);
  find_violation(file, "/graph/indptr[12] is 23; it must be 24, the number of /graph/indices");
  file = reopen();
  foreign_set(file, "/split/valid", H5T_NATIVE_INT64, 1, (hsize_t[]){1}, 0, NULL);
  find_violation(file, "valid");
}
