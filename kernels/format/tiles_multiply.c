#include "kernels/format/tiles.h"

/* How many bits of a strip's words stand before that one. */
static int bits_before(const uint32_t *word, struct tile_bit at) {
  int count = __builtin_popcount(word[at.word % STRIP_WORDS] & (((uint32_t)1 << at.bit) - 1));
  for (int i = 0; i < at.word % STRIP_WORDS; i++) count += __builtin_popcount(word[i]);
  return count;
}

/* Row r of tile t times x, whose first row is the tile's first column. */
static void add_row(const struct tiles *tiles, int64_t t, int r, const double *x, int64_t width, double *y) {
  const int64_t strip = t * TILE_STRIPS + r / 16;
  for (int c = 0; c < TILE_COLS; c++) {
    struct tile_bit at = tile_bit_of(r, c);
    const uint32_t *word = tiles->bits + strip * STRIP_WORDS;
    if (!(word[at.word % STRIP_WORDS] >> at.bit & 1)) continue;
    double w = tiles->value ? (double)tiles->value[tiles->first[strip] + bits_before(word, at)] : 1;
    for (int64_t j = 0; j < width; j++) y[j] += w * x[c * width + j];
  }
}

void tiles_multiply(const struct tiles *tiles, const struct csr *m, const double *x, int64_t width,
                    double *y) {
  for (int64_t i = 0; i < m->rows && tiles->count > 0; i++) {
    int64_t w = i / TILE_ROWS, v = m->row ? m->row[i] : i;
    for (int64_t t = tiles->start[w]; t < tiles->start[w + 1]; t++)
      add_row(tiles, t, (int)(i % TILE_ROWS), x + (int64_t)tiles->segment[t] * TILE_COLS * width, width,
              y + v * width);
  }
}
