#include "models/session/predict.h"

#include "io/file/path_check.h"
#include "models/train/epoch.h"
#include "runtime/base/base.h"

static const char predictions_format[] = "gnntrain-predictions";

/* Where a block of gathered rows goes, on rank 0. */
struct sink {
  struct h5 *h5;
  const char *rows_name, *prediction_name; /* prediction_name NULL: rows only */
  int64_t cols;
  int multilabel;
};

static int32_t largest(const float *logit, int64_t cols) {
  int64_t best = 0;
  for (int64_t j = 1; j < cols; j++) {
    if (logit[j] > logit[best]) best = j;
  }
  return (int32_t)best;
}

static int write_predictions(const struct sink *sink, int64_t first, int64_t count, const float *logits) {
  int64_t width = sink->multilabel ? sink->cols : (int64_t)sizeof(int32_t);
  FREED void *prediction = NULL;
  TRY(memory_alloc(&prediction, count * width, "predictions"));
  for (int64_t i = 0; i < count && !sink->multilabel; i++)
    ((int32_t *)prediction)[i] = largest(logits + i * sink->cols, sink->cols);
  for (int64_t i = 0; i < count * sink->cols && sink->multilabel; i++)
    ((uint8_t *)prediction)[i] = logits[i] > 0;
  enum h5_type type = sink->multilabel ? H5_UINT8 : H5_INT32;
  return h5_write_rows(sink->h5, sink->prediction_name, first, count, type, prediction);
}

static int write_block(int64_t first, int64_t count, const void *rows, void *context) {
  const struct sink *sink = context;
  TRY(h5_write_rows(sink->h5, sink->rows_name, first, count, H5_FLOAT, rows));
  return sink->prediction_name ? write_predictions(sink, first, count, rows) : OK;
}

enum { PIECE = 1 << 16 }; /* rows that are brought to the host at a time */

/* Rows of a device tensor as floats. */
static int download(struct run *run, struct tensor t, float *to) {
  FREED double *wide = NULL;
  TRY(memory_arrays("rows to be written", ROOM(&wide, smaller(t.rows, PIECE) * t.cols)));
  for (int64_t first = 0; first < t.rows; first += PIECE) {
    const struct tensor piece = tensor_rows(t, first, smaller(t.rows - first, PIECE));
    TRY(run_download(run, wide, piece));
    for (int64_t i = 0; i < piece.rows * t.cols; i++) to[first * t.cols + i] = (float)wide[i];
  }
  return OK;
}

static int take_logits(void *context, struct run *run, const struct logits *logits) {
  float *all = context;
  return download(run, logits->logits, all + logits->first * logits->logits.cols);
}

/* Own rows, to rank 0 in the dataset's order. */
static int gather(struct run *run, const float *rows, int64_t cols, struct sink *sink) {
  return shard_gather_rows(run->comm, run->partition, rows, cols * (int64_t)sizeof *rows, write_block, sink);
}

static int write_ids(struct run *run, struct h5 *h5) {
  struct dataset *dataset = run->dataset;
  int64_t nodes = dataset->nodes;
  if (dataset->ids == 0) return OK;
  FREED void *ids = NULL;
  TRY(memory_alloc(&ids, nodes * (int64_t)sizeof(int64_t), "node ids"));
  int code = dataset->ids == 1 ? dataset_read_ids(dataset, 0, nodes, ids)
                               : dataset_read_id_strings(dataset, 0, nodes, ids);
  if (code == OK && dataset->ids == 1) code = h5_write_all(h5, "id", H5_INT64, nodes, 0, ids);
  if (code == OK && dataset->ids == 2) code = h5_write_strings(h5, "id", nodes, ids);
  for (int64_t i = 0; i < nodes && dataset->ids == 2; i++) free(((char **)ids)[i]);
  return code;
}

static int create(struct run *run, struct h5 *h5, const char *path, struct tensor embedding,
                  const char *checkpoint) {
  int64_t nodes = run->dataset->nodes, classes = run->shard->classes;
  int multilabel = run->dataset->task == TASK_MULTILABEL;
  TRY(make_folder_of(path));
  TRY(h5_create(h5, path));
  TRY(h5_write_text(h5, "format", predictions_format));
  TRY(h5_write_text(h5, "checkpoint", checkpoint));
  TRY(h5_write_text(h5, "dataset", run->config->dataset.path));
  TRY(h5_new_dataset(h5, "logits", H5_FLOAT, nodes, classes));
  TRY(h5_new_dataset(h5, "prediction", multilabel ? H5_UINT8 : H5_INT32, nodes, multilabel ? classes : 0));
  if (embedding.data) TRY(h5_new_dataset(h5, "embedding", H5_FLOAT, nodes, embedding.cols));
  return write_ids(run, h5);
}

static int write_logits(struct trainer *trainer, struct run *run, struct h5 *h5) {
  const int64_t classes = run->shard->classes;
  struct sink sink = {.h5 = h5,
                      .rows_name = "logits",
                      .prediction_name = "prediction",
                      .cols = classes,
                      .multilabel = run->dataset->task == TASK_MULTILABEL};
  FREED float *logits = NULL;
  TRY(comm_agree(run->comm, memory_arrays("logits", ROOM(&logits, run->shard->own * classes))));
  TRY(comm_agree(run->comm, model_forward(&trainer->model, run, 0, take_logits, logits)));
  return gather(run, logits, classes, &sink);
}

static int write_embedding(struct run *run, struct tensor embedding, struct h5 *h5) {
  struct sink sink = {.h5 = h5, .rows_name = "embedding", .cols = embedding.cols};
  FREED float *rows = NULL;
  if (!embedding.data) return OK;
  int code = memory_arrays("embeddings", ROOM(&rows, embedding.rows * embedding.cols));
  if (code == OK) code = download(run, embedding, rows);
  TRY(comm_agree(run->comm, code));
  return gather(run, rows, embedding.cols, &sink);
}

static int write_file(struct trainer *trainer, struct run *run, struct h5 *h5, const char *path,
                      const char *checkpoint) {
  const struct tensor embedding = model_embedding(&trainer->model);
  int speaker = run->comm->rank == 0;
  TRY(comm_agree(run->comm, speaker ? create(run, h5, path, embedding, checkpoint) : OK));
  TRY(write_logits(trainer, run, h5));
  TRY(write_embedding(run, embedding, h5));
  return comm_agree(run->comm, speaker ? h5_commit(h5) : OK);
}

static int check_out(const struct config *config, const char *file, const char *checkpoint,
                     const char *path) {
  const char *inputs[] = {file, config->dataset.path, checkpoint, NULL};
  TRY(path_check_writable(path, inputs));
  return h5_check_replaced(path, predictions_format, "file of predictions");
}

int predict_check(struct comm *comm, const struct config *config, const char *file, const char *checkpoint,
                  const char *path) {
  return comm_agree(comm, comm->rank == 0 ? check_out(config, file, checkpoint, path) : OK);
}

int trainer_predict(struct trainer *trainer, struct run *run, const char *checkpoint, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(trainer_load(trainer, run, checkpoint));
  TRY(write_file(trainer, run, &h5, path, checkpoint));
  log_result("wrote %s: logits, predictions%s of %lld nodes", path,
             model_embedding(&trainer->model).data ? " and embeddings" : "", (long long)run->dataset->nodes);
  return OK;
}
