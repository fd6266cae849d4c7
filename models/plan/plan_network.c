#include <ctype.h>
#include <strings.h>

#include "models/plan/plan.h"
#include "runtime/base/base.h"

/* Seconds of the first byte between hosts, by InfiniBand: MPI and NCCL take 10 to 30 us. */
static const double between_start = 30e-6;

/* Bytes a second of a GPU between hosts, unless told otherwise: a port of 400 Gbit/s for each. */
static const double usual_rate = 50e9;

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

static struct network_link link_of(const struct cost_exchange *measured) {
  return (struct network_link){measured->start * 1e-12, measured->byte * 1e-12,
                               measured->reduce_start * 1e-12};
}

static int is_word(const char *text, size_t length, const char *word) {
  return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* Between hosts as measured, where it was, else a usual network. */
static void set_usual(const struct cost_model *gpu, struct network *network) {
  network->within = link_of(&gpu->exchange);
  network->between = link_of(&gpu->between);
  network->beside = gpu->exchange.beside;
  network->local_size = 8;
  if (network->between.byte > 0) return;
  network->between = (struct network_link){between_start, 1 / usual_rate, between_start};
}

/* A rate takes the place of what was measured, and that of nothing its start. */
static void set_link(const char *text, size_t length, struct network_link *link) {
  if (!is_word(text, length, "nvlink") && !is_word(text, length, "measured"))
    link->byte = byte_of(text, length);
}

int plan_network(const char *text, const struct cost_model *gpu, struct network *network) {
  set_usual(gpu, network);
  if (!text) return OK;
  const size_t within = strcspn(text, ",");
  const char *between = text + within + (text[within] == ',');
  const size_t length = strcspn(between, ",");
  set_link(text, within, &network->within);
  set_link(between, length, &network->between);
  if (between[length] == ',') network->local_size = atoi(between + length + 1);
  if (!(network->within.byte > 0) || !(network->between.byte > 0) || network->local_size < 1)
    FAIL(BAD_INPUT,
         "--network %s: \"nvlink,400gbit,8\" is wanted: what a GPU sends inside a host, nvlink or a rate; "
         "between hosts, a rate or measured; and, unless 8, the GPUs of a host. Rates are in gbit or GB/s",
         text);
  return OK;
}
