/* rules: how each kind of step runs. A step that runs along with a head is run by the head's rule. */
#ifndef MODELS_PROGRAM_RULES_RULES_H
#define MODELS_PROGRAM_RULES_RULES_H

#include "kernels/ops/gemm.h"
#include "models/core/features.h"
#include "models/core/parameters.h"
#include "models/core/propagation/graph_sums.h"
#include "models/core/propagation/propagate.h"
#include "models/core/readout.h"
#include "models/program/program.h"

/* One pass over the program, and what it works on. */
struct pass {
  struct run *run;
  const struct program *program;
  const struct parameters *parameters;
  const struct features *features;
  struct propagation *propagation;
  const struct readout *readout;
  const int64_t *id;          /* [own] global node ids on the device */
  void *sums;                 /* real [2 widest norm]: of batch norms over ranks */
  const struct loss_op *loss; /* that comes along with the logits; NULL: none */
  int training;
  struct {
    int64_t first, rows;
  } chunk; /* rows at hand, of a step that runs by chunks (chunks.c); no rows: it does not */
};

typedef int rule(const struct pass *pass, const struct step *step);

/* Runs step s by the rule of its kind, along with what is fused with it; a step that runs along with a head
 * is left to that. */
int run_step(const struct pass *pass, int s);

rule run_linear, run_dgrad, run_map;                            /* linear.c */
rule run_wgrad;                                                 /* wgrad.c */
rule run_aggregate, run_loop_grad, run_hyperedge_grad;          /* aggregate.c */
rule run_attend, run_attend_backward;                           /* attend.c */
rule run_dynamic, run_dynamic_backward;                         /* dynamic.c */
rule run_cosine, run_cosine_backward;                           /* cosine.c */
rule run_reduce, run_reduce_backward;                           /* reduce.c */
rule run_readout, run_readout_backward;                         /* readout.c */
rule run_add, run_dropout, run_epilogue, run_epilogue_backward; /* epilogue.c */
rule run_offload, run_fetch;                                    /* offload.c */
rule run_zero;                                                  /* zero.c */
rule run_norm_backward;                                         /* norm.c */

/* What never changes and waits in the host's memory: there it goes at the start, and from there comes
 * back where no FETCH has brought it, of a pass that was not all the way. */
int constants_to_host(const struct program *p, struct run *run);
int constants_from_host(const struct program *p, struct run *run);

/* The step that runs along with a head in that way; NULL: none. */
static inline const struct step *fused(const struct pass *pass, const struct step *head, enum fusion how) {
  return head->along[how] == NONE ? NULL : &pass->program->step[head->along[how]];
}

static inline struct tensor rule_tensor(const struct pass *pass, int value) {
  return program_tensor(pass->program, value, pass->training ? TRAINING : EVALUATION);
}

static inline const struct step_rows *rule_rows_of(const struct pass *pass, const struct step *step) {
  return &step->rows[pass->training ? TRAINING : EVALUATION];
}

/* Rows of a value, which is t: the first ones, so many; or those of the chunk at hand. */
static inline struct tensor rule_rows(const struct pass *pass, int value, struct tensor t, int64_t rows) {
  if (!t.data) return t;
  if (pass->chunk.rows > 0)
    return tensor_rows(t, pass->program->value[value].chunked ? 0 : pass->chunk.first, pass->chunk.rows);
  return rows < t.rows ? tensor_rows(t, 0, rows) : t;
}

/* The rows that a step works on. */
static inline struct tensor tensor_in(const struct pass *pass, const struct step *step, int i) {
  return rule_rows(pass, step->in[i], rule_tensor(pass, step->in[i]), rule_rows_of(pass, step)->count);
}

static inline struct tensor tensor_out(const struct pass *pass, const struct step *step, int i) {
  return rule_rows(pass, step->out[i], rule_tensor(pass, step->out[i]), rule_rows_of(pass, step)->count);
}

/* The rows of the columns of a step over arcs. */
static inline struct tensor rule_columns(const struct pass *pass, const struct step *step, int i) {
  return rule_rows(pass, step->in[i], rule_tensor(pass, step->in[i]), rule_rows_of(pass, step)->source);
}

/* Likewise of what it writes in the rows of its columns. */
static inline struct tensor rule_columns_out(const struct pass *pass, const struct step *step, int i) {
  return rule_rows(pass, step->out[i], rule_tensor(pass, step->out[i]), rule_rows_of(pass, step)->source);
}

/* 0 in the rows of output i behind those of the columns. */
int rule_clear_rows(const struct pass *pass, const struct step *step, int i);

/* Rows as rule_rows has them, of a value or of the features, whose tensor may change from pass to pass. */
struct tensor rule_input(const struct pass *pass, int value, int64_t rows);

/* P or P^T, of the rows that a step over arcs works on. */
const struct direction *rule_direction(const struct pass *pass, const struct step *step, int transposed);

/* The column scale that a message is multiplied by; NULL: none. */
const void *rule_scale(const struct pass *pass, const struct step *step);

/* The dropout of a layer's coefficients of attention. */
struct dropout rule_attention_dropout(const struct pass *pass, int layer);

/* A pass of a step over the arcs in parts, see propagate_parts: what it is of, and the part at hand. */
struct arcs {
  const struct pass *pass;
  const struct step *step;
  int (*part)(const struct arcs *arcs);
  const struct epilogue *epilogue; /* forward */
  int way;                         /* backward: which of the arcs, where there are both ways */
  int halo;                        /* the part is the halo's */
  const struct layout *a;
  struct tensor x;         /* the rows of its columns; of late rows those of own columns, */
  struct tensor far;       /* and of the halo's; else absent */
  const int64_t *col_id;   /* their global node ids */
  const uint8_t *has_halo; /* rows that it does not finish; NULL: none */
};
int rule_arcs(struct arcs arcs, const struct direction *direction, struct tensor message);

/* Bytes of scratch that the widest of a program's readouts asks for. */
int64_t rule_readout_workspace(const struct program *p, const struct readout *readout, const struct run *run);

/* All of an EPILOGUE; and where the gradient of a parameter goes, NULL for NONE. */
struct epilogue rule_epilogue_of(const struct pass *pass, const struct step *step);
void *rule_gradient(const struct pass *pass, int parameter);
/* Keeps the signs of what the epilogue has left that a step is, or that ran along with it, if any are wanted.
 */
int rule_keep_signs(const struct pass *pass, const struct step *step);
/* What runs along as the epilogue of a head: that of an EPILOGUE or a DROPOUT, in *epilogue; NULL: none. */
const struct epilogue *rule_epilogue(const struct pass *pass, const struct step *head,
                                     struct epilogue *epilogue);
/* An EPILOGUE_BACKWARD with all that it needs. */
struct rule_backward {
  struct epilogue forward;
  struct epilogue_backward op;
  struct gemm chained;
};
const struct epilogue_backward *rule_backward(const struct pass *pass, const struct step *head,
                                              struct rule_backward *backward);
/* Moments that a batch norm wants of what the head writes; NULL: none. */
const struct column_moments *rule_moments(const struct pass *pass, const struct step *head,
                                          struct column_moments *moments);

/* dW = factor x^T dy as one product, of a value x. */
struct gemm rule_wgrad(const struct pass *pass, const struct step *wgrad);
/* The product of a DGRAD once more, with the batch norm's gradient in its epilogue. */
int rule_repeat(const struct pass *pass, const struct step *step, const struct batch_norm_backward *norm,
                int *repeated);

#endif
