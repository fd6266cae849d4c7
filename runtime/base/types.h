/* types: the kinds of numbers and of ops that a device computes with, as kernels and configurations name
 * them. */
#ifndef RUNTIME_BASE_TYPES_H
#define RUNTIME_BASE_TYPES_H

/* F64: CPU only, for gradient checks. BITS: eight columns of a matrix of bits, column j being bit j % 8 of
 * element j / 8. */
enum dtype { F32, BF16, F64, BITS };

/* Choices of a configuration stand in the order of their names there. */
enum precision { PRECISION_FP32, PRECISION_FP32_STRICT, PRECISION_TF32, PRECISION_BF16, PRECISION_FP64 };
#define PRECISION_NAMES "fp32", "fp32-strict", "tf32", "bf16", "fp64"
extern const char *const precision_name[]; /* NULL at the end */

enum norm { NORM_NONE, NORM_BATCH, NORM_LAYER };
enum activation { ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_ELU, ACTIVATION_LEAKY_RELU };
enum optimizer { OPTIMIZER_ADAM, OPTIMIZER_ADAMW, OPTIMIZER_SGD };

enum layout_tiers {
  LAYOUT_AUTO,
  LAYOUT_GATHER,
  LAYOUT_TILES,
  LAYOUT_WINDOWS,
  LAYOUT_SELECTOR,        /* windows that a regression takes, and the gather */
  LAYOUT_CSR,             /* compressed rows as they are */
  LAYOUT_VECTORS,         /* columns of windows of 8 rows that have entries enough, and the gather */
  LAYOUT_GATHER_IN_ORDER, /* these two are no settings, but for measurements: rows not sorted inside windows,
                           */
  LAYOUT_TILES_ALL        /* and whatever has an entry is a tile */
};
#define LAYOUT_NAMES "auto", "gather", "tiles", "windows", "selector", "csr", "vectors"
extern const char *const layout_name[]; /* NULL at the end */
/* How sums over hyperedges and back are made, where a device has the choice. */
enum incidence_form {
  INCIDENCE_AUTO,  /* whichever of these is predicted to take the least time */
  INCIDENCE_STEPS, /* to the hyperedges, then back */
  INCIDENCE_FUSED, /* at once over pairs of vertices, without sums of hyperedges; where `kept` wants none */
  INCIDENCE_SPLIT  /* at once, with sums of hyperedges in the memory of thread blocks; likewise */
};
#define INCIDENCE_NAMES "auto", "steps", "fused", "split"
extern const char *const incidence_name[]; /* NULL at the end */
enum { VECTOR_ROWS = 8 }; /* of a window of LAYOUT_VECTORS: a column in it is a vector of so many cells */
enum { VECTOR_THRESHOLD = 8 }; /* non-zeros from which on tensor cores take it, where nothing else is said */

#endif
