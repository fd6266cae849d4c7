#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/mutate/mutate.h"

uint64_t chance_bits(struct chance *chance) {
  uint64_t z = chance->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

int64_t chance_below(struct chance *chance, int64_t end) {
  return end > 0 ? (int64_t)(chance_bits(chance) % (uint64_t)end) : 0;
}

double chance_share(struct chance *chance) {
  return (double)(chance_bits(chance) >> 11) * 0x1p-53;
}

int64_t chance_integer(struct chance *chance, int64_t now) {
  static const int64_t known[] = {0,          1,         -1,        2,         -2,          3,
                                  7,          63,        64,        65,        127,         128,
                                  255,        256,       1000,      4096,      32767,       65536,
                                  INT32_MAX,  INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 31,   1LL << 32,
                                  1000000000, 1LL << 40, 1LL << 53, 1LL << 62, -(1LL << 62)};
  uint64_t bits = (uint64_t)now;
  switch (chance_below(chance, 6)) {
  case 0:
    return (int64_t)(bits + 1);
  case 1:
    return (int64_t)(bits - 1);
  case 2:
    return (int64_t)(bits ^ 1ull << chance_below(chance, 64));
  case 3:
    return chance_below(chance, 100);
  default:
    return known[chance_below(chance, sizeof known / sizeof known[0])];
  }
}

double chance_real(struct chance *chance, double now) {
  static const double known[] = {0,      -0.0,    1,       -1,       0.5,      2,        1e-300, 1e-45,
                                 5e-324, 1e38,    -1e38,   1e39,     -1e39,    1e19,     -1e19,  1e300,
                                 1e308,  DBL_MAX, FLT_MAX, -DBL_MAX, DBL_MIN,  FLT_MIN,  1e9,    -1e-9,
                                 65504,  1e10,    -3,      NAN,      INFINITY, -INFINITY};
  uint64_t bits;
  switch (chance_below(chance, 5)) {
  case 0:
    memcpy(&bits, &now, sizeof bits);
    bits ^= 1ull << chance_below(chance, 64);
    memcpy(&now, &bits, sizeof bits);
    return now;
  case 1:
    return now * (chance_share(chance) - .5) * 4;
  case 2:
    return chance_share(chance) * 4 - 2;
  default:
    return known[chance_below(chance, sizeof known / sizeof known[0])];
  }
}
