/* What a GPU has cut, beside what the processor cuts. */
#ifndef TESTS_KERNELS_GPU_LAYOUTS_H
#define TESTS_KERNELS_GPU_LAYOUTS_H

#include "tests/kernels/every_table.h"

static inline void assert_same(struct kernels *k, const void *on_device, const void *expected,
                               int64_t bytes) {
  if (bytes == 0) return;
  void *actual = host_block(bytes);
  assert_ok(device_download(k->device, STREAM_COMPUTE, actual, on_device, bytes));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  assert_memory_equal(actual, expected, (size_t)bytes);
}

static inline void on_gpu(void (*test)(struct kernels *k)) {
  for (int i = 0; kernel_list[i]; i++) {
    if (takes_part(kernel_list[i]->device) && kernel_list[i]->precisions >> PRECISION_BF16 & 1)
      on_table(kernel_list[i], PRECISION_BF16, test);
  }
}

#endif
