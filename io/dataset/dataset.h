/* dataset: a graph with features, labels and splits in one HDF5 file, version 1 (the README gives the
 * format). Read in blocks of rows; what a block holds is checked as it is read, the header when opened.
 * gnntrain never writes to it. */
#ifndef IO_DATASET_DATASET_H
#define IO_DATASET_DATASET_H

#include <stdint.h>

#include "io/dataset/dataset_made.h"
#include "io/file/h5.h"

enum task { TASK_NONE, TASK_MULTICLASS, TASK_MULTILABEL };
enum split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST, SPLIT_COUNT };
extern const char *const split_name[SPLIT_COUNT]; /* "train", "val", "test" */

enum { DATASET_BLOCK = 64 << 20 };                    /* bytes read at a time, at most */
enum { DATASET_CLASSES = 1000 * 1000 };               /* at most */
enum { DATASET_CLASS_NAME = 255, DATASET_ID = 1023 }; /* bytes of a class's name, of an id as text; at most */

/* What a file holds as compressed rows, and their names there: of values NULL where there are none. */
enum rows_kind { GRAPH_ROWS, FEATURE_ROWS, HYPER_ROWS, ROWS_KINDS };
struct dataset_rows {
  const char *starts, *ids, *values;
  int64_t rows, entries, most; /* ids lie in [0, most) */
};
extern const struct dataset_rows dataset_rows_names[ROWS_KINDS]; /* these alone */

struct dataset {
  struct h5 h5; /* of one that is made its path is what it is called */
  struct dataset_made made;
  char name[256];
  int64_t nodes, edges, features, classes;
  enum task task;
  int directed, weighted;
  int sparse;      /* features are sparse rows */
  int ids;         /* 0: none, 1: int64, 2: strings */
  int64_t splits;  /* numbered splits; a plain /split/train counts as split 0 */
  int plain_split; /* split 0 is /split/train and not /split/0/train */
  int has_graph, has_features;
  int64_t graphs;                       /* labels and splits are of so many graphs; 0: of nodes */
  int64_t hyperedges, incidences;       /* 0: no hypergraph */
  struct dataset_rows rows[ROWS_KINDS]; /* zeroed: the file has none */
};

/* The attribute "format" of a dataset's file. */
extern const char dataset_format[];

/* Opens for reading and checks attributes, names, types and shapes against each other (not the contents:
 * dataset_check does). Errors: BAD_INPUT with file and object named. Probe the file first (h5_probe). */
int dataset_open(struct dataset *dataset, const char *path);
void dataset_close(struct dataset *dataset);

/* The path of its file; NULL: it is made. */
const char *dataset_file(const struct dataset *dataset);

/* Rows that are to be read now, and that they are needed no more; for a file nothing. One that is made has
 * them made here, without other ranks. */
int dataset_hold_rows(struct dataset *dataset, enum rows_kind kind, int64_t first, int64_t rows);
/* Collective: the same of rows that begin behind those of the rank before, of all ranks together all; each
 * makes its share of their entries. */
int dataset_hold_block(struct comm *comm, struct dataset *dataset, enum rows_kind kind, int64_t first,
                       int64_t rows);
void dataset_drop_rows(struct dataset *dataset);
/* How many arcs or incidences there are: of a dataset that is made about as many as were asked for, until
 * whoever has counted all of them says so; holding all rows does. */
void dataset_set_entries(struct dataset *dataset, enum rows_kind kind, int64_t entries);

/* Offsets indptr[first .. first + rows] (rows + 1 values), checked: ascending, inside [0, entries], 0 at the
 * start and `entries` at the end of all. Those of a dataset that is made count from the first row held; rows
 * that are not held are held from then on. */
int dataset_read_starts(struct dataset *dataset, enum rows_kind kind, int64_t first, int64_t rows,
                        int64_t *start);
/* Ids and values (NULL: not wanted) of entries [first, first + count), checked to be in range and finite. */
int dataset_read_entries(struct dataset *dataset, enum rows_kind kind, int64_t first, int64_t count,
                         int32_t *id, float *value);
/* Dense features of rows, [rows, features]; NaN or infinite values are errors that name node and column. */
int dataset_read_features(struct dataset *dataset, int64_t first, int64_t rows, float *values);
/* Labels of rows: multiclass int32 in [-1, classes). Multilabel uint8 [rows, classes] of 0 and 1. */
int dataset_read_label(struct dataset *dataset, int64_t first, int64_t rows, int32_t *label);
int dataset_read_labels(struct dataset *dataset, int64_t first, int64_t rows, uint8_t *labels);
/* Node ids of a split, ascending, in range; *node is malloc'ed. A split that is not there is BAD_INPUT. */
int dataset_read_split(struct dataset *dataset, int64_t split, enum split part, int64_t **node,
                       int64_t *count);
/* The nodes that its graphs begin with, and the number of all nodes: [graphs + 1], malloc'ed. The label of a
 * graph, and its place in a split, stand at the first of its nodes. Errors: BAD_INPUT: a graph without nodes.
 */
int dataset_read_graphs(struct dataset *dataset, int64_t **start);
/* User ids of rows: int64, or malloc'ed strings (dataset.ids says which). */
int dataset_read_ids(struct dataset *dataset, int64_t first, int64_t rows, int64_t *id);
int dataset_read_id_strings(struct dataset *dataset, int64_t first, int64_t rows, char **id);

/* Names of the classes, [classes], which h5_free_names frees; NULL: it has none. Errors: BAD_INPUT: a name
 * that is none. */
int dataset_read_class_names(struct dataset *dataset, char ***name);
/* What is wrong with a text of at most so many bytes, as "is not UTF-8"; NULL: nothing. one_line: control
 * characters are wrong. */
const char *dataset_text_fault(const char *text, int64_t most, int one_line);

/* Errors: BAD_INPUT when something in /split has a name that nobody reads, as a number after a gap. */
int dataset_check_splits(struct dataset *dataset);
/* Calls stray(context, name) for each, until it fails; what is said of one. */
int dataset_stray_splits(struct dataset *dataset, int (*stray)(void *context, const char *name),
                         void *context);
#define DATASET_SPLIT_NAMES \
  "/split/%.100s: train, val and test, or numbers from 0 without gaps, are allowed there"

/* Name of a split's part in the file, "/split/0/train". */
enum { DATASET_SPLIT_NAME = 64 };
void dataset_split_name(const struct dataset *dataset, int64_t split, enum split part,
                        char name[DATASET_SPLIT_NAME]);

/* Goes through every invariant of the format; calls `say` once for each violation (at most 20 a kind), with
 * its place. *violations counts them all. Errors: FAILED (memory); BAD_INPUT when the file cannot be read on.
 */
int dataset_check(struct dataset *dataset, void (*say)(const char *violation, void *context), void *context,
                  int64_t *violations);

/* A dataset in host memory, to be written. Arrays belong to whoever fills it (dataset_source_free frees
 * them all with free()). Rows sorted, no duplicates, symmetric unless directed. */
struct dataset_source {
  char name[256];
  int64_t nodes, features, classes;
  enum task task;
  int directed;
  int64_t *start; /* [nodes + 1] */
  int32_t *col;
  float *weight; /* NULL: none */
  struct {
    int64_t edges;
    int64_t *start; /* [edges + 1], or NULL */
    int32_t *vertex;
  } hyper;
  struct {
    int64_t count;
    int64_t *start; /* [count + 1] nodes that graphs begin with, or NULL: there is one graph */
  } graphs;
  float *feature; /* dense [nodes, features], or NULL */
  /* Dense features made in blocks while they are written, or rows NULL; values is [rows, features]. */
  struct {
    int (*rows)(void *context, int64_t first, int64_t rows, float *values);
    void *context; /* borrowed */
  } made;
  struct {
    int64_t *start;
    int32_t *col;
    float *value;
  } sparse;        /* features as sparse rows; start NULL: none */
  int32_t *label;  /* multiclass, or NULL */
  uint8_t *labels; /* multilabel, or NULL */
  struct dataset_names {
    int64_t *id; /* user ids, or NULL */
    /* They as texts [nodes], and what classes are called [classes]; NULL: none. The texts are borrowed. */
    const char **id_text, **class_name;
  } names;
  int64_t splits;
  struct split_list {
    int64_t *node[SPLIT_COUNT];
    int64_t count[SPLIT_COUNT];
  } * split; /* [splits] */
};

/* Writes it beside, syncs, renames. One split is written as /split/train, several as /split/<k>/train.
 * Features below 10% density are stored as sparse rows, others dense, whichever form they come in. */
int dataset_write(const struct dataset_source *source, const char *path);
void dataset_source_free(struct dataset_source *source);

#endif
