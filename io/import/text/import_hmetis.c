#include "io/import/text/hyper_file.h"
#include "runtime/base/base.h"

/* The next line that holds something and is not a comment; NULL at the end. */
static int next_line(struct text *text, char **line) {
  for (;;) {
    TRY(text_next(text, line));
    if (!*line) return OK;
    char *at = *line;
    if (**line != '%' && text_more(&at)) return OK;
  }
}

static int read_edge(struct hyper_file *file, char *line, int weighted) {
  const struct text *text = &file->text;
  int64_t vertex;
  TRY(text_fields(text, line));
  if (weighted) TRY(text_int(text, &line, &vertex, "the weight of a hyperedge"));
  while (text_more(&line)) {
    TRY(text_int(text, &line, &vertex, "a vertex"));
    if (vertex < 1 || vertex > file->nodes)
      TEXT_FAIL(text, "vertex %lld is outside 1 .. %lld", (long long)vertex, (long long)file->nodes);
    TRY(hyperedges_add(&file->list, vertex));
  }
  return hyperedges_end(&file->list);
}

/* The weights of vertices, one a line. */
static int read_weights(struct hyper_file *file) {
  char *line;
  int64_t weight;
  for (int64_t v = 0; v < file->nodes; v++) {
    TRY(next_line(&file->text, &line));
    if (!line)
      TEXT_FAIL(&file->text, "the file ends after %lld weights of %lld vertices", (long long)v,
                (long long)file->nodes);
    TRY(text_int(&file->text, &line, &weight, "the weight of a vertex"));
    TRY(text_end(&file->text, &line, "one weight a line"));
  }
  return OK;
}

int hyper_read_hmetis(struct hyper_file *file) {
  struct text *text = &file->text;
  int64_t edges, nodes, format = 0;
  char *line;
  TRY(next_line(text, &line));
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
    TRY(next_line(text, &line));
    if (!line) TEXT_FAIL(text, "the file ends after %lld of %lld hyperedges", (long long)e, (long long)edges);
    TRY(read_edge(file, line, format % 10 == 1));
  }
  if (format >= 10) TRY(read_weights(file));
  TRY(next_line(text, &line));
  if (line) TEXT_FAIL(text, "more lines than line %lld declares", (long long)declared);
  if (format) log_info("weights of hyperedges and vertices are left out");
  return OK;
}
