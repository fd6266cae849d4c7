/* One step of sgd, adam or adamw; see struct optimizer_op. With t steps taken,
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *   w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/optimizer/optimizer_ops.h"

#define BETA1 0.9
#define BETA2 0.999
#define EPSILON 1e-8f

/* Elements by their weight decay: none, that of most, that of the group. */
enum { UNDECAYED, DECAYED, GROUPED, GROUPS };

/* What is the same for all elements; decay and shrink for those of a kind. */
struct step {
  float clip;           /* factor of the gradient */
  float decay[GROUPS];  /* g += decay w */
  float shrink[GROUPS]; /* w *= shrink */
  float lr, momentum;   /* lr of adam: lr / (1 - b1^t) */
  float unbias;         /* 1 / sqrt(1 - b2^t) */
};

static __device__ struct step step_of(const struct scalars &scalars, const struct optimizer_op &op) {
  bool adam = op.optimizer != OPTIMIZER_SGD, decoupled = op.optimizer == OPTIMIZER_ADAMW;
  double norm = sqrt(scalars.squares);
  struct step s;
  s.clip = (float)(op.clip > 0 && norm > op.clip ? op.clip / norm : 1);
  const double decay[GROUPS] = {0, op.weight_decay, op.group_decay};
  for (int g = 0; g < GROUPS; g++) {
    s.decay[g] = (float)(decoupled ? 0 : decay[g]);
    s.shrink[g] = (float)(decoupled ? 1 - scalars.lr * decay[g] : 1);
  }
  s.lr = (float)(adam ? scalars.lr / (1 - pow(BETA1, (double)scalars.step)) : scalars.lr);
  s.momentum = (float)op.momentum;
  s.unbias = (float)(adam ? 1 / sqrt(1 - pow(BETA2, (double)scalars.step)) : 1);
  return s;
}

static __global__ void __launch_bounds__(BLOCK)
    optimizer_kernel(const __grid_constant__ struct optimizer_op op, const struct scalars *scalars) {
  pdl_prologue();
  __shared__ struct step s;
  if (scalars->frozen) return;
  if (threadIdx.x == 0) s = step_of(*scalars, op);
  __syncthreads();
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= op.count) return;
  const bool grouped = i >= op.group_begin && i < op.group_end;
  const int kind = grouped ? GROUPED : i < op.decay_end ? DECAYED : UNDECAYED;
  float *m = (float *)op.m + i, *v = (float *)op.v + i, w = ((float *)op.w)[i];
  float g = ((const float *)op.dw)[i] * s.clip + (kind ? s.decay[kind] * w : 0);
  if (op.optimizer == OPTIMIZER_SGD) {
    *m = s.momentum * *m + g;
    w -= s.lr * *m;
  } else {
    *m = (float)BETA1 * *m + (float)(1 - BETA1) * g;
    *v = (float)BETA2 * *v + (float)(1 - BETA2) * g * g;
    w = w * s.shrink[kind] - s.lr * *m / (sqrtf(*v) * s.unbias + EPSILON);
  }
  ((float *)op.w)[i] = w;
  if (op.copy) ((bf16 *)op.copy)[i] = (bf16)w;
}

int cuda_optimizer(struct kernels *k, const struct optimizer_op *op) {
  if (op->count == 0) return OK;
  return pdl_launch(k, optimizer_kernel, blocks_of(op->count, BLOCK), BLOCK, 0, *op, k->scalars);
}
