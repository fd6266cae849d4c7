/* gnntrain */
#include <string.h>

#include "launch/program.h"

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--version") == 0) print_version("gnntrain");
  return OK;
}
