/* step: what a model computes in an epoch, as a list of steps over numbered values.
 *
 * The files of models/layers/ write the forward list. The rules of models/program/rules/ say how a kind of
 * step runs and what the steps of its gradient are, and the passes change the list before anything runs:
 *   order.c          P (H W) or (P H) W, whichever sends and reads less
 *   hoist.c          what depends neither on weights nor on the epoch is computed once
 *   differentiate.c  the backward list, by the rules
 *   recompute.c      values that a backward computes again in place of keeping them
 *   signs.c          signs of what only a ReLU's backward would read
 *   rows.c           the rows that each step has to compute
 *   chunks.c         steps that run for some rows after the other
 *   fuse.c           steps that run along with another one, their head
 *   offload.c        values that wait in the host's memory
 *   liveness.c       where each value lies */
#ifndef MODELS_PROGRAM_STEP_H
#define MODELS_PROGRAM_STEP_H

#include "kernels/ops/ops.h"

enum { NONE = -1, STEP_INS = 8, STEP_OUTS = 7 };

/* What a step reads is in[0], in[1], ... and what it writes out[0], ...; NONE where there is no such value.
 */
enum step_kind {
  /* y = x W (+ x2 W2). in: x, x2 or NONE, M; out: y, a sum for sparse features. W is parameter[0], or M where
   * there is one; W2 is parameter[1] */
  STEP_LINEAR,
  /* dx = dy W^T (+ added). in: dy, added, M; out: dx */
  STEP_DGRAD,
  /* dW = factor x^T dy. in: x, dy; writes the gradient of parameter[0] */
  STEP_WGRAD,
  /* M = factor W + diagonal I, of all such steps of a pass at once. out: M */
  STEP_MAP,
  /* y = P x (+ added) (+ residual), or P^T where `transposed`. in: x, added, residual; out: y, sums of
   * hyperedges. parameter[0]: what P depends on, gin's eps or the weights of hyperedges */
  STEP_AGGREGATE,
  /* Gradients of that parameter. in: dy, x; or the sums of hyperedges, forward and backward */
  STEP_LOOP_GRAD,
  STEP_HYPEREDGE_GRAD,
  /* Attention of struct attention and its gradient. See rules/attend.c */
  STEP_ATTEND,
  STEP_ATTEND_BACKWARD,
  /* The same with dynamic scores. See rules/dynamic.c */
  STEP_DYNAMIC,
  STEP_DYNAMIC_BACKWARD,
  /* Attention by cosines. See rules/cosine.c */
  STEP_COSINE,
  STEP_COSINE_BACKWARD,
  /* The largest neighbour, or the smallest. See rules/reduce.c */
  STEP_REDUCE,
  STEP_REDUCE_BACKWARD,
  /* What the nodes of a graph become. See rules/readout.c */
  STEP_READOUT,
  STEP_READOUT_BACKWARD,
  /* y = factor x, or y += factor x where there is in[1], which is y. in: x, y; out: y */
  STEP_ADD,
  /* x begins to go to the host's memory. in: x or NONE, what has arrived there by now */
  STEP_OFFLOAD,
  /* x begins to come back. in[1]: what has come back by now; out: x or NONE */
  STEP_FETCH,
  /* y = 0 in the rows that whoever wrote it has not computed. in: y */
  STEP_ZERO,
  /* y = dropout(x), which is its own gradient. in: x; out: y */
  STEP_DROPOUT,
  /* y = dropout(act(norm(z + bias)) + residual). in: z, residual; out: y, its signs for the backward */
  STEP_EPILOGUE,
  /* in: dy, z, or y where they are one, or its signs; out: dz, which lies where dy does, and the gradient of
   * the residual */
  STEP_EPILOGUE_BACKWARD,
  /* Behind it, of a batch norm: dz from what all ranks summed. in: dz, z; out: dz */
  STEP_NORM_BACKWARD,
  /* The masked loss and its gradient. in: logits; out: their gradient. Run by models/train/epoch.c, between
     both lists */
  STEP_LOSS,
  STEP_KINDS
};

/* Which steps run along with a head: fuse.c. */
enum fusion {
  FUSE_EPILOGUE, /* EPILOGUE, DROPOUT or EPILOGUE_BACKWARD of what the head writes */
  FUSE_MOMENTS,  /* of a batch norm's EPILOGUE, which itself runs behind it */
  FUSE_LINEAR,   /* the LINEAR that begins the layer above (chained) */
  FUSE_DGRAD,    /* a second product in the same sums; of a NORM_BACKWARD: the product that it may repeat */
  FUSE_WGRAD,    /* of a DGRAD: the gradient of its weight; and that of the second product's */
  FUSE_SECOND_WGRAD,
  FUSE_CHAINED_WGRAD, /* of an EPILOGUE_BACKWARD: the gradient of the first layer's weight */
  FUSIONS
};

/* What stands behind the product of a layer. */
struct layer_epilogue {
  int bias, residual;
  enum norm norm;
  enum activation activation;
  double dropout;
};

/* Which parameters and statistics (program.norm) an EPILOGUE has; NONE. */
struct epilogue_index {
  int bias, gain, shift, norm;
};

struct aggregation {
  int message;    /* x comes multiplied by the column scale */
  int transposed; /* by P^T */
  int ties_first; /* it comes first where both orders cost the same */
  int once;       /* hoisted */
};

/* What is planned apart: rows, and where values lie. */
enum value_plan { TRAINING, EVALUATION, PLANS };

/* The rows that a step works on: rows.c. A level is one of struct shard's; ALL_ROWS: all. */
enum { ALL_ROWS = INT16_MAX };
struct step_rows {
  int level;      /* of what it writes */
  int from;       /* of what it reads through arcs; of a STEP_ZERO: the rows that are there */
  int64_t count;  /* of this rank; of values that are not of nodes, all */
  int64_t source; /* likewise, of `from` */
};

struct step {
  enum step_kind kind;
  int layer; /* index, for names and for the streams of dropout */
  int in[STEP_INS], out[STEP_OUTS];
  int parameter[2];
  int of;             /* of a backward step: its forward step; of a step done again: the first one; NONE */
  int again;          /* a forward step that is done again in the backward */
  int head;           /* the step that it runs along with; NONE: by itself */
  int along[FUSIONS]; /* of a head */
  int scale; /* what it writes is a message, multiplied by the column scale of that AGGREGATE; NONE */
  int fixed; /* AGGREGATE: its place before or behind the linear map is given. COSINE: beta is not trained */
  int64_t exchange; /* columns of the rows that travel between ranks; 0: none do */
  double factor, diagonal;
  struct aggregation aggregation;
  struct layer_epilogue epilogue;
  struct epilogue_index index;
  int heads, width; /* ATTEND, DYNAMIC, COSINE */
  struct step_rows rows[PLANS];
};

/* Whether it is attention, forward: its epilogue may run along, and its backward reads what it wrote. */
static inline int step_attends(enum step_kind kind) {
  return kind == STEP_ATTEND || kind == STEP_DYNAMIC || kind == STEP_COSINE;
}

/* Columns of the sums of a step with an exchange: messages of attention have more. */
static inline int64_t step_summed_cols(const struct step *step) {
  return step->heads > 0 ? (int64_t)step->heads * step->width : step->exchange;
}

extern const char *const step_name[STEP_KINDS];

#endif
