/* order_auto: which order of nodes pays. An order costs seconds once and changes each sparse product by what
 * choose predicts from the cells of its pattern; what it saves is that difference times the products still to
 * run. Costs are predicted from nodes and arcs, so that the choice depends on the graph and the configuration
 * alone. */
#ifndef PARTITION_ORDER_ORDER_AUTO_H
#define PARTITION_ORDER_ORDER_AUTO_H

#include "partition/order/order.h"

/* What an order is worth. */
enum { STAKES_KINDS = 3 };
struct stakes {
  const struct cost_model *model;
  enum precision precision;
  struct {
    int64_t width;
    double count;
  } product[STAKES_KINDS]; /* to run: of the first layer, of those between, of the last */
  int parts;
  int weighted;   /* the dataset's edges have weights */
  double threads; /* that make an order, of the kind of processor or device that multiplies */
};

/* Sparse products that the training runs, as gcn does: forward and backward over the narrower side of each
 * layer, forward again in evaluations, none for a first aggregate that is computed once. */
struct stakes stakes_of(const struct comm *comm, const struct config *config, const struct dataset *dataset,
                        int parts);

/* Predicted seconds of all of them on one of the parts. */
double stakes_seconds(const struct stakes *stakes, const struct density *density);

/* Collective. Makes the order that pays most and says in one line why: fills partition->order, of this rank's
 * rows, and partition->chosen, partition->tried and partition->density, which are of all ranks' shards. */
int order_auto(const struct order_input *input, const struct stakes *stakes, struct partition *partition);

/* Whether a choice made before, perhaps for fewer products, still stands. */
int order_auto_stands(const struct stakes *stakes, const struct partition *partition);

#endif
