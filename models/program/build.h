/* build: what the files of models/layers/ write programs with. Parameters are numbered in the order of the
 * calls; their initial values and the names in checkpoints follow from it. After an error the calls do
 * nothing more, and program->code keeps it. Values and parameters are given as indices. */
#ifndef MODELS_PROGRAM_BUILD_H
#define MODELS_PROGRAM_BUILD_H

#include "models/core/parameters.h"
#include "models/core/propagation/propagation.h"
#include "models/program/program.h"

struct build {
  struct program *program;
  struct parameters *parameters;
  struct propagation *propagation;
  struct run *run;
  int layer;        /* the index of the layer that is being written */
  int x;            /* its input, a value; then its output */
  int last;         /* it leaves the logits */
  int inside;       /* it is a part of one of the model's layers, which goes on above it */
  int first_layers; /* so many layers count as the first one for weight decay */
};

/* Writes a layer that is `out` wide, from b->x. */
typedef void build_layer(struct build *b, int64_t out, struct layer_epilogue form);

/* Columns of a value. */
int64_t build_cols(const struct build *b, int value);
/* Declares a parameter "layer<index>.<what>"; a weight begins with START_GLOROT. */
int build_parameter(struct build *b, const char *what, int64_t rows, int64_t cols, enum start start);
int build_weight(struct build *b, const char *what, int64_t rows, int64_t cols);
/* Declares the parameters of a layer's epilogue (bias, gain, shift) for that many columns; returns the step,
 * which build_epilogue completes. */
struct step build_epilogue_parameters(struct build *b, int64_t cols, struct layer_epilogue form);

/* A value of one row a node. what: its name, for the printed program. real: of the type of sums (fp32 beside
 * bf16), not of activations. */
int build_value(struct build *b, const char *what, int64_t cols, int real);
/* Columns [first, first + cols) of another value. */
int build_view(struct build *b, const char *what, int value, int64_t first, int64_t cols);
/* A value in the memory of another one, for a step that works in place. */
int build_in_place(struct build *b, const char *what, int value);
void build_step(struct build *b, struct step step);
/* Logits, and what is added up to them, are as wide as sums. */
void build_widen(struct build *b, int value);

/* Adds y = x W and returns y, as wide as W. */
int build_linear(struct build *b, int x, int weight);
/* Likewise y = x W + x2 W2. */
int build_two_linears(struct build *b, int x, int weight, int x2, int weight2);
/* Likewise y = P x (+ added, where that is not NONE). */
int build_aggregate(struct build *b, int x, int added);
/* The step of the same, for the caller to change and then to add by build_step; y is out[0]. */
struct step build_aggregate_step(struct build *b, int x, int added);
/* Adds the epilogue of z, with the layer's input as the residual where that is asked for and the widths
 * agree, and ends the layer: b->x is its output. */
void build_epilogue(struct build *b, int z, struct step step);

/* A layer without arcs: y = x W. */
build_layer build_linear_layer;
/* How hidden layers end, as the configuration has it; and the last one, which leaves logits. */
struct layer_epilogue build_hidden(const struct run *run);
struct layer_epilogue build_last(const struct run *run);

#endif
