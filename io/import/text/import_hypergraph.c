/* The three kinds of text that hypergraphs come in.
 *
 * The incidence matrix is binary (Feng et al. 2019): a vertex that stands several times in a hyperedge counts
 * once. An empty hyperedge says nothing and is left out. Hyperedges of one vertex stay, and so do equal ones:
 * each weighs by itself. */
#include "io/file/npz.h"
#include "io/file/path_check.h"
#include "io/file/text.h"
#include "io/import/import.h"
#include "runtime/base/base.h"

/* What a reader fills. Incidences are import->edges.list, from vertices to numbers of hyperedges, and stand
 * in `pair` once they are read. */
struct hyper_file {
  struct text *text;
  struct import *import;
  struct arc *pair; /* [pairs], by hyperedge */
  int64_t pairs;
  int64_t hyperedges;  /* read so far, empty ones among them */
  int64_t base, nodes; /* vertices are base .. base + nodes - 1; nodes -1: not said by the file */
};

static void hyper_file_free(struct hyper_file *file) {
  free(file->pair);
}

static int add_vertex(struct hyper_file *file, int64_t vertex) {
  return arcs_add(&file->import->edges.list, vertex, file->hyperedges, 1);
}

static int read_edge(struct hyper_file *file, char *line, int weighted) {
  const struct text *text = file->text;
  int64_t vertex;
  if (weighted) TRY(text_int(text, &line, &vertex, "the weight of a hyperedge"));
  while (text_more(&line)) {
    TRY(text_int(text, &line, &vertex, "a vertex"));
    if (vertex < 1 || vertex > file->nodes)
      TEXT_FAIL(text, "vertex %lld is outside 1 .. %lld", (long long)vertex, (long long)file->nodes);
    TRY(add_vertex(file, vertex));
  }
  file->hyperedges++;
  return OK;
}

/* The weights of vertices, one a line. */
static int read_weights(struct hyper_file *file) {
  char *line;
  int64_t weight;
  for (int64_t v = 0; v < file->nodes; v++) {
    TRY(text_filled_row(file->text, "%", &line));
    if (!line)
      TEXT_FAIL(file->text, "the file ends after %lld weights of %lld vertices", (long long)v,
                (long long)file->nodes);
    TRY(text_int(file->text, &line, &weight, "the weight of a vertex"));
    TRY(text_end(file->text, &line, "one weight a line"));
  }
  return OK;
}

/* hMETIS 1.5 manual: "hyperedges vertices [fmt]", a line of vertices from 1 for each hyperedge; weights are
 * passed over. */
static int read_hmetis(struct hyper_file *file) {
  struct text *text = file->text;
  int64_t edges, nodes, format = 0;
  char *line;
  TRY(text_filled_row(text, "%", &line));
  if (!line) FAIL(BAD_INPUT, "%s: is empty", text->path);
  TRY(text_int(text, &line, &edges, "the number of hyperedges"));
  TRY(text_int(text, &line, &nodes, "the number of vertices"));
  if (edges < 1 || edges > INT32_MAX || nodes < 1 || nodes > INT32_MAX)
    TEXT_FAIL(text, "%lld hyperedges and %lld vertices; 1 to %d are allowed", (long long)edges,
              (long long)nodes, INT32_MAX);
  if (text_more(&line)) TRY(text_int(text, &line, &format, "fmt"));
  TRY(text_end(text, &line, "hyperedges, vertices and fmt"));
  if (format != 0 && format != 1 && format != 10 && format != 11)
    TEXT_FAIL(text, "fmt is %lld; allowed: 0, 1, 10, 11", (long long)format);
  int64_t declared = text->line;
  file->base = 1;
  file->nodes = nodes;
  for (int64_t e = 0; e < edges; e++) {
    TRY(text_filled_row(text, "%", &line));
    if (!line) TEXT_FAIL(text, "the file ends after %lld of %lld hyperedges", (long long)e, (long long)edges);
    TRY(read_edge(file, line, format % 10 == 1));
  }
  if (format >= 10) TRY(read_weights(file));
  TRY(text_filled_row(text, "%", &line));
  if (line) TEXT_FAIL(text, "more lines than line %lld declares", (long long)declared);
  if (format) log_info("weights of hyperedges and vertices are left out");
  return OK;
}

/* The list becomes an array. */
static int take_pairs(struct hyper_file *file) {
  struct arcs *list = &file->import->edges.list;
  if (file->pair) return OK;
  file->pairs = list->count;
  return arcs_take(list, &file->pair);
}

static int compare_targets(const void *a, const void *b) {
  const struct arc *x = a, *y = b;
  return COMPARE(x->target, y->target);
}

/* KONECT's bipartite out.* file, "% bip": a line "left right [weight [time]]", ids from 1. The left side are
 * the vertices, the right side the hyperedges; those that no line names are empty, and not even counted. */
static int read_konect(struct hyper_file *file) {
  struct import *import = file->import;
  TRY(import_konect_pairs(import, file->text, &file->nodes));
  TRY(take_pairs(file));
  if (file->pairs > 0) qsort(file->pair, (size_t)file->pairs, sizeof *file->pair, compare_targets);
  for (int64_t i = 0; i < file->pairs; i++)
    file->hyperedges += i == 0 || file->pair[i].target != file->pair[i - 1].target;
  file->base = 1;
  if (import->valued) log_info("weights and times of incidences are left out");
  import->valued = 0;
  return OK;
}

static int read_vertices(struct hyper_file *file, char *line) {
  char quote[TEXT_QUOTE];
  while (text_more(&line)) {
    int64_t vertex;
    const char *word = line;
    TRY(text_int(file->text, &line, &vertex, "a vertex"));
    if (vertex < 0 || vertex > INT32_MAX)
      TEXT_FAIL(file->text, "vertex %s; 0 to %d are allowed", text_quote(word, quote), INT32_MAX);
    TRY(add_vertex(file, vertex));
  }
  file->hyperedges++;
  return OK;
}

/* A line of vertices for each hyperedge. */
static int read_plain(struct hyper_file *file) {
  char *line;
  for (;;) {
    TRY(text_row(file->text, "#%", &line));
    if (!line) return OK;
    TRY(read_vertices(file, line));
  }
}

/* Lines that hold something for a vertex; 0 where the file pairs them with ids. */
static int count_lines(const char *path, int one_word, int64_t *count) {
  ENDED_BY(text_close) struct text text = {0};
  char *line;
  TRY(text_open(&text, path));
  for (*count = 0;; ++*count) {
    TRY(text_row(&text, "#", &line));
    if (!line) return OK;
    if (!one_word || text_count(line) <= 1) continue;
    *count = 0;
    return OK;
  }
}

static int npz_rows(const char *path, int64_t *rows) {
  ENDED_BY(npz_close) struct npz npz = {0};
  ENDED_BY(npy_free) struct npy shape = {0};
  TRY(npz_open(&npz, path));
  TRY(npz_read(&npz, npz_has(&npz, "attr_indptr") ? "attr_shape" : "shape", &shape));
  return shape.count > 0 ? npy_int64(&shape, 0, 1, rows) : OK;
}

static int npy_rows(const char *path, int64_t *rows) {
  struct npy array = {0};
  int code = npy_read(&array, path);
  if (code == OK && array.dims > 0) *rows = array.dim[0];
  npy_free(&array);
  return code;
}

/* How many vertices the files beside speak of; 0 where none does. */
static int count_beside(const struct import_options *options, int64_t *nodes) {
  const char *const beside[] = {options->labels, options->features};
  *nodes = 0;
  for (int i = 0; i < 2 && *nodes == 0; i++) {
    if (!beside[i] || option_has_prefix(beside[i], "random:")) continue;
    TRY(path_check_readable(beside[i])); /* it is read again later */
    if (option_has_suffix(beside[i], ".npz"))
      TRY(npz_rows(beside[i], nodes));
    else if (option_has_suffix(beside[i], ".npy"))
      TRY(npy_rows(beside[i], nodes));
    else
      TRY(count_lines(beside[i], i == 0, nodes));
  }
  return OK;
}

/* Vertices are counted from 1 where the last one would not fit otherwise, or where nothing says how many
 * there are and 0 does not occur. */
static int settle_vertices(struct hyper_file *file) {
  const struct import_options *options = file->import->options;
  int64_t first = INT64_MAX, last = -1, nodes = options->nodes;
  for (int64_t i = 0; i < file->pairs; i++) {
    first = smaller(first, file->pair[i].source);
    last = larger(last, file->pair[i].source);
  }
  if (nodes == 0) TRY(count_beside(options, &nodes));
  int known = nodes > 0;
  file->base = first >= 1 && (!known || last == nodes);
  if (!known) nodes = last + 1 - file->base;
  if (last - file->base >= nodes)
    FAIL(BAD_INPUT, "%s: has vertex %lld, but %s; with ids from %lld there must be %lld", file->text->path,
         (long long)last, options->nodes ? "--nodes says less" : "the files beside list fewer",
         (long long)file->base, (long long)(last + 1 - file->base));
  if (known && first >= 1 && last < nodes)
    log_info("neither vertex 0 nor vertex %lld occurs: ids are taken as counted from 0", (long long)nodes);
  file->nodes = nodes;
  return OK;
}

/* KONECT's files begin with "% bip". */
static int read_konect_or_plain(struct hyper_file *file) {
  char *line;
  int konect = 0;
  TRY(text_next(file->text, &line));
  if (!line) return OK;
  if (*line != '%' && *line != '#') {
    TRY(text_fields(file->text, line));
    TRY(read_vertices(file, line));
  } else {
    for (char *at = line + 1, *word; (word = text_word(&at));) konect |= strcmp(word, "bip") == 0;
  }
  return konect ? read_konect(file) : read_plain(file);
}

static int read_file(struct hyper_file *file) {
  const char *path = file->import->options->input;
  int hmetis = option_has_suffix(path, ".hgr") || option_has_suffix(path, ".hgr.gz");
  TRY(text_open(file->text, path));
  TRY(hmetis ? read_hmetis(file) : read_konect_or_plain(file));
  TRY(take_pairs(file));
  if (file->hyperedges == 0) FAIL(BAD_INPUT, "%s: holds no hyperedges", path);
  if (file->nodes < 0) TRY(settle_vertices(file));
  char what[sizeof file->text->path + 32];
  snprintf(what, sizeof what, "%s: vertices", path);
  if (file->nodes < 1) FAIL(BAD_INPUT, "%s: its hyperedges are empty", path);
  return import_check_size(file->nodes, file->pairs, what);
}

/* Ids from 1 are the user's. */
static int name_vertices(struct dataset_source *source, int64_t base) {
  if (base == 0) return OK;
  TRY(memory_arrays("ids of vertices", ROOM(&source->names.id, source->nodes)));
  for (int64_t v = 0; v < source->nodes; v++) source->names.id[v] = v + base;
  return OK;
}

/* Rows of vertices, ascending. */
static int group_vertices(struct hyper_file *file, int64_t *repeated, int64_t *single) {
  struct dataset_source *source = &file->import->source;
  TRY(memory_arrays("hyperedges", ROOM(&source->hyper.start, file->hyperedges + 1),
                    ROOM(&source->hyper.vertex, file->pairs)));
  for (int64_t i = 0, at = 0, end; i < file->pairs; i = end) {
    for (end = i; end < file->pairs && file->pair[end].target == file->pair[i].target; end++)
      source->hyper.vertex[at + end - i] = (int32_t)(file->pair[end].source - file->base);
    int64_t kept = sort_distinct(source->hyper.vertex + at, end - i);
    *repeated += end - i - kept;
    *single += kept == 1;
    at += kept;
    source->hyper.start[++source->hyper.edges] = at;
  }
  return OK;
}

static int build(struct hyper_file *file) {
  struct dataset_source *source = &file->import->source;
  int64_t repeated = 0, single = 0;
  source->nodes = file->nodes;
  TRY(group_vertices(file, &repeated, &single));
  if (source->hyper.edges == 0) FAIL(BAD_INPUT, "%s: its hyperedges are empty", file->text->path);
  log_info("%lld hyperedges of %lld vertices, ids from %lld: %lld empty ones left out, %lld vertices that "
           "repeat in a hyperedge merged, %lld of one vertex kept, as are equal ones",
           (long long)source->hyper.edges, (long long)source->nodes, (long long)file->base,
           (long long)(file->hyperedges - source->hyper.edges), (long long)repeated, (long long)single);
  return name_vertices(source, file->base);
}

/* Options that speak of arcs. */
static int check_options(const struct import_options *options) {
  const char *wrong = options->undirected        ? "--undirected"
                      : options->drop_self_loops ? "--drop-self-loops"
                      : options->weights         ? "--weights"
                                                 : NULL;
  if (wrong) FAIL(BAD_INPUT, "%s goes with graphs; hyperedges have neither direction nor weight here", wrong);
  return OK;
}

int import_hypergraph(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(hyper_file_free) struct hyper_file file = {.text = &text, .import = import, .nodes = -1};
  TRY(check_options(import->options));
  TRY(read_file(&file));
  return build(&file);
}
