/* The three kinds of text that hypergraphs come in. */
#include "io/file/npz.h"
#include "io/file/path_check.h"
#include "io/file/text.h"
#include "io/import/text/hyper_file.h"
#include "runtime/base/base.h"

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
  int64_t edges, nodes, weight, format = 0;
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
    if (format % 10 == 1) TRY(text_int(text, &line, &weight, "the weight of a hyperedge"));
    TRY(hyper_file_line(file, line));
  }
  if (format >= 10) TRY(read_weights(file));
  TRY(text_filled_row(text, "%", &line));
  if (line) TEXT_FAIL(text, "more lines than line %lld declares", (long long)declared);
  if (format) log_info("weights of hyperedges and vertices are left out");
  return OK;
}

/* KONECT's bipartite out.* file, "% bip": a line "left right [weight [time]]", ids from 1. The left side are
 * the vertices, the right side the hyperedges; those that no line names are empty, and not even counted. */
static int read_konect(struct hyper_file *file) {
  struct import *import = file->import;
  TRY(import_konect_pairs(import, file->text, &file->nodes));
  TRY(hyper_file_group(file));
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
    TRY(arcs_add(&file->import->edges.list, vertex, file->hyperedges, 1));
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
      TRY(hyper_count_lines(beside[i], i == 0, nodes));
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
  TRY(hyper_file_take(file));
  return file->nodes < 0 ? settle_vertices(file) : OK;
}

int import_hypergraph(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(hyper_file_free) struct hyper_file file = {.text = &text, .import = import, .nodes = -1};
  TRY(hyper_check_options(import->options));
  TRY(read_file(&file));
  return hyper_file_build(&file);
}
