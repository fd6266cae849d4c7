#include <ctype.h>

#include "io/import/import_arcs.h"
#include "runtime/base/base.h"

/* What comments promise, and what the lines keep. */
struct list {
  const struct import_options *options;
  int konect;
  int valued;                /* lines have values */
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
static void read_snap_comment(struct list *list, const char *at, int64_t line) {
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
  list->declared_line = line;
}

/* "% bip unweighted", then "% arcs left right"; numbers in other comments are for people. */
static void read_konect_comment(struct list *list, char *at, int64_t line) {
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
  list->declared_line = line;
}

static int read_id(const struct list *list, const struct text *text, char **at, int64_t limit, int64_t *id) {
  char quote[TEXT_QUOTE];
  int64_t low = list->konect, nodes = list->konect ? 0 : list->options->nodes;
  const char *word = *at;
  const int names = text->line == 1 && isalpha((unsigned char)word[strspn(word, " \t\"")]);
  TRY(text_int(text, at, id, names ? "two node ids (a line of names is none)" : "two node ids"));
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

static int read_arc(struct list *list, const struct text *text, char *at, struct arcs *arcs) {
  int64_t source, target;
  float weight = 1, time;
  TRY(read_id(list, text, &at, list->konect ? list->left : -1, &source));
  TRY(read_id(list, text, &at, list->konect ? list->right : -1, &target));
  int valued = text_more(&at);
  if (valued) TRY(text_real(text, &at, &weight, "an edge value"));
  if (text_more(&at)) TRY(text_real(text, &at, &time, "a time"));
  TRY(text_end(text, &at, "two node ids, a value and a time"));
  if (arcs->weighted && !valued) TEXT_FAIL(text, "%s", "expected an edge value, found the end of the line");
  list->valued |= valued;
  list->lowest = smaller(list->lowest, smaller(source, target));
  list->highest_left = larger(list->highest_left, source);
  list->highest_right = larger(list->highest_right, target);
  return arcs_add(arcs, source, target, weight);
}

static int read_line(struct list *list, const struct text *text, char *line, struct arcs *arcs) {
  char *word = line;
  int more = text_more(&word);
  if (*word == '%' || *word == '#') {
    if (list->konect) read_konect_comment(list, word + 1, text->line);
    if (!list->konect) read_snap_comment(list, word + 1, text->line);
    return OK;
  }
  TRY(text_fields(text, line));
  return more ? read_arc(list, text, word, arcs) : OK;
}

static int read_lines(void *state, struct text *text, struct arcs *arcs) {
  char *line;
  for (;;) {
    TRY(text_next(text, &line));
    if (!line) return OK;
    TRY(read_line(state, text, line, arcs));
  }
}

/* Of each piece what it found; where something was declared twice, KONECT means the first, SNAP the last. */
static void join_piece(void *state, const void *other) {
  struct list *list = state;
  const struct list *piece = other;
  int declares = piece->declared_line > list->declared_line && (!list->konect || list->arcs < 0);
  if (declares) {
    list->arcs = piece->arcs;
    list->left = piece->left;
    list->right = piece->right;
    list->declared_line = piece->declared_line;
  }
  list->undirected |= piece->undirected;
  list->bipartite |= piece->bipartite;
  list->valued |= piece->valued;
  list->lowest = smaller(list->lowest, piece->lowest);
  list->highest_left = larger(list->highest_left, piece->highest_left);
  list->highest_right = larger(list->highest_right, piece->highest_right);
}

static int check_highest(const struct list *list, const struct text *text, int64_t highest, int64_t limit) {
  if (list->konect && limit >= 0 && highest > limit)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld nodes, the file has node id %lld", text->path,
         (long long)list->declared_line, (long long)limit, (long long)highest);
  return OK;
}

/* What was declared behind the first arc holds for all of them, too. */
static int check_list(const struct list *list, const struct import *import, const struct text *text) {
  int64_t count = import->edges.list.count;
  if (list->arcs >= 0 && list->arcs != count)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld arcs, the file has %lld", text->path,
         (long long)list->declared_line, (long long)list->arcs, (long long)count);
  TRY(check_highest(list, text, list->highest_left, list->left));
  return check_highest(list, text, list->highest_right, list->right);
}

/* The lines up to the first arc one by one: they declare what the other ones have to keep to. */
static int read_list(struct list *list, struct import *import, struct text *text) {
  static const struct arc_reader reader = {sizeof *list, read_lines, join_piece};
  struct arcs *arcs = &import->edges.list;
  char *line;
  while (arcs->count == 0) {
    TRY(text_next(text, &line));
    if (!line) break;
    TRY(read_line(list, text, line, arcs));
  }
  TRY(import_arc_lines(import, text, &reader, list));
  import->valued |= list->valued;
  return check_list(list, import, text);
}

/* Declared nodes are all there, with arcs or without, where the ids are 0 .. N-1 or 1 .. N. */
static int settle_nodes(const struct list *list, struct import *import, const struct text *text) {
  struct edges *edges = &import->edges;
  int64_t nodes = list->left, count = edges->list.count;
  int64_t highest = larger(list->highest_left, list->highest_right);
  if (list->options->nodes) {
    edges->nodes = list->options->nodes;
    return import_check_size(edges->nodes, count, "--nodes");
  }
  if (nodes < 0) return OK;
  char what[sizeof text->path + 64];
  snprintf(what, sizeof what, "%s:%lld: declared nodes", text->path, (long long)list->declared_line);
  TRY(import_check_size(nodes, count, what));
  if (highest < nodes && !list->konect) {
    edges->nodes = nodes;
  } else if (list->lowest >= 1 && highest <= nodes) {
    edges->nodes = nodes;
    edges->base = 1;
  } else {
    import->declared_nodes = nodes;
  }
  return OK;
}

/* The second side's ids follow the first's: id r becomes L + r, L being the first side's size. */
static int settle_sides(const struct list *list, struct import *import, const struct text *text) {
  struct edges *edges = &import->edges;
  int64_t count = edges->list.count;
  if (count == 0) return OK;
  int64_t left = list->left >= 0 ? list->left : list->highest_left;
  if (left > INT64_MAX - list->highest_right)
    FAIL(BAD_INPUT, "%s: the ids of the two sides do not fit in 64 bits together", text->path);
  edges->target_shift = left;
  if (list->left < 0 || list->right < 0) return OK;
  char what[sizeof text->path + 64];
  snprintf(what, sizeof what, "%s:%lld: declared nodes", text->path, (long long)list->declared_line);
  if (list->right > INT64_MAX - left) FAIL(BAD_INPUT, "%s are too many", what);
  TRY(import_check_size(left + list->right, count, what));
  edges->nodes = left + list->right;
  edges->base = 1;
  return OK;
}

static struct list list_of(const struct import *import, int konect) {
  return (struct list){.options = import->options,
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
  struct list list = list_of(import, konect);
  TRY(text_open(&text, import->options->input));
  TRY(read_list(&list, import, &text));
  if (list.undirected) import->edges.undirected = 1;
  if (konect && list.arcs < 0 && !list.undirected)
    log_info("no KONECT header: the arcs are taken as directed");
  return list.bipartite ? settle_sides(&list, import, &text) : settle_nodes(&list, import, &text);
}

int import_edgelist(struct import *import) {
  return import_list(import, 0);
}

int import_konect(struct import *import) {
  return import_list(import, 1);
}

int import_konect_pairs(struct import *import, struct text *text, int64_t *left) {
  struct list list = list_of(import, 1);
  TRY(read_list(&list, import, text));
  *left = list.left >= 0 ? list.left : list.highest_left;
  return OK;
}
