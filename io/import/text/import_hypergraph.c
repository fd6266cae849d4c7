#include "io/import/text/hyper_file.h"

#include "io/file/npz.h"
#include "io/file/path_check.h"
#include "io/import/option.h"
#include "runtime/base/base.h"

int hyper_read_lines(struct hyper_file *file) {
  struct text *text = &file->text;
  char *line, quote[TEXT_QUOTE];
  for (;;) {
    TRY(text_next(text, &line));
    if (!line) return OK;
    if (*line == '#' || *line == '%') continue;
    TRY(text_fields(text, line));
    while (text_more(&line)) {
      int64_t vertex;
      const char *found = text_quote(line, quote);
      TRY(text_int(text, &line, &vertex, "a vertex"));
      if (vertex < 0 || vertex > INT32_MAX)
        TEXT_FAIL(text, "vertex %s; 0 to %d are allowed", found, INT32_MAX);
      TRY(hyperedges_add(&file->list, vertex));
    }
    TRY(hyperedges_end(&file->list));
  }
}

/* Lines that hold something for a vertex; 0 where the file pairs them with ids. */
static int count_lines(const char *path, int one_word, int64_t *count) {
  struct text text;
  char *line;
  int code = text_open(&text, path);
  for (*count = 0; code == OK;) {
    code = text_next(&text, &line);
    if (code != OK || !line) break;
    if (*line == '#') continue;
    if (one_word && text_count(line) > 1) {
      *count = 0;
      break;
    }
    ++*count;
  }
  text_close(&text);
  return code;
}

static int npz_rows(const char *path, int64_t *rows) {
  struct npz npz;
  struct npy shape = {0};
  int code = npz_open(&npz, path);
  if (code == OK) code = npz_read(&npz, npz_has(&npz, "attr_indptr") ? "attr_shape" : "shape", &shape);
  if (code == OK && shape.count > 0) code = npy_int64(&shape, 0, 1, rows);
  npy_free(&shape);
  npz_close(&npz);
  return code;
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
  const struct hyperedges *list = &file->list;
  const struct import_options *options = file->import->options;
  int64_t last = list->highest, nodes = options->nodes;
  if (nodes == 0) TRY(count_beside(options, &nodes));
  int known = nodes > 0;
  file->base = list->lowest >= 1 && (!known || last == nodes);
  if (!known) nodes = last + 1 - file->base;
  if (last - file->base >= nodes)
    FAIL(BAD_INPUT, "%s: has vertex %lld, but %s; with ids from %lld there must be %lld", file->text.path,
         (long long)last, options->nodes ? "--nodes says less" : "the files beside list fewer",
         (long long)file->base, (long long)(last + 1 - file->base));
  if (known && list->lowest >= 1 && last < nodes)
    log_info("neither vertex 0 nor vertex %lld occurs: ids are taken as counted from 0", (long long)nodes);
  file->nodes = nodes;
  return OK;
}

/* Whether the first line says "% bip". */
static int is_konect(struct text *text, int *konect) {
  enum { WORDS = 200 /* bytes of that line which are looked at */ };
  char line[WORDS], *at = line + 1;
  TRY(text_peek(text, line, WORDS));
  *konect = 0;
  if (*line != '%') return OK;
  for (char *word = text_word(&at); word; word = text_word(&at)) *konect |= strcmp(word, "bip") == 0;
  return OK;
}

static int read_file(struct hyper_file *file) {
  const char *path = file->import->options->input;
  int hmetis = option_has_suffix(path, ".hgr") || option_has_suffix(path, ".hgr.gz"), konect = 0;
  TRY(text_open(&file->text, path));
  if (!hmetis) TRY(is_konect(&file->text, &konect));
  TRY(hmetis ? hyper_read_hmetis(file) : konect ? hyper_read_konect(file) : hyper_read_lines(file));
  if (file->list.count == 0) FAIL(BAD_INPUT, "%s: holds no hyperedges", path);
  if (file->nodes < 0) TRY(settle_vertices(file));
  char what[sizeof file->text.path + 32];
  snprintf(what, sizeof what, "%s: vertices", path);
  if (file->nodes < 1) FAIL(BAD_INPUT, "%s: its hyperedges are empty", path);
  return import_check_size(file->nodes, file->list.filled, what);
}

/* Ids from 1 are the user's. */
static int name_vertices(struct dataset_source *source, int64_t base) {
  if (base == 0) return OK;
  TRY(memory_arrays("ids of vertices", ROOM(&source->id, source->nodes)));
  for (int64_t v = 0; v < source->nodes; v++) source->id[v] = v + base;
  return OK;
}

static int build(struct hyper_file *file) {
  struct dataset_source *source = &file->import->source;
  struct hyperedges *list = &file->list;
  source->nodes = file->nodes;
  int code = hyperedges_build(list, file->base, file->nodes, &source->hyperedges, &source->hyper_start,
                              &source->hyper_vertex);
  if (code == BAD_INPUT) FAIL(BAD_INPUT, "%s: %s", file->text.path, error_message());
  TRY(code);
  if (source->hyperedges == 0) FAIL(BAD_INPUT, "%s: its hyperedges are empty", file->text.path);
  log_info("%lld hyperedges of %lld vertices, ids from %lld: %lld empty ones left out, %lld vertices that "
           "repeat in a hyperedge merged, %lld of one vertex kept, as are equal ones",
           (long long)source->hyperedges, (long long)source->nodes, (long long)file->base,
           (long long)list->empty, (long long)list->repeated, (long long)list->single);
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
  struct hyper_file file = {.import = import, .nodes = -1};
  hyperedges_init(&file.list);
  TRY(check_options(import->options));
  int code = read_file(&file);
  if (code == OK) code = build(&file);
  text_close(&file.text);
  hyperedges_free(&file.list);
  return code;
}
