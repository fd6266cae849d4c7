#include "io/dataset/dataset.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/comm/comm.h"

const char *const split_name[SPLIT_COUNT] = {"train", "val", "test"};

const struct dataset_rows dataset_rows_names[ROWS_KINDS] = {
    [GRAPH_ROWS] = {"/graph/indptr", "/graph/indices", "/graph/weights"},
    [FEATURE_ROWS] = {"/node/features/indptr", "/node/features/indices", "/node/features/data"},
    [HYPER_ROWS] = {"/hypergraph/indptr", "/hypergraph/indices"}};

void dataset_split_name(const struct dataset *d, int64_t split, enum split part,
                        char name[DATASET_SPLIT_NAME]) {
  if (split == 0 && d->plain_split)
    snprintf(name, DATASET_SPLIT_NAME, "/split/%s", split_name[part]);
  else
    snprintf(name, DATASET_SPLIT_NAME, "/split/%lld/%s", (long long)split, split_name[part]);
}

static int knows_split(const struct dataset *d, const char *name) {
  char number[32];
  long long split = strtoll(name, NULL, 10);
  for (int p = 0; p < SPLIT_COUNT && d->plain_split; p++) {
    if (strcmp(name, split_name[p]) == 0) return 1;
  }
  snprintf(number, sizeof number, "%lld", split);
  return strcmp(name, number) == 0 && split >= 0 && split < d->splits;
}

int dataset_stray_splits(struct dataset *d, int (*stray)(void *context, const char *name), void *context) {
  char **names;
  int64_t count;
  struct h5_shape shape;
  int code = OK;
  if (d->made.maker) return OK;
  TRY(h5_shape(&d->h5, "/split", &shape));
  if (!shape.is_group) return OK;
  TRY(h5_list(&d->h5, "/split", &names, &count));
  for (int64_t i = 0; i < count && code == OK; i++)
    if (!knows_split(d, names[i])) code = stray(context, names[i]);
  h5_free_names(names, count);
  return code;
}

static int refuse_split(void *dataset, const char *name) {
  FAIL(BAD_INPUT, "%s: " DATASET_SPLIT_NAMES, ((struct dataset *)dataset)->h5.path, name);
}

int dataset_check_splits(struct dataset *d) {
  return dataset_stray_splits(d, refuse_split, d);
}

const char *dataset_file(const struct dataset *d) {
  return d->made.maker ? NULL : d->h5.path;
}

void dataset_set_entries(struct dataset *d, enum rows_kind kind, int64_t entries) {
  d->rows[kind].entries = entries;
  if (kind == GRAPH_ROWS) d->edges = entries;
  if (kind == HYPER_ROWS) d->incidences = entries;
}

static int hold(struct comm *comm, struct dataset *d, enum rows_kind kind, int64_t first, int64_t rows) {
  if (!d->made.maker) return OK;
  TRY(dataset_made_hold(&d->made, comm, first, rows));
  if (d->made.rows == d->rows[kind].rows) dataset_set_entries(d, kind, d->made.start[d->made.rows]);
  return OK;
}

int dataset_hold_rows(struct dataset *d, enum rows_kind kind, int64_t first, int64_t rows) {
  return hold(NULL, d, kind, first, rows);
}

int dataset_hold_block(struct comm *comm, struct dataset *d, enum rows_kind kind, int64_t first,
                       int64_t rows) {
  return hold(comm->size > 1 ? comm : NULL, d, kind, first, rows);
}

void dataset_drop_rows(struct dataset *d) {
  dataset_made_drop(&d->made);
}

static int made_starts(struct dataset *d, enum rows_kind kind, int64_t first, int64_t rows, int64_t *start) {
  TRY(dataset_hold_rows(d, kind, first, rows));
  dataset_made_starts(&d->made, first, rows, start);
  return OK;
}

int dataset_read_starts(struct dataset *d, enum rows_kind kind, int64_t first, int64_t rows, int64_t *start) {
  const struct dataset_rows *of = &d->rows[kind];
  if (d->made.maker) return made_starts(d, kind, first, rows, start);
  TRY(h5_read_rows(&d->h5, of->starts, first, rows + 1, H5_INT64, start));
  for (int64_t i = 0; i <= rows; i++) {
    int64_t least = i > 0 ? start[i - 1] : 0;
    int64_t most = first + i == 0 ? 0 : of->entries;
    if (first + i == of->rows) least = of->entries;
    if (start[i] < least || start[i] > most)
      FAIL(BAD_INPUT, "%s: %s[%lld] is %lld; %lld to %lld are allowed there", d->h5.path, of->starts,
           (long long)(first + i), (long long)start[i], (long long)least, (long long)most);
  }
  return OK;
}

/* The value at `place` is wrong: says so with the value as it stands in the file, where it may be too wide
 * for the type that was read. */
static int out_of_range(struct dataset *d, const char *name, int64_t place, int64_t least, int64_t most) {
  int64_t value;
  TRY(h5_read_rows(&d->h5, name, place, 1, H5_INT64, &value));
  FAIL(BAD_INPUT, "%s: %s[%lld] is %lld; %lld to %lld are allowed", d->h5.path, name, (long long)place,
       (long long)value, (long long)least, (long long)most);
}

/* Values from which on several threads look them over. */
enum { MANY = 1 << 16 };

/* The first id that is not in [least, most]; count: none. */
static int64_t find_outside(const int32_t *id, int64_t count, int64_t least, int64_t most) {
  int64_t first = count;
#pragma omp parallel for schedule(static) reduction(min : first) if (count > MANY)
  for (int64_t i = 0; i < count; i++) {
    if ((id[i] < least || id[i] > most) && i < first) first = i;
  }
  return first;
}

/* The first value that is not finite; count: none. */
static int64_t find_not_finite(const float *value, int64_t count) {
  int64_t first = count;
#pragma omp parallel for schedule(static) reduction(min : first) if (count > MANY)
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(value[i]) && i < first) first = i;
  }
  return first;
}

static int read_ids(struct dataset *d, const char *name, int64_t first, int64_t count, int64_t least,
                    int64_t most, int32_t *id) {
  TRY(h5_read_rows(&d->h5, name, first, count, H5_INT32, id));
  int64_t wrong = find_outside(id, count, least, most);
  return wrong < count ? out_of_range(d, name, first + wrong, least, most) : OK;
}

static int read_reals(struct dataset *d, const char *name, int64_t first, int64_t count, float *value) {
  TRY(h5_read_rows(&d->h5, name, first, count, H5_FLOAT, value));
  int64_t wrong = find_not_finite(value, count);
  if (wrong < count)
    FAIL(BAD_INPUT, "%s: %s[%lld] is %g; finite values are allowed", d->h5.path, name,
         (long long)(first + wrong), (double)value[wrong]);
  return OK;
}

int dataset_read_entries(struct dataset *d, enum rows_kind kind, int64_t first, int64_t count, int32_t *id,
                         float *value) {
  const struct dataset_rows *of = &d->rows[kind];
  if (d->made.maker) {
    dataset_made_entries(&d->made, first, count, id);
    return OK;
  }
  TRY(read_ids(d, of->ids, first, count, 0, of->most - 1, id));
  return value ? read_reals(d, of->values, first, count, value) : OK;
}

int dataset_read_features(struct dataset *d, int64_t first, int64_t rows, float *values) {
  if (d->made.maker) return d->made.maker->features(d->made.context, first, rows, values);
  TRY(h5_read_rows(&d->h5, "/node/features", first, rows, H5_FLOAT, values));
  int64_t wrong = find_not_finite(values, rows * d->features);
  if (wrong < rows * d->features)
    FAIL(BAD_INPUT, "%s: /node/features: node %lld, column %lld is %g; finite values are allowed", d->h5.path,
         (long long)(first + wrong / d->features), (long long)(wrong % d->features), (double)values[wrong]);
  return OK;
}

int dataset_read_label(struct dataset *d, int64_t first, int64_t rows, int32_t *label) {
  if (d->made.maker) return d->made.maker->label(d->made.context, first, rows, label);
  return read_ids(d, "/node/labels", first, rows, -1, d->classes - 1, label);
}

int dataset_read_labels(struct dataset *d, int64_t first, int64_t rows, uint8_t *labels) {
  TRY(h5_read_rows(&d->h5, "/node/labels", first, rows, H5_UINT8, labels));
  for (int64_t i = 0; i < rows * d->classes; i++) {
    if (labels[i] > 1)
      FAIL(BAD_INPUT, "%s: /node/labels: node %lld, class %lld is %d; 0 and 1 are allowed", d->h5.path,
           (long long)(first + i / d->classes), (long long)(i % d->classes), labels[i]);
  }
  return OK;
}

static int check_split(const struct dataset *d, const char *name, const int64_t *node, int64_t count) {
  int64_t wrong = count;
#pragma omp parallel for schedule(static) reduction(min : wrong) if (count > MANY)
  for (int64_t i = 0; i < count; i++)
    if (node[i] < 0 || node[i] >= d->nodes || (i > 0 && node[i] <= node[i - 1])) wrong = smaller(wrong, i);
  if (wrong == count) return OK;
  const long long at = wrong, v = node[wrong];
  if (v < 0 || v >= d->nodes)
    FAIL(BAD_INPUT, "%s: %s[%lld] is %lld; 0 to %lld are allowed", d->h5.path, name, at, v,
         (long long)d->nodes - 1);
  FAIL(BAD_INPUT, "%s: %s[%lld] is %lld after %lld; ascending node ids are expected", d->h5.path, name, at, v,
       (long long)node[wrong - 1]);
}

/* Into *node, which the caller frees also after an error. */
static int read_split(struct dataset *d, const char *name, int64_t **node, int64_t *count) {
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, name, &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1 || shape.dim[0] > d->nodes)
    FAIL(BAD_INPUT, "%s: %s: at most %lld node ids are expected", d->h5.path, name, (long long)d->nodes);
  TRY(memory_arrays("a split", ROOM(node, shape.dim[0])));
  TRY(h5_read_rows(&d->h5, name, 0, shape.dim[0], H5_INT64, *node));
  *count = shape.dim[0];
  return check_split(d, name, *node, *count);
}

int dataset_read_split(struct dataset *d, int64_t split, enum split part, int64_t **node, int64_t *count) {
  char name[DATASET_SPLIT_NAME];
  *node = NULL;
  *count = 0;
  if (split < 0 || split >= d->splits)
    FAIL(BAD_INPUT, "%s: has no split %lld; it has %lld, counted from 0", d->h5.path, (long long)split,
         (long long)d->splits);
  dataset_split_name(d, split, part, name);
  int code = d->made.maker ? d->made.maker->split(d->made.context, part, node, count)
                           : read_split(d, name, node, count);
  if (code != OK) {
    free(*node);
    *node = NULL;
  }
  return code;
}

int dataset_read_graphs(struct dataset *d, int64_t **start) {
  static const char name[] = "/graphs/indptr";
  TRY(memory_arrays("the first nodes of graphs", ROOM(start, d->graphs + 1)));
  TRY(h5_read_rows(&d->h5, name, 0, d->graphs + 1, H5_INT64, *start));
  for (int64_t g = 0; g <= d->graphs; g++) {
    const int64_t found = (*start)[g], least = g == d->graphs ? d->nodes : g > 0 ? (*start)[g - 1] + 1 : 0;
    const int64_t most = g == 0 ? 0 : g == d->graphs ? d->nodes : d->nodes - 1;
    if (found < least || found > most)
      FAIL(BAD_INPUT, "%s: %s[%lld] is %lld; %lld to %lld are allowed there", d->h5.path, name, (long long)g,
           (long long)found, (long long)least, (long long)most);
  }
  return OK;
}
