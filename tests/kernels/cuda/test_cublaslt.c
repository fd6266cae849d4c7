#include "kernels/cuda/gemm/cublaslt.h"

#include "tests/check.h"

/* Without a GPU too: the library is loaded, and asked nothing. */
TEST(the_library_that_was_found_has_each_function) {
  assert_ok(cublaslt_load());
#define ASSERT_THERE(name) assert_non_null((void *)(uintptr_t)cublasLt.name);
  CUBLASLT_CALLS(ASSERT_THERE)
  assert_string_equal(cublasLt.GetStatusString(CUBLAS_STATUS_SUCCESS), "success");
}
