/* dataset_path: what names a dataset: a file, or "synth:" and options of `gnndata synth`, by which it is made
 * where it is read. */
#ifndef IO_DATASET_PATH_H
#define IO_DATASET_PATH_H

#include "io/dataset/dataset.h"

/* No file holds it. */
int dataset_path_is_made(const char *path);

/* h5_probe of a file. */
int dataset_path_probe(const char *path);

/* Errors: BAD_INPUT. Probe it first. dataset_close ends it. */
int dataset_path_open(struct dataset *dataset, const char *path);

/* Probes and opens it for one process, which has all rows of the graph and the hyperedges made at once. */
int dataset_path_open_whole(struct dataset *dataset, const char *path);

#endif
