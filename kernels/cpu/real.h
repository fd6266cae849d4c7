/* real: the CPU kernels are one source compiled twice, for float and for double (REAL_IS_DOUBLE is set by the
 * build). Every exported name goes through REAL(name): cpu_gather becomes cpu_gather_f32 and cpu_gather_f64.
 */
#ifndef KERNELS_CPU_REAL_H
#define KERNELS_CPU_REAL_H

#if REAL_IS_DOUBLE
typedef double real;
#define REAL(name) name##_f64
#define REAL_DTYPE F64
#else
typedef float real;
#define REAL(name) name##_f32
#define REAL_DTYPE F32
#endif

#endif
