#include "models/train/recording.h"

#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* A profile wants to know each region apart. */
static int may_record(const struct recording *recording, const struct run *run) {
  return !recording->plain && run->config->runtime.graph && device_can_capture(run->device) &&
         !profile_enabled();
}

static void drop(struct recording *recording, struct run *run) {
  device_graph_free(run->device, recording->graph);
  recording->graph = NULL;
}

/* A replay sends what was sent when the work was recorded. */
static int queue(struct recording *recording, void *subject, struct run *run,
                 int (*work)(void *subject, struct run *run)) {
  const int64_t before = run->comm->sent;
  TRY(work(subject, run));
  recording->sent = run->comm->sent - before;
  return OK;
}

static int capture(struct recording *recording, void *subject, struct run *run,
                   int (*work)(void *subject, struct run *run)) {
  TRY(device_capture_begin(run->device, STREAM_COMPUTE));
  int code = queue(recording, subject, run, work);
  int ended = device_capture_end(run->device, STREAM_COMPUTE, &recording->graph);
  return code == OK ? ended : code;
}

/* Transfers are recorded by all ranks or by none, so the first recording ends in an agreement. What could be
 * recorded once can be again: each rank does that when its own workspace has moved. */
static int record(struct recording *recording, void *subject, struct run *run,
                  int (*work)(void *subject, struct run *run)) {
  int code = capture(recording, subject, run, work);
  recording->moves = run->kernels->moves;
  if (recording->recorded || (code != OK && error_is_agreed())) return code;
  int64_t failed = code != OK;
  TRY(comm_max_int64(run->comm, &failed));
  recording->recorded = 1;
  if (!failed) return OK;
  log_warn("an epoch cannot be recorded (%s): it is queued op by op",
           code == OK ? "not on every rank" : error_message());
  error_clear();
  recording_forget(recording, run);
  recording->plain = 1;
  return OK;
}

int recording_run(struct recording *recording, void *subject, struct run *run,
                  int (*work)(void *subject, struct run *run)) {
  int first = !recording->warm;
  recording->warm = 1;
  if (first || !may_record(recording, run)) return queue(recording, subject, run, work);
  if (recording->moves != run->kernels->moves) drop(recording, run);
  if (!recording->graph) TRY(record(recording, subject, run, work));
  if (!recording->graph) return queue(recording, subject, run, work);
  return device_replay(run->device, STREAM_COMPUTE, recording->graph);
}

void recording_forget(struct recording *recording, struct run *run) {
  drop(recording, run);
  *recording = (struct recording){.plain = recording->plain};
}
