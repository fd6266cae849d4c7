/* hyper_file: the three kinds of text that hypergraphs come in, and what tells them apart. */
#ifndef IO_IMPORT_TEXT_HYPER_FILE_H
#define IO_IMPORT_TEXT_HYPER_FILE_H

#include "io/dataset/hyperedges.h"
#include "io/file/text.h"
#include "io/import/import.h"

/* What a reader fills. */
struct hyper_file {
  struct text text;
  struct import *import;
  struct hyperedges list;
  int64_t base, nodes; /* vertices are base .. base + nodes - 1; nodes -1: not said by the file */
};

/* hMETIS 1.5 manual: "hyperedges vertices [fmt]", a line of vertices from 1 for each hyperedge; weights are
 * passed over. */
int hyper_read_hmetis(struct hyper_file *file);
/* KONECT's bipartite out.* file, "% bip": a line "left right [weight [time]]", ids from 1. The left side are
 * the vertices, the right side the hyperedges. */
int hyper_read_konect(struct hyper_file *file);
/* A line of vertices for each hyperedge. */
int hyper_read_lines(struct hyper_file *file);

#endif
