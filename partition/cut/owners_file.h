/* owners_file: the parts of a partition that was made elsewhere. */
#ifndef PARTITION_CUT_OWNERS_FILE_H
#define PARTITION_CUT_OWNERS_FILE_H

#include <stdint.h>

/* part[nodes], in the order of the dataset's rows, from a text with a part a line (as METIS and KaHIP write
 * them; lines of # and % are passed over), an .npy of one dimension, or /part of an .h5, as partitions are
 * kept. Errors: BAD_INPUT naming the line or the node whose part is not in [0, parts), or how many there are.
 */
int owners_file_read(const char *path, int64_t nodes, int parts, int32_t *part);

#endif
