/* offload: copies to the host's memory and back, on a stream of their own. */
#include "models/program/rules/rules.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* What was begun before has ended when what follows runs. */
static int await(const struct pass *pass, const struct step *step) {
  if (step->in[1] == NONE) return OK;
  return PROFILE("offload", device_wait(pass->run->device, STREAM_COMPUTE, EVENT_COPIED));
}

/* Copies begin when what was queued has ended: it has written the value, or read what lay there. */
static int begin(const struct pass *pass) {
  TRY(device_record(pass->run->device, EVENT_COPIES, STREAM_COMPUTE));
  return device_wait(pass->run->device, STREAM_HOST, EVENT_COPIES);
}

static int end(const struct pass *pass) {
  return device_record(pass->run->device, EVENT_COPIED, STREAM_HOST);
}

static int64_t bytes_of(const struct pass *pass, int value) {
  return plan_bytes_of(&pass->program->value[value], TRAINING);
}

static void *on_host(const struct pass *pass, int value) {
  return pass->program->saved.host + pass->program->value[value].waits;
}

int run_offload(const struct pass *pass, const struct step *step) {
  const int value = step->in[0];
  if (!pass->training) return OK;
  TRY(await(pass, step));
  if (value == NONE) return OK;
  TRY(begin(pass));
  TRY(device_download(pass->run->device, STREAM_HOST, on_host(pass, value), rule_tensor(pass, value).data,
                      bytes_of(pass, value)));
  return end(pass);
}

int run_fetch(const struct pass *pass, const struct step *step) {
  const int value = step->out[0];
  TRY(await(pass, step));
  if (value == NONE) return OK;
  TRY(begin(pass));
  TRY(device_upload(pass->run->device, STREAM_HOST, rule_tensor(pass, value).data, on_host(pass, value),
                    bytes_of(pass, value)));
  return end(pass);
}

/* The value that a step brings back to the place that it had; NONE: it does nothing of the kind. */
static int constant_of(const struct program *p, int s) {
  const int value = p->step[s].kind == STEP_FETCH ? p->step[s].out[0] : NONE;
  if (value == NONE || value == VALUE_FEATURES) return value;
  return p->step[p->value[value].writer].aggregation.once ? value : NONE;
}

int constants_to_host(const struct program *p, struct run *run) {
  for (int s = p->loss; s < p->steps; s++) {
    const int v = constant_of(p, s);
    if (v != NONE)
      TRY(device_download(run->device, STREAM_COMPUTE, p->saved.host + p->value[v].waits,
                          p->value[v].tensor[TRAINING].data, plan_bytes_of(&p->value[v], TRAINING)));
  }
  return device_synchronize(run->device, STREAM_COMPUTE);
}

int constants_from_host(const struct program *p, struct run *run) {
  for (int s = p->loss; s < p->steps; s++) {
    const int v = constant_of(p, s);
    if (v != NONE)
      TRY(device_upload(run->device, STREAM_COMPUTE, p->value[v].tensor[TRAINING].data,
                        p->saved.host + p->value[v].waits, plan_bytes_of(&p->value[v], TRAINING)));
  }
  return OK;
}
