/* kernels: the tables of ops that were compiled in, and the one of a device and a precision, ready for use.
 */
#ifndef KERNELS_OPS_KERNELS_H
#define KERNELS_OPS_KERNELS_H

#include "kernels/ops/ops.h"

/* The compiled tables, NULL at the end. */
extern const struct kernel_ops *const kernel_list[];

/* Picks the table for device->ops->name and precision; the device need not have started. Errors: BAD_INPUT
 * for a precision that the device does not have, naming those it has. */
int kernels_choose(struct kernels *k, struct device *device, enum precision precision);
/* The same, and makes the table ready; allocates the scalars. */
int kernels_open(struct kernels *k, struct device *device, enum precision precision);
void kernels_close(struct kernels *k);

#endif
