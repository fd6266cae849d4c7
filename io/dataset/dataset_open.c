#include <sys/stat.h>

#include "io/dataset/dataset.h"
#include "runtime/base/base.h"

enum { MOST_NODES_A_BYTE = 1000, DATASET_VERSION = 1 };

static const char *const task_name[] = {"none", "multiclass", "multilabel"};

/* An attribute of "/" that counts something. */
static int read_count(struct dataset *d, const char *name, int64_t least, int64_t most, int64_t *value) {
  TRY(h5_read_int(&d->h5, name, value));
  if (*value < least || *value > most)
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" is %lld; %lld to %lld are allowed", d->h5.path, name,
         (long long)*value, (long long)least, (long long)most);
  return OK;
}

static int read_task(struct dataset *d) {
  char text[32];
  TRY(h5_read_text(&d->h5, "task", text, sizeof text));
  for (int t = TASK_NONE; t <= TASK_MULTILABEL; t++) {
    if (strcmp(text, task_name[t]) == 0) {
      d->task = (enum task)t;
      return OK;
    }
  }
  FAIL(BAD_INPUT, "%s: the attribute \"task\" is \"%s\"; multiclass, multilabel and none are allowed",
       d->h5.path, text);
}

static int read_name(struct dataset *d) {
  if (h5_has_attr(&d->h5, "name")) return h5_read_text(&d->h5, "name", d->name, sizeof d->name);
  stem_of(d->h5.path, d->name, sizeof d->name);
  return OK;
}

const char dataset_format[] = "gnntrain-dataset";

static int read_format(struct dataset *d) {
  char format[64];
  int64_t version;
  if (!h5_has_attr(&d->h5, "format"))
    FAIL(BAD_INPUT, "%s: is not a dataset: the attribute format = \"%s\" is missing", d->h5.path,
         dataset_format);
  TRY(h5_read_text(&d->h5, "format", format, sizeof format));
  if (strcmp(format, dataset_format) != 0)
    FAIL(BAD_INPUT, "%s: is not a dataset: its format is \"%s\"; \"%s\" is expected", d->h5.path, format,
         dataset_format);
  TRY(h5_read_int(&d->h5, "version", &version));
  if (version != DATASET_VERSION)
    FAIL(BAD_INPUT, "%s: is a dataset of version %lld; this program reads version %d", d->h5.path,
         (long long)version, DATASET_VERSION);
  return OK;
}

static int read_attrs(struct dataset *d) {
  int64_t directed;
  struct stat status;
  TRY(read_format(d));
  TRY(read_name(d));
  TRY(read_count(d, "num_nodes", 1, INT32_MAX, &d->nodes));
  TRY(read_count(d, "num_edges", 0, INT64_MAX, &d->edges));
  TRY(read_count(d, "num_features", 0, INT32_MAX, &d->features));
  TRY(read_task(d));
  TRY(read_count(d, "num_classes", d->task != TASK_NONE, DATASET_CLASSES, &d->classes));
  TRY(read_count(d, "directed", 0, 1, &directed));
  d->directed = (int)directed;
  if (stat(d->h5.path, &status) == 0 && d->nodes / MOST_NODES_A_BYTE > status.st_size)
    FAIL(BAD_INPUT, "%s: claims %lld nodes, more than a file of %lld bytes can hold", d->h5.path,
         (long long)d->nodes, (long long)status.st_size);
  return OK;
}

enum kind { INTEGERS, NUMBERS, BYTES };

/* The dataset must be there, of that kind, with rows (and cols, unless 0) as given. */
static int expect(struct dataset *d, const char *name, enum kind kind, int64_t rows, int64_t cols) {
  static const char *const kind_name[] = {"integers", "numbers", "uint8"};
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, name, &shape));
  if (!shape.exists) FAIL(BAD_INPUT, "%s: %s: is missing", d->h5.path, name);
  if (shape.is_group) FAIL(BAD_INPUT, "%s: %s: is a group; a dataset is expected", d->h5.path, name);
  int integer = shape.type == H5_INT32 || shape.type == H5_INT64 || shape.type == H5_UINT8;
  int good = kind == BYTES ? shape.type == H5_UINT8 : kind == INTEGERS ? integer : shape.type != H5_TEXT;
  if (!good)
    FAIL(BAD_INPUT, "%s: %s: has the wrong type; %s are expected", d->h5.path, name, kind_name[kind]);
  if (shape.dims != (cols ? 2 : 1))
    FAIL(BAD_INPUT, "%s: %s: has %d dimensions; %d expected", d->h5.path, name, shape.dims, cols ? 2 : 1);
  if (shape.dim[0] != rows)
    FAIL(BAD_INPUT, "%s: %s: has %lld rows; %lld are expected", d->h5.path, name, (long long)shape.dim[0],
         (long long)rows);
  if (cols && shape.dim[1] != cols)
    FAIL(BAD_INPUT, "%s: %s: has %lld columns; %lld are expected", d->h5.path, name, (long long)shape.dim[1],
         (long long)cols);
  return OK;
}

/* Rows of a dataset that may have any number of them; -1: not there. */
static int length(struct dataset *d, const char *name, int64_t *rows) {
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, name, &shape));
  *rows = !shape.exists || shape.is_group ? -1 : shape.dims < 1 ? 0 : shape.dim[0];
  return OK;
}

/* Compressed rows that must be there; entries -1: as many as they are. */
static int open_rows(struct dataset *d, enum rows_kind kind, int64_t rows, int64_t entries, int64_t most) {
  struct dataset_rows *of = &d->rows[kind];
  int64_t values = entries;
  *of = dataset_rows_names[kind];
  if (kind == GRAPH_ROWS) TRY(length(d, of->values, &values)); /* weights may be missing */
  if (values < 0 && kind == GRAPH_ROWS) of->values = NULL;
  if (entries < 0) TRY(length(d, of->ids, &entries));
  of->rows = rows;
  of->entries = entries;
  of->most = most;
  TRY(expect(d, of->starts, INTEGERS, rows + 1, 0));
  TRY(expect(d, of->ids, INTEGERS, entries, 0));
  return of->values ? expect(d, of->values, NUMBERS, entries, 0) : OK;
}

static int open_graph(struct dataset *d) {
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, "/graph/indptr", &shape));
  d->has_graph = shape.exists;
  if (!shape.exists && d->edges != 0)
    FAIL(BAD_INPUT, "%s: /graph/indptr: is missing, but the attribute \"num_edges\" is %lld", d->h5.path,
         (long long)d->edges);
  if (!shape.exists) return OK;
  TRY(open_rows(d, GRAPH_ROWS, d->nodes, d->edges, d->nodes));
  d->weighted = d->rows[GRAPH_ROWS].values != NULL;
  return OK;
}

static int open_hypergraph(struct dataset *d) {
  int64_t starts = -1;
  TRY(length(d, "/hypergraph/indptr", &starts));
  if (starts < 0 && !d->has_graph)
    FAIL(BAD_INPUT, "%s: has neither /graph/indptr nor /hypergraph/indptr", d->h5.path);
  if (starts < 0) return OK;
  if (starts < 1) FAIL(BAD_INPUT, "%s: /hypergraph/indptr: has no rows; at least 1 is expected", d->h5.path);
  TRY(open_rows(d, HYPER_ROWS, starts - 1, -1, d->nodes));
  d->hyperedges = starts - 1;
  d->incidences = d->rows[HYPER_ROWS].entries;
  return OK;
}

/* Where there are many graphs: what they begin with is looked at when it is read. */
static int open_graphs(struct dataset *d) {
  int64_t rows = -1;
  TRY(length(d, "/graphs/indptr", &rows));
  if (rows < 0) return OK;
  if (rows < 2 || rows > d->nodes + 1)
    FAIL(BAD_INPUT, "%s: /graphs/indptr: has %lld rows; 2 to %lld are allowed", d->h5.path, (long long)rows,
         (long long)d->nodes + 1);
  d->graphs = rows - 1;
  return expect(d, "/graphs/indptr", INTEGERS, rows, 0);
}

static int open_features(struct dataset *d) {
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, "/node/features", &shape));
  d->has_features = d->features > 0;
  d->sparse = shape.is_group;
  if (!d->has_features) {
    if (shape.exists)
      FAIL(BAD_INPUT, "%s: /node/features: is there, but the attribute \"num_features\" is 0", d->h5.path);
    return OK;
  }
  if (!d->sparse) return expect(d, "/node/features", NUMBERS, d->nodes, d->features);
  return open_rows(d, FEATURE_ROWS, d->nodes, -1, d->features);
}

static int open_labels(struct dataset *d) {
  struct h5_shape id, names;
  if (d->task == TASK_MULTICLASS) TRY(expect(d, "/node/labels", INTEGERS, d->nodes, 0));
  if (d->task == TASK_MULTILABEL) TRY(expect(d, "/node/labels", BYTES, d->nodes, d->classes));
  TRY(h5_shape(&d->h5, "/node/class_names", &names));
  if (names.exists &&
      (names.is_group || names.dims != 1 || names.dim[0] != d->classes || names.type != H5_TEXT))
    FAIL(BAD_INPUT, "%s: /node/class_names: %lld strings are expected, one a class", d->h5.path,
         (long long)d->classes);
  TRY(h5_shape(&d->h5, "/node/id", &id));
  if (!id.exists) return OK;
  if (id.is_group || id.dims != 1 || id.dim[0] != d->nodes || id.type == H5_FLOAT || id.type == H5_DOUBLE)
    FAIL(BAD_INPUT, "%s: /node/id: %lld integers or strings are expected", d->h5.path, (long long)d->nodes);
  d->ids = id.type == H5_TEXT ? 2 : 1;
  return OK;
}

static int check_parts(struct dataset *d, int64_t split) {
  for (int p = 0; p < SPLIT_COUNT; p++) {
    char name[DATASET_SPLIT_NAME];
    int64_t rows = 0;
    dataset_split_name(d, split, (enum split)p, name);
    TRY(length(d, name, &rows));
    if (rows > d->nodes)
      FAIL(BAD_INPUT, "%s: %s: has %lld rows; at most %lld are allowed", d->h5.path, name, (long long)rows,
           (long long)d->nodes);
    TRY(expect(d, name, INTEGERS, rows, 0));
  }
  return OK;
}

static int open_splits(struct dataset *d) {
  struct h5_shape plain, zero, next;
  TRY(h5_shape(&d->h5, "/split/train", &plain));
  TRY(h5_shape(&d->h5, "/split/0", &zero));
  if (plain.exists && zero.exists)
    FAIL(BAD_INPUT, "%s: /split/train and /split/0: both stand for split 0; one of them is allowed",
         d->h5.path);
  d->plain_split = plain.exists;
  d->splits = plain.exists || zero.exists;
  for (int64_t s = 0; s < d->splits; s++) {
    TRY(check_parts(d, s));
    char name[DATASET_SPLIT_NAME];
    snprintf(name, sizeof name, "/split/%lld", (long long)s + 1);
    TRY(h5_shape(&d->h5, name, &next));
    if (next.exists) d->splits = s + 2;
  }
  return OK;
}

int dataset_open(struct dataset *dataset, const char *path) {
  memset(dataset, 0, sizeof *dataset);
  TRY(h5_open(&dataset->h5, path));
  TRY(read_attrs(dataset));
  TRY(open_graph(dataset));
  TRY(open_hypergraph(dataset));
  TRY(open_graphs(dataset));
  TRY(open_features(dataset));
  TRY(open_labels(dataset));
  return open_splits(dataset);
}

void dataset_close(struct dataset *dataset) {
  dataset_made_close(&dataset->made);
  h5_close(&dataset->h5);
}
