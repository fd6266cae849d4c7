#include "io/synth/synth_features.h"

#include <math.h>

#include "runtime/base/base.h"

/* Four standard normals (Box and Muller 1958). The radius takes 1 - u, which is never 0. */
static void normals(struct philox_block block, float out[4]) {
  for (int pair = 0; pair < 4; pair += 2) {
    float radius = sqrtf(-2.0f * logf(1.0f - random_unit(block.word[pair])));
    float angle = 6.283185307f * random_unit(block.word[pair + 1]);
    out[pair] = radius * cosf(angle);
    out[pair + 1] = radius * sinf(angle);
  }
}

/* row[j] = base[j] + noise at (key, index, j); base NULL stands for zeros. */
static void noisy_row(struct philox_key key, uint64_t index, int64_t width, const float *base, float *row) {
  for (int64_t j = 0; j < width; j += 4) {
    float noise[4];
    normals(random_block(key, index, (uint64_t)j / 4), noise);
    for (int64_t i = 0; i < 4 && j + i < width; i++) row[j + i] = noise[i] + (base ? base[j + i] : 0);
  }
}

static void scale_to_length(float *row, int64_t width, double length) {
  double squares = 0;
  for (int64_t j = 0; j < width; j++) squares += (double)row[j] * row[j];
  for (int64_t j = 0; j < width; j++) row[j] = (float)(row[j] * length / sqrt(squares));
}

int synth_features_init(struct synth_features *f, int64_t nodes, int64_t features, int64_t classes,
                        double signal, int64_t seed) {
  *f = (struct synth_features){.nodes = nodes, .features = features, .classes = classes};
  f->key = random_key((uint64_t)seed, 0, 0, RANDOM_SYNTH_FEATURE);
  TRY(memory_arrays("class means", ROOM(&f->mean, classes * features)));
  TRY(memory_arrays("classes of nodes", ROOM(&f->class_of, nodes)));
  struct philox_key key = random_key((uint64_t)seed, 0, 1, RANDOM_SYNTH_FEATURE);
  for (int64_t c = 0; c < classes; c++) {
    noisy_row(key, (uint64_t)c, features, NULL, f->mean + c * features);
    scale_to_length(f->mean + c * features, features, signal);
  }
  return OK;
}

void synth_features_free(struct synth_features *f) {
  free_all(f->mean, f->class_of, f->key_of);
  *f = (struct synth_features){0};
}

int synth_features_rows(void *context, int64_t first, int64_t rows, float *values) {
  const struct synth_features *f = context;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    int64_t row = first + i, index = f->key_of ? f->key_of[row] : row;
    noisy_row(f->key, (uint64_t)index, f->features, f->mean + f->class_of[row] * f->features,
              values + i * f->features);
  }
  return OK;
}
