/* text_pieces: the lines of a text, read by all threads at once: blocks of it are cut at line ends (text.h),
 * and while the pieces of one are read the next one comes from the file and is inflated. */
#ifndef IO_FILE_TEXT_PIECES_H
#define IO_FILE_TEXT_PIECES_H

#include "io/file/text.h"

struct text_pieces {
  /* Reads piece p of a block, on any thread: text_next and what stands on it give its lines, with the numbers
   * that they have in the file; they last until the end of `block`. */
  int (*piece)(void *context, struct text *lines, int p);
  /* Once a block, after its pieces 0 .. pieces - 1, which follow each other in the file. */
  int (*block)(void *context, int pieces);
};

/* How many pieces a block has at most. */
int text_pieces_most(void);

/* Reads what is left of the text; text->line is its number of lines then. Errors: as text_next's, and those
 * of the calls: of all pieces of a block the first one's that failed. */
int text_pieces_read(struct text *text, const struct text_pieces *reader, void *context);

#endif
