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
