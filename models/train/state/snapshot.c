#include "models/train/state/snapshot.h"

#include <assert.h>

#include "runtime/base/base.h"

void snapshots_plan(struct snapshots *snapshots, const struct model *model, struct run *run,
                    struct arena *arena) {
  int64_t real = dtype_bytes(run->kernels->real);
  for (int i = 0; i < SNAPSHOTS; i++) {
    snapshots->all[i].weights = arena_take(arena, model->parameters.count * real);
    snapshots->all[i].running = arena_take(arena, program_statistics(&model->program) * real);
  }
}

void snapshots_reset(struct snapshots *snapshots) {
  for (int i = 0; i < SNAPSHOTS; i++) snapshots->all[i].epoch = 0;
  snapshots->best = -1;
}

/* Of the others than the best the oldest: its evaluation is known by now. */
static struct snapshot *oldest(struct snapshots *snapshots) {
  struct snapshot *found = NULL;
  for (int i = 0; i < SNAPSHOTS; i++) {
    struct snapshot *one = &snapshots->all[i];
    if (i != snapshots->best && (!found || one->epoch < found->epoch)) found = one;
  }
  return found;
}

static int find(const struct snapshots *snapshots, int64_t epoch) {
  for (int i = 0; i < SNAPSHOTS; i++) {
    if (snapshots->all[i].epoch == epoch) return i;
  }
  return -1;
}

/* Queues a copy of all running statistics, from the program or back. */
static int copy_running(const struct model *model, struct run *run, void *block, int restore) {
  int64_t bytes = program_statistics(&model->program) * dtype_bytes(run->kernels->real);
  void *running = model->program.running;
  if (bytes == 0) return OK;
  return device_copy(run->device, STREAM_COMPUTE, restore ? running : block, restore ? block : running,
                     bytes);
}

int snapshot_take(struct snapshots *snapshots, const struct model *model, struct run *run, int64_t epoch) {
  const struct parameters *p = &model->parameters;
  struct snapshot *snapshot = oldest(snapshots);
  snapshot->epoch = epoch;
  TRY(device_copy(run->device, STREAM_COMPUTE, snapshot->weights, p->w,
                  p->count * dtype_bytes(run->kernels->real)));
  return copy_running(model, run, snapshot->running, 0);
}

void snapshot_keep(struct snapshots *snapshots, int64_t epoch) {
  snapshots->best = find(snapshots, epoch);
}

/* By way of the host, where weights are rounded for products. */
static int restore_weights(const struct snapshot *snapshot, struct model *model, struct run *run) {
  const struct parameters *p = &model->parameters;
  FREED double *value = NULL;
  TRY(memory_arrays("weights", ROOM(&value, p->numbers)));
  TRY(parameters_download(p, run, value, snapshot->weights));
  return parameters_upload(p, run, p->w, value);
}

int snapshot_restore(const struct snapshots *snapshots, struct model *model, struct run *run, int64_t epoch) {
  int i = find(snapshots, epoch);
  assert(i >= 0);
  TRY(restore_weights(&snapshots->all[i], model, run));
  return copy_running(model, run, snapshots->all[i].running, 1);
}
