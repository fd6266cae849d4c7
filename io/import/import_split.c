#include "io/import/import_split.h"

#include <math.h>

#include "io/file/csv.h"
#include "io/import/graph_set.h"
#include "io/import/import.h"
#include "io/import/tickets.h"
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
    if (part[v] != NO_PART) list->node[part[v]][list->count[part[v]]++] = source_node_of(source, v);
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

static int put_indices(uint8_t *part, int64_t nodes, int p, const struct npy *array) {
  for (int64_t i = 0; i < array->count; i++) {
    int64_t node;
    TRY(npy_int64(array, i, 1, &node));
    TRY(splits_put(part, nodes, node, p, array->name));
  }
  return OK;
}

static int put_mask(uint8_t *part, int64_t nodes, int p, const struct npy *array, int64_t k) {
  for (int64_t v = 0; v < nodes; v++) {
    int64_t inside;
    TRY(npy_int64(array, k * nodes + v, 1, &inside));
    if (inside != 0 && inside != 1)
      FAIL(BAD_INPUT, "%s: element %lld is not 0 or 1", array->name, (long long)(k * nodes + v));
    if (inside) TRY(splits_put(part, nodes, v, p, array->name));
  }
  return OK;
}

/* The three arrays of an archive: lists of nodes or masks. An absent one is an empty part. */
struct split_arrays {
  struct npy array[SPLIT_COUNT];
  int there[SPLIT_COUNT], masks;
  int64_t splits;
};

/* What the names of an archive's arrays end in: lists of nodes, masks of several splits, of one; NULL: none.
 */
static const char *ending_of(const struct npz *npz) {
  static const char *const endings[] = {"masks", "mask", "idx"};
  char name[32];
  for (int i = 0; i < 3; i++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      snprintf(name, sizeof name, "%s_%s", split_name[p], endings[i]);
      if (npz_has(npz, name)) return endings[i];
    }
  }
  return NULL;
}

static int read_arrays(struct split_arrays *arrays, const struct npz *npz, int64_t nodes) {
  const char *ending = ending_of(npz);
  arrays->masks = strcmp(ending, "idx") != 0;
  arrays->splits = arrays->masks ? -1 : 1;
  for (int p = 0; p < SPLIT_COUNT; p++) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", split_name[p], ending);
    arrays->there[p] = npz_has(npz, name);
    if (!arrays->there[p]) continue;
    struct npy *array = &arrays->array[p];
    TRY(npz_read(npz, name, array));
    if (!arrays->masks) {
      TRY(npy_check_dims(array, 1, "a list of nodes"));
      continue;
    }
    int64_t splits = array->dims == 1 ? 1 : array->dim[0], values;
    /* An array without columns may have any number of rows. */
    int fits = !__builtin_mul_overflow(splits, nodes, &values) && array->count == values;
    if (array->dims > 2 || splits < 1 || !fits || (arrays->splits != -1 && splits != arrays->splits))
      FAIL(BAD_INPUT, "%s: expected a mask for each of %lld nodes a split, as many as in %s_%s", array->name,
           (long long)nodes, split_name[SPLIT_TRAIN], ending);
    arrays->splits = splits;
  }
  return OK;
}

static void arrays_free(struct split_arrays *arrays) {
  for (int p = 0; p < SPLIT_COUNT; p++) npy_free(&arrays->array[p]);
}

int import_split_arrays(struct dataset_source *source, const struct npz *npz, int64_t nodes) {
  ENDED_BY(arrays_free) struct split_arrays arrays = {0};
  FREED uint8_t *part = NULL;
  if (!ending_of(npz)) return OK;
  TRY(read_arrays(&arrays, npz, nodes));
  TRY(splits_new(source, arrays.splits));
  TRY(memory_alloc(&part, nodes, "the parts of a split"));
  for (int64_t k = 0; k < arrays.splits; k++) {
    memset(part, NO_PART, (size_t)nodes);
    for (int p = 0; p < SPLIT_COUNT; p++) {
      if (!arrays.there[p]) continue;
      TRY(arrays.masks ? put_mask(part, nodes, p, &arrays.array[p], k)
                       : put_indices(part, nodes, p, &arrays.array[p]));
    }
    TRY(splits_list(source, k, part, nodes));
  }
  return OK;
}

/* train_idx ... or train_masks ... of an archive. */
static int split_from_npz(struct dataset_source *source, const char *path) {
  ENDED_BY(npz_close) struct npz npz = {0};
  TRY(npz_open(&npz, path));
  if (!ending_of(&npz))
    FAIL(BAD_INPUT, "--split %s: has neither train_idx nor train_mask nor train_masks", path);
  return import_split_arrays(source, &npz, source_items(source));
}

int split_part_of(const char *word, size_t length) {
  static const char *const name[] = {"train", "val", "test", [NO_PART] = "none"};
  int p = 0;
  while (p <= NO_PART && (strlen(name[p]) != length || memcmp(word, name[p], length) != 0)) p++;
  return p > NO_PART ? -1 : p;
}

static int take_part(void *context, const struct text *text, char *line, int64_t v) {
  uint8_t *part = context;
  char quote[TEXT_QUOTE];
  text_more(&line);
  size_t length = strcspn(line, " \t,");
  int p = split_part_of(line, length);
  if (p < 0) TEXT_FAIL(text, "expected train, val, test or none, found %s", text_quote(line, quote));
  part[v] = (uint8_t)p;
  line += length;
  return text_end(text, &line, "one word");
}

/* A word a node, or a graph. */
static int split_from_text(struct dataset_source *source, const char *path) {
  const struct csv_reader reader = {.row = take_part, .expected = source_items(source)};
  FREED uint8_t *part = NULL;
  int64_t rows;
  TRY(splits_new(source, 1));
  TRY(memory_alloc(&part, source_items(source), "the parts of a split"));
  TRY(csv_read(path, &reader, part, &rows));
  return splits_list(source, 0, part, source_items(source));
}

/* folds:K. A fold to test on and one to validate on leave one to train on. */
static int parse_folds(struct split_rule *rule, const char *number) {
  enum { FEWEST = 3, MOST = 1000 };
  rule->kind = SPLIT_FOLDS;
  return option_count("--split folds:", number, FEWEST, MOST, &rule->folds);
}

int split_rule_parse(struct split_rule *rule, const char *text) {
  *rule = (struct split_rule){.kind = SPLIT_FILE};
  if (option_has_prefix(text, "folds:")) return parse_folds(rule, text + 6);
  if (option_has_prefix(text, "random:")) rule->kind = SPLIT_RANDOM;
  if (option_has_prefix(text, "per-class:")) rule->kind = SPLIT_PER_CLASS;
  if (rule->kind == SPLIT_FILE && text[strspn(text, "0123456789.")] == ',' &&
      text[strspn(text, "0123456789.,")] == '\0')
    FAIL(BAD_INPUT, "--split %s: did you mean random:%s?", text, text);
  if (rule->kind == SPLIT_FILE) return OK;
  const char *number = strchr(text, ':') + 1;
  int good = 1;
  for (int i = 0; i < 2; i++) {
    char *end;
    double value = strtod(number, &end);
    good = good && end != number && value >= 0 && *end == (i == 0 ? ',' : '\0');
    if (!good) break;
    *(i == 0 ? &rule->train : &rule->val) = value;
    number = end + 1;
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

/* 0 where there are no classes. */
static int64_t class_of(const struct dataset_source *source, int64_t item) {
  return source->label ? source->label[source_node_of(source, item)] : 0;
}

/* used[c]: those of class c handed out so far; without classes there is one. */
static void deal_parts(const struct import *import, const struct split_rule *rule,
                       const struct ticket *ticket, int64_t count, int64_t *used, uint8_t *part) {
  int by_class = rule->kind == SPLIT_PER_CLASS;
  int64_t train = by_class ? (int64_t)rule->train : llround(rule->train * (double)count);
  int64_t val = by_class ? (int64_t)rule->val : llround((rule->train + rule->val) * (double)count) - train;
  memset(part, NO_PART, (size_t)source_items(&import->source));
  for (int64_t i = 0; i < count; i++) {
    int64_t *mine = &used[by_class ? class_of(&import->source, ticket[i].item) : 0];
    part[ticket[i].item] = *mine < train ? SPLIT_TRAIN : *mine < train + val ? SPLIT_VAL : SPLIT_TEST;
    ++*mine;
  }
}

/* Room for drawing splits. */
struct drawing {
  struct ticket *ticket;
  int64_t *used; /* [classes + 2] */
  uint8_t *part;
};

static void drawing_free(struct drawing *drawing) {
  free_all(drawing->ticket, drawing->used, drawing->part);
}

static int split_once(struct import *import, const struct split_rule *rule, int64_t k,
                      struct drawing *drawing) {
  struct dataset_source *source = &import->source;
  const int64_t classes = rule->kind == SPLIT_PER_CLASS ? source->classes : 1, items = source_items(source);
  memset(drawing->used, 0, (size_t)classes * sizeof *drawing->used);
  int64_t count = tickets_draw(import, k, drawing->ticket);
  deal_parts(import, rule, drawing->ticket, count, drawing->used, drawing->part);
  for (int64_t c = 0; k == 0 && rule->kind == SPLIT_PER_CLASS && c < classes; c++) {
    if ((double)drawing->used[c] < rule->train + rule->val)
      log_warn("class %lld has %lld %s, fewer than %.0f for training and validation", (long long)c,
               (long long)drawing->used[c], source->graphs.start ? "graphs" : "nodes",
               rule->train + rule->val);
  }
  return splits_list(source, k, drawing->part, items);
}

/* The fold of each item, NO_FOLD of those without a label: the members of a class go round the folds, and a
 * class begins where the one before has ended, so that folds are alike in size and in classes. */
enum { NO_FOLD = -1 };

static void deal_folds(const struct import *import, int64_t folds, struct drawing *drawing, int64_t *fold) {
  const struct dataset_source *source = &import->source;
  const int64_t count = tickets_draw(import, 0, drawing->ticket);
  int64_t *before = drawing->used; /* how many come before the next one of a class */
  for (int64_t i = 0; i < source_items(source); i++) fold[i] = NO_FOLD;
  for (int64_t i = 0; i < count; i++) before[class_of(source, drawing->ticket[i].item) + 1]++;
  for (int64_t c = 0; c < source->classes; c++) before[c + 1] += before[c];
  for (int64_t i = 0; i < count; i++)
    fold[drawing->ticket[i].item] = before[class_of(source, drawing->ticket[i].item)]++ % folds;
}

/* The part that a fold is in split k. */
static enum split part_of_fold(int64_t fold, int64_t k, int64_t folds) {
  if (fold == k) return SPLIT_TEST;
  return fold == (k + 1) % folds ? SPLIT_VAL : SPLIT_TRAIN;
}

static int split_by_folds(struct import *import, int64_t folds, struct drawing *drawing) {
  struct dataset_source *source = &import->source;
  const int64_t items = source_items(source);
  FREED int64_t *fold = NULL;
  TRY(memory_arrays("folds", ROOM(&fold, items)));
  deal_folds(import, folds, drawing, fold);
  for (int64_t k = 0; k < folds; k++) {
    for (int64_t i = 0; i < items; i++)
      drawing->part[i] = (uint8_t)(fold[i] == NO_FOLD ? NO_PART : (int)part_of_fold(fold[i], k, folds));
    TRY(splits_list(source, k, drawing->part, items));
  }
  return OK;
}

static int split_random(struct import *import, const struct split_rule *rule) {
  struct dataset_source *source = &import->source;
  ENDED_BY(drawing_free) struct drawing drawing = {0};
  if (rule->kind == SPLIT_PER_CLASS && source->task != TASK_MULTICLASS)
    FAIL(BAD_INPUT, "--split per-class needs one label a node; this graph has %s",
         source->task == TASK_NONE ? "no labels" : "several");
  const int64_t splits = rule->kind == SPLIT_FOLDS ? rule->folds : import->options->splits;
  TRY(splits_new(source, splits));
  TRY(memory_arrays("a random order of the nodes", ROOM(&drawing.ticket, source_items(source)),
                    ROOM(&drawing.part, source_items(source)), ROOM(&drawing.used, source->classes + 2)));
  if (rule->kind == SPLIT_FOLDS) return split_by_folds(import, rule->folds, &drawing);
  for (int64_t k = 0; k < splits; k++) TRY(split_once(import, rule, k, &drawing));
  return OK;
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
  const char *text = import->taken.split ? NULL : import->options->split;
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
