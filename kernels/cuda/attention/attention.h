/* The launches of attention's kernels, a source for each direction and type of elements. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_H
#define KERNELS_CUDA_ATTENTION_ATTENTION_H

struct kernels;
struct attention_task;

int attention_forward_f32(struct kernels *k, struct attention_task *task);
int attention_forward_bf16(struct kernels *k, struct attention_task *task);
int attention_backward_f32(struct kernels *k, struct attention_task *task);
int attention_backward_bf16(struct kernels *k, struct attention_task *task);

#endif
