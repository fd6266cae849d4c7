#include "models/train/state/state_check.h"

#include <float.h>
#include <math.h>

#include "runtime/base/base.h"

/* A loss is a sum of terms >= 0, each a difference of rounded numbers. */
#define LOSS_ROUNDING 1e-3

/* What may stand under a name, or under any that begins with it where that ends in '/'. */
struct range {
  const char *name;
  double least, most; /* INFINITY: the largest that is finite */
  int or_nan;
  int64_t first_row; /* of an array, from which on it holds */
  const char *allowed;
};

static const struct range ranges[] = {
    {"run", 0, CONFIG_RUNS - 1, 0, 0, "0 to 9999"},
    {"epoch", 0, CONFIG_EPOCHS, 0, 0, "0 to 1000000000"},
    {"step", 0, CONFIG_EPOCHS, 0, 0, "0 to 1000000000"},
    {"best_epoch", 0, CONFIG_EPOCHS, 0, 0, "0 to 1000000000"},
    {"best_val", 0, 1, 1, 0, "0 to 1, or NaN where there are no such nodes,"},
    {"best_loss", -LOSS_ROUNDING, INFINITY, 1, 0,
     "a finite number >= 0, or NaN before the first evaluation,"},
    {"best_test", 0, 1, 1, 0, "0 to 1, or NaN where there are no such nodes,"},
    {"seconds", 0, INFINITY, 0, 0, "a finite number >= 0"},
    {"parameters/", -INFINITY, INFINITY, 0, 0, "a finite number"},
    {"moments/first/", -INFINITY, INFINITY, 0, 0, "a finite number"},
    {"moments/second/", 0, INFINITY, 0, 0, "a finite number >= 0"},
    {"statistics/", -INFINITY, INFINITY, 0, 0, "a finite number"},
    {"statistics/", 0, INFINITY, 0, 1, "a variance: a finite number >= 0"},
    {"best/parameters/", -INFINITY, INFINITY, 0, 0, "a finite number"},
    {"best/statistics/", -INFINITY, INFINITY, 0, 0, "a finite number"},
    {"best/statistics/", 0, INFINITY, 0, 1, "a variance: a finite number >= 0"},
    {"runs/", 0, 1, 1, 0, "0 to 1, or NaN where there are no such nodes,"},
};
enum { RANGES = sizeof ranges / sizeof ranges[0] };

static int is_of(const struct range *range, const char *name) {
  size_t length = strlen(range->name);
  int begins = range->name[length - 1] == '/';
  return begins ? strncmp(name, range->name, length) == 0 : strcmp(name, range->name) == 0;
}

static int is_in(const struct range *range, double largest, double value) {
  if (isnan(value)) return range->or_nan;
  return value >= range->least && value <= range->most && fabs(value) <= largest;
}

static int check_value(const struct range *range, const struct checkpoint_value *value, const char *path) {
  int is_int = value->kind == CHECKPOINT_INT;
  if (value->kind == CHECKPOINT_TEXT) return OK;
  if (is_int && (*value->integer < (int64_t)range->least || *value->integer > (int64_t)range->most))
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" is %lld; %s is allowed", path, value->name,
         (long long)*value->integer, range->allowed);
  if (!is_int && !is_in(range, DBL_MAX, *value->real))
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" is %g; %s is allowed", path, value->name, *value->real,
         range->allowed);
  return OK;
}

/* Results of runs are no numbers of the model: they are doubles on the host. */
static int check_item(const struct range *range, const struct checkpoint_item *item, double largest,
                      const char *path) {
  const double *data = item->data;
  int64_t cols = item->cols ? item->cols : 1;
  for (int64_t i = range->first_row * cols; i < item->rows * cols; i++) {
    if (is_in(range, largest, data[i])) continue;
    if (isfinite(data[i]) && fabs(data[i]) > largest)
      FAIL(BAD_INPUT, "%s: /%s: row %lld, column %lld is %g; %g is the largest with this runtime.precision",
           path, item->name, (long long)(i / cols), (long long)(i % cols), data[i], largest);
    FAIL(BAD_INPUT, "%s: /%s: row %lld, column %lld is %g; %s is allowed", path, item->name,
         (long long)(i / cols), (long long)(i % cols), data[i], range->allowed);
  }
  return OK;
}

double state_largest(enum precision precision) {
  return precision == PRECISION_FP64 ? DBL_MAX : FLT_MAX;
}

int state_check_values(const struct checkpoint *checkpoint, double largest, const char *path) {
  for (int r = 0; r < RANGES; r++) {
    for (int64_t i = 0; i < checkpoint->values; i++) {
      if (is_of(&ranges[r], checkpoint->value[i].name))
        TRY(check_value(&ranges[r], &checkpoint->value[i], path));
    }
    for (int64_t i = 0; i < checkpoint->items; i++) {
      if (is_of(&ranges[r], checkpoint->item[i].name))
        TRY(check_item(&ranges[r], &checkpoint->item[i], largest, path));
    }
  }
  return OK;
}

/* Before the first evaluation there is no best; older programs wrote zeros then. */
static int check_best(const struct best *best, const char *path) {
  const char *const name[] = {"best_val", "best_loss", "best_test"};
  const double value[] = {best->val, best->loss, best->test};
  for (int i = 0; i < 3 && best->epoch == 0; i++) {
    if (!isnan(value[i]) && value[i] != 0)
      FAIL(BAD_INPUT, "%s: the attribute \"%s\" is %g, but best_epoch is 0; NaN is allowed with that", path,
           name[i], value[i]);
  }
  if (best->epoch > 0 && isnan(best->loss))
    FAIL(BAD_INPUT,
         "%s: the attribute \"best_loss\" is NaN, but best_epoch is %lld; a number is allowed with that",
         path, (long long)best->epoch);
  return OK;
}

int state_check_place(const struct state *state, const struct config *was, const char *path) {
  if (state->step != state->epoch)
    FAIL(BAD_INPUT, "%s: the attribute \"step\" is %lld; %lld is allowed, that of \"epoch\": each takes one",
         path, (long long)state->step, (long long)state->epoch);
  if (state->best.epoch > state->epoch)
    FAIL(BAD_INPUT, "%s: the attribute \"best_epoch\" is %lld; 0 to %lld is allowed, that of \"epoch\"", path,
         (long long)state->best.epoch, (long long)state->epoch);
  if (state->run >= was->train.runs)
    FAIL(BAD_INPUT, "%s: the attribute \"run\" is %lld; 0 to %lld is allowed with its own train.runs = %lld",
         path, (long long)state->run, (long long)was->train.runs - 1, (long long)was->train.runs);
  return check_best(&state->best, path);
}
