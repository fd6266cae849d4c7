/* build: what the files of models/layers/ write programs with. Declares parameters in the order of the calls,
 * by which initial weights are drawn and checkpoints name them. After an error the calls do nothing more, and
 * build_end gives it. */
#ifndef MODELS_PROGRAM_BUILD_H
#define MODELS_PROGRAM_BUILD_H

#include "models/core/parameters.h"
#include "models/core/propagation.h"
#include "models/program/program.h"

struct build {
  struct program *program;
  struct parameters *parameters;
  struct propagation *propagation;
  struct run *run;
  int layer;        /* the index of the layer that is being written */
  int x;            /* its input, a value; then its output */
  int last;         /* it leaves the logits */
  int first_layers; /* so many layers count as the first one for weight decay */
  int code;
};

/* Writes a layer that is `out` wide, from b->x. */
typedef void build_layer(struct build *b, int64_t out, struct layer_epilogue form);

/* Columns of a value. */
int64_t build_cols(const struct build *b, int value);
/* Declares a parameter "layer<index>.<what>"; a weight begins with START_GLOROT. */
int build_parameter(struct build *b, const char *what, int64_t rows, int64_t cols, enum start start);
int build_weight(struct build *b, const char *what, int64_t rows, int64_t cols);
/* And those of a layer's epilogue of so many columns, in *step. */
struct step build_epilogue_parameters(struct build *b, int64_t cols, struct layer_epilogue form);

/* A value of one row a node, named after what it is. real: as wide as sums, not as activations. */
int build_value(struct build *b, const char *what, int64_t cols, int real);
/* Columns [first, first + cols) of another value. */
int build_view(struct build *b, const char *what, int value, int64_t first, int64_t cols);
/* What a step makes of a value in place. */
int build_in_place(struct build *b, const char *what, int value);
void build_step(struct build *b, struct step step);

/* y = x W, cols wide. */
int build_linear(struct build *b, int x, int weight);
/* y = x W + x2 W2. */
int build_two_linears(struct build *b, int x, int weight, int x2, int weight2);
/* y = P x (+ added). */
int build_aggregate(struct build *b, int x, int added);
/* The step of the same, to be changed before build_step; its output is out[0]. */
struct step build_aggregate_step(struct build *b, int x, int added);
/* y = the epilogue of z, with the layer's input as its residual where the widths agree; makes y the next
 * layer's input. */
void build_epilogue(struct build *b, int z, struct step step);

/* model.layers layers of one kind. */
void build_alike(struct build *b, build_layer *layer);

/* How hidden layers end, as the configuration has it; and the last one, which leaves logits. */
struct layer_epilogue build_hidden(const struct run *run);
struct layer_epilogue build_last(const struct run *run);

#endif
