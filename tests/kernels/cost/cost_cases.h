/* Products on an H200, and patterns that are alike everywhere. */
#ifndef TESTS_KERNELS_COST_COST_CASES_H
#define TESTS_KERNELS_COST_COST_CASES_H

#include "kernels/cost/cost_model.h"
#include "tests/check.h"

static inline struct cost_case on_h200(enum precision precision, int64_t width) {
  return (struct cost_case){&cost_model_h200, precision, width, 0, {0, 0}};
}

/* `cells` cells of that many arcs each in a pattern of rows x rows, evenly over all windows. */
static inline struct density uniform(int64_t rows, int64_t cells, int64_t arcs) {
  struct density density = {.rows = rows, .cols = rows};
  for (int64_t i = 0; i < cells; i++) density_count(&density, arcs);
  for (int64_t i = 0; i < rows / TILE_ROWS; i++) density_count_window(&density, arcs);
  return density;
}

#endif
