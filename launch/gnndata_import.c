/* gnndata import */
#include "launch/gnndata.h"
#include "runtime/error.h"

int gnndata_import(int argc, char **argv) {
  (void)argc, (void)argv;
  FAIL(BAD_INPUT, "gnndata import is not there yet");
}
