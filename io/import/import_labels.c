#include "io/import/import_labels.h"

#include <math.h>
#include <strings.h>

#include "io/dataset/ids.h"
#include "io/file/text.h"
#include "io/import/import.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

void import_drop_labels(struct dataset_source *source) {
  free_all(source->label, source->labels);
  source->label = NULL;
  source->labels = NULL;
  source->classes = 0;
  source->task = TASK_NONE;
}

/* A label file in memory: node v has the word at text + at[v]. */
struct label_list {
  char *text;
  int64_t used, size;
  int64_t *at;       /* [nodes]; 0: none */
  int64_t count;     /* lines for nodes of the graph */
  int64_t strangers; /* and for others */
};

static void list_free(struct label_list *list) {
  free_all(list->text, list->at);
}

static int list_add(struct label_list *list, int64_t node, const char *word) {
  int64_t length = (int64_t)strlen(word) + 1;
  if (list->used + length > list->size) {
    int64_t size = 2 * (list->size + length);
    TRY(memory_grow(&list->text, list->used, size, "labels"));
    list->size = size;
  }
  list->at[node] = list->used;
  memcpy(list->text + list->used, word, (size_t)length);
  list->used += length;
  list->count++;
  return OK;
}

/* "label" or "id label"; *columns is settled by the first line. */
static int read_line(struct label_list *list, const struct dataset_source *source, const struct text *text,
                     char *line, int *columns) {
  char quote[TEXT_QUOTE], *rest = line;
  int64_t id = 0, node = list->count;
  const char *shown = text_quote(line, quote);
  int alone = text_word(&rest) && !text_more(&rest);
  if (!*columns) *columns = alone ? 1 : 2;
  if (alone != (*columns == 1))
    TEXT_FAIL(text, "expected %s as in the first line, found %s",
              *columns == 1 ? "a label" : "an id and a label", shown);
  if (*columns == 2) {
    TRY(text_int(text, &line, &id, "a node id"));
    line = rest;
    node = ids_find(source->id, source->nodes, id);
  }
  char *word = text_word(&line);
  if (!word) TEXT_FAIL(text, "expected a label, found %s", shown);
  TRY(text_end(text, &line, "one label a line"));
  if (node < 0) {
    list->strangers++;
    return OK;
  }
  if (node >= source->nodes)
    TEXT_FAIL(text, "there are more labels than the %lld nodes", (long long)source->nodes);
  if (list->at[node]) TEXT_FAIL(text, "node %lld has two labels", (long long)id);
  return list_add(list, node, word);
}

static int read_list(struct label_list *list, const struct dataset_source *source, struct text *text,
                     const char *path) {
  char *line;
  int columns = 0;
  *list = (struct label_list){.used = 1, .size = 1 << 16}; /* the first byte stands for no word */
  TRY(memory_arrays("labels", ROOM(&list->text, list->size), ROOM(&list->at, source->nodes)));
  TRY(text_open(text, path));
  for (;;) {
    TRY(text_row(text, "#", &line));
    if (!line) break;
    TRY(read_line(list, source, text, line, &columns));
  }
  if (columns != 2 && list->count < source->nodes)
    TEXT_FAIL(text, "the file ends after %lld labels of %lld nodes", (long long)list->count,
              (long long)source->nodes);
  if (list->strangers)
    log_warn("%s: %lld labels are for ids that are not in the graph", path, (long long)list->strangers);
  return OK;
}

/* A whole number, also as floating point ("-1", "3.0", "1.00e+01"); nan is -1: no label. 0: another word. */
static int parse_integer(const char *word, int64_t *value) {
  const double exact = 9007199254740992.0; /* 2^53 */
  char *end;
  errno = 0;
  *value = -1;
  if (strcasecmp(word, "nan") == 0) return 1;
  *value = strtoll(word, &end, 10);
  if (end != word && !*end && !errno) return 1;
  if (word[strspn(word, "+-.0123456789eE")] != '\0') return 0;
  double real = strtod(word, &end);
  if (end == word || *end || !(fabs(real) <= exact) || floor(real) < real) return 0;
  *value = (int64_t)real;
  return 1;
}

static int is_no_label(const char *word) {
  int64_t value;
  return parse_integer(word, &value) && value == -1;
}

static int compare_words(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Words become their place among the distinct ones, sorted; but for those that are no label. */
static int rank_words(const struct label_list *list, int64_t nodes, int64_t *value) {
  FREED const char **sorted = NULL;
  TRY(memory_arrays("labels", ROOM(&sorted, list->count)));
  int64_t words = 0, distinct = 0;
  for (int64_t v = 0; v < nodes; v++) {
    const char *word = list->text + list->at[v];
    if (list->at[v] && !is_no_label(word)) sorted[words++] = word;
  }
  qsort(sorted, (size_t)words, sizeof *sorted, compare_words);
  for (int64_t i = 0; i < words; i++) {
    if (i == 0 || strcmp(sorted[i], sorted[distinct - 1]) != 0) sorted[distinct++] = sorted[i];
  }
  for (int64_t v = 0; v < nodes; v++) {
    const char *word = list->text + list->at[v];
    const char **found = bsearch(&word, sorted, (size_t)distinct, sizeof *sorted, compare_words);
    value[v] = list->at[v] && found ? found - sorted : -1;
  }
  return OK;
}

/* value: one a node, -1 where it has no label. */
static int list_values(const struct label_list *list, int64_t nodes, int64_t *value) {
  for (int64_t v = 0; v < nodes; v++) {
    value[v] = -1;
    if (list->at[v] && !parse_integer(list->text + list->at[v], &value[v]))
      return rank_words(list, nodes, value);
  }
  return OK;
}

static int refuse_label(const char *name, int64_t label, int64_t node) {
  FAIL(BAD_INPUT, "%s: label %lld of node %lld; allowed: -1 (none) and more", name, (long long)label,
       (long long)node);
}

int import_label_values(struct dataset_source *source, int64_t *value, int64_t nodes, const char *name) {
  import_drop_labels(source);
  TRY(memory_arrays("labels", ROOM(&source->label, nodes)));
  FREED int64_t *known = NULL, *class_value = NULL;
  int64_t count = 0, classes = 0;
  TRY(memory_arrays("labels", ROOM(&known, nodes)));
  int64_t bad = -1;
  for (int64_t v = 0; v < nodes; v++) {
    if (value[v] < -1) bad = v;
    if (value[v] >= 0) known[count++] = value[v];
  }
  if (bad >= 0) return refuse_label(name, value[bad], bad);
  TRY(ids_rank(known, count, &class_value, &classes));
  for (int64_t v = 0, i = 0; v < nodes; v++) source->label[v] = value[v] < 0 ? -1 : (int32_t)known[i++];
  if (class_value)
    log_info("labels %lld .. %lld became classes 0 .. %lld", (long long)class_value[0],
             (long long)class_value[classes - 1], (long long)classes - 1);
  if (!classes) FAIL(BAD_INPUT, "%s: no node has a label", name);
  if (classes > DATASET_CLASSES)
    FAIL(BAD_INPUT, "%s: has %lld different labels; at most %d are allowed", name, (long long)classes,
         DATASET_CLASSES);
  source->classes = classes;
  source->task = TASK_MULTICLASS;
  return OK;
}

static int labels_from_text(struct dataset_source *source, const char *path) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(list_free) struct label_list list = {0};
  TRY(read_list(&list, source, &text, path));
  FREED int64_t *value = NULL;
  TRY(memory_arrays("labels", ROOM(&value, source->nodes)));
  TRY(list_values(&list, source->nodes, value));
  return import_label_values(source, value, source->nodes, path);
}

static int single_labels(struct dataset_source *source, const struct npy *array, int64_t nodes) {
  FREED int64_t *value = NULL;
  TRY(memory_arrays("labels", ROOM(&value, nodes)));
  for (int64_t v = 0; v < nodes; v++) {
    value[v] = -1;
    if (!npy_is_nan(array, v)) TRY(npy_int64(array, v, 1, &value[v]));
  }
  return import_label_values(source, value, nodes, array->name);
}

static int multi_labels(struct dataset_source *source, const struct npy *array) {
  import_drop_labels(source);
  TRY(memory_alloc(&source->labels, array->count, "labels"));
  for (int64_t i = 0; i < array->count; i++) {
    int64_t value;
    TRY(npy_int64(array, i, 1, &value));
    if (value != 0 && value != 1)
      FAIL(BAD_INPUT, "%s: label %lld of node %lld is %lld; allowed: 0, 1", array->name,
           (long long)(i % array->dim[1]), (long long)(i / array->dim[1]), (long long)value);
    source->labels[i] = (uint8_t)value;
  }
  source->classes = array->dim[1];
  source->task = TASK_MULTILABEL;
  return OK;
}

int import_label_array(struct import *import, const struct npy *array) {
  struct dataset_source *source = &import->source;
  int64_t nodes = import_nodes(import);
  int single = array->dims == 1 || (array->dims == 2 && array->dim[1] == 1);
  if (array->dims < 1 || array->dims > 2 || array->dim[0] != nodes || array->count == 0)
    FAIL(BAD_INPUT, "%s: has %lld rows and %d dimensions, expected [%lld nodes] or [%lld nodes, classes]",
         array->name, array->dims ? (long long)array->dim[0] : 0, array->dims, (long long)nodes,
         (long long)nodes);
  if (!single && array->dim[1] > DATASET_CLASSES)
    FAIL(BAD_INPUT, "%s: has %lld classes; at most %d are allowed", array->name, (long long)array->dim[1],
         DATASET_CLASSES);
  return single ? single_labels(source, array, nodes) : multi_labels(source, array);
}

static int labels_from_npy(struct import *import, const char *path) {
  ENDED_BY(npy_free) struct npy array = {0};
  TRY(npy_read(&array, path));
  return import_label_array(import, &array);
}

static int random_labels(struct import *import, const char *number) {
  struct dataset_source *source = &import->source;
  int64_t classes;
  TRY(option_count("--labels random:", number, 1, DATASET_CLASSES, &classes));
  import_drop_labels(source);
  TRY(memory_arrays("labels", ROOM(&source->label, source->nodes)));
  struct philox_key key = random_key((uint64_t)import->options->seed, 0, 1, RANDOM_IMPORT);
  for (int64_t v = 0; v < source->nodes; v++) {
    struct philox_block block = random_block(key, (uint64_t)v, 0);
    source->label[v] = (int32_t)random_below(block.word[0], block.word[1], (uint64_t)classes);
  }
  source->classes = classes;
  source->task = TASK_MULTICLASS;
  return OK;
}

int import_labels(struct import *import) {
  const char *option = import->options->labels;
  if (!option) return OK;
  if (option_has_prefix(option, "random:")) return random_labels(import, option + 7);
  if (option_has_suffix(option, ".npy")) return labels_from_npy(import, option);
  return labels_from_text(&import->source, option);
}
