/* import: foreign graph files become a dataset_source.
 *
 * A format's reader fills the list of arcs and whatever features, labels and splits its file holds; what
 * follows is the same for all: ids are ranked, arcs sorted, options applied. In a matrix of any format entry
 * (i, j) is the arc i -> j, so it stands in row j of the dataset. A rectangular matrix is a bipartite graph:
 * its columns become nodes behind its rows, and every entry stands for both directions. Readers of
 * hypergraphs fill the source's hyperedges instead. */
#ifndef IO_IMPORT_IMPORT_H
#define IO_IMPORT_IMPORT_H

#include <stdint.h>

#include "io/dataset/dataset.h"
#include "io/dataset/edges.h"
#include "io/file/text.h"
#include "io/import/texts.h"

struct import_options {
  const char *format, *input, *output;
  const char *edges; /* the second input of a table; else NULL */
  struct import_columns {
    const char *id, *label, *weight, *from, *to;
  } column; /* names of a table's columns; NULL: not said */
  int undirected, drop_self_loops, weights, binarize;
  const char *
      features; /* FILE.npy, FILE.npz, FILE.csv, random:F or degree:F; NULL: the input's; a table's columns */
  const char *labels; /* FILE, FILE.npy or random:C */
  const char *split;  /* FILE, FILE.npz, random:TRAIN,VAL, per-class:TRAIN,VAL or folds:K; a table's column */
  int64_t splits;     /* how many random splits, >= 1 */
  int64_t nodes;      /* the ids of an edge list are 0 .. nodes-1, vertices are so many; 0: not said */
  int64_t seed;
  double memory; /* GiB of arcs that are not yet sorted; 0: a third of what is free */
};

struct import {
  const struct import_options *options; /* borrowed */
  struct edges edges;
  struct dataset_source source;
  int valued;             /* the input has edge values */
  int64_t declared_nodes; /* by the input's header, when its ids are not simply 0 .. or 1 ..; else 0 */
  int64_t unlabelled;     /* nodes without a label that were taken out of splits */
  struct texts ids;       /* of the nodes, by number; none where ids are numbers, or the arcs give them */
  struct texts labels;    /* different labels; the source borrows from both */
  struct {
    int features, split;
  } taken;             /* the option named columns of the input, which has been read */
  double read, sorted; /* seconds: of reading the input, of sorting its arcs */
};

void import_free(struct import *import);

/* The nodes: of the arcs while the input is read, then of the graph that was made of them. */
static inline int64_t import_nodes(const struct import *import) {
  return import->source.nodes ? import->source.nodes : import->edges.nodes;
}

/* The readers. */
int import_npz(struct import *import);
int import_edgelist(struct import *import);
int import_konect(struct import *import);
int import_mtx(struct import *import);
int import_metis(struct import *import);
int import_metis_check(struct import *import);
int import_hypergraph(struct import *import);
int import_allset(struct import *import);
int import_ogb(struct import *import);
int import_tud(struct import *import);
int import_gin(struct import *import);
int import_dgl(struct import *import);
int import_table(struct import *import);
int import_table_finish(struct import *import);

/* The lines of a KONECT file that is open, as they stand: import->edges lead from the left to the right side.
 * *left: how many the left side has, as is declared, or the highest that occurs. */
int import_konect_pairs(struct import *import, struct text *text, int64_t *left);

/* Headers may lie: an error when `nodes` is out of all proportion to the `entries` that are there. `what`:
 * file, line and name of the number. */
int import_check_size(int64_t nodes, int64_t entries, const char *what);

/* Whether `text` starts with `prefix`, whether `path` ends with `suffix`. */
int option_has_prefix(const char *text, const char *prefix);
int option_has_suffix(const char *path, const char *suffix);

/* One integer in [low, high]. Errors: BAD_INPUT naming `option`. */
int option_count(const char *option, const char *text, int64_t low, int64_t high, int64_t *value);

#endif
