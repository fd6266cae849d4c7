/* order_auto: which order of nodes pays. An order costs seconds once and changes each sparse product by what
 * choose predicts from the cells of its pattern; what it saves is that difference times the products still to
 * run. Costs are predicted from nodes and arcs, so that the choice depends on the graph and the configuration
 * alone. */
#ifndef PARTITION_ORDER_AUTO_H
#define PARTITION_ORDER_AUTO_H

#include "partition/order.h"

/* What an order is worth. */
struct stakes {
  struct choose_case product;
  double products; /* to run: epochs x 2 x layers x runs */
  int parts;
  double threads; /* that make an order, of the kind of processor or device that multiplies */
};

struct stakes stakes_of(const struct comm *comm, const struct config *config, int parts);

/* Predicted seconds of one product on one of the parts. */
double stakes_seconds(const struct stakes *stakes, const struct density *density);

/* Makes the order that pays most and says in one line why: fills partition->order, partition->chosen,
 * partition->tried and partition->density. */
int order_auto(const struct order_input *input, const struct stakes *stakes, struct partition *partition);

/* Whether a choice made before, perhaps for fewer products, still stands. */
int order_auto_stands(const struct stakes *stakes, const struct partition *partition);

#endif
