/* atomic_write: a file becomes visible whole or not at all: written under another name beside its place,
 * synced, renamed.
 *
 * Others may write to the folder, too (a group's, on a cluster). So the file is made anew under a name that
 * nobody can guess, and made, renamed and removed through a descriptor of the folder: a link that somebody
 * put there leads nowhere, and what it points to stays as it is. */
#ifndef RUNTIME_FILE_ATOMIC_WRITE_H
#define RUNTIME_FILE_ATOMIC_WRITE_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

enum { ATOMIC_WRITE_SUFFIX = 24 }; /* characters that the name of a temporary file has more than the file's */

/* A file being written. Zeroed: none. */
struct atomic_write {
  int open;         /* the rest means something */
  int folder, file; /* descriptors; file -1: closed */
  FILE *stream;     /* of atomic_write_stream; NULL: none. It owns the descriptor */
  char path[PATH_MAX];
  char name[NAME_MAX + 1], temporary[NAME_MAX + 1]; /* in the folder */
};

/* Makes an empty file "<path>.tmp-<atomic_write_writer()>", with the rights that the umask leaves. Errors:
 * FAILED when `path` is there and no plain file, or its folder is missing or not writable, with the system's
 * reason; BAD_INPUT when the name is too long, or the folder a symbolic link of another user. */
int atomic_write_open(struct atomic_write *p, const char *path);

/* The file as a stream, which lasts as long as the file is open. Errors: FAILED: out of memory. */
int atomic_write_stream(struct atomic_write *p, FILE **stream);

/* Syncs and closes the file, renames it to `path` and syncs the folder. Errors: FAILED with the system's
 * reason: the former file stays, and nothing is left beside it. */
int atomic_write_commit(struct atomic_write *p);

/* From here on a commit first asks check(context), and fails as that does. NULL: it asks nobody. */
void atomic_write_ask(int (*check)(void *context), void *context);

/* Of a file that was not committed: closes and removes it. */
void atomic_write_drop(struct atomic_write *p);

/* The number in the names of this process's temporary files, drawn at random. */
int64_t atomic_write_writer(void);

/* Removes the temporary file that was made last, if it is there; another thread and a handler of signals may
 * call it. */
void atomic_write_remove_named(void);

/* Removes what killed writers of `path` left beside it, `seconds` ago or more (0: whenever); nobody may have
 * been writing it for so long. */
void atomic_write_clean(const char *path, int64_t seconds);

/* Errors: BAD_INPUT when the path, or the file's name in it, is too long to be written. */
int atomic_write_check_name(const char *path);

/* Opens a folder in which files are to be made or removed. Errors: FAILED with the system's reason, errno
 * being that; BAD_INPUT when the name is too long or the folder is a symbolic link that another user made. */
int atomic_write_folder(const char *path, int *folder);

/* The folder that holds `path`. Errors: BAD_INPUT: the path is too long. */
int parent_of(const char *path, char folder[PATH_MAX]);

/* The file's name without its folder and its ending, into stem[size], cut to fit. */
void stem_of(const char *path, char *stem, size_t size);

/* Makes the folder and its parents; that of a file. Errors: FAILED with the system's reason; BAD_INPUT when
 * a name is too long. */
int make_folder(const char *path);
int make_folder_of(const char *path);

#endif
