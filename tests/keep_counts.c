/* Of a program that counts which of its lines are run (GNNTRAIN_COVERAGE): what it counted is kept where it
 * ends without leaving main, too. Signals of others that end it at once lose it. */
#include <gcov.h>
#include <mpi.h>
#include <signal.h>

_Noreturn void __wrap__exit(int code);
int __wrap_raise(int number);
int __wrap_MPI_Abort(MPI_Comm comm, int code);
_Noreturn void __real__exit(int code);
int __real_raise(int number);
int __real_MPI_Abort(MPI_Comm comm, int code);

void __wrap__exit(int code) {
  __gcov_dump();
  __real__exit(code);
}

int __wrap_raise(int number) {
  __gcov_dump();
  return __real_raise(number);
}

int __wrap_MPI_Abort(MPI_Comm comm, int code) {
  __gcov_dump();
  return __real_MPI_Abort(comm, code);
}
