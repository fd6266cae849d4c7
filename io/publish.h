/* publish: a file becomes visible whole or not at all: written under another name beside its place, synced,
 * renamed. */
#ifndef IO_PUBLISH_H
#define IO_PUBLISH_H

#include <stdint.h>

/* The number in the names of this process's temporary files. Others have others, on other hosts and in
 * containers, where process ids repeat, too. */
int64_t publish_writer(void);

/* "<path>.tmp-<publish_writer()>" into name[size]. Errors: FAILED when `path` is there and no plain file, or
 * its folder is missing or not writable, with the system's reason. */
int publish_name(const char *path, char *name, int64_t size);

/* Syncs `temporary`, renames it to `path` and syncs the folder. Errors: FAILED with the system's reason;
 * `temporary` is removed. */
int publish(const char *temporary, const char *path);
/* Removes the temporary file that was named last, if it is there; another thread and a handler of signals may
 * call it. */
void publish_remove_named(void);

/* Removes what killed writers of `path` left beside it, `seconds` ago or more (0: whenever); nobody may have
 * been writing it for so long. */
void publish_clean(const char *path, int64_t seconds);

/* Errors: BAD_INPUT when `path` is missing, a folder, not a file or not readable. */
int check_readable(const char *path);

/* What a person names as output, before anything is computed: its folder may still be missing. `inputs`: the
 * files that are read, and folders of such, ended by NULL; those that are not there are passed over. Errors:
 * BAD_INPUT when `path` is there and no plain file or, by whatever name, one of the inputs; when its folder
 * does not take files. */
int check_writable(const char *path, const char *const *inputs);

/* Makes the folder and its parents; that of a file. Errors: FAILED with the system's reason. */
int make_folder(const char *path);
int make_folder_of(const char *path);

#endif
