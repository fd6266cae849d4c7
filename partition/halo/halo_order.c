#include "partition/halo/halo_order.h"

#include "runtime/base/base.h"

int halo_relays(const struct comm *comm) {
  return !comm->lone && comm->nodes > 1 && comm->nodes < comm->size;
}

int halo_share_host(const struct comm *comm, int a, int b) {
  return comm_host(comm, a) == comm_host(comm, b);
}

int halo_gateway(const struct comm *comm, int cols, int from, int to) {
  int place = 0, count = 0;
  for (int r = 0; r < comm->size; r++) {
    if (r % cols != from % cols) continue;
    place += r < from && halo_share_host(comm, r, from);
    count += halo_share_host(comm, r, to);
  }
  place %= count;
  for (int r = 0;; r++) {
    if (r % cols == from % cols && halo_share_host(comm, r, to) && place-- == 0) return r;
  }
}

int halo_order(const struct comm *comm, int cols, int **order) {
  FREED int *by = NULL;
  int count = 0;
  TRY(memory_arrays("halo plan", ROOM(order, comm->size), ROOM(&by, comm->size)));
  for (int r = 0; r < comm->size; r++) {
    by[r] = -1;
    if (halo_share_host(comm, r, comm->rank))
      (*order)[count++] = r;
    else if (r % cols == comm->rank % cols)
      by[r] = halo_gateway(comm, cols, r, comm->rank);
    else
      by[r] = comm->size; /* no peer */
  }
  for (int t = 0; t <= comm->size; t++) {
    for (int r = 0; r < comm->size; r++)
      if (by[r] == t) (*order)[count++] = r;
  }
  return OK;
}
