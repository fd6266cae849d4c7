/* window_pieces: windows of rows, each a run of tiles or blocks, cut into pieces of about equal length for
 * the groups of threads that multiply them. One crowded window would run on alone. The sums of a piece lie by
 * themselves; those of a window follow each other and are added in that order where its rows end. */
#ifndef KERNELS_FORMAT_WINDOW_PIECES_H
#define KERNELS_FORMAT_WINDOW_PIECES_H

#include <stdint.h>

struct window_piece {
  int32_t first, end; /* tiles or blocks [first, end) */
  int32_t place;      /* of its sums */
  int32_t window;     /* that it is of */
};

/* On the host. */
struct window_pieces {
  int64_t count;
  struct window_piece *piece; /* [count] */
  int32_t *start;             /* [windows + 1] places of each window */
};

/* Cuts windows [start[w], start[w + 1]) into pieces of at most `limit`, in the order of the windows or, where
 * longest_first, by length. Errors: BAD_INPUT where there is more than a GPU can number, FAILED when memory
 * is short. */
int window_pieces_cut(const int64_t *start, int64_t windows, int64_t limit, int longest_first,
                      struct window_pieces *pieces);
void window_pieces_free(struct window_pieces *pieces);

#endif
