/* gnndata partition */
#include "launch/gnndata.h"
#include "runtime/error.h"

int gnndata_partition(int argc, char **argv) {
  (void)argc, (void)argv;
  FAIL(BAD_INPUT, "gnndata partition is not there yet");
}
