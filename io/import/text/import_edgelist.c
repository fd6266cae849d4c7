#include "io/file/text.h"
#include "io/import/import.h"
#include "runtime/base/base.h"

/* What comments promise, and what the lines keep. */
struct list {
  struct text *text;
  struct import *import;
  int konect;
  int undirected, bipartite; /* % sym, % bip */
  int64_t arcs, left, right; /* declared; -1: not */
  int64_t declared_line;
  int64_t lowest, highest_left, highest_right;
};

static int is_count(const char *word, int64_t *value) {
  int64_t number = 0;
  for (const char *p = word; *p; p++) {
    if (*p < '0' || *p > '9' || number > INT64_MAX / 10 - 1) return 0;
    number = 10 * number + (*p - '0');
  }
  *value = number;
  return *word != '\0';
}

/* "# Nodes: 36692 Edges: 367662", as SNAP writes it, or "# NAME: 36692 nodes 367662 arcs" and whatever behind
 * a comma; other comments are for people. */
static void read_snap_comment(struct list *list, const char *at) {
  char nodes[20], arcs[20], what[8];
  int end = -1;
  sscanf(at, " Nodes: %18[0-9] Edges: %18[0-9] %n", nodes, arcs, &end);
  if (end < 0) {
    const char *name = at + strspn(at, " \t"), *behind = name + strcspn(name, " \t:");
    if (*behind == ':') at = behind + 1;
    int read = sscanf(at, " %18[0-9] nodes %18[0-9] %6[a-z] %n", nodes, arcs, what, &end);
    if (read < 3 || (strcmp(what, "arcs") != 0 && strcmp(what, "edges") != 0)) return;
  }
  if (at[end] != '\0' && at[end] != ',') return;
  list->left = strtoll(nodes, NULL, 10);
  list->arcs = strtoll(arcs, NULL, 10);
  list->declared_line = list->text->line;
}

/* "% bip unweighted", then "% arcs left right"; numbers in other comments are for people. */
static void read_konect_comment(struct list *list, char *at) {
  int64_t number[3];
  int numbers = 0, words = 0;
  for (char *word = text_word(&at); word; word = text_word(&at), words++) {
    if (strcmp(word, "sym") == 0) list->undirected = 1;
    if (strcmp(word, "bip") == 0) list->undirected = list->bipartite = 1;
    if (numbers == words && numbers < 3 && is_count(word, &number[numbers])) numbers++;
  }
  if (numbers == 0 || list->arcs >= 0) return;
  list->arcs = number[0];
  if (numbers > 1) list->left = number[1];
  if (numbers > 2) list->right = number[2];
  list->declared_line = list->text->line;
}

static int read_id(struct list *list, char **at, int64_t limit, int64_t *id) {
  const struct text *text = list->text;
  char quote[TEXT_QUOTE];
  int64_t low = list->konect, nodes = list->konect ? 0 : list->import->options->nodes;
  const char *word = *at;
  TRY(text_int(text, at, id, "two node ids"));
  if (*id < low) TEXT_FAIL(text, "node id %s; ids start at %lld", text_quote(word, quote), (long long)low);
  if (*id == INT64_MAX)
    TEXT_FAIL(text, "node id %s; at most %lld is allowed", text_quote(word, quote), (long long)INT64_MAX - 1);
  if (nodes && *id >= nodes)
    TEXT_FAIL(text, "node id %s; --nodes allows 0 .. %lld", text_quote(word, quote), (long long)nodes - 1);
  if (limit >= 0 && *id > limit)
    TEXT_FAIL(text, "node id %s; line %lld declares %lld nodes", text_quote(word, quote),
              (long long)list->declared_line, (long long)limit);
  return OK;
}

static int read_arc(struct list *list, char *at) {
  const struct text *text = list->text;
  struct edges *edges = &list->import->edges;
  int64_t source, target;
  float weight = 1, time;
  TRY(read_id(list, &at, list->konect ? list->left : -1, &source));
  TRY(read_id(list, &at, list->konect ? list->right : -1, &target));
  int valued = text_more(&at);
  if (valued) TRY(text_real(text, &at, &weight, "an edge value"));
  if (text_more(&at)) TRY(text_real(text, &at, &time, "a time"));
  TRY(text_end(text, &at, "two node ids, a value and a time"));
  if (edges->weighted && !valued) TEXT_FAIL(text, "%s", "expected an edge value, found the end of the line");
  list->import->valued |= valued;
  list->lowest = smaller(list->lowest, smaller(source, target));
  list->highest_left = larger(list->highest_left, source);
  list->highest_right = larger(list->highest_right, target);
  return edges_add(edges, source, target, weight);
}

static int read_lines(struct list *list) {
  char *line;
  for (;;) {
    TRY(text_next(list->text, &line));
    if (!line) return OK;
    char *word = line;
    int more = text_more(&word);
    if (*word == '%' || *word == '#') {
      if (list->konect) read_konect_comment(list, word + 1);
      if (!list->konect) read_snap_comment(list, word + 1);
    } else {
      TRY(text_fields(list->text, line));
      if (more) TRY(read_arc(list, word));
    }
  }
}

static int check_count(const struct list *list) {
  if (list->arcs >= 0 && list->arcs != list->import->edges.count)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld arcs, the file has %lld", list->text->path,
         (long long)list->declared_line, (long long)list->arcs, (long long)list->import->edges.count);
  return OK;
}

/* Declared nodes are all there, with arcs or without, where the ids are 0 .. N-1 or 1 .. N. */
static int settle_nodes(struct list *list) {
  struct edges *edges = &list->import->edges;
  int64_t nodes = list->left;
  int64_t highest = larger(list->highest_left, list->highest_right);
  if (list->import->options->nodes) {
    edges->nodes = list->import->options->nodes;
    return import_check_size(edges->nodes, edges->count, "--nodes");
  }
  if (nodes < 0) return OK;
  char what[sizeof list->text->path + 64];
  snprintf(what, sizeof what, "%s:%lld: declared nodes", list->text->path, (long long)list->declared_line);
  TRY(import_check_size(nodes, edges->count, what));
  if (highest < nodes && !list->konect) {
    edges->nodes = nodes;
  } else if (list->lowest >= 1 && highest <= nodes) {
    edges->nodes = nodes;
    edges->base = 1;
  } else {
    list->import->declared_nodes = nodes;
  }
  return OK;
}

/* The second side's ids follow the first's: id r becomes L + r, L being the first side's size. */
static int settle_sides(struct list *list) {
  struct edges *edges = &list->import->edges;
  if (edges->count == 0) return OK;
  int64_t left = list->left >= 0 ? list->left : list->highest_left;
  if (left > INT64_MAX - list->highest_right)
    FAIL(BAD_INPUT, "%s: the ids of the two sides do not fit in 64 bits together", list->text->path);
  for (int64_t i = 0; i < edges->count; i++) edges->arc[i].target += left;
  if (list->left < 0 || list->right < 0) return OK;
  char what[sizeof list->text->path + 64];
  snprintf(what, sizeof what, "%s:%lld: declared nodes", list->text->path, (long long)list->declared_line);
  if (list->right > INT64_MAX - left) FAIL(BAD_INPUT, "%s are too many", what);
  TRY(import_check_size(left + list->right, edges->count, what));
  edges->nodes = left + list->right;
  edges->base = 1;
  return OK;
}

static struct list list_of(struct import *import, struct text *text, int konect) {
  return (struct list){.import = import,
                       .text = text,
                       .konect = konect,
                       .arcs = -1,
                       .left = -1,
                       .right = -1,
                       .lowest = INT64_MAX,
                       .highest_left = -1,
                       .highest_right = -1};
}

static int import_list(struct import *import, int konect) {
  ENDED_BY(text_close) struct text text = {0};
  struct list list = list_of(import, &text, konect);
  TRY(text_open(&text, import->options->input));
  TRY(read_lines(&list));
  TRY(check_count(&list));
  if (list.undirected) import->edges.undirected = 1;
  if (konect && list.arcs < 0 && !list.undirected)
    log_info("no KONECT header: the arcs are taken as directed");
  return list.bipartite ? settle_sides(&list) : settle_nodes(&list);
}

int import_edgelist(struct import *import) {
  return import_list(import, 0);
}

int import_konect(struct import *import) {
  return import_list(import, 1);
}

int import_konect_pairs(struct import *import, struct text *text, int64_t *left) {
  struct list list = list_of(import, text, 1);
  TRY(read_lines(&list));
  TRY(check_count(&list));
  *left = list.left >= 0 ? list.left : list.highest_left;
  return OK;
}
