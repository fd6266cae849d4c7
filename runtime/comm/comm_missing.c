/* Who has not answered, in words: hosts that are lost as a whole, and single ranks. */
#include <stdio.h>

#include "runtime/comm/comm_mpi.h"

enum { NAMED = 4 };

/* Which one is answered does not matter: a liveness check to a rank that has not fetched the one before is
 * dropped.
 */
int comm_answered(const struct comm *comm, int r) {
  return r == comm->rank || comm->mpi->peers[r].answered >= comm->mpi->called;
}

static const char *separator(int index, int count) {
  return index == 0 ? "" : index == count - 1 ? " and" : ",";
}

/* How many ranks of that node there are, and how many of them have not answered. */
static void count_node(const struct comm *comm, int node, int *ranks, int *missing) {
  *ranks = *missing = 0;
  for (int r = 0; r < comm->size; r++) {
    if (comm->mpi->peers[r].node != node) continue;
    ++*ranks;
    *missing += !comm_answered(comm, r);
  }
}

/* A host with a rank of the job alone is named as that rank: either may be what is lost. */
static int is_lost(const struct comm *comm, int node) {
  int ranks, missing;
  count_node(comm, node, &ranks, &missing);
  return comm->nodes > 1 && ranks > 1 && missing == ranks;
}

/* " b (ranks 2, 3)" */
static void name_host(const struct comm *comm, int node, FILE *out) {
  int n = 0;
  fprintf(out, " %s (ranks", comm->mpi->peers[node].host);
  for (int r = node; r < comm->size; r++) {
    if (comm->mpi->peers[r].node != node || n++ >= NAMED) continue;
    fprintf(out, "%s %d", n == 1 ? "" : ",", r);
  }
  if (n > NAMED) fprintf(out, " and %d more", n - NAMED);
  fprintf(out, ")");
}

static void name_hosts(const struct comm *comm, int hosts, FILE *out) {
  fprintf(out, hosts == 1 ? "host" : "hosts");
  for (int r = 0, n = 0; r < comm->size && n < NAMED; r++) {
    if (comm->mpi->peers[r].node != r || !is_lost(comm, r)) continue;
    fprintf(out, "%s", separator(n++, hosts));
    name_host(comm, r, out);
  }
  if (hosts > NAMED) fprintf(out, " and %d more", hosts - NAMED);
}

static int is_single(const struct comm *comm, int r) {
  return !comm_answered(comm, r) && !is_lost(comm, comm->mpi->peers[r].node);
}

/* "rank 2 (host, pid 123)" or "ranks 2 (host, pid 123) and 3 (host, pid 124)" */
static void name_ranks(const struct comm *comm, int ranks, FILE *out) {
  fprintf(out, ranks == 1 ? "rank" : "ranks");
  for (int r = 0, n = 0; r < comm->size && n < NAMED; r++) {
    const struct comm_peer *peer = &comm->mpi->peers[r];
    if (!is_single(comm, r)) continue;
    fprintf(out, "%s %d (%s, pid %d)", separator(n++, ranks), r, peer->host, peer->pid);
  }
  if (ranks > NAMED) fprintf(out, " and %d more", ranks - NAMED);
}

void comm_missing_name(const struct comm *comm, FILE *out) {
  int hosts = 0, ranks = 0;
  for (int r = 0; r < comm->size; r++) {
    hosts += comm->mpi->peers[r].node == r && is_lost(comm, r);
    ranks += is_single(comm, r);
  }
  if (hosts > 0) name_hosts(comm, hosts, out);
  if (hosts > 0 && ranks > 0) fprintf(out, " and ");
  if (ranks > 0) name_ranks(comm, ranks, out);
  fprintf(out, hosts + ranks == 1 ? " has not answered" : " have not answered");
}

int comm_missing_host(const struct comm *comm) {
  for (int r = 0; r < comm->size; r++) {
    int ranks, missing;
    count_node(comm, r, &ranks, &missing);
    if (ranks > 0 && missing == ranks) return 1;
  }
  return 0;
}
