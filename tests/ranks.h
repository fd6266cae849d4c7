/* What rank tests share: the communicator, open from before the first test until after the last. */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include "runtime/comm/comm.h"
#include "runtime/device/device_list.h"
#include "tests/check.h"

/* Rank 0 speaks. A wait of more than 120 seconds is an error: discs and machines under load stand still for
 * half a minute at times. */
static inline int ranks_open(struct comm *world) {
  TRY(comm_open(world, NULL, NULL));
  world->timeout = 120;
  return world->rank == 0 || freopen("/dev/null", "w", stdout) ? OK : FAILED;
}

/* RANK_TESTS(comm); for programs that open and close nothing else. */
#define RANK_TESTS(comm)        \
  AFTER_ALL {                   \
    comm_close(&(comm));        \
  }                             \
  BEFORE_ALL {                  \
    return ranks_open(&(comm)); \
  }                             \
  struct test

/* Whether each of `count` ranks has the device of that name. */
static inline int ranks_have(const char *name, int count) {
  for (int i = 0; device_list[i]; i++) {
    if (strcmp(device_list[i]->name, name) == 0) return device_list[i]->available() >= count;
  }
  return 0;
}

/* The device of GNNTRAIN_TEST_DEVICE, by default the processor; and whether it is another one. */
static inline const char *ranks_device(void) {
  const char *name = getenv("GNNTRAIN_TEST_DEVICE");
  return name ? name : "cpu";
}

static inline int ranks_on_gpu(void) {
  return strcmp(ranks_device(), "cpu") != 0;
}

/* After ranks_open: goes on where each rank has the device of GNNTRAIN_TEST_DEVICE; returns 77 elsewhere. */
static inline int ranks_need_device(struct comm *world) {
  const char *name = getenv("GNNTRAIN_TEST_DEVICE");
  if (!name || ranks_have(name, world->local_size)) return OK;
  printf("this machine has not enough of device \"%s\"\n", name);
  comm_close(world);
  return 77;
}

#endif
