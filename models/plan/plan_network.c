#include <ctype.h>
#include <strings.h>

#include "models/plan/plan.h"
#include "partition/graph/grid_cost.h"
#include "runtime/base/base.h"

/* GPUs of a host, unless told otherwise. */
enum { USUAL_SIZE = 8 };

/* "400gbit" and "50GB/s" as seconds a byte; 0: neither. */
static double byte_of(const char *text, size_t length) {
  static const struct {
    const char *name;
    double per_second;
  } unit[] = {{"gbit", 1e9 / 8}, {"GB/s", 1e9}};
  char *end = NULL;
  const double number = isdigit((unsigned char)*text) ? strtod(text, &end) : 0;
  for (int i = 0; i < 2 && end && number > 0; i++) {
    const size_t rest = length - (size_t)(end - text);
    if (rest == strlen(unit[i].name) && strncasecmp(end, unit[i].name, rest) == 0)
      return 1 / (number * unit[i].per_second);
  }
  return 0;
}

static int is_word(const char *text, size_t length, const char *word) {
  return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* A rate takes the place of those that were measured, and that of nothing its start. */
static void set_link(const char *text, size_t length, struct network_link *link) {
  if (is_word(text, length, "nvlink") || is_word(text, length, "measured")) return;
  link->byte = byte_of(text, length);
  link->reduce_byte = 0;
}

int plan_network(const char *text, const struct cost_model *gpu, struct network *network) {
  *network = grid_cost_network(gpu, USUAL_SIZE);
  if (!text) return OK;
  const size_t within = strcspn(text, ",");
  const char *between = text + within + (text[within] == ',');
  const size_t length = strcspn(between, ",");
  const double measured = network->within.byte;
  set_link(text, within, &network->within);
  if (network->within.byte != measured) network->stored = network->within;
  set_link(between, length, &network->between);
  if (between[length] == ',') network->local_size = atoi(between + length + 1);
  if (!(network->within.byte > 0) || !(network->between.byte > 0) || network->local_size < 1)
    FAIL(BAD_INPUT,
         "--network %s: \"nvlink,400gbit,8\" is wanted: what a GPU sends inside a host, nvlink or a rate; "
         "between hosts, a rate or measured; and, unless 8, the GPUs of a host. Rates are in gbit or GB/s",
         text);
  return OK;
}
