#include "io/file/text.h"
#include "io/import/import.h"
#include "runtime/base/base.h"

/* METIS 5 manual, section 4.1.1: a line for each vertex, blank where it has no neighbours. */
struct metis {
  struct text *text;
  struct import *import;
  int64_t nodes, edges, header_line;
  int64_t skip; /* numbers before a vertex's neighbours: its size and weights */
  int valued;
};

/* fmt: three digits of 0 and 1: vertex sizes, vertex weights, edge weights. */
static int read_layout(struct metis *metis, char *line) {
  const struct text *text = metis->text;
  int64_t format = 0, weights = 1;
  if (text_more(&line)) TRY(text_int(text, &line, &format, "fmt"));
  if (format < 0 || format > 111 || format % 10 > 1 || format / 10 % 10 > 1)
    TEXT_FAIL(text, "fmt is %lld; allowed: three digits of 0 and 1", (long long)format);
  int has_weights = format / 10 % 10 == 1;
  if (text_more(&line)) TRY(text_int(text, &line, &weights, "ncon"));
  if (weights < 0 || weights > 1024) TEXT_FAIL(text, "ncon is %lld; allowed: 0 to 1024", (long long)weights);
  TRY(text_end(text, &line, "vertices, edges, fmt and ncon"));
  metis->valued = format % 10 == 1;
  metis->skip = format / 100 + (has_weights ? weights : 0);
  return OK;
}

static int read_header(struct metis *metis) {
  const struct text *text = metis->text;
  char *line;
  TRY(text_filled_row(metis->text, "%", &line));
  if (!line) FAIL(BAD_INPUT, "%s: is empty", text->path);
  metis->header_line = text->line;
  TRY(text_int(text, &line, &metis->nodes, "the number of vertices"));
  TRY(text_int(text, &line, &metis->edges, "the number of edges"));
  if (metis->nodes < 1 || metis->nodes > INT32_MAX || metis->edges < 0)
    TEXT_FAIL(text, "%lld vertices and %lld edges; allowed: 1 .. %d and 0 or more", (long long)metis->nodes,
              (long long)metis->edges, INT32_MAX);
  return read_layout(metis, line);
}

static int read_vertex(struct metis *metis, char *line, int64_t vertex) {
  const struct text *text = metis->text;
  int64_t ignored, neighbour;
  for (int64_t i = 0; i < metis->skip; i++) TRY(text_int(text, &line, &ignored, "a vertex weight"));
  while (text_more(&line)) {
    float weight = 1;
    TRY(text_int(text, &line, &neighbour, "a vertex"));
    if (neighbour < 1 || neighbour > metis->nodes)
      TEXT_FAIL(text, "vertex %lld is outside 1 .. %lld", (long long)neighbour, (long long)metis->nodes);
    if (metis->valued) TRY(text_real(text, &line, &weight, "an edge weight"));
    TRY(arcs_add(&metis->import->edges.list, neighbour, vertex, weight));
  }
  return OK;
}

static int read_vertices(struct metis *metis) {
  char *line;
  for (int64_t vertex = 1; vertex <= metis->nodes; vertex++) {
    TRY(text_row(metis->text, "%", &line));
    if (!line)
      TEXT_FAIL(metis->text, "the file ends after %lld of %lld vertices", (long long)vertex - 1,
                (long long)metis->nodes);
    TRY(read_vertex(metis, line, vertex));
  }
  TRY(text_filled_row(metis->text, "%", &line));
  if (line)
    TEXT_FAIL(metis->text, "more lines than the %lld vertices that line %lld declares",
              (long long)metis->nodes, (long long)metis->header_line);
  int64_t arcs = metis->import->edges.list.count;
  if (arcs % 2 || arcs / 2 != metis->edges)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld edges, the lists have %lld entries, expected twice as many",
         metis->text->path, (long long)metis->header_line, (long long)metis->edges, (long long)arcs);
  return OK;
}

int import_metis(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  struct metis metis = {.text = &text, .import = import};
  TRY(text_open(&text, import->options->input));
  TRY(read_header(&metis));
  TRY(read_vertices(&metis));
  import->edges.nodes = metis.nodes;
  import->edges.base = 1;
  import->valued = metis.valued;
  return OK;
}

/* The line of a vertex, for a message; 0 when it cannot be told. */
static int64_t line_of_vertex(const char *path, int64_t vertex) {
  ENDED_BY(text_close) struct text text = {0};
  char *line = NULL;
  int code = text_open(&text, path);
  if (code == OK) code = text_filled_row(&text, "%", &line); /* the header */
  for (; code == OK && line && vertex > 0; vertex--) code = text_row(&text, "%", &line);
  return code == OK && line ? text.line : 0;
}

int import_metis_check(struct import *import) {
  const struct dataset_source *source = &import->source;
  const char *path = import->options->input;
  if (!source->directed) return OK;
  for (int64_t v = 0; v < source->nodes; v++) {
    for (int64_t e = source->start[v]; e < source->start[v + 1]; e++) {
      int64_t u = source->col[e];
      int64_t back = find_sorted(source->col, source->start[u], source->start[u + 1], (int32_t)v);
      if (back < 0)
        FAIL(BAD_INPUT,
             "%s:%lld: vertex %lld lists %lld, which does not list it; METIS graphs are undirected", path,
             (long long)line_of_vertex(path, v + 1), (long long)v + 1, (long long)u + 1);
      if (source->weight && memcmp(&source->weight[e], &source->weight[back], sizeof(float)) != 0)
        FAIL(BAD_INPUT, "%s:%lld: edge %lld, %lld has weight %g one way and %g the other", path,
             (long long)line_of_vertex(path, v + 1), (long long)v + 1, (long long)u + 1,
             (double)source->weight[e], (double)source->weight[back]);
    }
  }
  return OK;
}
