/* exp for arguments at or below 0, in a form that the compiler vectorises; within 2 units in the last place.
 */
#ifndef KERNELS_CPU_COMMON_EXPONENTIAL_H
#define KERNELS_CPU_COMMON_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/common/real.h"

#if REAL_IS_DOUBLE
static inline real exponential(real x) {
  return exp(x);
}
#else
/* exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2) / 2. log 2 is split in two so that r is exact to
 * the last digit; adding 1.5 2^23 rounds to a whole number, which then stands in the low bits. */
static inline real exponential(real x) {
  const float shift = 12582912.0f, log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
  float y = x < -87.0f ? -87.0f : x; /* exp(-87) is the smallest normal number, nearly; a NaN stays one */
  float shifted = y * 1.44269504f + shift, n = shifted - shift;
  float r = (y - n * log2_high) - n * log2_low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23; /* 2^n: n plus the bias, in the place of the exponent */
  float power;
  memcpy(&power, &bits, sizeof power);
  return p * power;
}
#endif

#endif
