#include "io/file/text_pieces.h"

#include <omp.h>

#include "runtime/base/base.h"

enum { PIECE_BYTES = 1 << 20, PIECES_A_THREAD = 4 }; /* so that no thread waits long for the last one */

/* One piece of a block, and how its reading ended. */
struct piece {
  struct text lines;
  int code;
  char message[1024]; /* errors belong to the thread that has them */
};

struct pieces {
  struct text *text;
  const struct text_pieces *reader;
  void *context;
  struct piece *piece;
  int count;
  char *block; /* of which the pieces are */
  int64_t length;
};

int text_pieces_most(void) {
  return PIECES_A_THREAD * omp_get_max_threads();
}

/* Where piece p begins: behind the first end of a line from its share of the block on. */
static int64_t beginning_of(const struct pieces *pieces, int p) {
  int64_t share = pieces->length / pieces->count * p;
  if (p == 0 || p == pieces->count) return p ? pieces->length : 0;
  const char *end = memchr(pieces->block + share - 1, '\n', (size_t)(pieces->length - share + 1));
  return end ? end + 1 - pieces->block : pieces->length;
}

static int64_t count_ends(const char *at, int64_t length) {
  int64_t ends = 0;
  for (int64_t i = 0; i < length; i++) ends += at[i] == '\n';
  return ends;
}

/* Makes each piece a text of its own, which has ended. */
static void cut(struct pieces *pieces) {
  pieces->count = (int)smaller(text_pieces_most(), pieces->length / PIECE_BYTES + 1);
#pragma omp parallel for schedule(dynamic, 1)
  for (int p = 0; p < pieces->count; p++) {
    struct text *lines = &pieces->piece[p].lines;
    int64_t from = beginning_of(pieces, p), length = beginning_of(pieces, p + 1) - from;
    memcpy(lines->path, pieces->text->path, sizeof lines->path);
    lines->buffer = pieces->block + from;
    lines->at = 0;
    lines->end = lines->size = length;
    lines->ended = 1;
    lines->line = count_ends(lines->buffer, length);
  }
  for (int p = 0; p < pieces->count; p++) {
    int64_t ends = pieces->piece[p].lines.line;
    pieces->piece[p].lines.line = pieces->text->line;
    pieces->text->line += ends;
  }
  if (pieces->length > 0) pieces->text->line += pieces->block[pieces->length - 1] != '\n';
}

static void read_piece(struct pieces *pieces, int p) {
  struct piece *piece = &pieces->piece[p];
  piece->code = pieces->reader->piece(pieces->context, &piece->lines, p);
  if (piece->code != OK) snprintf(piece->message, sizeof piece->message, "%s", error_message());
}

/* Reads all pieces, and meanwhile the next block. */
static int read_block(struct pieces *pieces, char **block, int64_t *length) {
  int64_t bytes = (int64_t)PIECE_BYTES * text_pieces_most();
  struct piece next = {.code = OK};
#pragma omp parallel
#pragma omp single
  {
    for (int p = 0; p < pieces->count; p++) {
#pragma omp task firstprivate(p)
      read_piece(pieces, p);
    }
    next.code = text_block(pieces->text, bytes, block, length);
    if (next.code != OK) snprintf(next.message, sizeof next.message, "%s", error_message());
  }
  for (int p = 0; p < pieces->count; p++) {
    const struct piece *piece = &pieces->piece[p];
    if (piece->code != OK) FAIL(piece->code, "%s", piece->message);
  }
  TRY(pieces->reader->block(pieces->context, pieces->count));
  if (next.code != OK) FAIL(next.code, "%s", next.message);
  return OK;
}

int text_pieces_read(struct text *text, const struct text_pieces *reader, void *context) {
  FREED struct piece *piece = NULL;
  TRY(memory_arrays("pieces of a text", ROOM(&piece, text_pieces_most())));
  struct pieces pieces = {.text = text, .reader = reader, .context = context, .piece = piece};
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
