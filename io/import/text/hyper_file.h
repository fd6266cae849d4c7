/* hyper_file: what the readers of hypergraphs share, from incidences to the hyperedges of a dataset.
 *
 * The incidence matrix is binary (Feng et al. 2019): a vertex that stands several times in a hyperedge counts
 * once. An empty hyperedge says nothing and is left out. Hyperedges of one vertex stay, and so do equal ones:
 * each weighs by itself. */
#ifndef IO_IMPORT_TEXT_HYPER_FILE_H
#define IO_IMPORT_TEXT_HYPER_FILE_H

#include "io/import/import.h"

/* What a reader fills. Incidences are import->edges.list, from vertices to numbers of hyperedges, and stand
 * in `pair` once they are taken. */
struct hyper_file {
  struct text *text;
  struct import *import;
  struct arc *pair; /* [pairs], by hyperedge */
  int64_t pairs;
  int64_t hyperedges;  /* read so far, empty ones among them */
  int64_t base, nodes; /* vertices are base .. base + nodes - 1; nodes -1: not said by the file */
};

void hyper_file_free(struct hyper_file *file);

/* Reads a line of vertices, which are known: a hyperedge more. Errors: BAD_INPUT for a vertex outside. */
int hyper_file_line(struct hyper_file *file, char *line);

/* The list becomes the array. hyper_file_take: of hyperedges that came one after the other; nothing happens
 * where it is there. Errors: BAD_INPUT: there is no hyperedge. hyper_file_group: of incidences in any order,
 * which are sorted, and the hyperedges counted. */
int hyper_file_take(struct hyper_file *file);
int hyper_file_group(struct hyper_file *file);

/* Vertices, known by now, and hyperedges of import->source. Errors: BAD_INPUT: all hyperedges are empty, the
 * number of vertices is out of proportion. */
int hyper_file_build(struct hyper_file *file);

/* Errors: BAD_INPUT for options that speak of arcs. */
int hyper_check_options(const struct import_options *options);

/* Lines of a text that hold something for a vertex; one_word: 0 where it pairs them with ids. */
int hyper_count_lines(const char *path, int one_word, int64_t *count);

#endif
