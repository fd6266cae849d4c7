/* layer: one table a type of layer, forward above backward in its file; and what all of them share: the
 * input, the linear map, and the end (bias, norm, activation, residual, dropout).
 *
 * A layer turns its input H [own, in] into z = f(H) [own, out] by its own formula and then into its output
 * y = end(z). Buffers are planned once over the model's arena; nothing is allocated in an epoch. */
#ifndef MODELS_LAYER_H
#define MODELS_LAYER_H

#include "models/features.h"
#include "models/heads.h"
#include "models/parameters.h"
#include "models/propagate.h"

struct model;

/* What comes behind a layer's product. */
struct layer_end {
  int bias, residual; /* residual: where the widths agree */
  enum norm norm;
  enum activation activation;
  double dropout;
};

struct layer {
  const struct layer_ops *ops;
  int index, last;
  int64_t in, out;
  struct layer_end ending;
  int64_t scratch;     /* columns of the model's scratch that it uses */
  int64_t exchange;    /* of the widest row that it aggregates in every epoch */
  int aggregate_first; /* (P H) W rather than P (H W) */
  int ends_in_sum;     /* the sum over neighbours is its last step, and takes the end along */
  int constant;        /* the aggregated input never changes: computed once */
  int keeps_z;         /* z has a buffer of its own, so that a backward finds it */
  int dz_is_message;   /* all that takes dz is P^T: it comes scaled by P^T's columns */
  int needs_input;     /* the input itself is wanted even where its aggregate is constant */
  int pairs;           /* gradients of two weights are made beside one product */
  int aggregate_ties;  /* of two orders that cost the same the aggregate comes first */
  int recomputed;      /* other layers use what it lays out inside: a backward needs a forward again */
  int again;           /* that forward is under way */
  int weight, bias, gain, shift; /* indices of parameters; -1: none */
  int keeps_product;             /* H W is wanted in the backward: it comes first, into a buffer of its own */
  struct tensor aggregate;       /* P H, kept for the gradient of W; [own, in] */
  struct tensor product;         /* H W [own, out] where it is kept */
  struct tensor z, y;    /* before and after the end; one buffer where the end allows it; logits real */
  struct update update;  /* the end as the last forward applied it */
  struct update message; /* that of the product it begins with, see layer_ops.first_product */
  int begun;             /* that product has come along with the layer below */
  struct column_moments moments; /* of z, in a forward whose batch norm takes its statistics from them */
  int has_moments;               /* the product that made z found them */
  void *mean, *rstd;             /* statistics of the norm, real [out] or [own] */
  void *own_sum;                 /* batch norm on several ranks: sums of this one's rows, real [out] */
  void *running;                 /* batch norm: running mean, then variance, real [statistics] */
  int64_t statistics;            /* 2 out with batch norm, else 0 */
  struct heads heads;            /* of attention */
  void *kept; /* what its type keeps beside all this: one block of the host, see its file; NULL: nothing */
};

struct layer_ops {
  int uses_graph;
  int in_place; /* backward is done with dz when it writes dx: they may be one buffer */
  /* Declares parameters, decides the order of work and how P weighs arcs, from shapes and settings alone. */
  int (*init)(struct model *model, struct run *run, struct layer *layer);
  /* Lays out what it needs beside layer_plan's: all that stays; and what nobody but its own backward reads,
   * and its forward makes anew when it is repeated. NULL: nothing. */
  void (*plan)(struct model *model, struct run *run, struct layer *layer, struct arena *arena);
  void (*plan_inside)(struct model *model, struct run *run, struct layer *layer, struct arena *arena);
  /* z and y from the input: hands layer_fused_end to the kernel that writes z; layer_rest does the rest. */
  int (*forward)(struct model *model, struct run *run, struct layer *layer, int training);
  /* Gradients of the layer's parameters from dz; and, where there is a layer below (`below` not NULL), the
   * gradient dx [own, in] of its output, to which `residual` [own, in] is added when given: into below->dy,
   * on which `below`, the end of that layer, is then applied. */
  int (*backward)(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                  struct tensor residual, const struct update_backward *below);
  /* The product that the forward begins with and nothing else does, of the output of the layer below, into
   * *op, which that layer may take along: then layer->begun; 0 where it begins otherwise. NULL: it always
   * does. */
  int (*first_product)(struct model *model, struct run *run, struct layer *layer, struct gemm *op);
  /* Of a first layer: the one product that its backward is, into *op, from dz; 0 where it is more. NULL: it
   * always is. */
  int (*one_product)(struct model *model, struct run *run, const struct layer *layer, struct tensor dz,
                     struct gemm *op);
};

extern const struct layer_ops mlp_layer;

/* Declares a parameter "layer<index>.<what>". */
int layer_add(struct model *model, const struct run *run, const struct layer *layer, const char *what,
              int64_t rows, int64_t cols, enum start start, int *index);
/* Declares the layer's weight [in, out] and the parameters of its end; or of its end alone. */
int layer_parameters(struct model *model, struct run *run, struct layer *layer);
int layer_end_parameters(struct model *model, struct run *run, struct layer *layer);
/* Buffers: what stays (the output, statistics, a constant aggregate); z, where it is not y; and the rest, see
 * layer_ops.plan_inside. */
void layer_plan(struct run *run, struct layer *layer, struct arena *arena);
void layer_plan_z(struct run *run, struct layer *layer, struct arena *arena);
void layer_plan_inside(struct model *model, struct run *run, struct layer *layer, struct arena *arena);
int layer_has_residual(const struct layer *layer);
/* Whether the rows of H W may be scaled where they are made (propagate_message). */
int layer_may_scale_product(const struct layer *layer, const struct run *run);
/* Resets running statistics. */
int layer_reset(struct run *run, struct layer *layer);

/* The layer's input as the last forward saw it; features for the first layer (dense only). */
struct tensor layer_input(const struct model *model, const struct layer *layer);

/* For a weight of the layer: y [own, n] = H W (+ add), then `update` (NULL: none);  dw = H^T dy;  dx = dy W^T
 * (+ residual, which may be dx itself), then `below` (NULL: none; its dy is dx). `add` is y itself; or, for
 * sparse features and a y narrower than sums are, real. */
int layer_times_weight(struct model *model, struct run *run, struct layer *layer, int weight,
                       struct tensor add, const struct update *update, struct tensor y);
int layer_weight_gradient(struct model *model, struct run *run, struct layer *layer, int weight,
                          struct tensor dy);
int layer_input_gradient(struct model *model, struct run *run, int weight, struct tensor dy, struct tensor dx,
                         struct tensor residual, const struct update_backward *below);
/* Both gradients, of which one kernel may take care; dw alone where dx.data is NULL. */
int layer_gradients(struct model *model, struct run *run, struct layer *layer, int weight, struct tensor dy,
                    struct tensor dx, struct tensor residual, const struct update_backward *below);

/* Of two weights whose products are added: y = x W + H W_self (dense H), then `update`; and the gradients of
 * both from dy of the first product and dy_self of the second, with dx = dy W^T + dy_self W_self^T (+
 * residual), then `below`, as above. */
int layer_times_two(struct model *model, struct run *run, struct layer *layer, struct tensor x,
                    const int weight[2], const struct update *update, struct tensor y);
int layer_two_gradients(struct model *model, struct run *run, struct layer *layer, const int weight[2],
                        const struct tensor dy[2], struct tensor dx, struct tensor residual,
                        const struct update_backward *below);

/* What the product that makes `update`'s y is to take along, where that is the layer's output: the product
 * that the layer above begins with. NULL: nothing. */
const struct gemm *layer_take_next(struct model *model, const struct layer *layer,
                                   const struct update *update);

/* Fills layer->update for a pass; layer_fused_end is it when a kernel may apply it row by row, NULL when the
 * norm needs all rows first: then layer_rest follows. */
void layer_set_end(struct model *model, struct run *run, struct layer *layer, int training);
const struct update *layer_fused_end(const struct layer *layer);
/* What the product that makes z is to find along with it; NULL: nothing. */
const struct column_moments *layer_moments(struct layer *layer);
/* What the fused end left: y = end(z) with statistics over all ranks for batch norm, nothing otherwise, nor
 * when the forward is repeated. */
int layer_rest(struct run *run, struct layer *layer, int training);
/* The backward of the layer's end, for the kernel that writes dy or for op_update_backward: dz in the place
 * of dy, gradients of bias, gain and shift; residual receives what flows around the layer.
 * layer_rest_backward follows it: the sums over all ranks that batch norm needs, nothing otherwise. */
struct update_backward layer_end_backward(struct model *model, struct run *run, struct layer *layer,
                                          struct tensor dy, struct tensor residual);
int layer_rest_backward(struct model *model, struct run *run, const struct layer *layer,
                        const struct update_backward *end);

#endif
