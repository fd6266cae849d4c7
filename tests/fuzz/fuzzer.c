/* The entry of libFuzzer. One program holds all targets; GNNTRAIN_FUZZ_TARGET names the one to feed. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/target.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

static _Noreturn void explain(void) {
  fputs("GNNTRAIN_FUZZ_TARGET=NAME names what is fed; there are:\n", stderr);
  for (const struct fuzz_target *t = fuzz_targets; t->name; t++) fprintf(stderr, "  %s\n", t->name);
  exit(2);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *name = getenv("GNNTRAIN_FUZZ_TARGET");
  target = name ? fuzz_find(name) : NULL;
  if (!target) explain();
  fuzz_start();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  target->feed(data, size);
  return 0;
}
