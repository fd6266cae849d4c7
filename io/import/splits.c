#include "io/import/splits.h"

#include "runtime/base/base.h"

static void free_splits(struct dataset_source *source) {
  for (int64_t k = 0; k < source->splits; k++) {
    for (int p = 0; p < SPLIT_COUNT; p++) free(source->split[k].node[p]);
  }
  free(source->split);
  source->split = NULL;
  source->splits = 0;
}

int splits_new(struct dataset_source *source, int64_t splits) {
  free_splits(source);
  TRY(memory_arrays("splits", ROOM(&source->split, splits)));
  source->splits = splits;
  return OK;
}

int splits_list(struct dataset_source *source, int64_t k, const uint8_t *part, int64_t nodes) {
  struct split_list *list = &source->split[k];
  for (int64_t v = 0; v < nodes; v++) {
    if (part[v] != NO_PART) list->count[part[v]]++;
  }
  for (int p = 0; p < SPLIT_COUNT; p++) {
    TRY(memory_arrays("a split", ROOM(&list->node[p], list->count[p])));
    list->count[p] = 0;
  }
  for (int64_t v = 0; v < nodes; v++) {
    if (part[v] != NO_PART) list->node[part[v]][list->count[part[v]]++] = v;
  }
  return OK;
}

int splits_put(uint8_t *part, int64_t nodes, int64_t node, int p, const char *place) {
  if (node < 0 || node >= nodes)
    FAIL(BAD_INPUT, "%s: node %lld is outside 0 .. %lld", place, (long long)node, (long long)nodes - 1);
  if (part[node] != NO_PART)
    FAIL(BAD_INPUT, "%s: node %lld is in %s and again in %s", place, (long long)node, split_name[part[node]],
         split_name[p]);
  part[node] = (uint8_t)p;
  return OK;
}
