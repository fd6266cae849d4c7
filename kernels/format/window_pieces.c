#include "kernels/format/window_pieces.h"

#include "runtime/base/base.h"

static int by_length(const void *a, const void *b) {
  const struct window_piece *x = a, *y = b;
  int32_t more = (y->end - y->first) - (x->end - x->first);
  return more ? more : x->place - y->place;
}

static int64_t pieces_of(int64_t length, int64_t limit) {
  return (length + limit - 1) / limit;
}

/* Window w, tiles or blocks [first, first + length), into `count` pieces, the first at that place. */
static void cut_window(int64_t w, int64_t first, int64_t length, int64_t count, int64_t place,
                       struct window_piece *piece) {
  for (int64_t p = 0; p < count; p++)
    piece[p] = (struct window_piece){.first = (int32_t)(first + length * p / count),
                                     .end = (int32_t)(first + length * (p + 1) / count),
                                     .place = (int32_t)(place + p),
                                     .window = (int32_t)w};
}

int window_pieces_cut(const int64_t *start, int64_t windows, int64_t limit, int longest_first,
                      struct window_pieces *pieces) {
  *pieces = (struct window_pieces){0};
  if (start[windows] > INT32_MAX)
    FAIL(BAD_INPUT, "a matrix of %lld tiles or blocks does not fit one GPU; use more ranks",
         (long long)start[windows]);
  for (int64_t w = 0; w < windows; w++) pieces->count += pieces_of(start[w + 1] - start[w], limit);
  TRY(memory_arrays("pieces of windows", ROOM(&pieces->start, windows + 1),
                    ROOM(&pieces->piece, pieces->count)));
  for (int64_t w = 0; w < windows; w++) {
    int64_t length = start[w + 1] - start[w], count = pieces_of(length, limit), place = pieces->start[w];
    pieces->start[w + 1] = (int32_t)(place + count);
    cut_window(w, start[w], length, count, place, pieces->piece + place);
  }
  if (longest_first) qsort(pieces->piece, (size_t)pieces->count, sizeof *pieces->piece, by_length);
  return OK;
}

void window_pieces_free(struct window_pieces *pieces) {
  free_all(pieces->piece, pieces->start);
  *pieces = (struct window_pieces){0};
}
