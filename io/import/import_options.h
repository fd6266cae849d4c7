/* import_options: what a person asks for beside the graph file: features, labels and splits. */
#ifndef IO_IMPORT_IMPORT_OPTIONS_H
#define IO_IMPORT_IMPORT_OPTIONS_H

#include "io/import/import.h"

/* Whether each option can be understood, before anything is read. Errors: BAD_INPUT naming the option. */
int import_check_options(const struct import_options *options);

#endif
