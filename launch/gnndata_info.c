/* gnndata info */
#include "launch/gnndata.h"
#include "runtime/error.h"

int gnndata_info(int argc, char **argv) {
  (void)argc, (void)argv;
  FAIL(BAD_INPUT, "gnndata info is not there yet");
}
