#include "io/import/import_split.h"

#include <math.h>

#include "io/import/import_split_file.h"
#include "io/import/option.h"
#include "io/import/splits.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

int split_rule_parse(struct split_rule *rule, const char *text) {
  *rule = (struct split_rule){.kind = SPLIT_FILE};
  if (option_has_prefix(text, "random:")) rule->kind = SPLIT_RANDOM;
  if (option_has_prefix(text, "per-class:")) rule->kind = SPLIT_PER_CLASS;
  if (rule->kind == SPLIT_FILE) return OK;
  char *end = strchr(text, ':');
  int good = 1;
  for (int i = 0; i < 2; i++) {
    const char *number = end + 1;
    double value = strtod(number, &end);
    good = good && end != number && value >= 0 && *end == (i == 0 ? ',' : '\0');
    if (!good) break;
    *(i == 0 ? &rule->train : &rule->val) = value;
  }
  double limit = rule->kind == SPLIT_RANDOM ? 1 : INT32_MAX;
  good = good && rule->train + rule->val <= limit + 1e-9;
  if (good && rule->kind == SPLIT_PER_CLASS)
    good = rule->train == floor(rule->train) && rule->val == floor(rule->val);
  if (!good)
    FAIL(BAD_INPUT,
         "--split %s: expected random:TRAIN,VAL with fractions of at most 1 together, or per-class:TRAIN,VAL "
         "with counts",
         text);
  return OK;
}

/* A labelled node with its random key: sorting by key is a random permutation. */
struct ticket {
  uint64_t key;
  int64_t node;
};

static int compare_tickets(const void *a, const void *b) {
  const struct ticket *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static int64_t draw_tickets(const struct import *import, int64_t k, struct ticket *ticket) {
  const struct dataset_source *source = &import->source;
  struct philox_key key = random_key((uint64_t)import->options->seed, (uint32_t)k, 0, RANDOM_SPLIT);
  int64_t count = 0;
  for (int64_t v = 0; v < source->nodes; v++) {
    if (source->label && source->label[v] < 0) continue;
    struct philox_block block = random_block(key, (uint64_t)v, 0);
    ticket[count++] = (struct ticket){(uint64_t)block.word[0] << 32 | block.word[1], v};
  }
  qsort(ticket, (size_t)count, sizeof *ticket, compare_tickets);
  return count;
}

/* used[c]: nodes of class c handed out so far; without classes there is one. */
static void deal_parts(const struct import *import, const struct split_rule *rule,
                       const struct ticket *ticket, int64_t count, int64_t *used, uint8_t *part) {
  int by_class = rule->kind == SPLIT_PER_CLASS;
  int64_t train = by_class ? (int64_t)rule->train : llround(rule->train * (double)count);
  int64_t val = by_class ? (int64_t)rule->val : llround((rule->train + rule->val) * (double)count) - train;
  memset(part, NO_PART, (size_t)import->source.nodes);
  for (int64_t i = 0; i < count; i++) {
    int64_t *mine = &used[by_class ? import->source.label[ticket[i].node] : 0];
    part[ticket[i].node] = *mine < train ? SPLIT_TRAIN : *mine < train + val ? SPLIT_VAL : SPLIT_TEST;
    ++*mine;
  }
}

static int split_once(struct import *import, const struct split_rule *rule, int64_t k, struct ticket *ticket,
                      uint8_t *part) {
  struct dataset_source *source = &import->source;
  int64_t *used, classes = rule->kind == SPLIT_PER_CLASS ? source->classes : 1;
  TRY(memory_arrays("counts a class", ROOM(&used, classes)));
  int64_t count = draw_tickets(import, k, ticket);
  deal_parts(import, rule, ticket, count, used, part);
  for (int64_t c = 0; k == 0 && rule->kind == SPLIT_PER_CLASS && c < classes; c++) {
    if ((double)used[c] < rule->train + rule->val)
      log_warn("class %lld has %lld nodes, fewer than %.0f for training and validation", (long long)c,
               (long long)used[c], rule->train + rule->val);
  }
  free(used);
  return splits_list(source, k, part, source->nodes);
}

static int split_random(struct import *import, const struct split_rule *rule) {
  struct dataset_source *source = &import->source;
  if (rule->kind == SPLIT_PER_CLASS && source->task != TASK_MULTICLASS)
    FAIL(BAD_INPUT, "--split per-class needs one label a node; this graph has %s",
         source->task == TASK_NONE ? "no labels" : "several");
  int64_t splits = import->options->splits;
  TRY(splits_new(source, splits));
  struct ticket *ticket;
  TRY(memory_arrays("a random order of the nodes", ROOM(&ticket, source->nodes)));
  uint8_t *part = NULL;
  int code = memory_alloc(&part, source->nodes, "the parts of a split");
  for (int64_t k = 0; code == OK && k < splits; k++) code = split_once(import, rule, k, ticket, part);
  free_all(part, ticket);
  return code;
}

static void clean_list(const int32_t *label, int64_t *node, int64_t *count, int64_t *dropped) {
  int64_t kept = 0;
  for (int64_t i = 0; i < *count; i++) {
    if (label[node[i]] >= 0) node[kept++] = node[i];
  }
  *dropped += *count - kept;
  *count = kept;
}

static void clean_splits(struct import *import) {
  struct dataset_source *source = &import->source;
  for (int64_t k = 0; source->label && k < source->splits; k++) {
    struct split_list *list = &source->split[k];
    for (int p = 0; p < SPLIT_COUNT; p++)
      clean_list(source->label, list->node[p], &list->count[p], &import->unlabelled);
  }
}

int import_split(struct import *import) {
  const char *text = import->options->split;
  struct split_rule rule;
  if (text) {
    TRY(split_rule_parse(&rule, text));
    if (rule.kind != SPLIT_FILE) {
      TRY(split_random(import, &rule));
    } else if (option_has_suffix(text, ".npz")) {
      TRY(split_from_npz(&import->source, text));
    } else {
      TRY(split_from_text(&import->source, text));
    }
  }
  clean_splits(import);
  return OK;
}
