/* Products of the sparse formats by plain loops in double, as the formats are read: y += m x, x of `width`
 * columns without gaps. */
#ifndef TESTS_KERNELS_FORMAT_MULTIPLY_H
#define TESTS_KERNELS_FORMAT_MULTIPLY_H

#include <stdlib.h>

#include "kernels/format/condensed.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

/* How many bits of a strip's words stand before that one. */
static inline int bits_before(const uint32_t *word, struct tile_bit at) {
  int count = __builtin_popcount(word[at.word % STRIP_WORDS] & (((uint32_t)1 << at.bit) - 1));
  for (int i = 0; i < at.word % STRIP_WORDS; i++) count += __builtin_popcount(word[i]);
  return count;
}

/* Row r of tile t times x, whose first row is the tile's first column. */
static inline void add_tile_row(const struct tiles *tiles, int64_t t, int r, const double *x, int64_t width,
                                double *y) {
  const int64_t strip = t * TILE_STRIPS + r / 16;
  for (int c = 0; c < TILE_COLS; c++) {
    struct tile_bit at = tile_bit_of(r, c);
    const uint32_t *word = tiles->bits + strip * STRIP_WORDS;
    if (!(word[at.word % STRIP_WORDS] >> at.bit & 1)) continue;
    double w = tiles->value ? (double)tiles->value[tiles->first[strip] + bits_before(word, at)] : 1;
    for (int64_t j = 0; j < width; j++) y[j] += w * x[c * width + j];
  }
}

static inline void tiles_multiply(const struct tiles *tiles, const struct csr *m, const double *x,
                                  int64_t width, double *y) {
  for (int64_t i = 0; i < m->rows && tiles->count > 0; i++) {
    int64_t w = i / TILE_ROWS, v = m->row ? m->row[i] : i;
    for (int64_t t = tiles->start[w]; t < tiles->start[w + 1]; t++)
      add_tile_row(tiles, t, (int)(i % TILE_ROWS), x + (int64_t)tiles->segment[t] * TILE_COLS * width, width,
                   y + v * width);
  }
}

/* Row and column of bit `bit` of byte `byte` of a block of that side. */
static inline void block_cell_of(int side, int byte, int bit, int *row, int *col) {
  *row = side == VECTOR_ROWS ? byte : byte / 4 + bit % 2 * 8;
  *col = side == VECTOR_ROWS ? bit : byte % 4 * 4 + bit / 2 % 2 * 2 + bit / 4;
}

/* Row r of block b times x, whose rows its columns name. */
static inline void add_block_row(const struct condensed *c, int64_t b, int r, const double *x, int64_t width,
                                 double *y) {
  const int cells = c->side * c->side;
  const uint8_t *bits = c->bits + b * cells / 8;
  int before = 0, row, col;
  for (int i = 0; i < cells; i++) {
    if (!(bits[i / 8] >> i % 8 & 1)) continue;
    double w = c->value ? (double)c->value[c->first[b] + before++] : 1;
    block_cell_of(c->side, i / 8, i % 8, &row, &col);
    if (row != r) continue;
    for (int64_t j = 0; j < width; j++) y[j] += w * x[c->col[b * c->side + col] * width + j];
  }
}

static inline void condensed_multiply(const struct condensed *condensed, const struct csr *m, const double *x,
                                      int64_t width, double *y) {
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t w = i / condensed->side, v = m->row ? m->row[i] : i;
    for (int64_t b = condensed->start[w]; b < condensed->start[w + 1]; b++)
      add_block_row(condensed, b, (int)(i % condensed->side), x, width, y + v * width);
  }
}

/* Adds the entries of a row segment to a row. */
static inline void add_row_segment(const struct csr *m, const struct row_segment *row_segment,
                                   const double *x, int64_t width, double *y) {
  for (int64_t e = row_segment->first; e < row_segment->first + row_segment->count; e++) {
    double w = m->weight ? (double)m->weight[e] : 1;
    for (int64_t j = 0; j < width; j++) y[j] += w * x[m->col[e] * width + j];
  }
}

static inline int row_segments_multiply(const struct row_segments *row_segments, const double *x,
                                        int64_t width, double *y) {
  double *piece = NULL;
  TRY(memory_alloc(&piece, row_segments->pieces * width * (int64_t)sizeof *piece, "pieces of rows"));
  for (int64_t s = 0; s < row_segments->count; s++) {
    const struct packed_row_segments *packed = &row_segments->row_segment;
    const struct row_segment row_segment = row_segment_of(packed->first[s], packed->extent[s],
                                                          packed->target[s]);
    add_row_segment(row_segments->csr, &row_segment, x, width,
                    row_segment.target >= 0 ? y + row_segment.target * width
                                            : piece + ~row_segment.target * (int64_t)width);
  }
  for (int64_t i = 0; i < row_segments->long_rows; i++) {
    const struct long_row *row = &row_segments->long_row[i];
    for (int64_t p = row->first_piece; p < row->first_piece + row->pieces; p++) {
      for (int64_t j = 0; j < width; j++) y[row->row * width + j] += piece[p * width + j];
    }
  }
  free(piece);
  return OK;
}

#endif
