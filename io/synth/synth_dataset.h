/* synth_dataset: a dataset named "synth:nodes=1000,degree=8,features=16,classes=4,...", which is made where
 * it is read and equals the file that `gnndata synth` writes with these options.
 *
 * Opening it only reads the options. Rows of the graph are made when somebody asks for them. What nodes are,
 * 5 bytes each of the whole graph, 9 when shuffled, is made with the first of them and stays. */
#ifndef IO_SYNTH_SYNTH_DATASET_H
#define IO_SYNTH_SYNTH_DATASET_H

#include "io/dataset/dataset.h"

int synth_dataset_is(const char *path);

/* Of a path that is one. Errors: BAD_INPUT, naming the option. dataset_close ends it, also after an error. */
int synth_dataset_open(struct dataset *dataset, const char *path);

#endif
