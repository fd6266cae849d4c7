/* footprint: what this rank takes of memory, part by part: what has been allocated is measured, what is to
 * come is estimated. The functions below are called in their order, as set-up goes on. */
#ifndef MODELS_SESSION_FOOTPRINT_H
#define MODELS_SESSION_FOOTPRINT_H

#include "models/train/trainer.h"

struct footprint {
  struct estimate host, device; /* on the processor all of it is host memory */
  int64_t program;              /* bytes of the host, before anything is opened */
  int64_t taken;                /* of the device, what is allocated already: its first ... */
  int parts_taken;              /* ... parts */
  int64_t needed;               /* and what training still takes */
};

/* Before anything is opened. */
void footprint_begin(struct footprint *footprint);
/* The program and its libraries, once all are at work and `data` bytes of the host are the graph's. */
void footprint_add_program(struct footprint *footprint, const struct device *device, int64_t data);
/* What a device with memory of its own holds beyond the last call: measured, not estimated. */
void footprint_add_taken(struct footprint *footprint, struct device *device, const char *name);

/* Host bytes of what training needs, and of the stages before it. */
struct footprint_stages {
  int64_t graph, owners; /* that stay */
  int64_t making,
      building; /* the peaks of making the partition, and of building the shard beside the owners */
  int64_t made; /* the process's peak until the partition was made, which was measured; 0: not known */
};
/* What training takes, of a trainer that is not started. */
void footprint_add_training(struct footprint *footprint, const struct trainer *trainer, const struct run *run,
                            const struct footprint_stages *stages);

/* Errors: FAILED where the device has less memory left than training will take, naming the parts and the
 * settings that matter. */
int footprint_check(const struct footprint *footprint, struct device *device);

#endif
