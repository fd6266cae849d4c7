/* cost_attention: what the arcs of attention cost, as those of a sum: the constants of a device with its
 * factors in them. An arc that is gathered takes longer, since it has scores. */
#ifndef KERNELS_COST_COST_ATTENTION_H
#define KERNELS_COST_COST_ATTENTION_H

#include "kernels/cost/cost_rates.h"

enum { ATTENTION_COLUMNS = 64 /* that one weight of a cell serves at most */ };

/* By terms. A cell of a tile takes a weight for each head, and for each 64 columns of wider ones, and two
 * products: of all arcs and of the positive ones. Tiles are of bf16 alone. */
struct cost_model cost_attention(const struct cost_model *model, int64_t heads);

/* By cosines. An arc brings one row forward and two backward. A cell takes a weight for each of them, and two
 * products forward, of the score and of the sum, and five backward. So do cells of column vectors. */
enum cosine_pass { COSINE_FORWARD, COSINE_BACKWARD, COSINE_MEAN };
struct cost_model cost_cosines(const struct cost_model *model, enum cosine_pass pass);

#endif
