/* synth_rows: neighbouring rows of a made graph, or of the hyperedges of one. */
#ifndef IO_SYNTH_SYNTH_ROWS_H
#define IO_SYNTH_SYNTH_ROWS_H

#include <stdint.h>

struct synth_rows {
  int64_t first, rows;
  int64_t *start; /* [rows + 1], from 0 */
  int32_t *id;    /* ascending in a row, none twice */
};

static inline int synth_rows_has(const struct synth_rows *rows, int64_t row) {
  return row >= rows->first && row < rows->first + rows->rows;
}

#endif
