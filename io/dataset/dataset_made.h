/* dataset_made: a dataset that no file holds, which is made where it is read. */
#ifndef IO_DATASET_DATASET_MADE_H
#define IO_DATASET_DATASET_MADE_H

#include <stdint.h>

struct comm;

/* What makes one: a graph or the hyperedges of one, dense features, one label a node and one split, of whose
 * parts (enum split) it gives the nodes. */
struct dataset_maker {
  /* Rows [first, first + rows) of the graph, or hyperedges; the caller frees both arrays, also after an
   * error. comm NULL: made alone; else collective, of the rows behind those of the rank before. */
  int (*rows)(void *context, struct comm *comm, int64_t first, int64_t rows, int64_t **start, int32_t **id);
  int (*features)(void *context, int64_t first, int64_t rows, float *values);
  int (*label)(void *context, int64_t first, int64_t rows, int32_t *label);
  int (*split)(void *context, int part, int64_t **node, int64_t *count);
  void (*close)(void *context);
};

/* The maker, which owns its context, and the rows that are at hand. Their offsets count from the first of
 * them: before all rows are made nobody knows how many entries stand before. */
struct dataset_made {
  const struct dataset_maker *maker; /* NULL: the dataset is a file */
  void *context;
  int64_t first, rows;
  int64_t *start; /* [rows + 1]; NULL: none */
  int32_t *id;
};

/* Has these rows at hand, unless they are among those that are; comm as above. */
int dataset_made_hold(struct dataset_made *m, struct comm *comm, int64_t first, int64_t rows);
void dataset_made_drop(struct dataset_made *m);

/* Of rows at hand. */
void dataset_made_starts(const struct dataset_made *m, int64_t first, int64_t rows, int64_t *start);
void dataset_made_entries(const struct dataset_made *m, int64_t first, int64_t count, int32_t *id);

void dataset_made_close(struct dataset_made *m);

#endif
