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
struct propagation_ops;

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
  struct tensor kept;   /* where the next products leave B^T diag(c) X, data NULL: nowhere */
};

/* What propagate.h does where P is of a hypergraph. */
extern const struct propagation_ops hyper_propagation;

/* t = weight, real, one a hyperedge of the whole hypergraph, over the size. */
int hyper_set_weights(struct propagation *p, struct run *run, const void *weight);

#endif
