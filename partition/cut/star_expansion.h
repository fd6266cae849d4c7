/* star_expansion: a hypergraph as a graph of its vertices and hyperedges. Nodes 0 .. N-1 are the vertices, N
 * .. N+M-1 the hyperedges; row N + e lists the vertices of e, rows of vertices are empty. Partitioned like a
 * directed graph, so that vertices and hyperedges that belong together get one owner; in a shard's order its
 * vertices come first. */
#ifndef PARTITION_CUT_STAR_EXPANSION_H
#define PARTITION_CUT_STAR_EXPANSION_H

#include "partition/graph/partition.h"

/* Rows [first, first + rows) of the star of a dataset's hypergraph. Errors: BAD_INPUT for too many nodes, for
 * rows that do not ascend, or what dataset_read_* say. */
int star_expansion_read(struct dataset *dataset, int64_t first, int64_t rows, struct graph *expansion);
/* This rank's block: hyperedges alone, as equal in number as can be. */
int star_expansion_read_block(struct comm *comm, struct dataset *dataset, struct graph *block);
/* Collective. A hash of the whole hypergraph, from the ranks' blocks. */
int star_expansion_hash(struct comm *comm, const struct dataset *dataset, const struct graph *block,
                        uint64_t *hash);

/* Collective. As partition_make, of the star, of which the block has this rank's hyperedges: METIS balances
 * vertices, and hyperedges by the number of their vertices; block and random cut the vertices, and a
 * hyperedge goes where most of its vertices are. Orders are those of the star as a graph, vertices first;
 * auto is given. */
int star_expansion_partition(struct comm *comm, const struct config *config, struct dataset *dataset,
                             uint64_t hash, const struct graph *block, const struct row_work *work, int parts,
                             const char *run_dir, struct partition *expansion);

/* Steps of it, in a partition that is being made. Every hyperedge goes to the part with most of its vertices,
 * whose parts are known: part[nodes]. In each part's order the vertices come first, otherwise as ordered, of
 * a rank that has all nodes. */
int star_expansion_elect(const struct graph *graph, int64_t vertices, int parts, int32_t *part);
int star_expansion_vertices_first(int64_t vertices, struct partition *expansion);
/* Collective. Whether they come first; counts expansion->vertices. */
int star_expansion_is(struct comm *comm, const struct partition *expansion, int64_t vertices, int *is);
int star_expansion_count(struct comm *comm, int64_t vertices, struct partition *expansion);

/* Largest over mean of the parts: of vertices, and of incidences. */
struct star_expansion_balance {
  double vertices, incidences;
};
struct star_expansion_balance star_expansion_balance(const struct partition *expansion, int64_t vertices);

/* Method, order, where it came from, what is cut and how evenly, in one line of text[size]. */
void star_expansion_text(const struct partition *expansion, const struct config *config, int64_t vertices,
                         int64_t incidences, char *text, size_t size);

/* Details: the table: method, cut incidences, vertices, hyperedges and incidences of each rank. */
void star_expansion_print(const struct partition *expansion, const struct config *config, int64_t vertices,
                          int64_t incidences);

#endif
