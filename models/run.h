/* run: what everything above the tables needs, borrowed from main. */
#ifndef MODELS_RUN_H
#define MODELS_RUN_H

#include "kernels/ops.h"
#include "partition/shard.h"
#include "runtime/comm.h"
#include "runtime/config.h"
#include "runtime/device.h"

struct run {
  const struct config *config;
  struct comm *comm;
  struct device *device;
  struct kernels *kernels;
  struct dataset *dataset;
  const struct partition *partition;
  struct shard *shard;
  uint64_t dataset_hash;
  int64_t index; /* which of train.runs */
};

static inline struct philox_key run_key(const struct run *run, int layer, enum random_site site) {
  return random_key((uint64_t)run->config->train.seed, (uint32_t)run->index, (uint32_t)layer, site);
}

static inline enum number run_number(const struct run *run) {
  return run->kernels->dtype == F64 ? NUMBER_DOUBLE : NUMBER_FLOAT;
}

/* Uploads `count` host doubles as elements of the run's dtype; downloads the same way. */
int run_upload(struct run *run, void *to, const double *from, int64_t count);
int run_download(struct run *run, double *to, const void *from, int64_t count);

/* Uploads `count` host floats as elements of the run's dtype. */
int run_upload_floats(struct run *run, void *to, const float *from, int64_t count);

#endif
