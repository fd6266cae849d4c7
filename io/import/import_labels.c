#include "io/import/import_labels.h"

#include <math.h>
#include <strings.h>

#include "io/dataset/ids.h"
#include "io/file/text.h"
#include "io/import/import.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

void import_drop_labels(struct dataset_source *source) {
  free_all(source->label, source->labels, source->names.class_name);
  source->label = NULL;
  source->labels = NULL;
  source->names.class_name = NULL;
  source->classes = 0;
  source->task = TASK_NONE;
}

/* A label file in memory: the label of each node, by number of import->labels. */
struct label_list {
  struct import *import;
  int32_t *label;    /* [nodes]; -1: none */
  int64_t count;     /* lines for nodes of the graph */
  int64_t strangers; /* and for others */
};

static void list_free(struct label_list *list) {
  free(list->label);
}

static int list_add(struct label_list *list, const struct text *text, int64_t node, const char *word) {
  int is_new;
  const char *fault = dataset_text_fault(word, DATASET_CLASS_NAME, 1);
  if (fault) TEXT_FAIL(text, "the label %s", fault);
  list->count++;
  return texts_add(&list->import->labels, word, &list->label[node], &is_new);
}

/* The node of an id; -1: none. */
static int find_node(const struct import *import, const struct text *text, char *word, int64_t *node) {
  const struct dataset_source *source = &import->source;
  int64_t id;
  if (import->ids.count) {
    *node = texts_find(&import->ids, text_word(&word));
    return OK;
  }
  TRY(text_int(text, &word, &id, "a node id"));
  *node = ids_find(source->names.id, source->nodes, id);
  return OK;
}

/* "label" or "id label"; *columns is settled by the first line. */
static int read_line(struct label_list *list, const struct text *text, char *line, int *columns) {
  const struct dataset_source *source = &list->import->source;
  char quote[TEXT_QUOTE], *rest = line;
  int64_t node = list->count;
  const char *shown = text_quote(line, quote);
  int alone = text_word(&rest) && !text_more(&rest);
  if (!*columns) *columns = alone ? 1 : 2;
  if (alone != (*columns == 1))
    TEXT_FAIL(text, "expected %s as in the first line, found %s",
              *columns == 1 ? "a label" : "an id and a label", shown);
  if (*columns == 2) {
    TRY(find_node(list->import, text, line, &node));
    line = rest;
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
  if (list->label[node] >= 0) TEXT_FAIL(text, "node %s has two labels", shown);
  return list_add(list, text, node, word);
}

static int read_list(struct label_list *list, struct text *text, const char *path) {
  const struct dataset_source *source = &list->import->source;
  char *line;
  int columns = 0;
  TRY(memory_arrays("labels", ROOM(&list->label, source->nodes)));
  memset(list->label, 0xff, (size_t)source->nodes * sizeof *list->label);
  TRY(text_open(text, path));
  for (;;) {
    TRY(text_row(text, "#", &line));
    if (!line) break;
    TRY(read_line(list, text, line, &columns));
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

/* The class of each text: its value where all are numbers; else *classes texts that are labels, sorted into
 * `sorted`, get their place among them. -1: no label. */
static void rank_texts(const struct texts *texts, int64_t *value, const char **sorted, int64_t *classes) {
  int64_t numbers = 0;
  while (numbers < texts->count && parse_integer(texts_at(texts, numbers), &value[numbers])) numbers++;
  *classes = 0;
  if (numbers == texts->count) return;
  for (int64_t i = 0; i < texts->count; i++) {
    if (!is_no_label(texts_at(texts, i))) sorted[(*classes)++] = texts_at(texts, i);
  }
  qsort(sorted, (size_t)*classes, sizeof *sorted, compare_words);
  for (int64_t i = 0; i < texts->count; i++) {
    const char *text = texts_at(texts, i);
    const char **found = bsearch(&text, sorted, (size_t)*classes, sizeof *sorted, compare_words);
    value[i] = found ? found - sorted : -1;
  }
}

int import_label_texts(struct import *import, const int32_t *label, int64_t nodes, const char *name) {
  const struct texts *texts = &import->labels;
  FREED int64_t *of_text = NULL, *value = NULL;
  FREED const char **sorted = NULL;
  int64_t classes;
  TRY(memory_arrays("labels", ROOM(&of_text, texts->count), ROOM(&value, nodes),
                    ROOM(&sorted, texts->count)));
  rank_texts(texts, of_text, sorted, &classes);
  for (int64_t v = 0; v < nodes; v++) value[v] = label[v] < 0 ? -1 : of_text[label[v]];
  TRY(import_label_values(&import->source, value, nodes, name));
  if (classes == 0) return OK;
  import->source.names.class_name = sorted;
  sorted = NULL;
  return OK;
}

int import_label_text(struct import *import, const char *path) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(list_free) struct label_list list = {.import = import};
  TRY(read_list(&list, &text, path));
  return import_label_texts(import, list.label, import->source.nodes, path);
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
  return import_label_text(import, option);
}
