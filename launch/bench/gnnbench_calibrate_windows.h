/* gnnbench_calibrate_windows: what gnnbench calibrate finds for the choice of condensed windows. */
#ifndef LAUNCH_BENCH_GNNBENCH_CALIBRATE_WINDOWS_H
#define LAUNCH_BENCH_GNNBENCH_CALIBRATE_WINDOWS_H

#include "launch/bench/gnnbench_calibration.h"

/* The regression's weights of every width, in the precision at hand. */
int calibrate_selectors(struct calibration *c);

/* How often the model and the regression take the faster of gather and condensed windows. */
int calibrate_check_windows(struct calibration *c);

#endif
