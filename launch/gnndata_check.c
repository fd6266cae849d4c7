/* gnndata check */
#include "launch/gnndata.h"
#include "runtime/error.h"

int gnndata_check(int argc, char **argv) {
  (void)argc, (void)argv;
  FAIL(BAD_INPUT, "gnndata check is not there yet");
}
