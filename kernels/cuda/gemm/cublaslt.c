#include "kernels/cuda/gemm/cublaslt.h"

#include <dlfcn.h>

#include "runtime/base/error.h"

struct cublaslt_calls cublasLt;

static int find(void *library, const char *name, void **call) {
  *call = dlsym(library, name);
  if (!*call) FAIL(FAILED, "cuBLAS: " CUBLASLT_NAME " has no %s", name);
  return OK;
}

/* Where it was when this was built, as a program linked to it would have it, or where the system looks for
 * libraries. */
static void *open_library(void) {
  void *library = dlopen(CUBLASLT_FOLDER "/" CUBLASLT_NAME, RTLD_NOW | RTLD_LOCAL);
  return library ? library : dlopen(CUBLASLT_NAME, RTLD_NOW | RTLD_LOCAL);
}

int cublaslt_load(void) {
  static void *library;
  if (!library) library = open_library();
  if (!library) FAIL(FAILED, "cuBLAS cannot be loaded: %s", dlerror());
#define CUBLASLT_FIND(name) TRY(find(library, "cublasLt" #name, (void **)&cublasLt.name));
  CUBLASLT_CALLS(CUBLASLT_FIND)
#undef CUBLASLT_FIND
  return OK;
}
