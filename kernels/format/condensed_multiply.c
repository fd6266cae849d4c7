#include "kernels/format/condensed.h"

/* Row r of a block times x, whose rows `col` names. Values of the block, in the order of its bits; NULL: 1.
 */
static void add_row(const uint8_t *bits, const int32_t *col, const float *value, int r, const double *x,
                    int64_t width, double *y) {
  int before = 0;
  for (int byte = 0; byte < BLOCK_BYTES; byte++) {
    for (int bit = 0; bit < 8; bit++) {
      if (!(bits[byte] >> bit & 1)) continue;
      double w = value ? (double)value[before++] : 1;
      int c = byte % 4 * 4 + bit / 2 % 2 * 2 + bit / 4;
      if (byte / 4 + bit % 2 * 8 != r) continue;
      for (int64_t j = 0; j < width; j++) y[j] += w * x[col[c] * width + j];
    }
  }
}

void condensed_multiply(const struct condensed *condensed, const struct csr *m, const double *x,
                        int64_t width, double *y) {
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t w = i / CONDENSED_ROWS, v = m->row ? m->row[i] : i;
    for (int64_t b = condensed->start[w]; b < condensed->start[w + 1]; b++)
      add_row(condensed->bits + b * BLOCK_BYTES, condensed->col + b * CONDENSED_COLS,
              condensed->value ? condensed->value + condensed->first[b] : NULL, (int)(i % CONDENSED_ROWS), x,
              width, y + v * width);
  }
}
