#include "io/dataset/dataset_violation.h"

#include <stdarg.h>
#include <stdio.h>

enum { SAID_A_KIND = 20 };

void check_violation(struct check *c, enum violation_kind kind, const char *format, ...) {
  char text[512];
  va_list arguments;
  c->found++;
  if (++c->of_kind[kind] > SAID_A_KIND) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  c->say(text, c->context);
}
