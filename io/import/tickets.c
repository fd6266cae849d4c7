#include "io/import/tickets.h"

#include "io/import/graph_set.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

static int compare_tickets(const void *a, const void *b) {
  const struct ticket *x = a, *y = b;
  return x->key != y->key ? COMPARE(x->key, y->key) : COMPARE(x->item, y->item);
}

/* Ranges of keys, each of which one thread sorts. */
enum { RANGE_BITS = 12, RANGES = 1 << RANGE_BITS };

/* The item's ticket, and the range of its key; -1: it has no label. */
static int64_t draw_ticket(const struct dataset_source *source, struct philox_key key, int64_t item,
                           struct ticket *ticket) {
  const int64_t node = source_node_of(source, item);
  if (source->label && source->label[node] < 0) return -1;
  struct philox_block block = random_block(key, (uint64_t)node, 0);
  *ticket = (struct ticket){(uint64_t)block.word[0] << 32 | block.word[1], item};
  return (int64_t)(ticket->key >> (64 - RANGE_BITS));
}

int64_t tickets_draw(const struct import *import, int64_t k, struct ticket *ticket) {
  const struct dataset_source *source = &import->source;
  const int64_t items = source_items(source);
  const struct philox_key key = random_key((uint64_t)import->options->seed, (uint32_t)k, 0, RANDOM_SPLIT);
  int64_t end[RANGES + 1] = {0}; /* end[r] runs from where range r begins to where it ends */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < items; i++) {
    struct ticket drawn;
    const int64_t range = draw_ticket(source, key, i, &drawn);
    if (range < 0) continue;
#pragma omp atomic
    end[range + 1]++;
  }
  for (int r = 0; r < RANGES; r++) end[r + 1] += end[r];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < items; i++) {
    struct ticket drawn;
    int64_t at;
    const int64_t range = draw_ticket(source, key, i, &drawn);
    if (range < 0) continue;
#pragma omp atomic capture
    at = end[range]++;
    ticket[at] = drawn;
  }
#pragma omp parallel for schedule(dynamic, 16)
  for (int r = 0; r < RANGES; r++) {
    const int64_t first = r ? end[r - 1] : 0;
    qsort(ticket + first, (size_t)(end[r] - first), sizeof *ticket, compare_tickets);
  }
  return end[RANGES - 1];
}
