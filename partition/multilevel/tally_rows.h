/* tally_rows: rows of sums by column, made by all threads. */
#ifndef PARTITION_MULTILEVEL_TALLY_ROWS_H
#define PARTITION_MULTILEVEL_TALLY_ROWS_H

#include "partition/graph/coarse_graph.h"

struct tallied {
  int64_t rows;
  int64_t *start; /* [rows + 1] */
  int32_t *col;   /* [start[rows]], in the order in which a row's columns came */
  double *sum;    /* [start[rows]] where sums go on, else NULL ... */
  float *weight;  /* ... and these, rounded */
};

/* Adds what row `row` is made of to an empty tally; called twice for each row. */
typedef void tally_fill(struct tally *tally, int64_t row, const void *context);

/* longest: as in tally_init; goes_on: sums in place of weights. The caller frees the rows. */
int tally_rows(int64_t rows, int64_t longest, int goes_on, tally_fill *fill, const void *context,
               struct tallied *made);
void tallied_free(struct tallied *tallied);

#endif
