/* Features of a made graph: x = mean of the node's class + standard normal noise, made row by row when they
 * are needed, so that no one holds them all. */
#ifndef IO_SYNTH_SYNTH_FEATURES_H
#define IO_SYNTH_SYNTH_FEATURES_H

#include <stdint.h>

#include "runtime/base/random.h"

struct synth_features {
  int64_t nodes, features, classes;
  float *mean;           /* [classes, features], each row of length `signal` */
  int32_t *class_of;     /* [nodes], by row of the file */
  int32_t *key_of;       /* [nodes]: the node whose noise a row gets; NULL: the row's own number */
  struct philox_key key; /* of the noise */
};

/* Draws the class means. class_of is allocated for the caller to fill; key_of is left NULL. */
int synth_features_init(struct synth_features *f, int64_t nodes, int64_t features, int64_t classes,
                        double signal, int64_t seed);
void synth_features_free(struct synth_features *f);

/* values[rows, features] of rows [first, first + rows). context: a struct synth_features. Always OK. */
int synth_features_rows(void *context, int64_t first, int64_t rows, float *values);

#endif
