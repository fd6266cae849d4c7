#include "models/session/weights.h"

#include <math.h>

#include "io/dataset/checkpoint.h"
#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "models/session/weights_names.h"
#include "runtime/base/base.h"

/* What a checkpoint holds, by the names of the file that is written. */
struct weights {
  struct h5 h5;
  struct config config;
  struct named_array *array; /* with data of its own */
  int64_t count, room;
};

static void weights_free(struct weights *w) {
  for (int64_t i = 0; i < w->count; i++) free(w->array[i].data);
  free(w->array);
  h5_close(&w->h5);
}

static int is_archive(const char *path) {
  const char *ending = strrchr(path, '.');
  return ending && strcmp(ending, ".npz") == 0;
}

/* Whether what is there begins as one of ours. */
static int check_replaced(const char *path) {
  char text[9] = "";
  FILE *there = fopen(path, "re");
  if (!there) return OK;
  const size_t length = fread(text, 1, sizeof text, there);
  fclose(there);
  const int ours = is_archive(path) ? memcmp(text, "PK\3\4", 4) == 0 : text[8] == '{';
  if (length == 0 || ours) return OK;
  FAIL(BAD_INPUT, "%s: is there and is no file of weights; remove it or name another", path);
}

/* The settings that the checkpoint was written with. */
static int read_config(struct weights *w, const char *path) {
  FREED char *text = NULL;
  TRY(memory_arrays("a configuration", ROOM(&text, CHECKPOINT_CONFIG)));
  struct checkpoint_value value = {
      .name = "config", .kind = CHECKPOINT_TEXT, .text = text, .text_size = CHECKPOINT_CONFIG};
  TRY(checkpoint_read(&(struct checkpoint){.value = &value, .values = 1}, path));
  return config_parse(&w->config, text, path);
}

static int check_finite(const struct weights *w, const char *place, const float *data, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(data[i]))
      FAIL(BAD_INPUT, "%s: /%s: number %lld is not finite in single precision", w->h5.path, place,
           (long long)i);
  return OK;
}

/* What stands at a place of a checkpoint, by a name as "layer3.weight". */
struct table {
  char place[96];
  int layer;
  const char *what;
  int64_t rows, cols;
  float *data; /* [rows, cols] */
};

static void table_free(struct table *table) {
  free(table->data);
}

static int read_data(struct weights *w, struct table *table) {
  struct h5_shape shape;
  const char *place = table->place;
  TRY(h5_shape(&w->h5, place, &shape));
  if (shape.type != H5_DOUBLE || shape.is_group || shape.dims != 2 || shape.dim[0] < 1 || shape.dim[1] < 1 ||
      shape.dim[0] > INT64_MAX / 8 / shape.dim[1])
    FAIL(BAD_INPUT, "%s: /%s: is no table of float64", w->h5.path, place);
  table->rows = shape.dim[0];
  table->cols = shape.dim[1];
  TRY(memory_arrays("weights", ROOM(&table->data, table->rows * table->cols)));
  TRY(h5_read_rows(&w->h5, place, 0, table->rows, H5_FLOAT, table->data));
  return check_finite(w, place, table->data, table->rows * table->cols);
}

static int read_table(struct weights *w, const char *group, const char *name, struct table *table) {
  int end = 0;
  if (sscanf(name, "layer%5d%n", &table->layer, &end) != 1 || table->layer < 0 || end == 0 ||
      strlen(name) > 48)
    FAIL(BAD_INPUT, "%s: %.60s: is no name of a parameter, as layer0.weight", w->h5.path, name);
  table->what = name + end + (name[end] == '.');
  snprintf(table->place, sizeof table->place, "%s/%s", group, name);
  return read_data(w, table);
}

static int grow(struct weights *w) {
  if (w->count < w->room) return OK;
  const int64_t bytes = (int64_t)sizeof *w->array, room = 2 * w->room + 16;
  TRY(memory_grow(&w->array, w->count * bytes, room * bytes, "a list of weights"));
  w->room = room;
  return OK;
}

/* Takes a copy of the table in that form. */
static int add(struct weights *w, const char *name, enum weights_form form, const float *table, int64_t rows,
               int64_t cols) {
  TRY(grow(w));
  struct named_array *array = &w->array[w->count];
  *array = (struct named_array){.dims = form == WEIGHTS_ROW ? 1 : form == WEIGHTS_STACKED ? 3 : 2};
  snprintf(array->name, sizeof array->name, "%s", name);
  TRY(memory_arrays("weights", ROOM(&array->data, rows * cols)));
  w->count++;
  for (int64_t i = 0; i < rows * cols; i++)
    array->data[form == WEIGHTS_TRANSPOSED ? i % cols * rows + i / cols : i] = table[i];
  array->dim[0] = form == WEIGHTS_STACKED ? 1 : form == WEIGHTS_AS_IS ? rows : cols;
  array->dim[1] = form == WEIGHTS_AS_IS ? cols : rows;
  array->dim[2] = cols;
  return OK;
}

static int add_parameter(struct weights *w, const char *name) {
  ENDED_BY(table_free) struct table table = {0};
  char called[64];
  enum weights_form form = WEIGHTS_AS_IS;
  TRY(read_table(w, "parameters", name, &table));
  snprintf(called, sizeof called, "%s", name);
  if (weights_has_names(&w->config)) TRY(weights_name(&w->config, table.layer, table.what, called, &form));
  if (form == WEIGHTS_ROW && table.rows != 1)
    FAIL(BAD_INPUT, "%s: /%s: has %lld rows, not 1", w->h5.path, table.place, (long long)table.rows);
  return add(w, called, form, table.data, table.rows, table.cols);
}

/* Means and variances. */
static int add_statistics(struct weights *w, const char *name) {
  static const char *const what[] = {"running_mean", "running_var"};
  ENDED_BY(table_free) struct table table = {0};
  char called[64];
  enum weights_form form;
  TRY(read_table(w, "statistics", name, &table));
  if (table.rows != 2)
    FAIL(BAD_INPUT, "%s: /%s: has %lld rows, not 2", w->h5.path, table.place, (long long)table.rows);
  snprintf(called, sizeof called, "%s.statistics", name);
  if (!weights_has_names(&w->config))
    return add(w, called, WEIGHTS_AS_IS, table.data, table.rows, table.cols);
  for (int i = 0; i < 2; i++) {
    TRY(weights_name(&w->config, table.layer, what[i], called, &form));
    TRY(add(w, called, form, table.data + i * table.cols, 1, table.cols));
  }
  return OK;
}

/* All of a group, which may be missing. */
static int add_group(struct weights *w, const char *group,
                     int (*add_one)(struct weights *w, const char *name)) {
  struct h5_shape shape;
  char **names = NULL;
  int64_t count = 0;
  TRY(h5_shape(&w->h5, group, &shape));
  if (!shape.exists) return OK;
  if (!shape.is_group) FAIL(BAD_INPUT, "%s: /%s: is no group", w->h5.path, group);
  int code = h5_list(&w->h5, group, &names, &count);
  for (int64_t i = 0; i < count && code == OK; i++) code = add_one(w, names[i]);
  if (names) h5_free_names(names, count);
  return code;
}

/* gin's eps, where it is a setting and no parameter. */
static int add_eps(struct weights *w) {
  char name[64];
  enum weights_form form;
  const float eps = (float)w->config.model.eps;
  if (strcmp(w->config.model.type, "gin") != 0 || w->config.model.learn_eps) return OK;
  for (int64_t l = 0; l < w->config.model.layers; l++) {
    TRY(weights_name(&w->config, (int)(2 * l), "eps", name, &form));
    TRY(add(w, name, form, &eps, 1, 1));
  }
  return OK;
}

static int compare(const void *a, const void *b) {
  return strcmp(((const struct named_array *)a)->name, ((const struct named_array *)b)->name);
}

static int read_all(struct weights *w, const char *path) {
  TRY(read_config(w, path));
  TRY(h5_open(&w->h5, path));
  TRY(add_group(w, "parameters", add_parameter));
  TRY(add_group(w, "statistics", add_statistics));
  if (w->count == 0) FAIL(BAD_INPUT, "%s: has no parameters", path);
  TRY(add_eps(w));
  qsort(w->array, (size_t)w->count, sizeof *w->array, compare);
  return OK;
}

static int write_file(const struct weights *w, const char *path) {
  ENDED_BY(atomic_write_drop) struct atomic_write file = {0};
  FILE *out;
  TRY(make_folder_of(path));
  TRY(atomic_write_open(&file, path));
  TRY(atomic_write_stream(&file, &out));
  TRY(is_archive(path) ? named_arrays_write_npz(out, w->array, w->count)
                       : named_arrays_write_safetensors(out, w->array, w->count));
  return atomic_write_commit(&file);
}

int weights_export(const char *checkpoint, const char *out) {
  FREED struct weights *w = NULL;
  TRY(path_check_writable(out, (const char *const[]){checkpoint, NULL}));
  TRY(check_replaced(out));
  TRY(memory_arrays("weights", ROOM(&w, 1)));
  int code = read_all(w, checkpoint);
  if (code == OK) code = write_file(w, out);
  if (code == OK) log_result("wrote %s: %lld arrays of weights", out, (long long)w->count);
  weights_free(w);
  return code;
}
