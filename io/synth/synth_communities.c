#include "io/synth/synth_communities.h"

#include <math.h>

#include "runtime/base/base.h"

static const double WEIGHT_UNIT = 0x1p24; /* 2^31 nodes of the largest mean weight stay far below 2^64 */

/* Size of a community, by inverting the distribution of s^-power between the two bounds. */
static int64_t draw_size(struct philox_key key, int64_t community, int64_t size, double power) {
  struct philox_block block = random_block(key, (uint64_t)community, 0);
  double u = random_unit_double(block.word[0], block.word[1]);
  double least = fmax(2, (double)size / 10), most = 10 * (double)size;
  if (fabs(power - 1) < 1e-9) return (int64_t)fmax(2, least * pow(most / least, u));
  double a = pow(least, 1 - power), b = pow(most, 1 - power);
  return (int64_t)fmax(2, pow(a + u * (b - a), 1 / (1 - power)));
}

/* Of each community in turn. */
struct sizes {
  struct philox_key key;
  int64_t size;
  double power;
};

/* Where the community ends that begins at a node; the last one takes what is left. */
static int64_t end_of(const struct sizes *s, int64_t community, int64_t node, int64_t nodes) {
  int64_t wanted = s->power > 0 ? draw_size(s->key, community, s->size, s->power) : s->size;
  return nodes - node <= wanted ? nodes : node + wanted;
}

static struct sizes sizes_of(int64_t size, double power, int64_t seed) {
  return (struct sizes){random_key((uint64_t)seed, 0, 1, RANDOM_SYNTH_DEGREE), size, power};
}

int64_t synth_communities_count(int64_t nodes, int64_t size, double power, int64_t seed, int64_t most) {
  struct sizes sizes = sizes_of(size, power, seed);
  int64_t count = 0;
  for (int64_t node = 0; node < nodes && count < most; count++) node = end_of(&sizes, count, node, nodes);
  return count;
}

static void fill_sizes(struct synth_communities *c, const struct sizes *sizes) {
  int64_t node = 0;
  for (c->count = 0; node < c->nodes; c->count++) {
    int64_t end = end_of(sizes, c->count, node, c->nodes);
    c->start[c->count] = node;
    for (; node < end; node++) c->of_node[node] = (int32_t)c->count;
  }
  c->start[c->count] = c->nodes;
}

int synth_communities_init(struct synth_communities *c, int64_t nodes, int64_t size, double power,
                           int64_t seed) {
  *c = (struct synth_communities){.nodes = nodes};
  /* No community is smaller than 2 save the last. */
  TRY(memory_arrays("communities", ROOM(&c->start, nodes / 2 + 2)));
  TRY(memory_arrays("communities of nodes", ROOM(&c->of_node, nodes)));
  const struct sizes sizes = sizes_of(size, power, seed);
  fill_sizes(c, &sizes);
  return OK;
}

static void fill_weights(struct synth_communities *c, double power, int64_t seed) {
  struct philox_key key = random_key((uint64_t)seed, 0, 0, RANDOM_SYNTH_DEGREE);
#pragma omp parallel for schedule(static)
  for (int64_t u = 0; u < c->nodes; u++) {
    struct philox_block block = random_block(key, (uint64_t)u, 0);
    double unit = random_unit_double(block.word[0], block.word[1]);
    c->below[u + 1] = (uint64_t)(pow(unit + 1e-3, -power) * WEIGHT_UNIT);
  }
  for (int64_t u = 0; u < c->nodes; u++) c->below[u + 1] += c->below[u];
}

/* A guide a node or two: a search starts next to its goal. */
static int fill_guide(struct synth_communities *c) {
  uint64_t total = c->below[c->nodes];
  while ((total >> c->guide_shift) > (uint64_t)(2 * c->nodes)) c->guide_shift++;
  int64_t guides = (int64_t)(total >> c->guide_shift) + 1, node = 0;
  TRY(memory_arrays("guide to node weights", ROOM(&c->guide, guides)));
  for (int64_t g = 0; g < guides; g++) {
    while (node + 1 < c->nodes && c->below[node + 1] <= (uint64_t)g << c->guide_shift) node++;
    c->guide[g] = (int32_t)node;
  }
  return OK;
}

int synth_communities_weigh(struct synth_communities *c, double power, double inside, int64_t seed) {
  c->inside = inside;
  c->key = random_key((uint64_t)seed, 0, 0, RANDOM_SYNTH_EDGE);
  TRY(memory_arrays("node weights", ROOM(&c->below, c->nodes + 1)));
  fill_weights(c, power, seed);
  return fill_guide(c);
}

void synth_communities_free(struct synth_communities *c) {
  free_all(c->start, c->of_node, c->below, c->guide);
  *c = (struct synth_communities){0};
}

/* The node at `position` of the summed weights. */
static int32_t node_at(const struct synth_communities *c, uint64_t position) {
  int32_t node = c->guide[position >> c->guide_shift];
  while (c->below[node + 1] <= position) node++;
  return node;
}

/* A position in [low, high), unit in [0, 1). */
static uint64_t between(uint64_t low, uint64_t high, double unit) {
  uint64_t position = low + (uint64_t)(unit * (double)(high - low));
  return position < high ? position : high - 1;
}

int32_t synth_communities_at(const struct synth_communities *c, double unit) {
  return node_at(c, between(0, c->below[c->nodes], unit));
}

int32_t synth_communities_end(const struct synth_communities *c, int32_t u, double unit) {
  if (unit >= c->inside) return synth_communities_at(c, (unit - c->inside) / (1 - c->inside));
  const int64_t *range = c->start + c->of_node[u];
  return node_at(c, between(c->below[range[0]], c->below[range[1]], unit / c->inside));
}

static struct synth_pair draw(const void *context, uint64_t edge) {
  const struct synth_communities *c = context;
  struct philox_block block = random_block(c->key, edge, 0);
  uint64_t total = c->below[c->nodes];
  int32_t u = node_at(c, random_below(block.word[0], block.word[1], total));
  return (struct synth_pair){u,
                             synth_communities_end(c, u, random_unit_double(block.word[2], block.word[3]))};
}

static double weight_between(const struct synth_communities *c, int64_t first, int64_t end) {
  return (double)(c->below[end] - c->below[first]);
}

static double probability(const void *context, struct synth_pair pair) {
  const struct synth_communities *c = context;
  double total = weight_between(c, 0, c->nodes), end = (1 - c->inside) / total;
  int32_t community = c->of_node[pair.u];
  if (community == c->of_node[pair.v])
    end += c->inside / weight_between(c, c->start[community], c->start[community + 1]);
  return 2 * weight_between(c, pair.u, pair.u + 1) / total * weight_between(c, pair.v, pair.v + 1) * end;
}

struct synth_model synth_communities_model(const struct synth_communities *c) {
  return (struct synth_model){.context = c, .draw = draw, .probability = probability};
}
