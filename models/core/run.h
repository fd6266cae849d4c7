/* run: what everything above the tables needs, borrowed from main. */
#ifndef MODELS_CORE_RUN_H
#define MODELS_CORE_RUN_H

#include "kernels/ops/ops.h"
#include "partition/shard/shard.h"
#include "runtime/base/random.h"
#include "runtime/comm/comm.h"
#include "runtime/config/config.h"
#include "runtime/device/device.h"

struct run {
  const struct config *config;
  struct comm *comm;
  struct device *device;
  struct kernels *kernels;
  struct dataset *dataset;
  const struct directory *directory;
  struct shard *shard;
  uint64_t dataset_hash;
  int64_t index;         /* which of train.runs */
  struct rundir *rundir; /* once it is this run's */
};

static inline struct philox_key run_key(const struct run *run, int layer, enum random_site site) {
  return random_key((uint64_t)run->config->train.seed, (uint32_t)run->index, (uint32_t)layer, site);
}

/* What parameters, their gradients and statistics travel as. */
static inline enum number run_number(const struct run *run) {
  return run->kernels->real == F64 ? NUMBER_DOUBLE : NUMBER_FLOAT;
}

/* A vector of the run's reals. */
static inline struct tensor run_reals(const struct run *run, void *data, int64_t count) {
  return tensor_of(data, run->kernels->real, 1, count);
}

/* Rows of floats on the host, `stride` apart, each divided as a double by what stands for it in divisor
 * (NULL: by 1). */
struct floats {
  const float *value;
  int64_t stride;
  const double *divisor;
};

/* Host numbers [rows, cols] to a device matrix of any type, and back; gaps between its rows become zero. On
 * the host rows of doubles lie without gaps. */
int run_upload(struct run *run, struct tensor to, const double *from);
/* Where `to` is wanted: reals, so many; NULL: nothing happens. */
int run_upload_reals(struct run *run, void *to, int64_t count, const double *from);
int run_upload_floats(struct run *run, struct tensor to, struct floats from);
int run_download(struct run *run, double *to, struct tensor from);

#endif
