/* dataset_check_rows: the check of what a dataset holds as compressed rows. */
#ifndef IO_DATASET_DATASET_CHECK_ROWS_H
#define IO_DATASET_DATASET_CHECK_ROWS_H

#include "io/dataset/dataset_violation.h"

/* Offsets, ids and values of compressed rows; of an undirected graph that is sound so far, symmetry, too.
 * Nothing to do for what the dataset does not have. Errors: memory; what cannot be read. */
int check_graph(struct check *check);
int check_hypergraph(struct check *check);
int check_sparse_features(struct check *check);

#endif
