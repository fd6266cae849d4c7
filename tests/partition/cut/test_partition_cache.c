/* The files that keep partitions: read again when they match, never trusted blindly. */
#include <dirent.h>

#include "io/file/h5_hdf5.h"
#include "partition/graph/partition.h"
#include "runtime/base/log.h"
#include "tests/partition/making.h"
#include "tests/ranks.h"

RANK_TESTS(comm);

/* The last file of the cache folder; returns how many there are. */
static int find_file(const char *folder, char *path, size_t size) {
  int count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    if (!strstr(entry->d_name, ".h5")) continue;
    snprintf(path, size, "%s/%.200s", folder, entry->d_name);
    count++;
  }
  if (dir) closedir(dir);
  return count;
}

TEST(a_partition_is_read_again_only_when_it_matches) {
  struct random_graph g = {.nodes = 120, .density = .05, .task = TASK_MULTICLASS, .seed = 12};
  struct dataset dataset;
  struct partition first, other;
  random_dataset(&comm, &g, "test_partition_cache", &dataset);
  configure(PARTITION_METIS, ORDER_DEGREE);
  make(&dataset, 42, 3, &first);
  assert_int_equal(first.cached, 0);
  make(&dataset, 42, 3, &other);
  assert_int_equal(other.cached, 1);
  assert_string_equal(first.path, other.path);
  assert_memory_equal(first.part, other.part, 120 * sizeof *first.part);
  assert_memory_equal(first.order, other.order, 120 * sizeof *first.order);
  assert_memory_equal(first.halo, other.halo, 3 * sizeof *first.halo);
  assert_memory_equal(first.nnz, other.nnz, 3 * sizeof *first.nnz);
  assert_int_equal(first.edge_cut, other.edge_cut);
  partition_free(&other);
  for (int i = 0; i < 5; i++) {
    configure(PARTITION_METIS, i == 3 ? ORDER_GIVEN : ORDER_DEGREE);
    if (i == 2) config.partition.seed = 77;
    if (i == 4) config.partition.balance = 1.2;
    make(&dataset, i == 0 ? 43 : 42, i == 1 ? 4 : 3, &other);
    assert_int_equal(other.cached, 0);
    partition_free(&other);
  }
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

static void rename_key(const char *from, const char *to) {
  if (comm.rank == 0) assert_int_equal(rename(from, to), 0);
  assert_ok(comm_barrier(&comm));
}

/* A file of another graph under this graph's name is not believed. */
TEST(a_file_with_another_key_is_ignored) {
  struct random_graph g = {.nodes = 120, .density = .05, .task = TASK_MULTICLASS, .seed = 13};
  struct dataset dataset;
  struct partition first, second, again;
  random_dataset(&comm, &g, "test_partition_key", &dataset);
  configure(PARTITION_RANDOM, ORDER_GIVEN);
  make(&dataset, 1, 3, &first);
  make(&dataset, 2, 3, &second);
  rename_key(first.path, second.path);
  make(&dataset, 2, 3, &again);
  assert_int_equal(again.cached, 0);
  partition_free(&again);
  make(&dataset, 2, 3, &again);
  assert_int_equal(again.cached, 1);
  partition_free(&again);
  partition_free(&first);
  partition_free(&second);
  random_end(&comm, &g, &dataset);
}

static void flip(const char *path, int64_t at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  fseek(file, (long)at, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, (long)at, SEEK_SET);
  fputc(byte ^ 0x41, file);
  fclose(file);
}

static int64_t bytes_of(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? status.st_size : 0;
}

/* Bits flipped all over the file, then cut short: the partition is made anew or the same as before. */
TEST(damaged_files_are_made_anew) {
  struct random_graph g = {.nodes = 400, .density = .02, .task = TASK_MULTICLASS, .seed = 14};
  struct dataset dataset;
  struct partition first, again;
  random_dataset(&comm, &g, "test_partition_damage", &dataset);
  configure(PARTITION_RANDOM, ORDER_GIVEN);
  make(&dataset, 1, 4, &first);
  for (int i = 0; i < 12; i++) {
    if (comm.rank == 0) {
      int64_t bytes = bytes_of(first.path);
      if (i % 4 == 3)
        assert_int_equal(truncate(first.path, bytes * i / 12), 0);
      else
        flip(first.path, bytes * (i + 1) / 14);
    }
    make(&dataset, 1, 4, &again);
    assert_memory_equal(first.part, again.part, 400 * sizeof *first.part);
    assert_memory_equal(first.order, again.order, 400 * sizeof *first.order);
    partition_free(&again);
  }
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

/* A value of a file that is otherwise as it was: element `at` of a dataset, or an attribute (at -1). */
struct lie {
  const char *name;
  int64_t at;
  int real;
  double value;
};

static void write_lie(const char *path, const struct lie *lie) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file > 0);
  int64_t integer = (int64_t)lie->value;
  const void *value = lie->real ? (const void *)&lie->value : (const void *)&integer;
  hid_t type = lie->real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
  if (lie->at < 0) {
    hid_t id = H5Aopen(file, lie->name, H5P_DEFAULT);
    assert_true(H5Awrite(id, type, value) >= 0);
    H5Aclose(id);
  } else {
    hsize_t at = (hsize_t)lie->at, one = 1;
    hid_t id = H5Dopen2(file, lie->name, H5P_DEFAULT), space = H5Dget_space(id);
    hid_t memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &one, NULL);
    assert_true(H5Dwrite(id, type, memory, space, H5P_DEFAULT, value) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(id);
  }
  assert_true(H5Fclose(file) >= 0);
}

static void assert_same(const struct partition *a, const struct partition *b) {
  assert_memory_equal(a->part, b->part, (size_t)a->nodes * sizeof *a->part);
  assert_memory_equal(a->order, b->order, (size_t)a->nodes * sizeof *a->order);
  assert_memory_equal(a->halo, b->halo, (size_t)a->parts * sizeof *a->halo);
  assert_memory_equal(a->nnz, b->nnz, (size_t)a->parts * sizeof *a->nnz);
  assert_int_equal(a->edge_cut, b->edge_cut);
  if (comm.rank == 0) assert_memory_equal(&a->density, &b->density, sizeof a->density);
}

/* Whoever can write beside the dataset can write anything there: no value is believed that is not possible.
 */
TEST(a_file_with_a_false_value_is_ignored) {
  static const struct lie lies[] = {
      {"k", -1, 0, 3},
      {"seed", -1, 0, 7},
      {"balance", -1, 1, 1.5},
      {"edge_cut", -1, 0, -1},
      {"edge_cut", -1, 0, 0x1p62},
      {"edge_cut", -1, 0, 0},
      {"tried", -1, 0, -1},
      {"tried", -1, 0, 0x1p40},
      {"seconds", -1, 1, NAN},
      {"seconds", -1, 1, -1},
      {"order_seconds", -1, 1, INFINITY},
      {"rated_rows", -1, 0, -1},
      {"rated_rows", -1, 0, 0x1p62},
      {"rated_cols", -1, 0, -1},
      {"rated_cols", -1, 0, 0x1p62},
      {"/nnz", 0, 0, -5},
      {"/nnz", 1, 0, 0x1p62},
      {"/nnz", 0, 0, 0},
      {"/halo", 0, 0, -1},
      {"/halo", 1, 0, 0x1p62},
      {"/density_cells", 1, 0, -1},
      {"/density_cells", 1, 0, 0x1p62},
      {"/density_cells", 0, 0, 1},
      {"/density_arcs", 1, 0, -1},
      {"/density_arcs", 1, 0, 0x1p62},
      {"/density_arcs", 176, 0, 0x1p62},
      {"/density_windows", 2, 0, -1},
      {"/density_windows", 1, 0, 0x1p62},
      {"/part", 3, 0, 99},
      {"/part", 3, 0, -1},
      {"/order", 3, 0, 0x1p62},
      {"/order", 3, 0, -1},
  };
  struct random_graph g = {.nodes = 50, .density = .1, .task = TASK_MULTICLASS, .seed = 15};
  struct dataset dataset;
  struct partition first, again;
  random_dataset(&comm, &g, "test_partition_lies", &dataset);
  configure(PARTITION_BLOCK, ORDER_AUTO);
  make(&dataset, 1, 2, &first);
  struct lie twice = {"/order", 3, 0, (double)first.order[4]};
  for (size_t i = 0; i <= sizeof lies / sizeof lies[0]; i++) {
    const struct lie *lie = i < sizeof lies / sizeof lies[0] ? &lies[i] : &twice;
    if (comm.rank == 0) write_lie(first.path, lie);
    make(&dataset, 1, 2, &again);
    if (again.cached) fail_msg("%s[%d] = %g was believed", lie->name, (int)lie->at, lie->value);
    assert_same(&first, &again);
    partition_free(&again);
    make(&dataset, 1, 2, &again);
    assert_int_equal(again.cached, 1);
    assert_same(&first, &again);
    partition_free(&again);
  }
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

/* Every node is listed once, but two of them in each other's part. */
TEST(an_order_across_parts_is_ignored) {
  struct random_graph g = {.nodes = 50, .density = .1, .task = TASK_MULTICLASS, .seed = 18};
  struct dataset dataset;
  struct partition first, again;
  random_dataset(&comm, &g, "test_partition_across", &dataset);
  configure(PARTITION_RANDOM, ORDER_DEGREE);
  make(&dataset, 1, 3, &first);
  const struct lie lies[] = {{"/order", 1, 0, (double)first.order[49]},
                             {"/order", 49, 0, (double)first.order[1]}};
  for (int i = 0; comm.rank == 0 && i < 2; i++) write_lie(first.path, &lies[i]);
  make(&dataset, 1, 3, &again);
  assert_int_equal(again.cached, 0);
  assert_same(&first, &again);
  partition_free(&again);
  partition_free(&first);
  random_end(&comm, &g, &dataset);
}

/* The folder's name is taken by a file: the run directory takes the partition. */
TEST(an_unwritable_place_is_replaced_by_the_run_directory) {
  struct random_graph g = {.nodes = 60, .density = .1, .task = TASK_MULTICLASS, .seed = 16};
  struct dataset dataset;
  struct partition p;
  char parts[300], path[600], kept[100], command[100];
  random_dataset(&comm, &g, "test_partition_place", &dataset);
  snprintf(kept, sizeof kept, "%s/parts", run_folder());
  snprintf(command, sizeof command, "rm -rf %s", run_folder());
  snprintf(parts, sizeof parts, "%.280s.parts", dataset.h5.path);
  if (comm.rank == 0) assert_int_equal(system(command), 0); /* of a run that was cut off */
  if (comm.rank == 0) fclose(fopen(parts, "w"));
  configure(PARTITION_METIS, ORDER_GIVEN);
  for (int i = 0; i < 2; i++) {
    make(&dataset, 1, 2, &p);
    assert_int_equal(p.cached, i);
    assert_int_equal(find_file(kept, path, sizeof path), 1);
    assert_string_equal(p.path, path);
    partition_free(&p);
  }
  random_end(&comm, &g, &dataset);
  if (comm.rank == 0) assert_int_equal(system(command), 0);
}
