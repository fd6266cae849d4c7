/* Writes what fuzzing starts from: fuzz_seeds FOLDER makes FOLDER/<target>/<name>, small valid files of every
 * kind and the edges of what is allowed. The same bytes each time, but for times inside HDF5 files. */
#include <sys/stat.h>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/target.h"
#include "tests/io/synthetic_files.h"

static const char *base;

static const char *seed_path(const char *target, const char *name) {
  static char path[2048];
  snprintf(path, sizeof path, "%s/%s", base, target);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/%s/%s", base, target, name);
  return path;
}

static void put(const char *target, const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(seed_path(target, name), "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
    perror(name);
    exit(1);
  }
}

static void put_texts(void) {
  for (const struct seed *seed = seed_texts; seed->target; seed++)
    put(seed->target, seed->name, seed->text, strlen(seed->text));
}

/* The members of an archive as the targets take them: a line with the name, then the bytes. */
struct members {
  char bytes[1 << 14];
  size_t used;
};

static void add(struct members *m, const char *name, const char *descr, const char *shape, const void *data,
                size_t bytes) {
  size_t size;
  void *npy = synthetic_npy(descr, shape, 0, 1, data, bytes, &size);
  m->used += (size_t)sprintf(m->bytes + m->used, "%s%s%s", m->used ? "====\n" : "", name, size ? "\n" : "");
  memcpy(m->bytes + m->used, npy, size);
  m->used += size;
  free(npy);
}

static void next_archive(struct members *m) {
  m->used += (size_t)sprintf(m->bytes + m->used, "====\n-\n");
}

#define LONGS(...)                                    \
  (const int64_t[]){__VA_ARGS__}, sizeof(int64_t[]) { \
    __VA_ARGS__                                       \
  }
#define INTS(...)                                     \
  (const int32_t[]){__VA_ARGS__}, sizeof(int32_t[]) { \
    __VA_ARGS__                                       \
  }
#define FLOATS(...)                               \
  (const float[]){__VA_ARGS__}, sizeof(float[]) { \
    __VA_ARGS__                                   \
  }
#define FLAGS(...)                                    \
  (const uint8_t[]){__VA_ARGS__}, sizeof(uint8_t[]) { \
    __VA_ARGS__                                       \
  }

static void add_csr(struct members *m, const char *prefix) {
  char name[32];
  snprintf(name, sizeof name, "%sindptr", prefix);
  add(m, name, "<i4", "(5,)", INTS(0, 1, 3, 4, 4));
  snprintf(name, sizeof name, "%sindices", prefix);
  add(m, name, "<i4", "(4,)", INTS(1, 0, 2, 1));
  snprintf(name, sizeof name, "%sdata", prefix);
  add(m, name, "<f4", "(4,)", FLOATS(1, 2, 1, .5F));
  snprintf(name, sizeof name, "%sshape", prefix);
  add(m, name, "<i8", "(2,)", LONGS(4, 4));
}

static void put_benchmark(void) {
  struct members m = {.used = 0};
  add_csr(&m, "adj_");
  add_csr(&m, "attr_");
  add(&m, "labels", "<i8", "(4,)", LONGS(0, 1, -1, 1));
  add(&m, "train_idx", "<i8", "(2,)", LONGS(0, 1));
  put("arrays", "benchmark", m.bytes, m.used);
}

static void put_heterophilous(void) {
  struct members m = {.used = 0};
  add(&m, "edges", "<i8", "(3, 2)", LONGS(0, 1, 1, 2, 2, 3));
  add(&m, "node_features", "<f4", "(4, 2)", FLOATS(1, 2, 3, 4, 5, 6, 7, 8));
  add(&m, "node_labels", "<i8", "(4,)", LONGS(0, 1, 2, 0));
  add(&m, "train_masks", "|b1", "(2, 4)", FLAGS(1, 0, 0, 0, 0, 1, 0, 0));
  add(&m, "val_masks", "|b1", "(2, 4)", FLAGS(0, 1, 0, 0, 1, 0, 0, 0));
  add(&m, "test_masks", "|b1", "(2, 4)", FLAGS(0, 0, 1, 1, 0, 0, 1, 1));
  put("arrays", "heterophilous", m.bytes, m.used);
}

static void put_scipy(void) {
  struct members csr = {.used = 0}, coo = {.used = 0}, beside = {.used = 0};
  add_csr(&csr, "");
  add(&csr, "format", "|S3", "()", "csr", 3);
  put("arrays", "csr", csr.bytes, csr.used);
  add(&coo, "row", "<i4", "(3,)", INTS(0, 1, 2));
  add(&coo, "col", "<i4", "(3,)", INTS(1, 4, 0));
  add(&coo, "data", "<f4", "(3,)", FLOATS(1, 1, 2));
  add(&coo, "shape", "<i8", "(2,)", LONGS(3, 5));
  add(&coo, "format", "|S3", "()", "coo", 3);
  put("arrays", "coo", coo.bytes, coo.used);
  add(&beside, "indptr", "<i4", "(6,)", INTS(0, 1, 2, 2, 3, 4));
  add(&beside, "indices", "<i4", "(4,)", INTS(1, 0, 2, 1));
  add(&beside, "data", "<f4", "(4,)", FLOATS(1, 2, 1, .5F));
  add(&beside, "shape", "<i8", "(2,)", LONGS(5, 3));
  add(&beside, "train_idx", "<i8", "(2,)", LONGS(0, 1));
  add(&beside, "val_idx", "<i8", "(1,)", LONGS(2));
  add(&beside, "test_idx", "<i8", "(1,)", LONGS(4));
  put("beside", "csr", beside.bytes, beside.used);
}

static void put_masks(void) {
  struct members m = {.used = 0};
  add(&m, "train_mask", "|b1", "(5,)", FLAGS(1, 0, 0, 0, 0));
  add(&m, "val_mask", "|b1", "(5,)", FLAGS(0, 1, 0, 0, 0));
  put("beside", "masks", m.bytes, m.used);
}

static void put_ogb_arrays(void) {
  struct members m = {.used = 0};
  add(&m, "num_nodes_list", "<i8", "(1,)", LONGS(4));
  add(&m, "edge_index", "<i8", "(2, 3)", LONGS(0, 1, 2, 1, 2, 3));
  add(&m, "node_feat", "<f4", "(4, 1)", FLOATS(1, 2, 3, 4));
  next_archive(&m);
  add(&m, "node_label", "<f4", "(4, 1)", FLOATS(0, 1, NAN, 1));
  put("ogb_arrays", "small", m.bytes, m.used);
}

static void put_dgl(void) {
  struct members m = {.used = 0};
  add_csr(&m, "");
  next_archive(&m);
  add(&m, "feature", "<f4", "(4, 1)", FLOATS(1, 2, 3, 4));
  add(&m, "label", "<i8", "(4,)", LONGS(0, 1, 1, 0));
  add(&m, "node_types", "<i4", "(4,)", INTS(1, 2, 3, 0));
  put("dgl", "small", m.bytes, m.used);
}

static void put_npy(const char *name, const char *descr, const char *shape, int fortran, int version,
                    const void *data, size_t bytes) {
  size_t size;
  void *npy = synthetic_npy(descr, shape, fortran, version, data, bytes, &size);
  put("npy", name, npy, size);
  put("beside", name, npy, size);
  free(npy);
}

static void put_arrays(void) {
  put_npy("long", "<i8", "(5,)", 0, 1, LONGS(0, 1, 2, -1, 7));
  put_npy("float", "<f4", "(5, 2)", 1, 2, FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  put_npy("swapped", ">u4", "(5, 1)", 0, 3, INTS(1, 2, 3, 4, 5));
  put_npy("half", "<f2", "(2,)", 0, 1, "\0\x3c\0\xfc", 4);
  put_npy("flags", "|b1", "(5, 2)", 0, 1, FLAGS(1, 0, 0, 1, 1, 1, 0, 0, 1, 0));
  put_npy("text", "<U2", "(1,)", 0, 1, "c\0\0\0s\0\0\0", 8);
  put_npy("empty", "<f8", "(0, 3)", 0, 1, NULL, 0);
  const struct synthetic_array graph[] = {
      {"edges", "<i8", "(3, 2)", LONGS(0, 1, 1, 2, 2, 3), 0},
      {"node_labels", "<i8", "(4,)", LONGS(0, 1, 2, 0), 0},
      {"train_mask", "|b1", "(4,)", FLAGS(1, 0, 0, 0), 0},
  };
  synthetic_npz(seed_path("npz", "graph"), graph, 3);
  put_benchmark();
  put_heterophilous();
  put_scipy();
  put_masks();
  put_ogb_arrays();
  put_dgl();
}

static void put_gzip(void) {
  synthetic_gzip(seed_path("gzip", "line"), "0 1\n1 2\n2 0\n");
  synthetic_gzip(seed_path("edgelist", "gzip"), "0 1\n1 2\n2 0\n");
  synthetic_gzip(seed_path("csv", "gzip"), "1 2\n3 4\n5 6\n7 8\n9 0\n");
  size_t size;
  unsigned char *member = synthetic_bytes(seed_path("gzip", "line"), &size);
  unsigned char *twice = calloc(2 * size + 8, 1);
  memcpy(twice, member, size);
  memcpy(twice + size, member, size);
  put("gzip", "two_members_and_zeros", twice, 2 * size + 8);
  put("gzip", "cut", member, size - 5);
  put("gzip", "plain", "0 1\n", 4);
  free(member);
  free(twice);
}

static void put_ids(void) {
  static const int64_t ids[] = {5, 0, 5, 3, 1 << 20, 7, 6, 4},
                       far[] = {INT64_MAX, INT64_MAX - 1, 0, 1L << 40};
  put("ids", "near", ids, sizeof ids);
  put("ids", "far", far, sizeof far);
}

static void put_h5(void) {
  static const char *const kind[] = {"multiclass", "multilabel", "hypergraph", "graphs"};
  for (int k = 0; k < 4; k++) fuzz_write_dataset(seed_path("dataset", kind[k]), k);
  fuzz_write_checkpoint(seed_path("checkpoint", "small"));
  fuzz_write_parts(seed_path("parts", "given"));
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 1;
  }
  base = argv[1];
  mkdir(base, 0777);
  fuzz_start();
  put_texts();
  put_arrays();
  put_gzip();
  put_ids();
  put_h5();
  return 0;
}
