#include "io/import/import_features.h"

#include <math.h>

#include "io/file/csv.h"
#include "io/import/import.h"
#include "io/import/npz_csr.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

static void drop_features(struct dataset_source *source) {
  free_all(source->feature, source->sparse.start, source->sparse.col, source->sparse.value);
  source->feature = NULL;
  source->sparse.start = NULL;
  source->sparse.col = NULL;
  source->sparse.value = NULL;
  source->features = 0;
}

static int new_dense(struct dataset_source *source, int64_t nodes, int64_t features) {
  int64_t bytes;
  drop_features(source);
  if (__builtin_mul_overflow(nodes * (int64_t)sizeof *source->feature, features, &bytes)) bytes = INT64_MAX;
  TRY(memory_alloc(&source->feature, bytes, "node features"));
  source->features = features;
  return OK;
}

int import_feature_array(struct import *import, const struct npy *array) {
  struct dataset_source *source = &import->source;
  int64_t nodes = import_nodes(import);
  if (array->dims < 1 || array->dims > 2 || array->dim[0] != nodes)
    FAIL(BAD_INPUT, "%s: has %lld rows and %d dimensions, expected [%lld nodes, features]", array->name,
         array->dims ? (long long)array->dim[0] : 0, array->dims, (long long)nodes);
  int64_t features = array->dims == 2 ? array->dim[1] : 1;
  if (features < 1) FAIL(BAD_INPUT, "%s: has no columns", array->name);
  TRY(new_dense(source, nodes, features));
  return npy_float(array, 0, array->count, source->feature);
}

int import_feature_csr(struct dataset_source *source, const struct npz *npz, const char *prefix,
                       int64_t nodes) {
  struct csr m;
  int code = npz_csr_read(npz, prefix, &m);
  if (code == OK) code = npz_csr_sort(&m);
  drop_features(source);
  source->sparse.start = m.start;
  source->sparse.col = m.col;
  source->sparse.value = m.weight;
  source->features = m.cols;
  TRY(code);
  if (m.rows != nodes || m.cols < 1)
    FAIL(BAD_INPUT, "%s: features of %lld x %lld for %lld nodes", npz->path, (long long)m.rows,
         (long long)m.cols, (long long)nodes);
  return OK;
}

static int features_from_npy(struct import *import, const char *path) {
  ENDED_BY(npy_free) struct npy array = {0};
  TRY(npy_read(&array, path));
  return import_feature_array(import, &array);
}

static int features_from_npz(struct import *import, const char *path) {
  ENDED_BY(npz_close) struct npz npz = {0};
  TRY(npz_open(&npz, path));
  const char *prefix = npz_has(&npz, "attr_indptr") ? "attr_" : "";
  if (!*prefix) TRY(npz_check_format(&npz, "csr", "csr"));
  return import_feature_csr(&import->source, &npz, prefix, import->source.nodes);
}

/* The first row says how many features there are. */
static int make_features(void *context, const struct text *text, const char *line, int64_t rows) {
  struct import *import = context;
  (void)rows;
  if (import->source.features) return OK;
  int64_t columns = text_count(line), nodes = import_nodes(import);
  if (columns < 1 || columns > IMPORT_COLUMNS)
    TEXT_FAIL(text, "expected 1 to %d numbers, found %lld", IMPORT_COLUMNS, (long long)columns);
  TRY(text_check_rows(text, line, nodes));
  return new_dense(&import->source, nodes, columns);
}

static int take_features(void *context, const struct text *text, char *line, int64_t v) {
  struct dataset_source *source = &((struct import *)context)->source;
  for (int64_t j = 0; j < source->features; j++)
    TRY(text_real(text, &line, &source->feature[v * source->features + j], "a feature value"));
  return text_end(text, &line, "as many values as in the first row");
}

int import_feature_text(struct import *import, const char *path) {
  const struct csv_reader reader = {
      .room = make_features, .row = take_features, .expected = import_nodes(import)};
  int64_t rows;
  drop_features(&import->source);
  return csv_read(path, &reader, import, &rows);
}

/* Standard normal by Box and Muller: one block gives columns 4j .. 4j+3 of a node. */
static void fill_normal(float *row, int64_t features, struct philox_key key, int64_t node) {
  for (int64_t j = 0; j < features; j += 4) {
    struct philox_block block = random_block(key, (uint64_t)node, (uint64_t)(j / 4));
    for (int k = 0; k < 4 && j + k < features; k++) {
      double radius = sqrt(-2 * log(1.0 - (double)random_unit(block.word[k & 2])));
      double angle = 2 * M_PI * (double)random_unit(block.word[(k & 2) + 1]);
      row[j + k] = (float)(radius * (k & 1 ? sin(angle) : cos(angle)));
    }
  }
}

static int random_features(struct import *import, const char *number) {
  struct dataset_source *source = &import->source;
  int64_t features;
  TRY(option_count("--features random:", number, 1, IMPORT_COLUMNS, &features));
  TRY(new_dense(source, source->nodes, features));
  struct philox_key key = random_key((uint64_t)import->options->seed, 0, 0, RANDOM_IMPORT);
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < source->nodes; v++) fill_normal(source->feature + v * features, features, key, v);
  return OK;
}

static float binary(float value) {
  return value < 0.0F || value > 0.0F ? 1.0F : 0.0F;
}

static void binarize(struct dataset_source *source) {
  int64_t dense = source->feature ? source->nodes * source->features : 0;
  int64_t sparse = source->sparse.start ? source->sparse.start[source->nodes] : 0;
  for (int64_t i = 0; i < dense; i++) source->feature[i] = binary(source->feature[i]);
  for (int64_t i = 0; i < sparse; i++) source->sparse.value[i] = binary(source->sparse.value[i]);
}

/* A one in the column of the node's degree, loops apart; the last column is for all that are higher. */
static int degree_features(struct import *import, const char *number) {
  struct dataset_source *source = &import->source;
  int64_t features;
  TRY(option_count("--features degree:", number, 1, IMPORT_COLUMNS, &features));
  if (!source->start)
    FAIL(BAD_INPUT, "--features degree:%s: %s has no graph", number, import->options->input);
  TRY(new_dense(source, source->nodes, features));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < source->nodes; v++) {
    int64_t degree = 0;
    for (int64_t e = source->start[v]; e < source->start[v + 1]; e++) degree += source->col[e] != v;
    source->feature[v * features + smaller(degree, features - 1)] = 1;
  }
  return OK;
}

int import_features(struct import *import) {
  const char *option = import->taken.features ? NULL : import->options->features;
  if (option && option_has_prefix(option, "random:")) {
    TRY(random_features(import, option + 7));
  } else if (option && option_has_prefix(option, "degree:")) {
    TRY(degree_features(import, option + 7));
  } else if (option && option_has_suffix(option, ".npy")) {
    TRY(features_from_npy(import, option));
  } else if (option && option_has_suffix(option, ".npz")) {
    TRY(features_from_npz(import, option));
  } else if (option) {
    TRY(import_feature_text(import, option));
  }
  if (!import->options->binarize) return OK;
  if (import->source.features == 0) FAIL(BAD_INPUT, "--binarize: %s has no features", import->options->input);
  binarize(&import->source);
  return OK;
}
