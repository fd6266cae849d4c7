/* publish: a file becomes visible whole or not at all: written under another name beside its place, synced,
 * renamed. */
#ifndef IO_PUBLISH_H
#define IO_PUBLISH_H

#include <stdint.h>

/* "<path>.tmp-<pid>" into name[size]. Errors: FAILED when `path` is a folder or its folder is missing or not
 * writable, with the system's reason. */
int publish_name(const char *path, char *name, int64_t size);

/* Syncs `temporary`, renames it to `path` and syncs the folder. Errors: FAILED with the system's reason;
 * `temporary` is removed. */
int publish(const char *temporary, const char *path);

/* Errors: BAD_INPUT when `path` is missing, a folder, not a file or not readable. */
int check_readable(const char *path);

/* Makes the folder and its parents. Errors: FAILED with the system's reason. */
int make_folder(const char *path);

#endif
