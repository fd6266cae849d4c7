/* The functions that can be made to fail. All of them take numbers and pointers only, at most eight, so that
 * one shape of call passes on the arguments of each, as the calling conventions of x86-64 and AArch64 let it.
 */
#include <errno.h>
#include <mpi.h>
#include <stddef.h>

#include "faults/fault.h"

typedef long function(long, long, long, long, long, long, long, long);

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define ARGUMENTS long a, long b, long c, long d, long e, long f, long g, long h
#define INTERCEPT(symbol, place)                        \
  long intercept_##symbol(ARGUMENTS) __asm__(#symbol);  \
  FAULT_CALL call_##symbol = {#symbol, place, 0, NULL}; \
  long intercept_##symbol(ARGUMENTS)
#define PASS_ON(symbol) ((function *)fault_next(&call_##symbol))(a, b, c, d, e, f, g, h)
#define STRIKES(symbol) fault_strikes(&call_##symbol, CALLER, a, b)

/* Fails with `failed`, and errno. */
#define FAILS(symbol, place, failed)                           \
  INTERCEPT(symbol, place) {                                   \
    return STRIKES(symbol) ? (long)(failed) : PASS_ON(symbol); \
  }

/* The C library looks up functions with memory of its own: these have names to be called by. */
#define MEMORY(symbol)                                                  \
  extern function real_##symbol __asm__("__libc_" #symbol);             \
  INTERCEPT(symbol, FAULT_NO_FILE) {                                    \
    return STRIKES(symbol) ? 0 : real_##symbol(a, b, c, d, e, f, g, h); \
  }

MEMORY(malloc)
MEMORY(calloc)
MEMORY(realloc)
FAILS(posix_memalign, FAULT_NO_FILE, ENOMEM)
FAILS(aligned_alloc, FAULT_NO_FILE, 0)
FAILS(mmap, FAULT_NO_FILE, -1)
FAILS(strdup, FAULT_NO_FILE, 0)
FAILS(strndup, FAULT_NO_FILE, 0)
FAILS(fmemopen, FAULT_NO_FILE, 0)
FAILS(open_memstream, FAULT_NO_FILE, 0)

FAILS(open, FAULT_PATH, -1)
FAILS(open64, FAULT_PATH, -1)
FAILS(openat, FAULT_PATH_AT, -1)
FAILS(opendir, FAULT_PATH, 0)
FAILS(fdopendir, FAULT_DESCRIPTOR, 0)
FAILS(dup2, FAULT_DESCRIPTOR, -1)
FAILS(fcntl, FAULT_DESCRIPTOR, -1)
FAILS(fcntl64, FAULT_DESCRIPTOR, -1)
FAILS(fsync, FAULT_DESCRIPTOR, -1)
FAILS(ftruncate, FAULT_DESCRIPTOR, -1)
FAILS(ftruncate64, FAULT_DESCRIPTOR, -1)
FAILS(flock, FAULT_DESCRIPTOR, -1)
FAILS(rename, FAULT_PATH, -1)
FAILS(renameat, FAULT_PATH_AT, -1)
FAILS(unlink, FAULT_PATH, -1)
FAILS(unlinkat, FAULT_PATH_AT, -1)
FAILS(mkdir, FAULT_PATH, -1)
FAILS(mkdirat, FAULT_PATH_AT, -1)
FAILS(stat, FAULT_PATH, -1)
FAILS(fstatat, FAULT_PATH_AT, -1)
FAILS(fstat, FAULT_DESCRIPTOR, -1)
FAILS(fts_open, FAULT_NO_FILE, 0)
FAILS(scandir, FAULT_PATH, -1)
FAILS(scandirat, FAULT_PATH_AT, -1)

FAILS(fork, FAULT_NO_FILE, -1)
FAILS(pipe2, FAULT_NO_FILE, -1)
FAILS(waitpid, FAULT_NO_FILE, -1)
FAILS(pthread_create, FAULT_NO_FILE, EAGAIN)
FAILS(inflateInit2_, FAULT_NO_FILE, -4) /* Z_MEM_ERROR */

/* A descriptor is closed even so. */
INTERCEPT(close, FAULT_DESCRIPTOR) {
  int strikes = STRIKES(close), error = errno;
  long result = PASS_ON(close);
  if (!strikes) return result;
  errno = error;
  return -1;
}

#define TRANSFERS(symbol)               \
  INTERCEPT(symbol, FAULT_DESCRIPTOR) { \
    if (STRIKES(symbol)) {              \
      if (!fault_shortens()) return -1; \
      if (c > 1) c /= 2;                \
    }                                   \
    return PASS_ON(symbol);             \
  }

TRANSFERS(read)
TRANSFERS(write)
TRANSFERS(pread)
TRANSFERS(pwrite)
TRANSFERS(pread64)
TRANSFERS(pwrite64)

/* Generated: all functions of MPI and HDF5 that the programs call. */
#define MPI_CALL(symbol) FAILS(symbol, FAULT_NO_FILE, MPI_ERR_OTHER)
#define H5_CALL(symbol) FAILS(symbol, FAULT_NO_FILE, -1)
#define H5_NONE(symbol) FAILS(symbol, FAULT_NO_FILE, 0)
#include "fault_libraries.h"
