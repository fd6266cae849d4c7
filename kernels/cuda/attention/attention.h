/* The launches of attention's kernels, a source for each direction and type of elements, or for each
 * pass with dynamic scores. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_H
#define KERNELS_CUDA_ATTENTION_ATTENTION_H

#include "runtime/base/tensor.h"

struct kernels;
struct attention_task;

int attention_forward_f32(struct kernels *k, struct attention_task *task);
int attention_forward_bf16(struct kernels *k, struct attention_task *task);
int attention_backward_f32(struct kernels *k, struct attention_task *task);
int attention_backward_bf16(struct kernels *k, struct attention_task *task);
/* Dynamic scores; their two ways of the backward. */
int dynamic_forward(struct kernels *k, const struct attention_task *task, enum dtype dtype);
int dynamic_in(struct kernels *k, const struct attention_task *task, enum dtype dtype);
int dynamic_out(struct kernels *k, const struct attention_task *task, enum dtype dtype);

#endif
