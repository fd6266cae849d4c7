/* hyper: P of a hypergraph, from vertices to hyperedges and back, over all ranks; what propagate does where
 * the layers run on one.
 *
 *   P = diag(r) (B diag(t) B^T + diag(s)) diag(c)
 *
 * Inner hyperedges are summed in one operation while the rows of outer ones travel (partition/hyper.h). The
 * own hyperedges that model.self_hyperedges gives to lonely vertices are in s, not in B. P^T: r and c change
 * places, by the same layouts and the same plan. */
#ifndef MODELS_HYPER_H
#define MODELS_HYPER_H

#include "kernels/incidence.h"
#include "models/run.h"
#include "runtime/arena.h"

struct propagation;
struct direction;

struct hyper_sums {
  struct hyper *hyper; /* of the shard, borrowed; NULL: P is of a graph */
  int trains_weights;  /* set by the layers' init: t follows from parameters, hyper_set_weights gives it */
  struct incidence inner;
  struct layout *outer_own, *outer_away, *partial, *rest;
  void *edge_scale;    /* t, real [edges], 1 for the arrivals behind it */
  void *size_scale;    /* t where all weights are 1, real [edges]; where weights are trained */
  int32_t *edge_row;   /* [edges] the hyperedge; where weights are trained */
  uint8_t *unfinished; /* [own] */
  struct tensor outer; /* dtype [outer + arrivals, widest exchange]: sums of hyperedges, arrivals */
  struct tensor
      outer_sums;       /* real [outer, widest exchange] while they are added up, where dtype is not real */
  struct tensor away;   /* rows that arrive first: of the halo, or that go back */
  struct tensor back;   /* [halo.rows] on their way back */
  struct tensor packed; /* [send rows] */
  struct tensor sums;   /* [edges, widest exchange] what the backward keeps for the gradient of weights */
  struct tensor kept;   /* where the next products leave B^T diag(c) X, data NULL: nowhere */
};

/* As those of propagate.h, which calls them. */
int hyper_sums_init(struct propagation *p, struct run *run, int64_t width);
int hyper_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
int hyper_sums_start(struct propagation *p, struct run *run);
int64_t hyper_sums_workspace(const struct propagation *p, const struct run *run, int64_t width);
void hyper_sums_free(struct propagation *p, struct run *run);
int hyper_propagate(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                    const struct update *update, struct tensor y);

/* t = weight, real, one a hyperedge of the whole hypergraph, over the size. */
int hyper_set_weights(struct propagation *p, struct run *run, const void *weight);

#endif
