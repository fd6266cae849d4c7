#include "partition/multilevel/tally_rows.h"

#include "runtime/base/base.h"

void tallied_free(struct tallied *tallied) {
  free_all(tallied->start, tallied->col, tallied->sum, tallied->weight);
  *tallied = (struct tallied){0};
}

static void put_row(const struct tally *t, int64_t at, struct tallied *made) {
  for (int64_t i = 0; i < t->count; i++) {
    const double sum = t->sum[t->touched[i]];
    made->col[at + i] = t->label[t->touched[i]];
    if (made->sum)
      made->sum[at + i] = sum;
    else
      made->weight[at + i] = (float)sum;
  }
}

/* Counts the rows, or fills them when there are columns. */
static int pass(int64_t longest, tally_fill *fill, const void *context, struct tallied *made) {
  int code = OK;
#pragma omp parallel reduction(max : code)
  {
    struct tally tally = {0};
    code = tally_init(&tally, longest);
#pragma omp for schedule(dynamic, 8)
    for (int64_t row = 0; row < made->rows; row++) {
      if (code != OK) continue;
      tally_clear(&tally);
      fill(&tally, row, context);
      if (made->col)
        put_row(&tally, made->start[row], made);
      else
        made->start[row + 1] = tally.count;
    }
    tally_free(&tally);
  }
  if (code != OK) FAIL(code, "out of memory: no room to add up %lld rows", (long long)made->rows);
  return OK;
}

int tally_rows(int64_t rows, int64_t longest, int goes_on, tally_fill *fill, const void *context,
               struct tallied *made) {
  *made = (struct tallied){.rows = rows};
  TRY(memory_arrays("rows of sums", ROOM(&made->start, rows + 1)));
  TRY(pass(longest, fill, context, made));
  for (int64_t row = 0; row < rows; row++) made->start[row + 1] += made->start[row];
  const int64_t arcs = made->start[rows];
  TRY(memory_arrays("rows of sums", ROOM(&made->col, arcs)));
  TRY(goes_on ? memory_arrays("rows of sums", ROOM(&made->sum, arcs))
              : memory_arrays("rows of sums", ROOM(&made->weight, arcs)));
  return pass(longest, fill, context, made);
}
