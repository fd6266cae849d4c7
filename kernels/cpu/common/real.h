/* real: the CPU kernels are one source compiled twice, for float and for double (REAL_IS_DOUBLE is set by the
 * build). Every exported name goes through REAL(name): cpu_gather becomes cpu_gather_f32 and cpu_gather_f64.
 */
#ifndef KERNELS_CPU_COMMON_REAL_H
#define KERNELS_CPU_COMMON_REAL_H

#include <math.h>

#if REAL_IS_DOUBLE
typedef double real;
#define REAL(name) name##_f64
#define REAL_DTYPE F64
#define REAL_PRECISIONS (1u << PRECISION_FP64)
#define real_exp exp
#define real_expm1 expm1
#define real_log log
#define real_sqrt sqrt
#else
typedef float real;
#define REAL(name) name##_f32
#define REAL_DTYPE F32
#define REAL_PRECISIONS (1u << PRECISION_FP32 | 1u << PRECISION_FP32_STRICT)
#define real_exp expf
#define real_expm1 expm1f
#define real_log logf
#define real_sqrt sqrtf
#endif

/* A register's worth of reals, as GCC and Clang spell it, and the same where it lies in memory. */
enum { VECTOR_BYTES = 32, LANES = VECTOR_BYTES / (int)sizeof(real) };
typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
typedef real vector_in_memory __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

#endif
