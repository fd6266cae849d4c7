/* The end of a product: what becomes of four neighbouring columns of two rows, v and v + 8, in a lane's
 * registers. Forward: C += product, then update; backward: dy = C + product, then dz from it. */
#ifndef KERNELS_CUDA_GEMM_END_CUH
#define KERNELS_CUDA_GEMM_END_CUH

#include "kernels/cuda/gemm_pieces.cuh"

struct end {
  struct tensor c;                /* what accumulate adds to; holds the bare product afterwards if `keep` */
  struct tensor out;              /* y or dz */
  struct tensor residual;         /* forward: added; backward: receives dropout'(dy) */
  struct tensor saved;            /* backward: y, or z, as the forward pass left it */
  bool accumulate, keep, aligned; /* aligned: all of these */
  bool backward, from_y;          /* from_y: saved is y */
  const float *bias;              /* forward, and backward from z */
  enum activation activation;
  struct dropout dropout;
  const struct scalars *scalars;
  double *sums; /* backward: [blocks, cols] column sums of dz; NULL: not wanted */
};

static __device__ __forceinline__ void load_four(const float *from, int n, bool aligned, float (&x)[4]) {
  load(from, n, aligned, x);
}

static __device__ __forceinline__ void store_four(float *to, int n, bool aligned, const float (&x)[4]) {
  store(to, n, aligned, x);
}

static __device__ __forceinline__ void load_four(const bf16 *from, int n, bool aligned, float (&x)[4]) {
  if (!aligned || n < 4) {
    load(from, n, false, x);
    return;
  }
  const uint2 four = *(const uint2 *)from;
  x[0] = __uint_as_float(four.x << 16), x[1] = __uint_as_float(four.x & 0xFFFF0000u);
  x[2] = __uint_as_float(four.y << 16), x[3] = __uint_as_float(four.y & 0xFFFF0000u);
}

static __device__ __forceinline__ void store_four(bf16 *to, int n, bool aligned, const float (&x)[4]) {
  if (aligned && n >= 4)
    *(uint2 *)to = make_uint2(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]));
  else
    store(to, n, false, x);
}

/* Four columns of row v, the first n of which are there. */
struct quad {
  int64_t v;
  int col, n;
};

template <class T>
static __device__ __forceinline__ void load_quad(const struct tensor &t, const struct quad &at, bool aligned,
                                                 float (&x)[4]) {
  load_four(row_of<T>(t, at.v) + at.col, at.n, aligned, x);
}

template <class T>
static __device__ __forceinline__ void store_quad(const struct tensor &t, const struct quad &at, bool aligned,
                                                  const float (&x)[4]) {
  store_four(row_of<T>(t, at.v) + at.col, at.n, aligned, x);
}

/* Which of a lane's columns in two rows dropout keeps: bits 0 to 3 the first row's, 4 to 7 the second's. A
 * call of Philox serves eight columns, those of two neighbouring lanes: the even one makes it for the first
 * row, the odd one for the second. */
static __device__ __forceinline__ uint32_t kept_of_two_rows(const struct end &e, uint32_t epoch,
                                                            const struct quad &first,
                                                            const struct quad &second, bool odd) {
  const int64_t v = odd ? second.v : first.v;
  const int64_t id = (odd ? second.n : first.n) > 0 ? e.dropout.id[v] : 0;
  const struct philox_block bits = dropout_bits(e.dropout, epoch, id, first.col / GROUP * GROUP);
  uint32_t kept = 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const uint32_t other = __shfl_xor_sync(~0u, odd ? bits.word[i] : bits.word[2 + i], 1);
    const uint32_t word[2] = {odd ? other : bits.word[i], odd ? bits.word[2 + i] : other};
#pragma unroll
    for (int r = 0; r < 2; r++) {
      kept |= (uint32_t)((word[r] & 0xFFFF) >= e.dropout.threshold) << (4 * r + 2 * i);
      kept |= (uint32_t)((word[r] >> 16) >= e.dropout.threshold) << (4 * r + 2 * i + 1);
    }
  }
  return kept;
}

static __device__ __forceinline__ void drop_four(const struct dropout &op, uint32_t kept, float (&x)[4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) x[j] = kept >> j & 1 ? x[j] * op.scale : 0;
}

/* Whether dropout draws: backward after a ReLU whose output was kept, a dropped element reads as 0. */
static __device__ __forceinline__ bool needs_mask(const struct end &e) {
  return e.dropout.threshold > 0 && !(e.from_y && e.activation == ACTIVATION_RELU);
}

/* x: the product. bias: of the quad's columns. kept: its bits of dropout. */
template <class T>
static __device__ __forceinline__ void finish_forward(const struct end &e, const struct quad &at,
                                                      const float (&bias)[4], uint32_t kept, float (&x)[4]) {
  float other[4];
  if (e.accumulate) {
    load_quad<T>(e.c, at, e.aligned, other);
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] += other[j];
  }
  if (e.keep) store_quad<T>(e.c, at, e.aligned, x);
#pragma unroll
  for (int j = 0; j < 4; j++) x[j] = activated(e.activation, x[j] + bias[j]);
  if (e.residual.data) {
    load_quad<T>(e.residual, at, e.aligned, other);
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] += other[j];
  }
  if (e.dropout.threshold > 0) drop_four(e.dropout, kept, x);
  store_quad<T>(e.out, at, e.aligned, x);
}

/* d act'(n), from n or from y = act(n) times the dropout's scale: y has n's sign, and for ELU exp(n) =
 * act(n) + 1. Where y was dropped the gradient is 0 already. */
static __device__ __forceinline__ float sloped(const struct end &e, float n, float unscale, float d) {
  if (n > 0) return d;
  if (e.activation == ACTIVATION_RELU) return 0;
  if (e.activation != ACTIVATION_ELU) return d * LEAKY_SLOPE;
  return d * (e.from_y ? n * unscale + 1 : expf(n));
}

/* d: the product, becomes dz. n: the saved value. */
template <class T>
static __device__ __forceinline__ void finish_backward(const struct end &e, const struct quad &at,
                                                       const float (&bias)[4], uint32_t kept,
                                                       const float (&n)[4], float (&d)[4]) {
  if (e.accumulate) {
    float other[4];
    load_quad<T>(e.c, at, e.aligned, other);
#pragma unroll
    for (int j = 0; j < 4; j++) d[j] += other[j];
  }
  if (needs_mask(e)) {
    drop_four(e.dropout, kept, d);
  } else if (e.dropout.threshold > 0) {
#pragma unroll
    for (int j = 0; j < 4; j++) d[j] *= e.dropout.scale;
  }
  if (e.residual.data) store_quad<T>(e.residual, at, e.aligned, d);
  if (e.activation != ACTIVATION_NONE) {
    const float unscale = e.dropout.threshold > 0 ? 1 / e.dropout.scale : 1;
#pragma unroll
    for (int j = 0; j < 4; j++) d[j] = sloped(e, n[j] + bias[j], unscale, d[j]);
  }
  store_quad<T>(e.out, at, e.aligned, d);
}

#endif
