/* path_check: what a person names as input or output, checked before anything is computed. The writing itself
 * is runtime/file/atomic_write.h's. */
#ifndef IO_FILE_PATH_CHECK_H
#define IO_FILE_PATH_CHECK_H

#include "runtime/file/atomic_write.h"

/* Errors: those of input_open_file. */
int path_check_readable(const char *path);

/* What a person names as output, before anything is computed: its folder may still be missing. `inputs`: the
 * files that are read, and folders of such, ended by NULL; those that are not there are passed over. Errors:
 * BAD_INPUT when `path` is there and no plain file or, by whatever name, one of the inputs; when its folder
 * does not take files. */
int path_check_writable(const char *path, const char *const *inputs);

/* What is there already, where it is a text that is to be replaced: empty, or it begins as one of these,
 * which end by NULL; `what` says what that would be. Errors: BAD_INPUT: it is something else. */
int path_check_replaced(const char *path, const char *const *beginning, const char *what);

#endif
