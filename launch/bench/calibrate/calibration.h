/* calibration: matrices that gnnbench calibrate makes, and the time of their products. */
#ifndef LAUNCH_BENCH_CALIBRATE_CALIBRATION_H
#define LAUNCH_BENCH_CALIBRATE_CALIBRATION_H

#include "kernels/cost/cost_fit.h"
#include "kernels/cost/cost_windows.h"
#include "launch/bench/bench.h"

extern const int64_t calibrate_width[COST_WIDTHS];
enum { MEASURED = COST_WIDTHS - 1 /* the widest is taken to be twice the one before */ };

/* A matrix of communities of rows that share columns, in cells of so many arcs side by side. */
struct synthetic {
  int64_t rows, cols;
  int64_t cells, arcs; /* of a row of cells; of a cell */
};
int calibrate_make(struct bench *bench, const struct synthetic *made, struct csr **to);

struct calibration {
  struct bench *bench;
  struct cost_model model;
  enum precision precision;
  enum cost_element element;
  int width;    /* number of it */
  int weighted; /* matrices have weights */
};

/* From then on in bf16 (0) or fp32 (1). */
int calibrate_element(struct calibration *c, int e);

/* A product of m of that width by these tiers: all of the sample but its density and the fastest. seconds 0:
 * the device has no such tier, or nothing of m is for it. */
int calibrate_measure(const struct calibration *c, const struct csr *m, enum layout_tiers tiers,
                      struct cost_sample *sample);

/* calibrate_exchange.c. Collective: sets the exchange inside a host, or that between hosts, and
 * prints it. */
int calibrate_exchange(struct bench *bench, struct cost_model *model);
/* seconds = way->start + bytes way->byte, in picoseconds there, of so many sizes: least squares of shares of
 * the seconds. */
void calibrate_way(int sizes, const double *bytes, const double *seconds, struct cost_exchange *way);

/* calibrate_stores.c. Collective, of ranks of one host: sets how they store halo rows into each other's
 * memory, and prints it; zero where some do not reach each other. */
int calibrate_stores(struct bench *bench, struct cost_model *model);

/* calibrate_set.c: fits c->model to products of the made graphs by each tier, and prints how well it
 * repeats the fastest. */
int calibrate_fit(struct calibration *c);

#endif
