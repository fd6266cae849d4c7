/* option: the words of an option: "random:0.5,0.25", a file's name. */
#ifndef IO_IMPORT_OPTION_H
#define IO_IMPORT_OPTION_H

#include <stdint.h>

/* Whether `text` starts with `prefix`, whether `path` ends with `suffix`. */
int option_has_prefix(const char *text, const char *prefix);
int option_has_suffix(const char *path, const char *suffix);

/* One integer in [low, high]. Errors: BAD_INPUT naming `option`. */
int option_count(const char *option, const char *text, int64_t low, int64_t high, int64_t *value);

#endif
