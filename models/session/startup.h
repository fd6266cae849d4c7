/* startup: a GPU's context, its kernels and the transport between ranks take seconds to open and little of
 * the host: a thread does it while the main thread reads and divides the graph. That thread never calls MPI:
 * the ranks have met before it starts, and agree on how it ended. A device that is the host itself is opened
 * at once, without a thread. */
#ifndef MODELS_SESSION_STARTUP_H
#define MODELS_SESSION_STARTUP_H

#include "kernels/ops/kernels.h"
#include "partition/shard/shard.h"
#include "runtime/base/worker.h"
#include "runtime/comm/comm.h"
#include "runtime/config/config.h"

struct startup {
  struct comm *comm;
  struct device *device; /* what is opened: the caller's, to be closed by it after startup_stop */
  struct kernels *kernels;
  enum precision precision;
  struct worker worker;
  atomic_int steps;                         /* of that thread */
  atomic_int stopped;                       /* it is to end early */
  double device_seconds, transport_seconds; /* that opening took, whoever waited */
};

/* Collective. Stays where it is until startup_stop; until it has finished nothing may fork. From here on the
 * device's table and name are known, and the tables of kernels and messages. Errors: BAD_INPUT for a device
 * that is not there or lacks the precision, and for ranks that would share a GPU. */
int startup_begin(struct startup *startup, struct comm *comm, const struct config *config, int threads,
                  struct device *device, struct kernels *kernels);

/* Collective. From here on everything is open. */
int startup_finish(struct startup *startup);

/* Collective, after startup_finish, once the shard is there: ways to the ranks that this one will send
 * messages, so that no others take memory. runtime.exchange and the devices say whose rows are stored.
 * relays: the shard gets plans by which rows travel between hosts once, where all that share one are. */
int startup_connect_peers(struct startup *startup, const struct config *config,
                          const struct directory *directory, int relays, struct shard *shard);

/* Ends the thread, however far it has come; keeps the current error. After startup_finish it does nothing. */
void startup_stop(struct startup *startup);

#endif
