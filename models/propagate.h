/* propagate: H' = P H over all ranks, P = diag(r) (A + diag(s)) diag(c), and its transpose for the backward.
 *
 * What r, s and c are is a matter of the model (enum weighting). The halo is exchanged while the own-column
 * part is computed; rows with halo columns finish in the second part. P^T = diag(c) (A^T + diag(s)) diag(r):
 * for a symmetric graph the same layouts and the same plan. */
#ifndef MODELS_PROPAGATE_H
#define MODELS_PROPAGATE_H

#include "models/hyper.h"
#include "models/run.h"
#include "runtime/arena.h"

/* How P weighs the arcs of a graph; D~ = row sums of A + diag(s). A row without anything in it gives 0. */
enum weighting {
  WEIGHTING_GCN, /* s: exactly one self loop a node, a stored one keeps its weight. model.norm_edges "both":
                    r = c = D~^-1/2 (Kipf and Welling 2017); "row": r = D~^-1; "none": A + diag(s) */
  WEIGHTING_SELF_MEAN, /* the same with r = D~^-1: the mean over the neighbours and the node itself */
  WEIGHTING_MEAN,      /* self loops as stored, r = D~^-1 */
  WEIGHTING_SUM,       /* self loops as stored and `loop` on top, r = 1 */
  /* Of hypergraphs (models/hyper.h); D the hyperedges of a vertex, its own one included: */
  WEIGHTING_HYPER_SUM,    /* t = r = c = 1 */
  WEIGHTING_HYPER_NORM,   /* t = 1 / size, r = c = D^-1/2 */
  WEIGHTING_HYPER_DEGREE, /* t = 1 / size / sqrt(mean D of the hyperedge), r = D^-1/2, c = 1 */
};

/* One direction of P on the device. */
struct direction {
  struct adjacency *adjacency; /* host side: parts and plan */
  struct layout *own_part, *halo_part;
  int borrowed;                /* a symmetric graph's backward uses the forward's layouts */
  void *row_scale, *col_scale; /* real [own], NULL: 1; halo rows arrive times their column scale */
  uint8_t *unfinished;         /* [own] on the device */
  int64_t *halo_id;            /* [halo rows] global node ids on the device, where they are wanted */
};

/* What propagation_init and its like do, by what P is of: graph_propagation, hyper_propagation. */
struct propagation_ops {
  int (*init)(struct propagation *p, struct run *run, int64_t width);
  int (*plan)(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
  int (*start)(struct propagation *p, struct run *run);
  int64_t (*workspace)(const struct propagation *p, const struct run *run, int64_t width, int message);
  void (*free)(struct propagation *p, struct run *run);
  /* y = diag(r) (A + diag(s)) diag(scale) x and the update; scale: NULL: 1 */
  int (*multiply)(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                  const void *scale, const struct update *update, struct tensor y);
};

struct propagation {
  const struct propagation_ops *ops; /* NULL: before propagation_init */
  enum weighting weighting;          /* set by the layers' init, before propagation_init */
  int wants_ids;                     /* likewise: of halo rows */
  int reduces;                       /* likewise: layouts are for reductions, not for products */
  double loop;                       /* likewise; of the SUMs */
  int loop_changes;                  /* likewise: propagation_set_loop is called before each use of P */
  int attends;                       /* likewise: layouts are for attention, not for products */
  struct direction forward, backward;
  void *self;           /* s, real [own]; NULL: 0, or the self loops are among the arcs */
  void *base;           /* what propagation_set_loop adds to, real [own] */
  struct tensor packed; /* dtype [send rows, widest exchange] */
  struct tensor tail;   /* dtype [halo rows, widest exchange] */
  struct tensor sums;   /* real [own, widest exchange] of unfinished rows, where dtype is not real */
  struct hyper_sums hyper;
};

/* In three steps: init builds the layouts, for products of `width` columns; plan lays out the buffers for
 * exchanges up to `width` (once to measure, once over memory, see arena); start fills the scales. start is
 * collective. Errors: BAD_INPUT for negative weights under a normalisation. */
int propagation_init(struct propagation *p, struct run *run, int64_t width);
int propagation_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
int propagation_start(struct propagation *p, struct run *run);
/* Bytes of the kernels' scratch that propagate asks for at that width; `message`: that propagate_message
 * does. */
int64_t propagation_workspace(const struct propagation *p, const struct run *run, int64_t width, int message);
void propagation_free(struct propagation *p, struct run *run);

/* s_v = what is stored + loop + *more (real, on the device). */
int propagation_set_loop(struct propagation *p, struct run *run, const void *more);

/* Whether the update of a product with P may have a loss. */
int propagation_takes_loss(const struct propagation *p);

/* y [own, w] = P x (or P^T x), then `update` (NULL: none; else its z is y). x [own, w]. */
int propagate(struct propagation *p, struct run *run, const struct direction *direction, struct tensor x,
              const struct update *update, struct tensor y);
/* y = P x + added [own, w], which is not y's memory; P of a graph. */
int propagate_and_add(struct propagation *p, struct run *run, const struct direction *direction,
                      struct tensor x, struct tensor added, const struct update *update, struct tensor y);
/* below->dy = P^T x (+ added, on a graph; data NULL: nothing), and then `below`, the end of the layer below.
 */
int propagate_below(struct propagation *p, struct run *run, const struct direction *direction,
                    struct tensor x, struct tensor added, const struct update_backward *below);
/* propagate of rows that were multiplied by direction->col_scale where they were made, which spares a pass.
 */
int propagate_message(struct propagation *p, struct run *run, const struct direction *direction,
                      struct tensor message, const struct update *update, struct tensor y);

/* The same way for other work than P x: the rows `message` [own, w] of all ranks' nodes in two parts, own
 * rows first (halo 0), then the halo's (halo 1) once they have landed; the latter only where there are any.
 */
typedef int propagation_part(struct run *run, const struct direction *direction, struct tensor message,
                             int halo, void *context);
int propagate_parts(struct propagation *p, struct run *run, const struct direction *direction,
                    struct tensor message, propagation_part *part, void *context);

#endif
