#include "tests/kernels/every_table.h"

TEST(a_precision_that_the_device_lacks_is_refused) {
  static const struct device_ops strange = {.name = "abacus"};
  struct device device = {.ops = &strange};
  struct kernels k = {0};
  assert_fails(kernels_open(&k, &device, PRECISION_FP64), BAD_INPUT, "device \"abacus\"");
  k.device = NULL;
  kernels_close(&k);
}

/* Which is why on_every_table() tries one of them. */
TEST(the_processor_has_one_table_for_fp32_and_fp32_strict) {
  struct device device = {0};
  struct kernels fast = {0}, strict = {0};
  assert_ok(device_open(&device, "cpu", 0, 1, 2));
  assert_ok(kernels_open(&fast, &device, PRECISION_FP32));
  assert_ok(kernels_open(&strict, &device, PRECISION_FP32_STRICT));
  assert_ptr_equal(fast.ops, strict.ops);
  kernels_close(&fast);
  kernels_close(&strict);
  device_close(&device);
}

static void scalars_start(struct kernels *k) {
  struct scalars scalars = {.epoch = 1};
  assert_ok(device_download(k->device, STREAM_COMPUTE, &scalars, k->scalars, sizeof scalars));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  assert_int_equal(scalars.epoch, 0);
  assert_int_equal(scalars.step, 0);
}

TEST(scalars_start_at_zero) {
  on_every_table(scalars_start);
}

TEST(a_stride_is_its_own_stride) {
  static const enum dtype types[] = {F32, BF16, F64};
  for (int t = 0; t < 3; t++)
    for (int64_t cols = 1; cols < 3000; cols++) {
      int64_t stride = tensor_stride(types[t], cols);
      assert_true(stride >= cols && stride * dtype_bytes(types[t]) % ROW_BYTES == 0);
      assert_int_equal(tensor_stride(types[t], stride), stride);
    }
}

TEST(a_rate_becomes_a_threshold_and_a_scale) {
  struct dropout half = dropout_of(.5, (struct philox_key){{1, 2}}, NULL);
  assert_int_equal(half.threshold, 32768);
  assert_true(half.scale == 2);
  assert_int_equal(dropout_of(0, (struct philox_key){{1, 2}}, NULL).threshold, 0);
}
