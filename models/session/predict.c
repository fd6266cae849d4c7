#include "models/session/predict.h"

#include "models/session/predictions_file.h"
#include "models/train/epoch.h"
#include "runtime/base/base.h"

/* Where a block of gathered rows goes, on rank 0. */
static int take_logit_rows(int64_t first, int64_t count, const void *rows, void *context) {
  return predictions_file_logits(context, first, count, rows);
}

struct embedding {
  struct predictions_file *file;
  int64_t cols;
};

static int take_embedding_rows(int64_t first, int64_t count, const void *rows, void *context) {
  const struct embedding *embedding = context;
  return predictions_file_embedding(embedding->file, first, count, rows, embedding->cols);
}

static int holds_embedding(const char *path) {
  return predictions_kind_of(path) == PREDICTIONS_H5;
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

static int write_logits(struct trainer *trainer, struct run *run, struct predictions_file *file) {
  const int64_t classes = run->shard->classes;
  FREED float *logits = NULL;
  TRY(comm_agree(run->comm, memory_arrays("logits", ROOM(&logits, run->shard->own * classes))));
  TRY(comm_agree(run->comm, model_forward(&trainer->model, run, 0, take_logits, logits)));
  return shard_gather_rows(run->comm, run->directory, logits, classes * (int64_t)sizeof *logits,
                           take_logit_rows, file);
}

static int write_embedding(struct run *run, struct tensor embedding, struct predictions_file *file) {
  struct embedding to = {file, embedding.cols};
  FREED float *rows = NULL;
  int code = memory_arrays("embeddings", ROOM(&rows, embedding.rows * embedding.cols));
  if (code == OK) code = download(run, embedding, rows);
  TRY(comm_agree(run->comm, code));
  return shard_gather_rows(run->comm, run->directory, rows, embedding.cols * (int64_t)sizeof *rows,
                           take_embedding_rows, &to);
}

static int write_file(struct trainer *trainer, struct run *run, struct predictions_file *file,
                      const char *path, const char *checkpoint) {
  const struct tensor embedding = model_embedding(&trainer->model);
  const int speaker = run->comm->rank == 0, embeds = embedding.data && holds_embedding(path);
  int code = speaker
                 ? predictions_file_create(file, path, run->dataset, run->shard->classes,
                                           embeds ? embedding.cols : 0, checkpoint, run->config->dataset.path)
                 : OK;
  TRY(comm_agree(run->comm, code));
  TRY(write_logits(trainer, run, file));
  if (embeds) TRY(write_embedding(run, embedding, file));
  return comm_agree(run->comm, speaker ? predictions_file_commit(file) : OK);
}

int trainer_predict(struct trainer *trainer, struct run *run, const char *checkpoint, const char *path) {
  static const char *const what[] = {"logits, predictions", "predictions and logits", "predictions"};
  ENDED_BY(predictions_file_close) struct predictions_file file = {0};
  TRY(trainer_load(trainer, run, checkpoint));
  TRY(write_file(trainer, run, &file, path, checkpoint));
  log_result("wrote %s: %s%s of %lld %s", path, what[predictions_kind_of(path)],
             model_embedding(&trainer->model).data && holds_embedding(path) ? " and embeddings" : "",
             (long long)file.rows, file.graph ? "graphs" : "nodes");
  return OK;
}
