/* job_levels: whether an epoch computes only the rows that its loss needs, and what the banner says of it. */
#ifndef MODELS_SESSION_JOB_LEVELS_H
#define MODELS_SESSION_JOB_LEVELS_H

#include "models/program/program.h"
#include "partition/shard/shard.h"
#include "runtime/config/config.h"

struct job_levels {
  int predicts;         /* set before: evaluations are asked for the rows of all nodes */
  struct levels levels; /* of nodes; where all rows are computed, none */
  struct row_work work; /* of the sums over arcs; level NULL: rows are alike */
  char all_rows[96];    /* why they are */
};

/* The largest share of the work of sums over arcs (levels_share) that an epoch may still have to do where
 * nodes are numbered by level: that costs the order in which they were found some of its locality. The same
 * on every rank; tests raise it. */
extern double job_levels_worth;

/* Collective. Finds the levels, or says in all_rows why all rows are computed: in a grid of several columns,
 * for one. block: this rank's rows of the graph, or
 * of the star of a hypergraph. */
int job_levels_find(struct job_levels *job, struct comm *comm, const struct config *config,
                    const struct grid *grid, struct dataset *dataset, const struct graph *block);
/* Collective. Sorts the directory's ids by them, where there are any. */
int job_levels_order(const struct job_levels *job, struct comm *comm, struct directory *directory);
/* The same of all parts, in a process that has the order of all. */
int job_levels_order_all(const struct job_levels *job, struct partition *partition);
void job_levels_free(struct job_levels *job);

/* Says what each layer computes. */
void job_levels_print(const struct job_levels *job, const struct program *p);

#endif
