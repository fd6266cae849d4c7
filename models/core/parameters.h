/* parameters: all trained numbers of a model in one flat block each for values, gradients and the two
 * moments, named pieces of which are matrices. Every rank holds the same values. Rows of pieces are padded as
 * those of activations are (tensor_stride); gaps stay zero. Where products read a narrower type than the
 * parameters have (bf16), a rounded copy lies beside the values, in the same places. On the host they are
 * one array without gaps. */
#ifndef MODELS_CORE_PARAMETERS_H
#define MODELS_CORE_PARAMETERS_H

#include "models/core/run.h"
#include "runtime/device/arena.h"

enum start { START_GLOROT, START_ZERO, START_ONE, START_VALUE }; /* Glorot and Bengio 2010, uniform */

struct parameter {
  char name[64]; /* "layer0.weight" */
  int64_t rows, cols;
  int64_t offset, stride; /* in a block, elements */
  int64_t first;          /* among all numbers without gaps */
  enum start start;
  double value; /* all elements at first, with START_VALUE */
};

struct parameters {
  struct parameter *list;
  int length, capacity;
  int64_t numbers;                /* trained numbers */
  int64_t count;                  /* elements of a block, gaps included */
  int64_t decay_end;              /* weight decay applies to [0, decay_end) of a block */
  int64_t group_begin, group_end; /* elements with a weight decay of their own, group_decay */
  double group_decay;
  void *w, *dw, *m, *v; /* device, real */
  void *copy;           /* device, dtype: w rounded; NULL where dtype is real */
};

/* Declares a matrix; *index names it from then on. */
int parameters_add(struct parameters *p, const struct run *run, const char *name, int64_t rows, int64_t cols,
                   enum start start, int *index);
void parameters_plan(struct parameters *p, const struct run *run, struct arena *arena);
/* Initial values keyed by (seed, run) and the index in the block; zero gradients and moments. */
int parameters_reset(struct parameters *p, struct run *run);
void parameters_free(struct parameters *p);

/* A block (w, dw, m or v) to and from [numbers] on the host; uploading w rounds the copy anew. */
int parameters_upload(const struct parameters *p, struct run *run, void *block, const double *from);
int parameters_download(const struct parameters *p, struct run *run, double *to, void *block);

struct tensor parameter_value(const struct parameters *p, const struct run *run, int index);    /* real */
struct tensor parameter_gradient(const struct parameters *p, const struct run *run, int index); /* real */
struct tensor parameter_factor(const struct parameters *p, const struct run *run, int index);   /* dtype */

#endif
