/* import_arrays: graphs that stand in numpy's arrays become arcs. Edge values that are all 1 count as values
 * only when weights are asked for. */
#ifndef IO_IMPORT_IMPORT_ARRAYS_H
#define IO_IMPORT_IMPORT_ARRAYS_H

#include "io/file/npz.h"
#include "io/import/import.h"

/* scipy's CSR under `prefix`; and whatever scipy.sparse.save_npz wrote of CSR or COO. Both settle the number
 * of nodes. Errors: BAD_INPUT naming the array, and the element where one is wrong. */
int import_csr(struct import *import, const struct npz *npz, const char *prefix);
int import_scipy(struct import *import, const struct npz *npz);

/* Source and target of each arc, [arcs, 2] or (by_arc 0) [2, arcs]; ids below import->edges.nodes where that
 * is known. */
int import_pairs(struct import *import, const struct npy *pairs, int by_arc);

/* Reads an array and hands it on. Errors: those of npz_read and of `take`. */
int import_array(struct import *import, const struct npz *npz, const char *name,
                 int (*take)(struct import *import, const struct npy *array));

#endif
