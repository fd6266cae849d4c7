/* Files of HDF5. They are probed first, as programs do: what libhdf5 crashes on must end in the probe's
 * child. */
#include <stdlib.h>
#include <string.h>

#include "io/dataset/checkpoint.h"
#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "partition/cut/partition_cache.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/comm/comm_lone.h"
#include "runtime/config/config.h"
#include "tests/fuzz/target.h"
#include "tests/io/tiny.h"

static void hear(const char *violation, void *context) {
  (void)context;
  if (violation[0] == '\0') abort();
}

/* Room for what the header says is in the file. */
struct room {
  int64_t *start, *wide;
  int32_t *narrow;
  float *value;
  char **text;
};

static int room_init(struct room *room, const struct dataset *d) {
  int64_t longest = d->hyperedges > d->nodes ? d->hyperedges : d->nodes,
          entries = d->edges + d->rows[FEATURE_ROWS].entries + d->incidences;
  int64_t most = longest + 1 + entries + (d->sparse ? 0 : d->nodes * d->features) + d->nodes * d->classes;
  TRY(memory_alloc(&room->start, (longest + 1) * 8, "offsets"));
  TRY(memory_alloc(&room->wide, most * 8, "integers"));
  TRY(memory_alloc(&room->narrow, most * 4, "columns"));
  TRY(memory_alloc(&room->value, most * 4, "values"));
  return memory_alloc(&room->text, (d->nodes + 1) * 8, "names");
}

static void room_free(struct room *room, const struct dataset *d) {
  for (int64_t v = 0; room->text && v < d->nodes; v++) free(room->text[v]);
  free(room->start);
  free(room->wide);
  free(room->narrow);
  free(room->value);
  free(room->text);
}

static int read_rows(struct dataset *d, struct room *room) {
  if (d->has_graph) TRY(dataset_read_starts(d, GRAPH_ROWS, 0, d->nodes, room->start));
  if (d->has_graph)
    TRY(dataset_read_entries(d, GRAPH_ROWS, 0, d->edges, room->narrow, d->weighted ? room->value : NULL));
  FREED int64_t *graph = NULL;
  if (d->graphs) TRY(dataset_read_graphs(d, &graph));
  if (d->hyperedges) TRY(dataset_read_starts(d, HYPER_ROWS, 0, d->hyperedges, room->start));
  if (d->hyperedges) TRY(dataset_read_entries(d, HYPER_ROWS, 0, d->incidences, room->narrow, NULL));
  if (d->sparse) TRY(dataset_read_starts(d, FEATURE_ROWS, 0, d->nodes, room->start));
  if (d->sparse)
    TRY(dataset_read_entries(d, FEATURE_ROWS, 0, d->rows[FEATURE_ROWS].entries, room->narrow, room->value));
  if (d->has_features && !d->sparse) TRY(dataset_read_features(d, 0, d->nodes, room->value));
  return OK;
}

static int read_names(struct dataset *d, struct room *room) {
  if (d->task == TASK_MULTICLASS) TRY(dataset_read_label(d, 0, d->nodes, room->narrow));
  if (d->task == TASK_MULTILABEL) TRY(dataset_read_labels(d, 0, d->nodes, (uint8_t *)room->narrow));
  for (int64_t s = 0; s < d->splits; s++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      int64_t *node = NULL, count;
      int code = dataset_read_split(d, s, (enum split)p, &node, &count);
      free(node);
      TRY(code);
    }
  }
  char **name;
  TRY(dataset_read_class_names(d, &name));
  h5_free_names(name, d->classes);
  if (d->ids == 1) TRY(dataset_read_ids(d, 0, d->nodes, room->wide));
  if (d->ids == 2) TRY(dataset_read_id_strings(d, 0, d->nodes, room->text));
  return OK;
}

static int read_dataset(struct dataset *d) {
  struct room room = {0};
  int64_t violations = 0;
  int code = room_init(&room, d);
  if (code == OK) code = read_rows(d, &room);
  if (code == OK) code = read_names(d, &room);
  room_free(&room, d);
  fuzz_check_h5_code(code);
  return dataset_check(d, hear, NULL, &violations);
}

void fuzz_dataset(const uint8_t *data, size_t size) {
  struct dataset d = {0};
  const char *path = fuzz_file("data.h5", data, size);
  fuzz_check_h5_code(h5_check_replaced(path, dataset_format, "dataset"));
  int code = h5_probe(path);
  if (code == OK) code = dataset_open(&d, path);
  if (code == OK) code = read_dataset(&d);
  dataset_close(&d);
  fuzz_check_h5_code(code);
}

/* Of a small model, with one value that older files lack. */
static const struct checkpoint *some_checkpoint(void) {
  static float weight[12 * 10];
  static int64_t epoch, step;
  static double best;
  static char config[200];
  static struct checkpoint_item item[] = {{"parameters/layer0.weight", H5_FLOAT, 12, 10, weight},
                                          {"moments/layer0.weight", H5_FLOAT, 120, 0, weight}};
  static struct checkpoint_value value[] = {
      {.name = "epoch", .kind = CHECKPOINT_INT, .integer = &epoch},
      {.name = "best", .kind = CHECKPOINT_REAL, .real = &best},
      {.name = "config", .kind = CHECKPOINT_TEXT, .text = config, .text_size = sizeof config},
      {.name = "step", .kind = CHECKPOINT_INT, .integer = &step, .optional = 1}};
  static struct checkpoint checkpoint = {.item = item, .items = 2, .value = value, .values = 4};
  strcpy(config, "train.lr = 0.1\n");
  return &checkpoint;
}

void fuzz_checkpoint(const uint8_t *data, size_t size) {
  fuzz_check_h5_code(checkpoint_read(some_checkpoint(), fuzz_file("epoch-0-7.h5", data, size)));
}

void fuzz_write_checkpoint(const char *path) {
  fuzz_check_code(checkpoint_write(some_checkpoint(), path));
}

/* One rank, without MPI. */
static struct comm *alone(void) {
  static const struct comm of = {.size = 1};
  static const struct network network = {.local_size = 1};
  static struct comm comm;
  if (!comm.mpi) fuzz_check_code(comm_lone_open(&comm, &of, 0, 1, &network));
  return &comm;
}

/* Twelve nodes in two parts. */
static const struct partition_key *some_key(void) {
  static struct config config;
  static char dataset[600];
  static struct partition_key key = {
      .config = &config, .dataset = dataset, .hash = 77, .parts = 2, .nodes = TINY_NODES};
  if (dataset[0] == '\0') {
    fuzz_check_code(
        config_parse(&config, "dataset.path = \"data.h5\"\npartition.order = \"given\"\n", "config.toml"));
    strcpy(dataset, fuzz_path("cut.h5"));
  }
  return &key;
}

/* Where the partition of that key lies. */
static const char *parts_path(void) {
  static char path[1200];
  struct partition partition = {0};
  if (path[0]) return path;
  fuzz_check_code(partition_init(&partition, 2, TINY_NODES));
  for (int v = 0; v < TINY_NODES; v++) {
    partition.part[v] = v >= TINY_NODES / 2;
    partition.order[v] = v;
  }
  partition_count(&partition);
  struct progress progress = progress_of(alone());
  fuzz_check_code(partition_cache_write(&progress, some_key(), &partition));
  strcpy(path, partition.path);
  partition_free(&partition);
  if (path[0] == '\0') abort();
  return path;
}

static int visit(const struct partition_kept *kept, void *context) {
  (void)kept, (void)context;
  return OK;
}

void fuzz_parts_file(const uint8_t *data, size_t size) {
  const struct partition_key *key = some_key();
  struct partition partition = {0}, owners = {0};
  const char *name = parts_path() + strlen(key->dataset) - strlen("cut.h5");
  fuzz_file(name, data, size);
  int found = 0;
  fuzz_check_code(partition_cache_read(alone(), key, &partition, &found));
  if (found) {
    for (int v = 0; v < TINY_NODES; v++) {
      if (partition.part[v] < 0 || partition.part[v] > 1 || partition.order[v] < 0 ||
          partition.order[v] >= TINY_NODES)
        abort();
    }
  }
  partition_free(&partition);
  fuzz_check_code(partition_init(&owners, 2, TINY_NODES));
  fuzz_check_code(partition_cache_read_owners(alone(), key, &owners, &found));
  partition_free(&owners);
  fuzz_check_h5_code(partition_cache_list(key->dataset, visit, NULL));
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  if (!in || !out) abort();
  for (int c = fgetc(in); c != EOF; c = fgetc(in)) fputc(c, out);
  fclose(in);
  if (fclose(out) != 0) abort();
}

void fuzz_write_parts(const char *path) {
  copy_file(parts_path(), path);
}

void fuzz_write_dataset(const char *path, int kind) {
  struct dataset_source s = tiny_source(kind == 1 ? TASK_MULTILABEL : TASK_MULTICLASS, kind == 1 ? 1 : 5,
                                        kind == 3 ? 1 : 1 + kind);
  if (kind == 2) {
    free(s.start);
    free(s.col);
    free(s.weight);
    s.start = NULL;
    s.col = NULL;
    s.weight = NULL;
    tiny_hypergraph(&s);
  }
  if (kind == 3) tiny_graphs(&s);
  fuzz_check_code(dataset_write(&s, path));
  dataset_source_free(&s);
}
