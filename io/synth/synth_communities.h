/* Communities of consecutive ids and nodes with weights, from which edges are drawn. Weights are integers, so
 * that their sums do not depend on an order. */
#ifndef IO_SYNTH_SYNTH_COMMUNITIES_H
#define IO_SYNTH_SYNTH_COMMUNITIES_H

#include <stdint.h>

#include "io/synth/synth_edges.h"
#include "runtime/base/random.h"

struct synth_communities {
  int64_t nodes, count;
  int64_t *start;   /* [count + 1]: first node of each */
  int32_t *of_node; /* [nodes] */
  uint64_t *below;  /* [nodes + 1]: summed weight of the nodes before; NULL until weighted */
  int32_t *guide;   /* [guides]: the node at position g << guide_shift of the summed weights */
  int guide_shift;
  double inside;
  struct philox_key key;
};

/* Sizes: `size` each, or with power > 0 drawn from s^-power between size / 10 and 10 size; the last one takes
 * what is left. */
int synth_communities_init(struct synth_communities *c, int64_t nodes, int64_t size, double power,
                           int64_t seed);
/* How many there will be, or `most` where there are more. */
int64_t synth_communities_count(int64_t nodes, int64_t size, double power, int64_t seed, int64_t most);

/* Gives node u the weight (U_u + 1e-3)^-power; from then on edges can be drawn. */
int synth_communities_weigh(struct synth_communities *c, double power, double inside, int64_t seed);
void synth_communities_free(struct synth_communities *c);

/* The node at that share of the summed weights, unit in [0, 1); and the other end of an edge of u: one number
 * both says whether the edge stays inside and, stretched again, where it ends. */
int32_t synth_communities_at(const struct synth_communities *c, double unit);
int32_t synth_communities_end(const struct synth_communities *c, int32_t u, double unit);

/* The model; borrows c. */
struct synth_model synth_communities_model(const struct synth_communities *c);

#endif
