/* program: the values and steps of a model, and where the values lie.
 *
 * A value is a matrix, as a rule one row a node of this rank. It is written by the step `writer`, may be a
 * view of columns of another value, and shares the memory of `place` where a step works in place. Training
 * and evaluation have a plan each for the same block of memory: each computes the rows that it needs, one
 * forward and back, the other one forward alone. */
#ifndef MODELS_PROGRAM_PROGRAM_H
#define MODELS_PROGRAM_PROGRAM_H

#include "kernels/ops/sparse.h"
#include "models/core/run.h"
#include "models/program/step.h"
#include "runtime/device/arena.h"

enum { VALUE_FEATURES = 0 }; /* the first value of each program */

/* When a value is alive and where it lies then. */
struct life {
  int begin, end;  /* positions in program.order, of all that share its memory */
  int away, back;  /* between these its memory is free for others: it waits elsewhere. away >= back: never */
  int64_t breadth; /* the most that is alive at once while it is */
  int64_t offset;  /* in the block of values, of a value with memory of its own */
};

struct value {
  char name[48]; /* "z2" */
  enum dtype dtype;
  int64_t rows, cols, stride;
  int layer;
  int writer; /* NONE: the features, which are there from the start */
  int place;  /* the value whose memory it shares, from column `first` on; NONE: it has its own */
  int64_t first;
  int gradient;        /* where its gradient is to lie, a view; NONE: anywhere */
  int trained;         /* depends on a parameter: it has a gradient */
  int ends_layer;      /* a hidden layer of the model leaves it */
  int chunked;         /* it has the rows of a chunk alone */
  int64_t waits;       /* where it waits in program.saved.host */
  int64_t held[PLANS]; /* rows that there is memory for; INT64_MAX: all */
  struct life life[PLANS];
  struct tensor tensor[PLANS]; /* each with as many rows as `rows` */
};

/* Statistics of a norm: of the batch over columns, of a layer norm over a row. */
struct norm_state {
  int layer;
  int64_t cols;
  int64_t statistics; /* 2 cols with batch norm: running mean, then variance; else 0 */
  enum norm norm;
  void *mean, *rstd; /* real [cols] or [own] */
  void *own_sum;     /* batch norm on several ranks: sums of this one's rows, real [cols] */
  void *running;     /* real [statistics], in the program's */
};

/* The steps that run for some rows after the other, the loss among them: chunks.c. */
struct chunked_steps {
  int first, behind; /* in the list */
  int64_t rows;      /* at a time; 0: there are no such steps */
};

/* What the device does not keep from the forward to the backward. */
struct saved_memory {
  int repeated;        /* the lowest layers whose inside the backward computes again */
  int can_wait, waits; /* values that could wait in the host's memory, and that do */
  int constants;       /* that could and never change */
  int features_may; /* the features lie on the device as the steps read them, in every epoch: set by the model
                     */
  int features;     /* they wait: their memory is in the block of values */
  int64_t waiting;  /* bytes of those that do */
  char *host;       /* [waiting] */
};

struct program {
  struct value *value;
  struct step *step;
  struct norm_state *norm;
  int values, steps, norms, layers;
  struct {
    int values, steps, norms;
  } room;   /* in their arrays */
  int code; /* of the first call that failed to make it; from then on nothing is added to it */
  int on_hypergraph;
  int loss; /* the LOSS: forward steps stand before it, backward steps behind it */
  struct chunked_steps chunk;
  int logits, embedding;
  int panel;     /* features on their way into what is hoisted; NONE */
  int64_t bytes; /* of the block of values */
  void *running; /* real [program_statistics] of all norms of the batch, layer after layer */
  int levels;    /* of rows that its steps tell apart */
  struct saved_memory saved;
  int64_t least; /* the largest sum of values that are alive at once, in either plan: none needs less */
};

void program_free(struct program *p);

/* The first two give the index of the new one. Where memory is out, program.code says so. */
int program_value(struct program *p, struct value value);
int program_norm(struct program *p, struct norm_state norm);
void program_step(struct program *p, struct step step);
/* In front of the step that was at that place; all that names a step by its place follows. */
void program_insert(struct program *p, int at, struct step step);
/* The steps from place `from` to the end come in front of the step that was at place `at`, in a list whose
 * steps do not name each other by their places yet. */
void program_move(struct program *p, int from, int at);
/* A step with nothing in it. */
struct step step_of(enum step_kind kind, int layer);

/* The value that owns the memory of `value`. */
int program_place(const struct program *p, int value);
/* Steps that read a value, not counting `but`; the first and the last of them (any may be NULL). */
int program_readers(const struct program *p, int value, int *first, int *last);
/* Whether a step reads or writes a value whose memory `place` has. */
int program_touches(const struct program *p, int step, int place);
/* Whether a step runs by chunks. */
static inline int program_is_chunked(const struct program *p, int step) {
  return p->chunk.rows > 0 && p->chunk.first <= step && step < p->chunk.behind;
}

/* The step whose run includes this one. */
int program_head(const struct program *p, int step);

/* In the memory of a plan; absent for NONE. */
struct tensor program_tensor(const struct program *p, int value, enum value_plan plan);

/* How many running statistics all norms of the batch have. */
int64_t program_statistics(const struct program *p);

/* Takes the steps out of which `kind` is STEP_KINDS. */
void program_compact(struct program *p);
/* Whether the features, and so what P makes of them, are the same in every epoch, and dense. */
int program_input_is_constant(const struct run *run);
/* Whether a value is the features, or what sums over the graph alone make of them: it has no gradient. */
int program_is_of_features(const struct program *p, int value);
/* Whether it is hoisted and read by another hoisted step alone: it passes by in panels. */
int program_passes_by(const struct program *p, int value);
/* The widest sum over arcs, for which layouts are made. */
int64_t program_widest_sum(const struct program *p);
/* Whether there is attention, all of it by terms (STEP_ATTEND). */
int program_attends_by_terms(const struct program *p);
/* Most heads of a step of attention, where the arcs of all such steps may lie in tiles; else none. */
struct arc_scores program_scores_in_tiles(const struct program *p, const struct run *run);

/* The level of rows that a training needs of each value, by its place, of a list of so many forward steps.
 * level: [values], zeros before. */
void needed_levels(struct program *p, const struct run *run, int forward, int *level);
/* The level of the rows that sums over the arcs into rows of a level read. */
int level_below(const struct run *run, int level);

/* The passes, see step.h. */
int order_steps(struct program *p, const struct run *run);
void hoist_steps(struct program *p, const struct run *run);
int differentiate(struct program *p, const struct run *run);
int recompute_steps(struct program *p);
/* The backward of the topmost two layers follows at once: there is nothing to gain. */
int recompute_most(const struct program *p);
void keep_signs(struct program *p);
int need_rows(struct program *p, const struct run *run);
/* Bytes of the logits of a chunk: tests make it small. */
extern int64_t chunk_bytes;
void chunk_steps(struct program *p, const struct run *run);
void fuse_steps(struct program *p, const struct run *run);
/* So many values wait in the host's memory, or as many as there are that can; first what never changes. */
int offload_steps(struct program *p, int wanted);
int plan_values(struct program *p);
/* Bytes of a value in a plan. */
int64_t plan_bytes_of(const struct value *value, enum value_plan plan);
/* Places the values in the arena; lays the statistics of norms out as well. */
void place_values(struct program *p, const struct run *run, struct arena *arena);
/* The list as text, a line each, by log_info. */
void program_print(const struct program *p);

#endif
