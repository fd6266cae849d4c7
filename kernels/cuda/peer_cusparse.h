/* cuSPARSE's CSR algorithms. */
#ifndef KERNELS_CUDA_PEER_CUSPARSE_H
#define KERNELS_CUDA_PEER_CUSPARSE_H

#include "kernels/ops/peer.h"

extern const struct peer_ops peer_cusparse;

#endif
