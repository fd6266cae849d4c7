#include "io/import/text/hyper_file.h"

#include "runtime/base/base.h"

void hyper_file_free(struct hyper_file *file) {
  free(file->pair);
}

int hyper_file_line(struct hyper_file *file, char *line) {
  const struct text *text = file->text;
  const int64_t last = file->base + file->nodes - 1;
  int64_t vertex;
  while (text_more(&line)) {
    TRY(text_int(text, &line, &vertex, "a vertex"));
    if (vertex < file->base || vertex > last)
      TEXT_FAIL(text, "vertex %lld is outside %lld .. %lld", (long long)vertex, (long long)file->base,
                (long long)last);
    TRY(arcs_add(&file->import->edges.list, vertex, file->hyperedges, 1));
  }
  file->hyperedges++;
  return OK;
}

static int take_pairs(struct hyper_file *file) {
  struct arcs *list = &file->import->edges.list;
  file->pairs = list->count;
  return arcs_take(list, &file->pair);
}

int hyper_file_take(struct hyper_file *file) {
  if (file->hyperedges == 0) FAIL(BAD_INPUT, "%s: holds no hyperedges", file->text->path);
  return file->pair ? OK : take_pairs(file);
}

static int compare_targets(const void *a, const void *b) {
  const struct arc *x = a, *y = b;
  return COMPARE(x->target, y->target);
}

int hyper_file_group(struct hyper_file *file) {
  TRY(take_pairs(file));
  if (file->pairs > 0) qsort(file->pair, (size_t)file->pairs, sizeof *file->pair, compare_targets);
  for (int64_t i = 0; i < file->pairs; i++)
    file->hyperedges += i == 0 || file->pair[i].target != file->pair[i - 1].target;
  return OK;
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

static int check_vertices(const struct hyper_file *file) {
  char what[sizeof file->text->path + 32];
  snprintf(what, sizeof what, "%s: vertices", file->text->path);
  if (file->nodes < 1) FAIL(BAD_INPUT, "%s: its hyperedges are empty", file->text->path);
  return import_check_size(file->nodes, file->pairs, what);
}

int hyper_file_build(struct hyper_file *file) {
  struct dataset_source *source = &file->import->source;
  int64_t repeated = 0, single = 0;
  TRY(check_vertices(file));
  source->nodes = file->nodes;
  TRY(group_vertices(file, &repeated, &single));
  if (source->hyper.edges == 0) FAIL(BAD_INPUT, "%s: its hyperedges are empty", file->text->path);
  log_info("%lld hyperedges of %lld vertices, ids from %lld: %lld empty ones left out, %lld vertices that "
           "repeat in a hyperedge merged, %lld of one vertex kept, as are equal ones",
           (long long)source->hyper.edges, (long long)source->nodes, (long long)file->base,
           (long long)(file->hyperedges - source->hyper.edges), (long long)repeated, (long long)single);
  return name_vertices(source, file->base);
}

int hyper_check_options(const struct import_options *options) {
  const char *wrong = options->undirected        ? "--undirected"
                      : options->drop_self_loops ? "--drop-self-loops"
                      : options->weights         ? "--weights"
                                                 : NULL;
  if (wrong) FAIL(BAD_INPUT, "%s goes with graphs; hyperedges have neither direction nor weight here", wrong);
  return OK;
}

int hyper_count_lines(const char *path, int one_word, int64_t *count) {
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
