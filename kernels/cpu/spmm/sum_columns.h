/* Template, included once for each kind of vector: VECTOR (of WIDTH reals; IN_MEMORY where it lies at any
 * address). NAME(sum)(s, n) sums n such vectors of columns, at most GROUP, over the neighbours of a row: in
 * segments, of which every addition keeps what it has lost for the next (Kahan; an infinite one may leave
 * NaN). */

/* Row `col` of X. */
static inline const real *NAME(row)(const struct sums *s, int32_t col) {
  return col < s->near ? s->x + col * s->stride : s->far + (col - s->near) * s->far_stride;
}

/* n is a constant where this is called, so that all sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(sum_constant)(const struct sums *s, const int n) {
  const int line = 64 / (WIDTH * (int)sizeof(real)); /* vectors in a cache line */
  VECTOR total[GROUP] = {0}, lost[GROUP] = {0};
  for (int64_t begin = s->first; begin < s->end; begin += SEGMENT) {
    int64_t end = s->end - begin < SEGMENT ? s->end : begin + SEGMENT;
    VECTOR sum[GROUP] = {0};
    for (int64_t e = begin; e < end; e++) {
      const real *x = NAME(row)(s, s->col[e]);
      const real *ahead = NAME(row)(s, s->col[e + AHEAD < s->nnz ? e + AHEAD : e]);
      real factor = s->value ? s->value[e] : (real)1;
      if (s->col_scale) factor *= s->col_scale[s->col[e]];
#pragma GCC unroll 8
      for (int i = 0; i < n; i += line) __builtin_prefetch(ahead + i * WIDTH);
#pragma GCC unroll 8
      for (int i = 0; i < n - 1; i++) sum[i] += factor * *(const IN_MEMORY *)(x + i * WIDTH);
      sum[n - 1] += factor * *(const IN_MEMORY *)(x + s->last);
    }
    if (begin == s->first) { /* most rows have no other */
#pragma GCC unroll 8
      for (int i = 0; i < n; i++) total[i] += sum[i];
      continue;
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
      VECTOR part = sum[i] - lost[i], next = total[i] + part;
      lost[i] = next - total[i] - part;
      total[i] = next;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; i++) {
    int64_t at = i < n - 1 ? i * WIDTH : s->last;
    if (s->self) total[i] += s->self_factor * *(const IN_MEMORY *)(s->self + at);
    if (s->accumulate) total[i] += *(const IN_MEMORY *)(s->y + at);
    total[i] *= s->row_factor;
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; i++) *(IN_MEMORY *)(s->y + (i < n - 1 ? i * WIDTH : s->last)) = total[i];
}

static void NAME(sum)(const struct sums *s, int64_t n) {
  switch (n) {
  case 1:
    NAME(sum_constant)(s, 1);
    break;
  case 2:
    NAME(sum_constant)(s, 2);
    break;
  case 3:
    NAME(sum_constant)(s, 3);
    break;
  case 4:
    NAME(sum_constant)(s, 4);
    break;
  case 5:
    NAME(sum_constant)(s, 5);
    break;
  case 6:
    NAME(sum_constant)(s, 6);
    break;
  case 7:
    NAME(sum_constant)(s, 7);
    break;
  case 8:
    NAME(sum_constant)(s, 8);
    break;
  }
}

#undef NAME
#undef VECTOR
#undef IN_MEMORY
#undef WIDTH
