/* input: opening what a person names to be read: no name makes the program hang in silence. */
#ifndef RUNTIME_FILE_INPUT_H
#define RUNTIME_FILE_INPUT_H

#include <stdio.h>

/* Whether the system or its memory is at fault, and not the name: FAILED, else BAD_INPUT. error: errno. */
int input_code(int error);

/* A file, and nothing else, for reading. Errors: BAD_INPUT: missing, a folder, a device or pipe, not
 * readable; FAILED: out of descriptors, the storage fails. */
int input_open_file(const char *path, int *descriptor);

/* A file, a pipe or a device, as texts are read from. A line on stderr says when it waits for the writer of a
 * pipe. NULL, with errno, when it cannot be opened. */
FILE *input_open(const char *path);

/* Errors: BAD_INPUT when `path` is a device, /dev/null apart: settings come from files and pipes.
 */
int input_check_settings(const char *path);

#endif
