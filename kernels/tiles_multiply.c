#include "kernels/tiles.h"

/* Row r of the tile times x, whose first row is the tile's first column. */
static void add_row(const uint32_t *bits, int r, const double *x, int64_t width, double *y) {
  for (int c = 0; c < TILE_COLS; c++) {
    struct tile_bit at = tile_bit_of(r, c);
    if (!(bits[at.word] >> at.bit & 1)) continue;
    for (int64_t j = 0; j < width; j++) y[j] += x[c * width + j];
  }
}

void tiles_multiply(const struct tiles *tiles, const struct csr *m, const double *x, int64_t width,
                    double *y) {
  for (int64_t i = 0; i < m->rows && tiles->count > 0; i++) {
    int64_t w = i / TILE_ROWS, v = m->row ? m->row[i] : i;
    for (int64_t t = tiles->start[w]; t < tiles->start[w + 1]; t++)
      add_row(tiles->bits + t * TILE_WORDS, (int)(i % TILE_ROWS),
              x + (int64_t)tiles->segment[t] * TILE_COLS * width, width, y + v * width);
  }
}
