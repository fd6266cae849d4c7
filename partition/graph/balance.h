/* balance: moves a few nodes out of parts that are above the wanted balance. METIS balances nodes and
 * non-zeros at once only nearly, on graphs with hubs most of all. */
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

#endif
