#include "runtime/base/types.h"

#include <stddef.h>

const char *const precision_name[] = {PRECISION_NAMES, NULL};
const char *const layout_name[] = {LAYOUT_NAMES, NULL};
const char *const incidence_name[] = {INCIDENCE_NAMES, NULL};
