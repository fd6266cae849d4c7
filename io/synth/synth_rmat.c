#include "io/synth/synth_rmat.h"

/* Of the quadrants (0,0), (0,1), (1,0), (1,1). */
static const double quadrant[4] = {0.57, 0.19, 0.19, 0.05};

void synth_rmat_init(struct synth_rmat *r, int64_t nodes, int64_t seed) {
  *r = (struct synth_rmat){.nodes = nodes, .key = random_key((uint64_t)seed, 0, 1, RANDOM_SYNTH_EDGE)};
  while (((int64_t)1 << r->levels) < nodes) r->levels++;
}

static int draw_quadrant(uint32_t word) {
  double unit = word * 0x1p-32, sum = 0;
  for (int q = 0; q < 3; q++) {
    sum += quadrant[q];
    if (unit < sum) return q;
  }
  return 3;
}

static struct synth_pair draw(const void *context, uint64_t edge) {
  const struct synth_rmat *r = context;
  struct philox_block block = {{0}};
  uint32_t u = 0, v = 0;
  for (int level = 0; level < r->levels; level++) {
    if (level % 4 == 0) block = random_block(r->key, edge, (uint64_t)level / 4);
    int q = draw_quadrant(block.word[level % 4]);
    u = u << 1 | (uint32_t)(q >> 1);
    v = v << 1 | (uint32_t)(q & 1);
  }
  if (u >= r->nodes || v >= r->nodes) return (struct synth_pair){0, 0};
  return (struct synth_pair){(int32_t)u, (int32_t)v};
}

/* Both orders are equally likely: the quadrants (0,1) and (1,0) are. */
static double probability(const void *context, struct synth_pair pair) {
  const struct synth_rmat *r = context;
  double product = 2;
  for (int level = 0; level < r->levels; level++) {
    product *= quadrant[(pair.u >> level & 1) << 1 | (pair.v >> level & 1)];
  }
  return product;
}

struct synth_model synth_rmat_model(const struct synth_rmat *r) {
  return (struct synth_model){.context = r, .draw = draw, .probability = probability};
}
