#include "io/import/text/hyper_file.h"
#include "runtime/base/base.h"

/* Incidences in the order of the file, then by hyperedge. */
struct incidences {
  int64_t count, capacity;
  struct incidence {
    int64_t edge, place, vertex;
  } * item;
  int64_t declared, left, right, declared_line; /* -1: not */
  int valued;
};

static int add(struct incidences *list, int64_t vertex, int64_t edge) {
  if (list->count == list->capacity) {
    int64_t capacity = 2 * list->capacity + 1024, bytes = (int64_t)sizeof *list->item;
    TRY(memory_grow(&list->item, list->count * bytes, capacity * bytes, "incidences"));
    list->capacity = capacity;
  }
  list->item[list->count] = (struct incidence){edge, list->count, vertex};
  list->count++;
  return OK;
}

static int compare(const void *a, const void *b) {
  const struct incidence *x = a, *y = b;
  if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* "% incidences vertices hyperedges" below the line that says "bip". */
static int read_comment(struct hyper_file *file, struct incidences *list, char *at) {
  int64_t number[3];
  int numbers = 0;
  char *end;
  for (char *word = text_word(&at); word && numbers < 3; word = text_word(&at)) {
    long long value = strtoll(word, &end, 10);
    if (end == word || *end || value < 0) break;
    number[numbers++] = value;
  }
  if (numbers < 3 || list->declared >= 0) return OK;
  list->declared = number[0];
  list->left = number[1];
  list->right = number[2];
  list->declared_line = file->text.line;
  if (list->left > INT32_MAX || list->right > INT32_MAX)
    TEXT_FAIL(&file->text, "%lld vertices and %lld hyperedges; at most %d are allowed", (long long)number[1],
              (long long)number[2], INT32_MAX);
  return OK;
}

static int read_id(struct hyper_file *file, char **at, int64_t most, const char *what, int64_t *id) {
  TRY(text_int(&file->text, at, id, what));
  if (*id < 1 || *id > (most < 0 ? INT32_MAX : most))
    TEXT_FAIL(&file->text, "%s is %lld; 1 to %lld are allowed", what, (long long)*id,
              (long long)(most < 0 ? INT32_MAX : most));
  return OK;
}

static int read_incidence(struct hyper_file *file, struct incidences *list, char *line) {
  int64_t vertex, edge;
  float ignored;
  TRY(read_id(file, &line, list->left, "a vertex", &vertex));
  TRY(read_id(file, &line, list->right, "a hyperedge", &edge));
  for (int i = 0; i < 2 && text_more(&line); i++) {
    TRY(text_real(&file->text, &line, &ignored, i ? "a time" : "a weight"));
    list->valued = 1;
  }
  TRY(text_end(&file->text, &line, "a vertex, a hyperedge, a weight and a time"));
  return add(list, vertex, edge);
}

static int read_lines(struct hyper_file *file, struct incidences *list) {
  char *line;
  for (;;) {
    TRY(text_next(&file->text, &line));
    if (!line) break;
    char *word = line;
    int more = text_more(&word);
    if (*word != '%') TRY(text_fields(&file->text, line));
    if (*word == '%')
      TRY(read_comment(file, list, word + 1));
    else if (more)
      TRY(read_incidence(file, list, word));
  }
  if (list->declared >= 0 && list->declared != list->count)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld incidences, the file has %lld", file->text.path,
         (long long)list->declared_line, (long long)list->declared, (long long)list->count);
  return OK;
}

/* Hyperedges that no line names are empty: they are not even counted. */
static int hand_over(struct hyper_file *file, struct incidences *list) {
  if (list->count > 0) qsort(list->item, (size_t)list->count, sizeof *list->item, compare);
  for (int64_t i = 0; i < list->count; i++) {
    TRY(hyperedges_add(&file->list, list->item[i].vertex));
    int last = i + 1 == list->count || list->item[i + 1].edge != list->item[i].edge;
    if (last) TRY(hyperedges_end(&file->list));
  }
  file->base = 1;
  file->nodes = list->left >= 0 ? list->left : file->list.highest;
  if (list->valued) log_info("weights and times of incidences are left out");
  return OK;
}

int hyper_read_konect(struct hyper_file *file) {
  struct incidences list = {.declared = -1, .left = -1, .right = -1};
  int code = read_lines(file, &list);
  if (code == OK) code = hand_over(file, &list);
  free(list.item);
  return code;
}
