/* ops: what a device computes. One table, filled by kernels/cpu (and by each further device); a family of ops
 * is a table of its own, with its header: elementwise.h, gemm.h, loss.h, optimizer.h, sparse.h, and for
 * gathers over a layout attention.h, incidence.h and reduce.h.
 *
 * Every op is a struct of arguments and a function op_X that checks shapes, opens a profile region and calls
 * the table. Tensors and pointers live in the device's memory and belong to the caller; work is queued on
 * the compute stream. Two element types: activations, features and the weights that products read are
 * kernels.dtype; parameters, their gradients, scales, statistics, logits and losses are kernels.real, "real"
 * below. They differ in bf16 only. A matrix, other than of parameters, whose stride is tensor_stride's owns
 * the gaps behind its rows, and ops may write there; other gaps they leave alone. Sums are kept in at least
 * fp32; equal inputs give equal bits for an equal number of threads. */
#ifndef KERNELS_OPS_OPS_H
#define KERNELS_OPS_OPS_H

#include <stdint.h>

#include "runtime/base/tensor.h"
#include "runtime/base/types.h"
#include "runtime/device/device.h"

/* Values that change from epoch to epoch, in device memory so that a recorded epoch can be replayed. */
struct scalars {
  uint32_t epoch; /* fourth counter word of dropout */
  int32_t step;   /* optimiser steps taken, counting this one */
  int32_t frozen; /* a gradient was not finite: neither epoch nor weights move any more */
  double lr;      /* learning rate of this step */
  double squares; /* sum of squares of the gradient, written by op_sum_squares */
};

/* What an op moves, each matrix once and a row for each arc that gathers it, and computes. */
struct op_work {
  double bytes, flops;
};

struct kernels {
  const struct kernel_ops *ops;
  struct device *device; /* borrowed */
  enum precision precision;
  enum dtype dtype;        /* of activations and their gradients */
  enum dtype real;         /* of all else */
  struct scalars *scalars; /* on the device; owned */
  void *workspace;         /* on the device; owned, grows to what the largest op asked for */
  int64_t workspace_bytes;
  struct op_work work; /* of the op at hand */
  int64_t moves;       /* how often the workspace has moved: work recorded before refers to the old one */
  void *impl;          /* what the table's open made */
};

struct layout; /* a sparse matrix prepared for the device: kernels/format/layout.h, continued by each table */

struct kernel_ops {
  const char *device; /* "cpu" */
  enum dtype dtype, real;
  unsigned precisions;              /* a bit for each that it serves: 1 << PRECISION_FP32, ... */
  int (*open)(struct kernels *k);   /* NULL: nothing to do */
  void (*close)(struct kernels *k); /* takes a half-opened one; NULL: nothing to do */
  const struct attention_ops *attention;
  const struct elementwise_ops *elementwise;
  const struct gemm_ops *gemm;
  const struct incidence_ops *incidence;
  const struct loss_ops *loss;
  const struct optimizer_ops *optimizer;
  const struct reduce_ops *reduce;
  const struct sparse_ops *sparse;
};

/* The processor's tables, one for each element type; the GPU's, and those of one that is not there:
 * activations as float or as bf16, all else as float. kernels.h has the list of those that were compiled. */
extern const struct kernel_ops cpu_ops_f32, cpu_ops_f64, cuda_ops_f32, cuda_ops_bf16, simulated_ops_f32,
    simulated_ops_bf16;

/* At least `bytes` of scratch on the device, valid until the next call. For tables. Errors: FAILED. */
int kernels_workspace(struct kernels *k, int64_t bytes, void **workspace);

#endif
