/* metrics_row: what is kept of an epoch. NaN: there is no such number. */
#ifndef IO_METRICS_METRICS_ROW_H
#define IO_METRICS_METRICS_ROW_H

#include <stdint.h>

struct metrics_row {
  int64_t run, epoch;
  double loss, train, val, test, ms;
  double train_loss, val_loss, test_loss; /* of the evaluation */
  double lr;
  int64_t sent_bytes; /* halo rows and sums of all ranks, the evaluation's left out */
  double time;        /* seconds since 1970 */
};

#endif
