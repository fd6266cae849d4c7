#include "partition/graph/grid.h"

#include "runtime/base/base.h"

int grid_read(const char *text, int ranks, struct grid *grid) {
  int end = 0;
  *grid = (struct grid){ranks, 1};
  if (strcmp(text, "auto") == 0) return OK;
  if (sscanf(text, "%5dx%5d%n", &grid->rows, &grid->cols, &end) != 2 || text[end] != '\0' || grid->rows < 1 ||
      grid->cols < 1)
    FAIL(BAD_INPUT,
         "partition.grid = \"%s\" is unknown; allowed: \"auto\", or parts of the graph x slices of columns, "
         "like \"%dx1\"",
         text, ranks);
  if (grid->rows * grid->cols != ranks)
    FAIL(BAD_INPUT, "partition.grid = \"%s\" is for %d ranks, and there are %d; \"auto\" suits any number",
         text, grid->rows * grid->cols, ranks);
  return OK;
}
