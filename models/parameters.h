/* parameters: all trained numbers of a model in one flat block each for values, gradients and the two
 * moments, named pieces of which are matrices. Every rank holds the same values. Pieces begin at multiples of
 * 32 elements; the gaps stay zero. */
#ifndef MODELS_PARAMETERS_H
#define MODELS_PARAMETERS_H

#include "models/run.h"
#include "runtime/arena.h"

enum start { START_GLOROT, START_ZERO, START_ONE }; /* Glorot and Bengio 2010, uniform */

struct parameter {
  char name[64]; /* "layer0.weight" */
  int64_t offset, rows, cols;
  enum start start;
};

struct parameters {
  struct parameter *list;
  int length, capacity;
  int64_t count;        /* elements of a block, gaps included */
  int64_t decay_end;    /* weight decay applies to [0, decay_end) */
  void *w, *dw, *m, *v; /* device, dtype of the run */
};

/* Declares a matrix; *index names it from then on. */
int parameters_add(struct parameters *p, const char *name, int64_t rows, int64_t cols, enum start start,
                   int *index);
void parameters_plan(struct parameters *p, const struct run *run, struct arena *arena);
/* Initial values keyed by (seed, run) and the index in the block; zero gradients and moments. */
int parameters_reset(struct parameters *p, struct run *run);
void parameters_free(struct parameters *p);

struct tensor parameter_value(const struct parameters *p, const struct run *run, int index);
struct tensor parameter_gradient(const struct parameters *p, const struct run *run, int index);

#endif
