/* The folders of hypergraphs that the authors of AllSet gathered (Chien et al. 2022), of either kind:
 *
 * NAME.content has a line "id feature ... label" for each vertex, NAME.edges a line "vertex hyperedge" for
 * each incidence. The ids of hyperedges follow those of vertices; where NAME.content goes on with lines for
 * hyperedges, these are passed over.
 *
 * hyperedges-NAME.txt has a line of vertices, from 1, for each hyperedge, node-labels-NAME.txt a label for
 * each vertex. There are no features. */
#include "io/dataset/ids.h"
#include "io/file/csv.h"
#include "io/import/import_arcs.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/text/hyper_file.h"
#include "io/import/text/named_files.h"
#include "runtime/base/base.h"

/* NAME.content while it is read. Arrays have room for `room` rows. */
struct content {
  struct import *import;
  int64_t limit;       /* the first id of a hyperedge */
  int64_t features;    /* columns; -1: not known yet */
  int64_t first, rows; /* rows of the block are [first, rows) */
  int64_t room, nodes;
  int64_t *id;
  int32_t *label; /* by number of import->labels */
  char **word;    /* the labels of the block's rows, in the block; NULL: a hyperedge */
};

static void content_free(struct content *content) {
  free_all(content->id, content->label, content->word);
}

static int settle_features(struct content *content, const struct text *text, const char *line) {
  if (content->features >= 0) return OK;
  content->features = text_count(line) - 2;
  if (content->features < 0 || content->features > IMPORT_COLUMNS)
    TEXT_FAIL(text, "expected an id, up to %d features and a label, found %lld words", IMPORT_COLUMNS,
              (long long)content->features + 2);
  return OK;
}

static int make_room(void *context, const struct text *text, const char *line, int64_t rows) {
  struct content *c = context;
  const int64_t wanted = larger(rows, 2 * c->room), bytes = (int64_t)sizeof *c->id;
  TRY(settle_features(c, text, line));
  if (rows > INT32_MAX) TEXT_FAIL(text, "more than %d vertices", INT32_MAX);
  c->first = c->rows;
  c->rows = rows;
  if (rows <= c->room) return OK;
  const int64_t row = c->features * (int64_t)sizeof(float);
  if (row) TRY(memory_grow(&c->import->source.feature, c->first * row, wanted * row, "node features"));
  TRY(memory_grow(&c->id, c->first * bytes, wanted * bytes, "ids of vertices"));
  TRY(memory_grow(&c->label, c->first * 4, wanted * 4, "labels"));
  TRY(memory_grow(&c->word, 0, wanted * (int64_t)sizeof *c->word, "labels"));
  c->room = wanted;
  return OK;
}

static int take_row(void *context, const struct text *text, char *line, int64_t row) {
  const struct content *c = context;
  float *feature = c->import->source.feature;
  char **word = &c->word[row - c->first];
  *word = NULL;
  TRY(text_int(text, &line, &c->id[row], "the id of a vertex"));
  if (c->id[row] < 0) TEXT_FAIL(text, "id %lld; ids start at 0", (long long)c->id[row]);
  if (c->id[row] >= c->limit) return OK;
  for (int64_t j = 0; j < c->features; j++)
    TRY(text_real(text, &line, &feature[row * c->features + j], "a feature value"));
  *word = text_word(&line);
  if (!*word) TEXT_FAIL(text, "expected a label, found %s", "the end of the line");
  const char *fault = dataset_text_fault(*word, DATASET_CLASS_NAME, 1);
  if (fault) TEXT_FAIL(text, "the label %s", fault);
  return text_end(text, &line, "as many features as in the first line, and a label");
}

static int take_block(void *context, const struct text *text, int64_t rows) {
  struct content *c = context;
  int is_new;
  for (int64_t v = c->first; v < rows; v++) {
    if (v > 0 && c->id[v] <= c->id[v - 1])
      FAIL(BAD_INPUT, "%s: id %lld stands behind id %lld; ids ascend", text->path, (long long)c->id[v],
           (long long)c->id[v - 1]);
    if (!c->word[v - c->first]) continue;
    TRY(texts_add(&c->import->labels, c->word[v - c->first], &c->label[v], &is_new));
    c->nodes = v + 1;
  }
  return OK;
}

/* Features, labels and ids of the vertices. */
static int keep_vertices(struct content *c, const char *path) {
  struct dataset_source *source = &c->import->source;
  if (c->nodes == 0) FAIL(BAD_INPUT, "%s: holds no vertices", path);
  source->nodes = c->nodes;
  source->features = c->features;
  TRY(import_label_texts(c->import, c->label, c->nodes, path));
  if (c->id[c->nodes - 1] == c->nodes - 1) return OK;
  source->names.id = c->id;
  c->id = NULL;
  return OK;
}

static int read_content(struct import *import, const char *path, int64_t limit) {
  const struct csv_reader reader = {.room = make_room, .row = take_row, .block = take_block};
  ENDED_BY(content_free) struct content content = {.import = import, .limit = limit, .features = -1};
  int64_t rows;
  TRY(csv_read(path, &reader, &content, &rows));
  if (rows > content.nodes)
    log_info("%s: %lld lines for hyperedges are passed over", path, (long long)(rows - content.nodes));
  return keep_vertices(&content, path);
}

/* Ids of both sides stand in one line of numbers: *limit: the first hyperedge. */
static int read_incidences(struct hyper_file *file, const char *path, int64_t *limit) {
  struct import *import = file->import;
  int64_t last = -1;
  TRY(text_open(file->text, path));
  import->edges.nodes = INT32_MAX;
  TRY(import_pair_lines(import, file->text, 0));
  import->edges.nodes = 0;
  TRY(hyper_file_group(file));
  TRY(hyper_file_take(file));
  *limit = file->pair[0].target;
  for (int64_t i = 0; i < file->pairs; i++) last = larger(last, file->pair[i].source);
  if (last >= *limit)
    FAIL(BAD_INPUT, "%s: vertex %lld and hyperedge %lld; the ids of hyperedges follow those of vertices",
         path, (long long)last, (long long)*limit);
  return OK;
}

/* Ids become rows of NAME.content. */
static int find_vertices(struct hyper_file *file, const char *content) {
  const struct dataset_source *source = &file->import->source;
  file->nodes = source->nodes;
  for (int64_t i = 0; i < file->pairs; i++) {
    const int64_t id = file->pair[i].source;
    file->pair[i].source = ids_find(source->names.id, source->nodes, id);
    if (file->pair[i].source < 0)
      FAIL(BAD_INPUT, "%s: vertex %lld has no line in %s", file->text->path, (long long)id, content);
  }
  return OK;
}

static int read_content_and_edges(struct hyper_file *file, const struct named_files *files) {
  char content[NAMED_PATH], edges[NAMED_PATH];
  int64_t limit = 0;
  named_files_path(files, "", ".content", content);
  named_files_path(files, "", ".edges", edges);
  TRY(read_incidences(file, edges, &limit));
  TRY(read_content(file->import, content, limit));
  return find_vertices(file, content);
}

static int read_lines(struct hyper_file *file) {
  char *line;
  for (;;) {
    TRY(text_row(file->text, "#", &line));
    if (!line) return hyper_file_take(file);
    TRY(hyper_file_line(file, line));
  }
}

static int read_hyperedges_and_labels(struct hyper_file *file, const struct named_files *files) {
  char path[NAMED_PATH];
  named_files_path(files, "node-labels-", ".txt", path);
  TRY(hyper_count_lines(path, 1, &file->nodes));
  if (file->nodes == 0) FAIL(BAD_INPUT, "%s: a label a line is expected", path);
  file->import->source.nodes = file->nodes;
  TRY(import_label_text(file->import, path));
  named_files_path(files, "hyperedges-", ".txt", path);
  file->base = 1;
  TRY(text_open(file->text, path));
  TRY(read_lines(file));
  if (!file->import->options->features)
    log_info("%s: vertices have no features; --features random:64 makes some", path);
  return OK;
}

int import_allset(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(hyper_file_free) struct hyper_file file = {.text = &text, .import = import};
  struct named_files files;
  const char *folder = import->options->input;
  TRY(hyper_check_options(import->options));
  if (named_files_find(&files, folder, "", ".content"))
    TRY(read_content_and_edges(&file, &files));
  else if (named_files_find(&files, folder, "hyperedges-", ".txt"))
    TRY(read_hyperedges_and_labels(&file, &files));
  else
    FAIL(BAD_INPUT, "%s: holds no single NAME.content and no single hyperedges-NAME.txt", folder);
  return hyper_file_build(&file);
}
