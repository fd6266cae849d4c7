/* propagation: P of a model over all ranks, P = diag(r) (A + diag(s)) diag(c), and its transpose for the
 * backward; what propagate.h multiplies by. What r, s and c are is a matter of the model (enum
 * adjacency_norm). P^T = diag(c) (A^T + diag(s)) diag(r): for a symmetric graph the same layouts and the same
 * plan. */
#ifndef MODELS_CORE_PROPAGATION_PROPAGATION_H
#define MODELS_CORE_PROPAGATION_PROPAGATION_H

#include "kernels/ops/incidence.h"
#include "models/core/run.h"
#include "runtime/device/arena.h"

struct propagation;

/* How P weighs the arcs of a graph; D~ = row sums of A + diag(s). A row without anything in it gives 0, and r
 * is 1 there: r is 0 only where `factor` is, so that a gradient can be had back from what P^T reads of it. */
enum adjacency_norm {
  /* s: exactly one self loop a node, a stored one keeps its weight. model.norm_edges "both": r = c = D~^-1/2
   * (Kipf and Welling 2017); "row": r = D~^-1; "none": A + diag(s) */
  ADJACENCY_NORM_GCN,
  ADJACENCY_NORM_SELF_MEAN, /* the same with r = D~^-1: the mean over the neighbours and the node itself */
  ADJACENCY_NORM_MEAN,      /* self loops as stored, r = D~^-1 */
  ADJACENCY_NORM_SUM,       /* self loops as stored and `loop` on top, r = 1 */
  /* Of hypergraphs (models/core/propagation/hyper.h); D the hyperedges of a vertex, its own one included: */
  ADJACENCY_NORM_HYPER_SUM,    /* t = r = c = 1 */
  ADJACENCY_NORM_HYPER_NORM,   /* t = 1 / size, r = c = D^-1/2 */
  ADJACENCY_NORM_HYPER_DEGREE, /* t = 1 / size / sqrt(mean D of the hyperedge), r = D^-1/2, c = 1 */
};

/* A part of a hypergraph's incidences (partition/shard/hyper.h) on the device. */
struct hyper_layouts {
  struct hyper_part *part; /* of the shard, borrowed */
  struct layout *outer_own, *outer_away, *partial, *rest;
  uint8_t *has_halo; /* [vertices of the part] */
};

/* P of a hypergraph: the incidences that lead to hyperedges, and those that lead back. */
struct hyper_way {
  const struct hyper_layouts *there, *back; /* NULL: P is of a graph */
  struct incidence inner;
};

/* One direction of P on the device. */
struct direction {
  struct adjacency *adjacency;           /* host side: parts and plan; NULL: P is of a hypergraph */
  struct layout *own_part, *late_part;   /* likewise; late_part NULL: no row is late */
  struct layout *halo_part[HALO_STAGES]; /* likewise, of each stage of the halo */
  int borrowed;                          /* a symmetric graph's backward uses the forward's layouts */
  void *row_scale;                       /* real [rows of P]; NULL: 1 */
  void *col_scale;                       /* real [own]; NULL: 1; halo rows arrive times theirs */
  uint8_t *has_halo;                     /* [stages, own] on the device */
  int64_t *halo_id; /* [halo rows] global node ids on the device, where they are wanted */
  int64_t *late_id; /* [own + halo rows] likewise, of the late part's columns */
  struct hyper_way way;
};

/* P in the rows of a level, and P^T back to those below it (struct shard_level). */
struct direction_level {
  struct direction forward, backward;
};

/* How the rows of a product with P begin and end. */
struct propagate_ends {
  int message;                     /* x comes multiplied by the direction's col_scale, where it was made */
  struct tensor added;             /* past the row scale; data NULL: nothing. P of a graph */
  const struct epilogue *epilogue; /* then one of these two, or none: its z is y */
  const struct epilogue_backward *below; /* the epilogue of the layer below: its dy is y */
};

/* What propagation_init and its like do, by what P is of: graph_propagation, grid_propagation,
 * hyper_propagation. */
struct propagation_ops {
  int (*init)(struct propagation *p, struct run *run, int64_t width);
  int (*plan)(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
  int (*start)(struct propagation *p, struct run *run);
  int64_t (*workspace)(const struct propagation *p, const struct run *run, int64_t width, int message);
  void (*free)(struct propagation *p, struct run *run);
  int (*multiply)(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                  const struct propagate_ends *ends, struct tensor y);
};

/* What P of a hypergraph needs, see models/core/propagation/hyper.h. */
struct hyper_sums {
  struct hyper *hyper; /* of the shard, borrowed; NULL: P is of a graph */
  int trains_weights;  /* set by the layers' init: t follows from parameters, hyper_set_weights gives it */
  struct hyper_layouts all;
  struct hyper_level_layouts {
    struct hyper_layouts rows, all;
  } * level;           /* [levels] */
  void *edge_scale;    /* t, real [edges], 1 for the arrivals behind it */
  void *size_scale;    /* t where all weights are 1, real [edges]; where weights are trained */
  int32_t *edge_row;   /* [edges] the hyperedge; where weights are trained */
  struct tensor outer; /* dtype [outer + arrivals, widest exchange]: sums of hyperedges, arrivals */
  struct tensor
      outer_sums;       /* real [outer, widest exchange] while they are added up, where dtype is not real */
  struct tensor away;   /* rows that arrive first: of the halo, or that go back */
  struct tensor back;   /* [halo.rows] on their way back */
  struct tensor packed; /* [send rows] */
  struct tensor kept;   /* where the next products leave B^T diag(c) X, data NULL: nowhere */
};

/* What a product in a grid of several columns needs, see models/core/propagation/grid_sums.h. */
struct grid_sums {
  void *pieces;                /* of own rows, by slices: on their way there, then back */
  struct tensor in, out;       /* [rows of the part, columns of a slice]; out has room for reals */
  struct message *send, *recv; /* [cols] */
};

/* Layouts are for attention, not for products. by_terms: of all layers. scores: most heads of a layer, where
 * arcs of all layers may lie in tiles; of no heads: they are gathered. */
struct attending {
  int on, by_terms;
  struct arc_scores scores;
};

/* Where the rows of a graph's exchanges lie, all in one block. */
struct exchange_rows {
  struct tensor packed;      /* dtype [halo_packed_rows, widest exchange] */
  struct tensor tail;        /* dtype [halo_landing_rows, widest exchange] */
  struct tensor beside;      /* dtype [rows of P, widest exchange] X in that block, where rows are late */
  const struct arena *arena; /* which has the block; borrowed */
  struct comm_reach reach;   /* of the block */
};

struct propagation {
  const struct propagation_ops *ops;  /* NULL: before propagation_init */
  enum adjacency_norm adjacency_norm; /* set by the layers' init, before propagation_init */
  int wants_ids;                      /* likewise: of halo rows */
  int reduces;                        /* likewise: layouts are for reductions, not for products */
  double loop;                        /* likewise; of the SUMs */
  double factor;                      /* likewise; of a graph: r is multiplied by it */
  int loop_changes;                   /* likewise: propagation_set_loop is called before each use of P */
  struct attending attends;           /* likewise */
  int levels;                         /* likewise: of the shard, that are wanted */
  struct direction forward, backward;
  struct direction_level *level; /* [levels] */
  void *self;                    /* s, real [own]; NULL: 0, or the self loops are among the arcs */
  void *base;                    /* what propagation_set_loop adds to, real [own] */
  struct tensor sums; /* real [own, widest exchange] of rows that `has_halo` flags, where dtype is not real */
  struct exchange_rows exchange;
  struct grid_sums grid;
  struct hyper_sums hyper;
};

#endif
