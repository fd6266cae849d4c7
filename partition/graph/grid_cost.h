/* grid_cost: what the sums over a graph's arcs are predicted to take a grid of ranks
 * (partition/graph/grid.h), and which grid takes least.
 *
 * From counts of the graph, of its partition into as many parts as ranks, and of stored constants. Nothing is
 * measured, so that the same job takes the same grid each time. Of a sum over A arcs of N nodes, w columns of
 * e bytes wide, a rank of an R x C grid has
 * - the product: A / R arcs at a slice's width, as the cost model gathers them, half of them from near;
 * - the halo: h(R) N / R rows of a slice's width, which on a GPU comes while own columns are summed;
 * - the way to slices and back: 2 (C - 1) / C N / P rows of w columns, beside which nothing runs;
 * - passes over own rows, 6 N / P w e bytes: slices packed and unpacked, and the epilogue by itself.
 * Bytes go to ranks of the same host and of others as the grid lies on hosts; both ways are used at once.
 * Where that is shorter a row travels to a host once (partition/halo/halo_relay.h): the halo of a part for
 * each host comes to its ranks, a share to each, and then goes on to those that need it. Rows that
 * travel are counted as Tripathy, Yelick and Buluc (SC 2020) do. Left out: that ranks differ, and what all
 * grids share. */
#ifndef PARTITION_GRAPH_GRID_COST_H
#define PARTITION_GRAPH_GRID_COST_H

#include "kernels/cost/cost_model.h"
#include "partition/graph/grid.h"
#include "runtime/comm/comm_lone.h"

/* Ranks that are alike. Hosts have network.local_size of them, which follow each other. */
struct grid_machine {
  const struct cost_model *model; /* of the GPU, or cost_model_cpu */
  enum precision precision;
  struct network network; /* of a rank */
  int threads;            /* of a rank, where the model is of a thread */
  int overlaps;           /* the halo comes while own columns are summed */
  int relays;             /* rows of the halo may travel to another host once */
  int64_t memory;         /* bytes of a rank */
};

/* What an epoch sums. */
struct grid_work {
  int64_t nodes, arcs;
  int weighted;
  double halo;     /* rows that come to the ranks of P x 1, for each node */
  double cut;      /* arcs between parts of P x 1, over all */
  int64_t sums;    /* over the arcs, forward; as many come backward */
  int64_t width;   /* columns of each, ... */
  int64_t topmost; /* ... and of the topmost */
};

/* Of the sums of an epoch. */
struct grid_seconds {
  double exchange; /* of rows, hidden or not */
  double all;
};

/* Those that are predicted for a grid; 0 of one rank. */
struct grid_seconds grid_cost(const struct grid_work *work, const struct grid_machine *machine,
                              struct grid grid);

/* Of all R x C with so many ranks the least; P x 1 unless another one takes a fifth less or more, of
 * processors of several hosts anything less. Ranks hold
 * the arcs of their part in no more than a quarter of their memory. *second: the next best, or P x 1 where
 * another one was taken; P x 1 where there is none. */
struct grid grid_cost_least(const struct grid_work *work, const struct grid_machine *machine, int ranks,
                            struct grid *second);

/* Whether the halos of an epoch come sooner in that grid where rows travel to a host once. The halo and the
 * cut of `work` are of so many parts, as many as the grid has or more. */
int grid_cost_relays(const struct grid_work *work, const struct grid_machine *machine, struct grid grid,
                     int parts);

/* Rows that come to parts of the graph, for each node, where the graph is cut into fewer `parts` than those
 * `ranks` whose halo and cut work has.
 *
 * The halo says how many arcs of a node, were they drawn, would lead to so many of the other parts. The more
 * of its cut arcs they are, the less the graph has a shape that parts follow: of a graph without, cut arcs
 * become fewer as 1 - 1 / parts, of one with a shape as (parts - 1) to the power of .7. Between the two by
 * that share to the power of 1.5. Of halos of .3 rows and more, of twelve graphs in 2 to 32 parts from 4 to
 * 64, by METIS and in blocks, half are within 5%, nine of ten within 18%, all within .55 and 1.8. */
double grid_cost_halo(const struct grid_work *work, int ranks, int parts);

/* The ways between ranks as that model's stored constants say, and where they say nothing of hosts, a usual
 * network: a port of 400 Gbit/s for each GPU. A processor's ranks share the port of their host. */
struct network grid_cost_network(const struct cost_model *model, int local_size);

#endif
