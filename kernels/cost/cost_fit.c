#include "kernels/cost/cost_fit.h"

#include <math.h>

#include "runtime/base/base.h"

enum {
  COMMON = 10, /* constants of all products */
  TABLES = 4,  /* constants of an element and a width */
  MINE = COMMON + TABLES,
  UNKNOWN = COMMON + COST_ELEMENTS * COST_WIDTHS * TABLES
};

/* A layout that takes twice as long as the fastest counts as a sixteenth. */
static const double LESS = 4;

/* Where the constants of an element and a width stand. */
static void constants_of(struct cost_model *m, enum cost_element e, int w, double *constant[MINE]) {
  double *mine[MINE] = {&m->plane_byte,        &m->result.row,   &m->result.byte_cached, &m->result.byte,
                        &m->result.merge_byte, &m->start.launch, &m->start.kernel,       &m->start.pieces,
                        &m->start.entry,       &m->start.block,  &m->near[e][w],         &m->cached[e][w],
                        &m->distant[e][w],     &m->block[e][w]};
  for (int i = 0; i < MINE; i++) constant[i] = mine[i];
}

/* The number of constant i of an element and a width among all. */
static int number_of(enum cost_element e, int w, int i) {
  return i < COMMON ? i : COMMON + ((int)e * COST_WIDTHS + w) * TABLES + i - COMMON;
}

static int width_of(const struct cost_sample *sample) {
  int w = 0;
  while (w < COST_WIDTHS - 1 && sample->width > 32 << w) w++;
  return w;
}

static double predict(const struct cost_model *model, const struct cost_sample *s) {
  struct cost_case product = {model, s->precision, s->width, 0, s->rows};
  return cost_product_seconds(&product, s->density, s->least, &s->windows);
}

double cost_fit_ratio(const struct cost_model *model, const struct cost_sample *sample) {
  return predict(model, sample) / sample->seconds;
}

/* A sample as an equation: what it has of each of its constants, in shares of its time; they add up to what
 * is left by its tiles. */
struct equation {
  double has[MINE], left, weight;
  int number[MINE];
};

/* All of them, by their numbers; NULL: 1. */
static void set_all(struct cost_model *m, const double *x) {
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int w = 0; w < COST_WIDTHS; w++) {
      double *constant[MINE];
      constants_of(m, (enum cost_element)e, w, constant);
      for (int i = 0; i < MINE; i++) *constant[i] = x ? x[number_of((enum cost_element)e, w, i)] : 1;
    }
  }
}

/* Predictions are linear, so that one constant's share is what doubling it adds. */
static struct equation equation_of(struct cost_model *ones, const struct cost_sample *s) {
  enum cost_element e = s->precision == PRECISION_BF16 ? COST_BF16 : COST_FP32;
  double *constant[MINE], once = predict(ones, s);
  struct equation equation = {.left = 1 - once / s->seconds, .weight = pow(s->fastest / s->seconds, LESS)};
  int w = width_of(s);
  constants_of(ones, e, w, constant);
  for (int i = 0; i < MINE; i++) {
    *constant[i] = 2;
    equation.has[i] = (predict(ones, s) - once) / s->seconds;
    equation.left += equation.has[i];
    equation.number[i] = number_of(e, w, i);
    *constant[i] = 1;
  }
  return equation;
}

/* The normal equations, and what solves them. */
struct normal {
  double product[UNKNOWN][UNKNOWN], right[UNKNOWN], x[UNKNOWN];
};

static void add_equation(struct normal *n, const struct equation *equation) {
  double weight = equation->weight * equation->weight;
  for (int i = 0; i < MINE; i++) {
    n->right[equation->number[i]] += weight * equation->has[i] * equation->left;
    for (int j = 0; j < MINE; j++)
      n->product[equation->number[i]][equation->number[j]] += weight * equation->has[i] * equation->has[j];
  }
}

/* One constant after the other to its best value, the others as they are, until none moves. */
static void solve(struct normal *n) {
  enum { ROUNDS = 20000 };
  double moved = 1;
  for (int round = 0; round < ROUNDS && moved > 1e-7; round++) {
    moved = 0;
    for (int i = 0; i < UNKNOWN; i++) {
      if (!(n->product[i][i] > 0)) continue;
      double rest = n->right[i];
      for (int j = 0; j < UNKNOWN; j++) rest -= n->product[i][j] * n->x[j];
      double x = fmax(0, n->x[i] + rest / n->product[i][i]);
      moved = fmax(moved, fabs(x - n->x[i]) / fmax(x, 1e-9));
      n->x[i] = x;
    }
  }
}

int cost_fit(struct cost_model *model, const struct cost_sample *sample, int samples) {
  struct cost_model ones = *model;
  FREED struct normal *normal = NULL;
  set_all(&ones, NULL);
  TRY(memory_arrays("equations", ROOM(&normal, 1)));
  for (int i = 0; i < samples; i++) {
    struct equation equation = equation_of(&ones, &sample[i]);
    add_equation(normal, &equation);
  }
  solve(normal);
  set_all(model, normal->x);
  return OK;
}
