/* check_prediction FILE.h5 DATASET.h5 [OTHER.h5]: a file of predictions has a row for every node of the
 * dataset, each prediction is the largest logit, and ids are the dataset's. With OTHER: its logits are equal
 * within 1e-4. Prints the share of right predictions on the test split. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

struct prediction {
  struct h5 h5;
  int64_t nodes, classes;
  float *logit;       /* [nodes, classes] */
  int32_t *predicted; /* [nodes] */
};

static void prediction_close(struct prediction *p) {
  h5_close(&p->h5);
  free(p->logit);
  free(p->predicted);
}

static int expect_rows(struct h5 *h5, const char *name, int64_t rows, struct h5_shape *shape) {
  TRY(h5_shape(h5, name, shape));
  if (!shape->exists || shape->dim[0] != rows)
    FAIL(FAILED, "%s: %s does not have a row for each of %lld nodes", h5->path, name, (long long)rows);
  return OK;
}

static int prediction_open(struct prediction *p, const char *path, int64_t nodes, int64_t classes) {
  struct h5_shape shape;
  p->nodes = nodes, p->classes = classes;
  TRY(h5_open(&p->h5, path));
  TRY(expect_rows(&p->h5, "embedding", nodes, &shape));
  TRY(expect_rows(&p->h5, "prediction", nodes, &shape));
  TRY(expect_rows(&p->h5, "logits", nodes, &shape));
  if (shape.dims != 2 || shape.dim[1] != classes) FAIL(FAILED, "%s: logits of another width", path);
  TRY(memory_alloc(&p->logit, nodes * classes * (int64_t)sizeof *p->logit, "logits"));
  TRY(memory_alloc(&p->predicted, nodes * (int64_t)sizeof *p->predicted, "predictions"));
  TRY(h5_read_rows(&p->h5, "logits", 0, nodes, H5_FLOAT, p->logit));
  return h5_read_rows(&p->h5, "prediction", 0, nodes, H5_INT32, p->predicted);
}

static int check_largest(const struct prediction *p) {
  for (int64_t v = 0; v < p->nodes; v++) {
    const float *logit = p->logit + v * p->classes;
    for (int64_t j = 0; j < p->classes; j++) {
      if (!(logit[j] <= logit[p->predicted[v]]))
        FAIL(FAILED, "node %lld: class %d was predicted, %lld is likelier", (long long)v, p->predicted[v],
             (long long)j);
    }
  }
  return OK;
}

static int check_equal(const struct prediction *p, const struct prediction *other) {
  for (int64_t i = 0; i < p->nodes * p->classes; i++) {
    if (!(fabsf(p->logit[i] - other->logit[i]) <= 1e-4F * fmaxf(1, fabsf(p->logit[i]))))
      FAIL(FAILED, "node %lld: logits %g and %g", (long long)(i / p->classes), (double)p->logit[i],
           (double)other->logit[i]);
  }
  return OK;
}

static int check_ids(struct prediction *p, struct dataset *dataset) {
  if (dataset->ids != 1) return OK;
  int64_t *expected = NULL, *id = NULL, bytes = p->nodes * (int64_t)sizeof *id;
  TRY(memory_alloc(&expected, bytes, "ids"));
  TRY(memory_alloc(&id, bytes, "ids"));
  TRY(dataset_read_ids(dataset, 0, p->nodes, expected));
  TRY(h5_read_rows(&p->h5, "id", 0, p->nodes, H5_INT64, id));
  for (int64_t v = 0; v < p->nodes; v++) {
    if (id[v] != expected[v]) FAIL(FAILED, "node %lld has another id", (long long)v);
  }
  free(id);
  free(expected);
  return OK;
}

static int print_accuracy(const struct prediction *p, struct dataset *dataset) {
  int64_t *node = NULL, count = 0, right = 0;
  int32_t *label = NULL;
  TRY(memory_alloc(&label, p->nodes * (int64_t)sizeof *label, "labels"));
  TRY(dataset_read_label(dataset, 0, p->nodes, label));
  TRY(dataset_read_split(dataset, 0, SPLIT_TEST, &node, &count));
  for (int64_t i = 0; i < count; i++) right += p->predicted[node[i]] == label[node[i]];
  printf("%.6f\n", (double)right / (double)count);
  free(node);
  free(label);
  return OK;
}

static int check(char **path, struct dataset *dataset, struct prediction *p, struct prediction *other) {
  TRY(dataset_open(dataset, path[1]));
  TRY(prediction_open(p, path[0], dataset->nodes, dataset->classes));
  TRY(check_largest(p));
  TRY(check_ids(p, dataset));
  if (path[2]) {
    TRY(prediction_open(other, path[2], dataset->nodes, dataset->classes));
    TRY(check_equal(p, other));
  }
  return print_accuracy(p, dataset);
}

int main(int argc, char **argv) {
  if (argc < 3) return BAD_INPUT;
  struct dataset dataset = {0};
  struct prediction p = {0}, other = {0};
  int code = check(argv + 1, &dataset, &p, &other);
  error_print(stderr, "check_prediction");
  prediction_close(&other);
  prediction_close(&p);
  dataset_close(&dataset);
  return code;
}
