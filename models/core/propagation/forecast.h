/* forecast: what a sparse product and its exchange are predicted to take, before layouts are made, so that
 * ways to hide an exchange can be chosen among. From stored constants of the device and of its network: the
 * same job chooses alike each time. Seconds. */
#ifndef MODELS_CORE_PROPAGATION_FORECAST_H
#define MODELS_CORE_PROPAGATION_FORECAST_H

#include "kernels/cost/cost_models.h"
#include "models/core/propagation/propagation.h"

/* A product with some columns; of attention by that model. Not to be copied. */
struct forecast {
  struct cost_model attention;
  struct cost_case product;
  struct choice choice;
};

/* m as `plan` lays it out, from the density of a few of its rows. Errors: FAILED when memory is short. */
int forecast_product(const struct propagation *p, const struct run *run, const struct csr *m,
                     const struct layout_plan *plan, struct forecast *forecast);

/* How long computing has to take by itself to last as long as an exchange of rows of that width: beside an
 * exchange it is slower. */
double forecast_hiding(const struct run *run, const struct halo *halo, int64_t width);

/* What it takes to write the sums of so many rows of a matrix of `all`, and to read them in another kernel:
 * little where they stay in the caches. */
double forecast_sums(const struct propagation *p, const struct run *run, const struct forecast *forecast,
                     int64_t rows, int64_t all);

/* What one kernel more in a sequence of them costs. */
double forecast_kernel(const struct forecast *forecast);

/* Whether rows of m are cut into pieces, which a kernel of its own adds up; and what that takes. */
int forecast_cuts(const struct run *run, const struct csr *m, int64_t width);
double forecast_pieces(const struct forecast *forecast);

/* Bytes of a row of so many columns, without gaps. */
int64_t forecast_row_bytes(const struct run *run, int64_t width);

#endif
