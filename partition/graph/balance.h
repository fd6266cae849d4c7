/* balance: moves a few nodes out of parts that are above the wanted balance. METIS balances nodes and
 * non-zeros at once only nearly, on graphs with hubs most of all. Afterwards nodes move where parts then
 * receive fewer rows. */
#ifndef PARTITION_GRAPH_BALANCE_H
#define PARTITION_GRAPH_BALANCE_H

#include <stdint.h>

#include "runtime/base/csr.h"

/* Moves nodes until every part holds at most `balance` times the mean of nodes (count[v] for node v, NULL: 1)
 * and of non-zeros (nnz[v] for node v), or as much as the heaviest node alone, cheapest nodes first: those
 * that lose the fewest edges to their part for what they relieve it of. Gives up where no single move lessens
 * the overload of all parts together. Equal input, equal result. */
int balance_parts(const struct csr *pattern, const int64_t *count, const int64_t *nnz, int parts,
                  double balance, int32_t *part);

/* Moves nodes, one after the other, to parts of their neighbours where that lessens the rows that parts
 * receive, and no part gets more than balance_parts allows; *saved: how many rows fewer these are. The rows
 * are those of a symmetric pattern, of nodes with 256 entries at most: longer ones are taken to be needed
 * everywhere. Nodes of more than 64 entries stay. Equal input, equal result. (Moves by the communication
 * volume: Hendrickson, Graph partitioning and parallel solvers: has the emperor no clothes? 1998.) */
int balance_lessen_rows(const struct csr *pattern, const int64_t *nnz, int parts, double balance,
                        int32_t *part, int64_t *saved);

#endif
