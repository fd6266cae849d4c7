#include "partition/order/order_ranks.h"

#include "partition/order/order_rate.h"
#include "runtime/base/base.h"

/* What a rank does aside, while others may wait for it. */
struct aside {
  const struct order_input *input;
  order_work *work;
  void *context;
};

static int call(void *context) {
  struct aside *aside = context;
  return aside->work(aside->input, aside->context);
}

int order_by_ranks(const struct order_input *input, order_work *work, void *context) {
  struct aside aside = {input, work, context};
  return comm_agree(input->progress->comm,
                    progress_work(input->progress, "ordering the nodes", call, &aside));
}

/* Places of all columns: of own rows as they are ordered, of others' as their ranks say. place: [columns] */
static int place_columns(const struct order_input *input, const int64_t *order, int32_t *place) {
  const int64_t rows = input->graph->rows;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) place[order[i]] = (int32_t)(input->first + i);
  return halo_swap(input->halo, input->progress->comm, place, sizeof *place, place + rows);
}

struct rating {
  struct order_view view;
  int64_t step;
  struct density *density;
  struct order_counts counts;
};

static int rate(const struct order_input *input, void *context) {
  struct rating *rating = context;
  return order_rate(input->graph, rating->view, rating->step, rating->density, &rating->counts);
}

int order_rate_all(const struct order_input *input, struct partition *partition, const int64_t *order,
                   int64_t windows, struct density *density) {
  struct comm *comm = input->progress->comm;
  FREED int32_t *place = NULL;
  int64_t sum[sizeof *density / sizeof(int64_t)], parts = partition->parts;
  struct rating rating = {.view = {partition->parts, input->first, input->nodes, order, partition->offset},
                          .step = order_rate_step(input->nodes, windows),
                          .density = density,
                          .counts = {0, partition->halo, partition->nnz}};
  if (input->halo) {
    TRY(comm_agree(comm, memory_arrays("rating of an order", ROOM(&place, input->graph->nodes))));
    TRY(place_columns(input, order, place));
    rating.view.place = place;
  }
  TRY(order_by_ranks(input, rate, &rating));
  partition->edge_cut = rating.counts.cut;
  memcpy(sum, density, sizeof sum);
  TRY(comm_reduce(comm, sum, sizeof sum / sizeof sum[0], NUMBER_INT64, REDUCE_SUM));
  TRY(comm_sum_int64(comm, &parts));
  memcpy(density, sum, sizeof sum);
  density->cols /= parts;
  return OK;
}
