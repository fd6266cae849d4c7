/* The picture of a plan: milliseconds an epoch by ranks. */
#ifndef LAUNCH_GNNTRAIN_GNNTRAIN_PLAN_PICTURE_H
#define LAUNCH_GNNTRAIN_GNNTRAIN_PLAN_PICTURE_H

#include "models/plan/plan.h"

/* An SVG of both axes' logarithms: the epoch, and what it would be if all ranks shared it evenly. Errors:
 * FAILED when the file cannot be written. */
int plan_picture_write(const struct plan *plan, const char *title, const char *path);

#endif
