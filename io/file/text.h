/* text: lines of a plain or gzip file, LF or CRLF, of any length up to 256 MiB, with their numbers. A byte
 * order mark of UTF-8 ahead of the first is passed over.
 *
 * Every message starts with "<path>:<line>: ". Words stand between blanks, tabs and commas. A line
 * of values comes by text_row, or goes through text_fields: words alone do not tell "1,,3" from "1,3". */
#ifndef IO_FILE_TEXT_H
#define IO_FILE_TEXT_H

#include <stdint.h>

#include "io/file/gzip.h"
#include "runtime/base/error.h"

enum { TEXT_LINE = 256 << 20, TEXT_QUOTE = 44 }; /* longest line; room for a quoted word */

/* Where the bytes of a text come from that is no file. */
struct text_source {
  void *context;                                                               /* NULL: memory was short */
  int64_t (*read)(void *context, char *to, int64_t size, const char **reason); /* as gzip_read */
  void (*close)(void *context);
  void (*skip)(void *context, int64_t column); /* NULL: it is not told */
};

struct text {
  struct gzip *file; /* NULL: it comes from the source */
  struct text_source source;
  char path[1024];
  int64_t line;   /* number of the line that text_next gave last, from 1 */
  int quoted;     /* ends of lines between quotes end no line, as in tables (RFC 4180); set by the caller */
  int64_t within; /* such ends in the line that text_next gave last */
  char *buffer;   /* [size + 1]; [at, end) is not yet given out */
  int64_t size, at, end;
  int ended;
  char *block; /* what text_block gave out last; it takes turns with `buffer` */
  int64_t block_size;
};

/* Errors: BAD_INPUT when the file is missing or cannot be read; FAILED when the system is at fault. */
int text_open(struct text *text, const char *path);
void text_close(struct text *text);

/* A text of a source, which it owns from then on and closes; `path` is for messages. Errors: FAILED: memory.
 */
int text_open_source(struct text *text, const char *path, const struct text_source *source);

/* Of a table, once its first line has been read: nobody asks for that column, and its source may leave fields
 * of lines that come empty. */
void text_skip_column(struct text *text, int64_t column);

/* The next line without its end, NUL-terminated, owned by text until the next call; NULL when there is none.
 * Errors: BAD_INPUT for damaged or truncated gzip data, a NUL byte, a line that is too long. */
int text_next(struct text *text, char **line);

/* Whole lines, in about `bytes` bytes or in what is left: [*block, *block + *length), owned by text and left
 * as it is until the call after the next one, so that it can be worked on meanwhile; a last line may lack its
 * end, and there is room for a NUL behind it. *length 0: there are none. The caller counts text->line on.
 * Errors: as text_next's, but for NUL bytes, which are left to the caller. */
int text_block(struct text *text, int64_t bytes, char **block, int64_t *length);

/* Error when there is no word between two commas, ahead of the first or behind the last. */
int text_fields(const struct text *text, const char *line);

/* The next line that is no comment, with a value beside each comma: the first character of a comment that is
 * no blank is one of `comments`. text_filled_row: one that holds a word, too. NULL when there is none. */
int text_row(struct text *text, const char *comments, char **line);
int text_filled_row(struct text *text, const char *comments, char **line);

/* Moves *at to the next word; returns 0 when the line has none left. */
int text_more(char **at);

/* The next word as a number; *at moves behind it. `expected` completes "expected ...". Errors: BAD_INPUT:
 * no number, more digits than fit, not finite (text_double gives what there is). */
int text_int(const struct text *text, char **at, int64_t *value, const char *expected);
int text_real(const struct text *text, char **at, float *value, const char *expected);
int text_double(const struct text *text, char **at, double *value, const char *expected);

/* Cuts the next word out of the line: NUL-terminated in place; NULL when there is none. */
char *text_word(char **at);

/* Error when the file is far too small for so many lines of as many words as this one has: nobody allocates
 * what a damaged file cannot fill. */
int text_check_rows(const struct text *text, const char *line, int64_t rows);

/* The end of the line that stands at `from`: '\n', outside of quotes where `quoted`; NULL: none before `to`.
 * open: whether `from` stands between quotes. *passed is raised by the ends between quotes before it. */
char *text_end_of_line(char *from, const char *to, int quoted, int open, int64_t *passed);

/* Whether the number of quotes in [from, to) is odd. */
int text_odd_quotes(const char *from, const char *to);

/* Whether these bytes are UTF-8 (RFC 3629). */
int text_is_utf8(const char *text, int64_t length);

/* How many words the line has. */
int64_t text_count(const char *line);

/* Error unless the line is used up. */
int text_end(const struct text *text, char **at, const char *expected);

/* The next word as messages show it: quoted, printable, cut to length; "the end of the line" without one. */
const char *text_quote(const char *at, char quote[TEXT_QUOTE]);

/* FAIL(BAD_INPUT) with file and line. */
#define TEXT_FAIL(text, format, ...) \
  FAIL(BAD_INPUT, "%s:%lld: " format, (text)->path, (long long)(text)->line, __VA_ARGS__)

#endif
