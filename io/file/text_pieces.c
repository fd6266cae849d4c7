#include "io/file/text_pieces.h"

#include <omp.h>

#include "runtime/base/base.h"

enum { PIECE_BYTES = 1 << 20, PIECES_A_THREAD = 4 }; /* so that no thread waits long for the last one */

struct pieces {
  struct text *text;
  const struct text_pieces *reader;
  void *context;
  struct text *piece;
  int *open; /* of each piece and one more: whether its share of the block begins between quotes */
  int count;
  char *block; /* of which the pieces are */
  int64_t length;
};

int text_pieces_most(void) {
  return PIECES_A_THREAD * omp_get_max_threads();
}

static int64_t block_bytes(void) {
  return (int64_t)PIECE_BYTES * text_pieces_most();
}

/* The byte ahead of a piece's share of the block. */
static char *share_of(const struct pieces *pieces, int p) {
  if (p == pieces->count) return pieces->block + pieces->length;
  return p ? pieces->block + pieces->length / pieces->count * p - 1 : pieces->block;
}

/* Where piece p begins: behind the first end of a line from its share of the block on. */
static int64_t beginning_of(const struct pieces *pieces, int p) {
  int64_t passed = 0;
  if (p == 0 || p == pieces->count) return p ? pieces->length : 0;
  const char *end = text_end_of_line(share_of(pieces, p), pieces->block + pieces->length,
                                     pieces->text->quoted, pieces->open[p], &passed);
  return end ? end + 1 - pieces->block : pieces->length;
}

/* Which shares begin between quotes: before them an odd number of quotes stands in the block. */
static void find_open(struct pieces *pieces) {
#pragma omp parallel for schedule(dynamic, 1) if (pieces->text->quoted)
  for (int p = 0; p < pieces->count; p++)
    pieces->open[p + 1] = pieces->text->quoted &&
                          text_odd_quotes(share_of(pieces, p), share_of(pieces, p + 1));
  pieces->open[0] = 0;
  for (int p = 0; p < pieces->count; p++) pieces->open[p + 1] ^= pieces->open[p];
}

static int64_t count_ends(const char *at, int64_t length) {
  int64_t ends = 0;
  for (int64_t i = 0; i < length; i++) ends += at[i] == '\n';
  return ends;
}

/* Makes each piece a text of its own, which has ended. */
static void cut(struct pieces *pieces) {
  pieces->count = (int)smaller(text_pieces_most(), pieces->length / PIECE_BYTES + 1);
  find_open(pieces);
#pragma omp parallel for schedule(dynamic, 1)
  for (int p = 0; p < pieces->count; p++) {
    struct text *lines = &pieces->piece[p];
    int64_t from = beginning_of(pieces, p), length = beginning_of(pieces, p + 1) - from;
    memcpy(lines->path, pieces->text->path, sizeof lines->path);
    lines->buffer = pieces->block + from;
    lines->quoted = pieces->text->quoted && memchr(lines->buffer, '"', (size_t)length);
    lines->at = lines->within = 0;
    lines->end = lines->size = length;
    lines->ended = 1;
    lines->line = count_ends(lines->buffer, length);
  }
  for (int p = 0; p < pieces->count; p++) {
    int64_t ends = pieces->piece[p].line;
    pieces->piece[p].line = pieces->text->line;
    pieces->text->line += ends;
  }
  if (pieces->length > 0) pieces->text->line += pieces->block[pieces->length - 1] != '\n';
}

/* Reads all pieces, and meanwhile the next block. */
static int read_block(struct pieces *pieces, char **next, int64_t *length) {
  struct error_first refused = {0}, unread = {0};
#pragma omp parallel
#pragma omp single
  {
    for (int p = 0; p < pieces->count; p++) {
#pragma omp task firstprivate(p)
      error_note(&refused, p, pieces->reader->piece(pieces->context, &pieces->piece[p], p));
    }
    error_note(&unread, 0, text_block(pieces->text, block_bytes(), next, length));
  }
  TRY(error_raise_noted(&refused));
  TRY(pieces->reader->block(pieces->context, pieces->count));
  return error_raise_noted(&unread);
}

int text_pieces_read(struct text *text, const struct text_pieces *reader, void *context) {
  FREED struct text *piece = NULL;
  FREED int *open = NULL;
  const int most = text_pieces_most();
  TRY(memory_arrays("pieces of a text", ROOM(&piece, most), ROOM(&open, most + 1)));
  struct pieces pieces = {.text = text, .reader = reader, .context = context, .piece = piece, .open = open};
  TRY(text_block(text, PIECE_BYTES, &pieces.block, &pieces.length));
  while (pieces.length > 0) {
    char *block;
    int64_t length;
    cut(&pieces);
    TRY(read_block(&pieces, &block, &length));
    pieces.block = block;
    pieces.length = length;
  }
  return OK;
}
