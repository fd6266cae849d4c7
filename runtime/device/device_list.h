/* device_list: the devices that were compiled in, and the way from a name to one of them. */
#ifndef RUNTIME_DEVICE_DEVICE_LIST_H
#define RUNTIME_DEVICE_DEVICE_LIST_H

#include "runtime/device/device.h"

/* The compiled devices, best first, NULL at the end. The one list that knows what was compiled in. */
extern const struct device_ops *const device_list[];

/* Whether there is one of that name, or it is "auto". Errors: BAD_INPUT. */
int device_check(const char *name);

/* Opens "cpu", "cuda" or "auto" (the first that is available). threads: host threads for this rank (>= 1).
 * Errors: BAD_INPUT for a device that was not compiled in or is not there; FAILED when it does not start. */
int device_open(struct device *device, const char *name, int local_rank, int local_size, int threads);

/* The same in steps, since a device may take seconds to start, without the host's help: which one it is, then
 * device_start and device_adopt. After the first its table, index and name are known. */
int device_choose(struct device *device, const char *name, int local_rank, int local_size, int threads);

/* A simulated device, opened: a GPU of that name with so many bytes. Errors: FAILED when memory is short. */
int device_simulate(struct device *device, const char *name, int64_t memory, int threads);

#endif
