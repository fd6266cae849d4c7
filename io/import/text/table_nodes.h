/* table_nodes: the table of nodes. Row v is node v. */
#ifndef IO_IMPORT_TEXT_TABLE_NODES_H
#define IO_IMPORT_TEXT_TABLE_NODES_H

#include "io/import/import.h"

/* Reads import->options->input: ids become import->ids, and columns that options name features, labels and a
 * split of import->source. The number of nodes is import->edges.nodes then. Errors: BAD_INPUT with file and
 * line. */
int table_nodes_read(struct import *import);

#endif
