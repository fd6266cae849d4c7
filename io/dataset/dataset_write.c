#include "io/dataset/dataset.h"
#include "runtime/base/base.h"

static const double sparse_density = .1; /* below it features are stored as sparse rows */

static int64_t edges_of(const struct dataset_source *source) {
  return source->start ? source->start[source->nodes] : 0;
}

static int write_attrs(struct h5 *h5, const struct dataset_source *source) {
  static const char *const task_name[] = {"none", "multiclass", "multilabel"};
  TRY(h5_write_text(h5, "format", dataset_format));
  TRY(h5_write_int(h5, "version", 1));
  TRY(h5_write_text(h5, "name", source->name));
  TRY(h5_write_int(h5, "num_nodes", source->nodes));
  TRY(h5_write_int(h5, "num_edges", edges_of(source)));
  TRY(h5_write_int(h5, "num_features", source->features));
  TRY(h5_write_int(h5, "num_classes", source->classes));
  TRY(h5_write_text(h5, "task", task_name[source->task]));
  return h5_write_int(h5, "directed", source->directed);
}

static int write_rows(struct h5 *h5, enum rows_kind kind, int64_t rows, const int64_t *start,
                      const int32_t *id, const float *value) {
  const struct dataset_rows *names = &dataset_rows_names[kind];
  if (!start) return OK;
  TRY(h5_write_all(h5, names->starts, H5_INT64, rows + 1, 0, start));
  TRY(h5_write_all(h5, names->ids, H5_INT32, start[rows], 0, id));
  return value ? h5_write_all(h5, names->values, H5_FLOAT, start[rows], 0, value) : OK;
}

/* The non-zeros of dense rows. */
static int make_sparse(const struct dataset_source *source, int64_t nnz, struct dataset_source *made) {
  TRY(memory_arrays("sparse features", ROOM(&made->sparse.start, source->nodes + 1),
                    ROOM(&made->sparse.col, nnz), ROOM(&made->sparse.value, nnz)));
  for (int64_t v = 0, e = 0; v < source->nodes; v++) {
    const float *row = source->feature + v * source->features;
    for (int64_t c = 0; c < source->features; c++) {
      if (row[c] == 0) continue; /* NaN stays */
      made->sparse.col[e] = (int32_t)c;
      made->sparse.value[e++] = row[c];
    }
    made->sparse.start[v + 1] = e;
  }
  return OK;
}

/* Dense rows of sparse ones, in the form of dataset_source.made.rows. */
static int expand_rows(void *context, int64_t first, int64_t rows, float *values) {
  const struct dataset_source *source = context;
  const int64_t *start = source->sparse.start;
  memset(values, 0, (size_t)(rows * source->features) * sizeof *values);
  for (int64_t v = first; v < first + rows; v++) {
    float *row = values + (v - first) * source->features;
    for (int64_t e = start[v]; e < start[v + 1]; e++) row[source->sparse.col[e]] = source->sparse.value[e];
  }
  return OK;
}

/* Dense features that are made while they are written, a block of rows at a time. */
static int write_made(struct h5 *h5, const struct dataset_source *source) {
  FREED float *values = NULL;
  int64_t block = smaller(DATASET_BLOCK / (source->features * (int64_t)sizeof(float)) + 1, source->nodes);
  TRY(memory_arrays("feature rows", ROOM(&values, block * source->features)));
  TRY(h5_new_dataset(h5, "/node/features", H5_FLOAT, source->nodes, source->features));
  for (int64_t first = 0; first < source->nodes; first += block) {
    int64_t rows = smaller(block, source->nodes - first);
    TRY(source->made.rows(source->made.context, first, rows, values));
    TRY(h5_write_rows(h5, "/node/features", first, rows, H5_FLOAT, values));
  }
  return OK;
}

static int64_t count_nonzeros(const struct dataset_source *source) {
  int64_t nnz = 0, all = source->nodes * source->features;
  if (source->sparse.start) return source->sparse.start[source->nodes];
  for (int64_t i = 0; i < all; i++) nnz += source->feature[i] != 0;
  return nnz;
}

static int write_features(struct h5 *h5, const struct dataset_source *source) {
  ENDED_BY(dataset_source_free) struct dataset_source made = {0};
  if (source->features == 0) return OK;
  if (source->made.rows) return write_made(h5, source);
  int64_t nnz = count_nonzeros(source);
  if ((double)nnz < sparse_density * (double)(source->nodes * source->features)) {
    if (!source->sparse.start) TRY(make_sparse(source, nnz, &made));
    const struct dataset_source *rows = source->sparse.start ? source : &made;
    return write_rows(h5, FEATURE_ROWS, source->nodes, rows->sparse.start, rows->sparse.col,
                      rows->sparse.value);
  }
  if (!source->sparse.start)
    return h5_write_all(h5, "/node/features", H5_FLOAT, source->nodes, source->features, source->feature);
  struct dataset_source dense = *source;
  dense.made.rows = expand_rows;
  dense.made.context = &dense;
  return write_made(h5, &dense);
}

static int write_labels(struct h5 *h5, const struct dataset_source *source) {
  if (source->task == TASK_MULTICLASS)
    TRY(h5_write_all(h5, "/node/labels", H5_INT32, source->nodes, 0, source->label));
  if (source->task == TASK_MULTILABEL)
    TRY(h5_write_all(h5, "/node/labels", H5_UINT8, source->nodes, source->classes, source->labels));
  return OK;
}

static int write_names(struct h5 *h5, const struct dataset_source *source) {
  const struct dataset_names *names = &source->names;
  if (names->id) TRY(h5_write_all(h5, "/node/id", H5_INT64, source->nodes, 0, names->id));
  if (names->id_text) TRY(h5_write_strings(h5, "/node/id", source->nodes, names->id_text));
  return names->class_name ? h5_write_strings(h5, "/node/class_names", source->classes, names->class_name)
                           : OK;
}

static int write_splits(struct h5 *h5, const struct dataset_source *source) {
  struct dataset names = {.plain_split = source->splits == 1};
  for (int64_t s = 0; s < source->splits; s++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      char name[DATASET_SPLIT_NAME];
      dataset_split_name(&names, s, (enum split)p, name);
      TRY(h5_write_all(h5, name, H5_INT64, source->split[s].count[p], 0, source->split[s].node[p]));
    }
  }
  return OK;
}

int dataset_write(const struct dataset_source *source, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_create(&h5, path));
  TRY(write_attrs(&h5, source));
  TRY(write_rows(&h5, GRAPH_ROWS, source->nodes, source->start, source->col, source->weight));
  TRY(write_rows(&h5, HYPER_ROWS, source->hyper.edges, source->hyper.start, source->hyper.vertex, NULL));
  if (source->graphs.start)
    TRY(h5_write_all(&h5, "/graphs/indptr", H5_INT64, source->graphs.count + 1, 0, source->graphs.start));
  TRY(write_features(&h5, source));
  TRY(write_labels(&h5, source));
  TRY(write_names(&h5, source));
  TRY(write_splits(&h5, source));
  return h5_commit(&h5);
}

void dataset_source_free(struct dataset_source *source) {
  for (int64_t s = 0; source->split && s < source->splits; s++) {
    for (int p = 0; p < SPLIT_COUNT; p++) free(source->split[s].node[p]);
  }
  void *const array[] = {source->graphs.start, source->start,         source->col,
                         source->weight,       source->feature,       source->hyper.start,
                         source->hyper.vertex, source->sparse.start,  source->sparse.col,
                         source->sparse.value, source->label,         source->labels,
                         source->names.id,     source->names.id_text, source->names.class_name,
                         source->split};
  for (size_t i = 0; i < sizeof array / sizeof array[0]; i++) free(array[i]);
  memset(source, 0, sizeof *source);
}
