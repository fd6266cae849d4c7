#include "models/plan/plan_passes.h"

#include <math.h>

#include "kernels/cost/cost_models.h"
#include "models/plan/lone_rank.h"
#include "models/plan/plan.h"
#include "runtime/base/base.h"
#include "runtime/device/device_list.h"

enum { EPOCHS = 21 };

/* A graph, as wide in all layers, and what is trained on it. */
struct made {
  const char *model;
  int64_t nodes, width;
  enum precision precision;
};

/* Of products with weights, and of one sum over neighbours, which is as narrow as there are classes. */
static const char dense[] = "type = \"appnp\"\nsteps = 1\n";
/* Of kernels of every kind, as most epochs: sums over neighbours in each layer, too. */
static const char sparse[] = "type = \"gcn\"\n";

static struct job job; /* large */

static int compare(const void *a, const void *b) {
  return COMPARE(*(const double *)a, *(const double *)b);
}

/* The median of its epochs. */
static int train(struct lone_rank *lone, double *seconds) {
  struct trainer *trainer = &lone->trainer;
  double ms[EPOCHS];
  TRY(trainer_start(trainer, &lone->run));
  TRY(model_reset(&trainer->model, &lone->run));
  TRY(epoch_time(&trainer->epoch, &lone->run, 0, 0, EPOCHS, ms));
  qsort(ms, EPOCHS, sizeof *ms, compare);
  *seconds = 1e-3 * ms[EPOCHS / 2];
  return OK;
}

/* An epoch of the job on a device whose constants are these. */
static int time_epoch(struct device *device, const struct cost_model *model, double *seconds) {
  static struct lone_rank lone; /* large */
  struct kernels kernels = {0};
  struct network network;
  TRY(cost_models_take(model));
  int code = plan_network(NULL, model, &network);
  if (code == OK) code = kernels_open(&kernels, device, job.config.runtime.precision);
  if (code == OK) code = lone_rank_init(&lone, &job, 0, &network, device, &kernels);
  if (code == OK) code = train(&lone, seconds);
  lone_rank_free(&lone);
  kernels_close(&kernels);
  return code;
}

static int simulate_epoch(const struct device *device, const struct cost_model *model, double *seconds) {
  struct device simulated = {0};
  int code = device_simulate(&simulated, model->name, device->memory, device->threads);
  if (code == OK) code = time_epoch(&simulated, model, seconds);
  device_close(&simulated);
  return code;
}

/* An epoch in seconds: as measured; and as simulated, which is rest + slope x constant summed over the
 * constants. */
struct linear {
  double measured, rest, slope[3];
};

enum { CONSTANTS = 3 }; /* of a precision */
static void constants_of(struct cost_pass *pass, enum precision precision, double *constant[CONSTANTS]) {
  constant[0] = &pass->start;
  constant[1] = &pass->byte;
  constant[2] = precision == PRECISION_BF16   ? &pass->flop_bf16
                : precision == PRECISION_TF32 ? &pass->flop_tf32
                                              : &pass->flop_fp32;
}

static int find_slopes(struct device *device, const struct cost_model *model, enum precision precision,
                       struct linear *linear) {
  struct cost_model varied = *model;
  struct cost_pass some = cost_model_h200.pass; /* any will do, but zeros */
  double *constant[CONSTANTS], *value[CONSTANTS];
  constants_of(&varied.pass, precision, constant);
  constants_of(&some, precision, value);
  TRY(time_epoch(device, model, &linear->measured));
  for (int i = 0; i < CONSTANTS; i++) *constant[i] = 0;
  TRY(simulate_epoch(device, &varied, &linear->rest));
  for (int i = 0; i < CONSTANTS; i++) {
    double seconds;
    *constant[i] = *value[i];
    TRY(simulate_epoch(device, &varied, &seconds));
    linear->slope[i] = (seconds - linear->rest) / *value[i];
    *constant[i] = 0;
  }
  return OK;
}

/* As gnndata synth makes them. */
static int open_made(const struct comm *comm, const struct made *made) {
  char text[1024];
  snprintf(text, sizeof text,
           "[dataset]\npath = \"synth:nodes=%lld,degree=1,features=%lld,classes=16\"\n"
           "[partition]\nmethod = \"block\"\norder = \"given\"\n"
           "[model]\n%slayers = 3\nhidden = %lld\ndropout = 0.0\n[train]\nepochs = 1000\n"
           "[runtime]\nprecision = \"%s\"\nrows = \"all\"\nconstants = \"none\"\n",
           (long long)made->nodes, (long long)made->width, made->model, (long long)made->width,
           precision_name[made->precision]);
  job = (struct job){.comm = *comm, .ranks = 1};
  return config_parse(&job.config, text, "a made graph");
}

static int measure(struct comm *comm, struct device *device, const struct cost_model *model,
                   const struct made *made, struct linear *linear) {
  uint64_t hash = 0;
  int code = open_made(comm, made);
  if (code == OK) code = job_open(&job);
  if (code == OK) code = job_read(&job, &hash);
  if (code == OK) code = job_divide(&job, &job.comm, NULL, hash);
  if (code == OK) code = job_levels_order_all(&job.levels, &job.partition);
  if (code == OK) code = find_slopes(device, model, made->precision, linear);
  job_free(&job);
  return code;
}

/* The value of one constant that repeats what was measured, given the others. */
static double solve(const struct linear *linear, double *const constant[CONSTANTS], int which) {
  double seconds = linear->measured - linear->rest;
  for (int i = 0; i < CONSTANTS; i++)
    if (i != which) seconds -= linear->slope[i] * *constant[i];
  return fmax(0, seconds / linear->slope[which]);
}

int plan_passes_fit(struct comm *comm, struct device *device, struct cost_model *model) {
  static const struct made made[CONSTANTS] = {{sparse, 1 << 11, 64, PRECISION_BF16},
                                              {dense, 1 << 20, 128, PRECISION_BF16},
                                              {dense, 1 << 18, 512, PRECISION_BF16}};
  static const enum precision other[] = {PRECISION_TF32, PRECISION_FP32};
  struct linear linear[CONSTANTS];
  double *constant[CONSTANTS];
  for (int i = 0; i < CONSTANTS; i++) TRY(measure(comm, device, model, &made[i], &linear[i]));
  constants_of(&model->pass, PRECISION_BF16, constant);
  /* Gauss-Seidel: epoch i depends on constant i above all. */
  for (int round = 0; round < 50; round++)
    for (int i = 0; i < CONSTANTS; i++) *constant[i] = solve(&linear[i], constant, i);
  for (int i = 0; i < 2; i++) {
    struct made wide = made[2];
    wide.precision = other[i];
    TRY(measure(comm, device, model, &wide, &linear[0]));
    constants_of(&model->pass, other[i], constant);
    *constant[2] = solve(&linear[0], constant, 2);
  }
  return cost_models_take(model);
}
