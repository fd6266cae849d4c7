/* gnndata synth */
#include "launch/gnndata.h"
#include "runtime/error.h"

int gnndata_synth(int argc, char **argv) {
  (void)argc, (void)argv;
  FAIL(BAD_INPUT, "gnndata synth is not there yet");
}
