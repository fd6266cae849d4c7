#include "models/session/predictions_file.h"

#include "io/file/csv.h"
#include "io/file/npy.h"
#include "io/file/path_check.h"
#include "runtime/base/base.h"

static const char predictions_format[] = "gnntrain-predictions";

enum predictions_kind predictions_kind_of(const char *path) {
  const char *ending = strrchr(path, '.');
  if (ending && strcmp(ending, ".csv") == 0) return PREDICTIONS_CSV;
  return ending && strcmp(ending, ".npy") == 0 ? PREDICTIONS_NPY : PREDICTIONS_H5;
}

/* An array does not say what it is. */
int predictions_file_check(const char *path) {
  static const char *const table[] = {"id,prediction,", "id,label_0,", NULL}, *const array[] = {NULL};
  const enum predictions_kind kind = predictions_kind_of(path);
  if (kind == PREDICTIONS_H5) return h5_check_replaced(path, predictions_format, "file of predictions");
  return kind == PREDICTIONS_CSV
             ? path_check_replaced(path, table, "file of predictions")
             : path_check_replaced(path, array, "file of predictions for all that can be told");
}

/* Graphs go by their numbers. */
static int has_ids(const struct predictions_file *p) {
  return p->dataset->ids != 0 && !p->graph;
}

static int write_h5_ids(struct predictions_file *p) {
  struct dataset *dataset = p->dataset;
  const int64_t nodes = dataset->nodes;
  if (!has_ids(p)) return OK;
  FREED void *ids = NULL;
  TRY(memory_alloc(&ids, nodes * (int64_t)sizeof(int64_t), "node ids"));
  int code = dataset->ids == 1 ? dataset_read_ids(dataset, 0, nodes, ids)
                               : dataset_read_id_strings(dataset, 0, nodes, ids);
  if (code == OK && dataset->ids == 1) code = h5_write_all(&p->h5, "id", H5_INT64, nodes, 0, ids);
  if (code == OK && dataset->ids == 2) code = h5_write_strings(&p->h5, "id", nodes, ids);
  for (int64_t i = 0; i < nodes && dataset->ids == 2; i++) free(((char **)ids)[i]);
  return code;
}

static int create_h5(struct predictions_file *p, const char *path, int64_t embedding, const char *checkpoint,
                     const char *dataset_path) {
  struct h5 *h5 = &p->h5;
  TRY(h5_create(h5, path));
  TRY(h5_write_text(h5, "format", predictions_format));
  TRY(h5_write_text(h5, "checkpoint", checkpoint));
  TRY(h5_write_text(h5, "dataset", dataset_path));
  TRY(h5_new_dataset(h5, "logits", H5_FLOAT, p->rows, p->classes));
  TRY(h5_new_dataset(h5, "prediction", p->multilabel ? H5_UINT8 : H5_INT32, p->rows,
                     p->multilabel ? p->classes : 0));
  if (embedding > 0) TRY(h5_new_dataset(h5, "embedding", H5_FLOAT, p->rows, embedding));
  if (p->class_name) TRY(h5_write_strings(h5, "class_names", p->classes, (const char *const *)p->class_name));
  return write_h5_ids(p);
}

/* id, the prediction and what its class is called, or a column a label, and a column a logit. */
static void write_csv_head(const struct predictions_file *p) {
  fputs(p->multilabel ? "id" : p->class_name ? "id,prediction,class" : "id,prediction", p->out);
  for (int64_t j = 0; j < p->classes && p->multilabel; j++) {
    if (!p->class_name) fprintf(p->out, ",label_%lld", (long long)j);
    if (!p->class_name) continue;
    fputc(',', p->out);
    csv_write_text(p->out, p->class_name[j]);
  }
  for (int64_t j = 0; j < p->classes; j++) fprintf(p->out, ",logit_%lld", (long long)j);
  fputc('\n', p->out);
}

int predictions_file_create(struct predictions_file *p, const char *path, struct dataset *dataset,
                            int64_t classes, int64_t embedding, const char *checkpoint,
                            const char *dataset_path) {
  *p = (struct predictions_file){.kind = predictions_kind_of(path),
                                 .dataset = dataset,
                                 .rows = dataset->graphs > 0 ? dataset->graphs : dataset->nodes,
                                 .classes = classes,
                                 .multilabel = dataset->task == TASK_MULTILABEL};
  if (dataset->graphs > 0) TRY(dataset_read_graphs(dataset, &p->graph));
  TRY(dataset_read_class_names(dataset, &p->class_name));
  TRY(make_folder_of(path));
  if (p->kind == PREDICTIONS_H5) return create_h5(p, path, embedding, checkpoint, dataset_path);
  TRY(atomic_write_open(&p->file, path));
  TRY(atomic_write_stream(&p->file, &p->out));
  if (p->kind == PREDICTIONS_CSV) write_csv_head(p);
  if (p->kind == PREDICTIONS_NPY)
    npy_write_head(p->out, p->multilabel ? "|u1" : "<i4", p->multilabel ? 2 : 1,
                   (const int64_t[]){p->rows, classes});
  return OK;
}

static int32_t largest(const float *logit, int64_t cols) {
  int64_t best = 0;
  for (int64_t j = 1; j < cols; j++) {
    if (logit[j] > logit[best]) best = j;
  }
  return (int32_t)best;
}

/* int32 [count], or uint8 [count, classes]. */
static void predict(const struct predictions_file *p, int64_t count, const float *logits, void *prediction) {
  const int64_t cols = p->classes;
  for (int64_t i = 0; i < count && !p->multilabel; i++)
    ((int32_t *)prediction)[i] = largest(logits + i * cols, cols);
  for (int64_t i = 0; i < count * cols && p->multilabel; i++) ((uint8_t *)prediction)[i] = logits[i] > 0;
}

static int write_h5_logits(struct predictions_file *p, int64_t first, int64_t count, const float *logits,
                           const void *prediction) {
  TRY(h5_write_rows(&p->h5, "logits", first, count, H5_FLOAT, logits));
  return h5_write_rows(&p->h5, "prediction", first, count, p->multilabel ? H5_UINT8 : H5_INT32, prediction);
}

static void write_csv_class(const struct predictions_file *p, int32_t class) {
  fprintf(p->out, ",%d", class);
  if (!p->class_name) return;
  fputc(',', p->out);
  csv_write_text(p->out, p->class_name[class]);
}

/* ids: int64 or texts, as the dataset has them; NULL: rows by number. */
static void write_csv_row(const struct predictions_file *p, int64_t node, int64_t i, const void *ids,
                          const float *logit, const void *prediction) {
  const uint8_t *label = (const uint8_t *)prediction + i * p->classes;
  if (ids && p->dataset->ids == 2)
    csv_write_text(p->out, ((char *const *)ids)[i]);
  else
    fprintf(p->out, "%lld", (long long)(ids ? ((const int64_t *)ids)[i] : node));
  if (!p->multilabel) write_csv_class(p, ((const int32_t *)prediction)[i]);
  for (int64_t j = 0; j < p->classes && p->multilabel; j++) fprintf(p->out, ",%d", label[j]);
  for (int64_t j = 0; j < p->classes; j++) fprintf(p->out, ",%.9g", (double)logit[j]);
  fputc('\n', p->out);
}

static int write_csv_rows(struct predictions_file *p, int64_t first, int64_t count, const float *logits,
                          const void *prediction) {
  struct dataset *dataset = p->dataset;
  FREED void *ids = NULL;
  const int kind = has_ids(p) ? dataset->ids : 0;
  if (kind) TRY(memory_alloc(&ids, count * (int64_t)sizeof(int64_t), "node ids"));
  if (kind == 1) TRY(dataset_read_ids(dataset, first, count, ids));
  if (kind == 2) TRY(dataset_read_id_strings(dataset, first, count, ids));
  for (int64_t i = 0; i < count; i++)
    write_csv_row(p, first + i, i, ids, logits + i * p->classes, prediction);
  for (int64_t i = 0; i < count && kind == 2; i++) free(((char **)ids)[i]);
  return OK;
}

/* Rows of the file, and what stands in them. */
struct file_rows {
  int64_t first, count;
  const float *row;
  float *kept; /* that, where it is a copy */
};

static void file_rows_free(struct file_rows *rows) {
  free(rows->kept);
}

/* Of nodes [first, first + count): all, or those that graphs begin with. */
static int rows_of(const struct predictions_file *p, int64_t first, int64_t count, const float *row,
                   int64_t cols, struct file_rows *rows) {
  *rows = (struct file_rows){first, count, row, NULL};
  if (!p->graph) return OK;
  int64_t begin = 0, end;
  while (begin < p->rows && p->graph[begin] < first) begin++;
  for (end = begin; end < p->rows && p->graph[end] < first + count;) end++;
  TRY(memory_arrays("rows of graphs", ROOM(&rows->kept, (end - begin) * cols)));
  for (int64_t g = begin; g < end; g++)
    memcpy(rows->kept + (g - begin) * cols, row + (p->graph[g] - first) * cols, (size_t)cols * sizeof *row);
  rows->first = begin;
  rows->count = end - begin;
  rows->row = rows->kept;
  return OK;
}

static int write_logits(struct predictions_file *p, int64_t first, int64_t count, const float *logits) {
  const int64_t width = p->multilabel ? p->classes : (int64_t)sizeof(int32_t);
  FREED void *prediction = NULL;
  TRY(memory_alloc(&prediction, count * width, "predictions"));
  predict(p, count, logits, prediction);
  if (p->kind == PREDICTIONS_H5) return write_h5_logits(p, first, count, logits, prediction);
  if (p->kind == PREDICTIONS_CSV) return write_csv_rows(p, first, count, logits, prediction);
  fwrite(prediction, (size_t)width, (size_t)count, p->out); /* commit says when that fails */
  return OK;
}

int predictions_file_logits(struct predictions_file *p, int64_t first, int64_t count, const float *logits) {
  ENDED_BY(file_rows_free) struct file_rows rows = {0};
  TRY(rows_of(p, first, count, logits, p->classes, &rows));
  return rows.count > 0 ? write_logits(p, rows.first, rows.count, rows.row) : OK;
}

int predictions_file_embedding(struct predictions_file *p, int64_t first, int64_t count, const float *rows,
                               int64_t cols) {
  ENDED_BY(file_rows_free) struct file_rows of = {0};
  if (p->kind != PREDICTIONS_H5) return OK;
  TRY(rows_of(p, first, count, rows, cols, &of));
  return of.count > 0 ? h5_write_rows(&p->h5, "embedding", of.first, of.count, H5_FLOAT, of.row) : OK;
}

int predictions_file_commit(struct predictions_file *p) {
  return p->kind == PREDICTIONS_H5 ? h5_commit(&p->h5) : atomic_write_commit(&p->file);
}

void predictions_file_close(struct predictions_file *p) {
  h5_free_names(p->class_name, p->classes);
  free(p->graph);
  p->class_name = NULL;
  p->graph = NULL;
  if (p->kind == PREDICTIONS_H5)
    h5_close(&p->h5);
  else
    atomic_write_drop(&p->file);
}
