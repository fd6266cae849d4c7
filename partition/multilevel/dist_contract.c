#include "partition/multilevel/dist_contract.h"

#include "partition/graph/graph.h"
#include "partition/graph/id_set.h"
#include "partition/graph/owners.h"
#include "partition/multilevel/tally_rows.h"
#include "runtime/base/base.h"

int dist_number(const struct dist_graph *fine, const int32_t *label, const int64_t *held, int32_t *cluster,
                int64_t *clusters) {
  struct comm *comm = fine->comm;
  FREED int64_t *counts = NULL;
  FREED int32_t *number = NULL;
  int64_t own = 0, first = 0;
  TRY(memory_arrays("numbers of clusters", ROOM(&number, fine->rows.nodes), ROOM(&counts, comm->size)));
  for (int64_t v = 0; v < fine->rows.nodes; v++) own += held[v] > 0;
  TRY(comm_gather_all(comm, &own, sizeof own, counts));
  *clusters = 0;
  for (int r = 0; r < comm->size; r++) {
    if (r == comm->rank) first = *clusters;
    *clusters += counts[r];
  }
  for (int64_t v = 0; v < fine->rows.nodes; v++) number[v] = held[v] > 0 ? (int32_t)first++ : -1;
  TRY(owners_look_up(comm, fine->nodes, number, label, fine->rows.nodes, cluster));
  return dist_graph_fetch(fine, DIST_ALL, cluster, sizeof *cluster);
}

struct addition {
  int32_t id;
  int64_t value;
};

struct adding {
  int64_t first, *sum;
};

static void add_values(const void *records, int64_t count, int32_t *answer, void *context) {
  const struct addition *addition = records;
  const struct adding *adding = context;
  (void)answer;
  for (int64_t i = 0; i < count; i++) adding->sum[addition[i].id - adding->first] += addition[i].value;
}

int dist_add_up(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters, const int64_t *value,
                int64_t *sum) {
  struct comm *comm = fine->comm;
  const int64_t nodes = fine->rows.nodes;
  struct adding adding = {graph_block(clusters, comm->size, comm->rank), sum};
  FREED struct addition *addition = NULL;
  FREED int32_t *unused = NULL;
  TRY(memory_arrays("loads of clusters", ROOM(&addition, nodes), ROOM(&unused, nodes)));
  for (int64_t v = 0; v < nodes; v++) addition[v] = (struct addition){cluster[v], value ? value[v] : 1};
  return owners_ask(comm, clusters, (struct question){addition, sizeof *addition, nodes}, add_values, &adding,
                    unused);
}

/* The clusters that own nodes are in: what these nodes say of their rows. */
struct groups {
  const struct dist_graph *fine;
  const int32_t *cluster;
  int64_t count;
  int32_t *id;     /* [count] ascending */
  int64_t *start;  /* [count + 1] */
  int32_t *member; /* [rows.nodes] own nodes by group */
};

static void groups_free(struct groups *groups) {
  free_all(groups->id, groups->start, groups->member);
}

static int find_groups(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters,
                       struct groups *groups) {
  const int64_t nodes = fine->rows.nodes;
  ENDED_BY(id_set_free) struct id_set set = {0};
  FREED int32_t *group = NULL;
  *groups = (struct groups){.fine = fine, .cluster = cluster};
  TRY(id_set_init(&set, clusters));
  for (int64_t v = 0; v < nodes; v++) id_set_add(&set, cluster[v]);
  id_set_seal(&set);
  groups->count = set.count;
  TRY(memory_arrays("members of clusters", ROOM(&groups->id, set.count), ROOM(&groups->start, set.count + 1),
                    ROOM(&groups->member, nodes), ROOM(&group, nodes)));
  id_set_list(&set, groups->id);
  for (int64_t v = 0; v < nodes; v++) group[v] = (int32_t)id_set_place(&set, cluster[v]);
  group_by_key(group, nodes, set.count, groups->start, groups->member);
  return OK;
}

static void add_members(struct tally *tally, int64_t row, const void *context) {
  const struct groups *groups = context;
  for (int64_t i = groups->start[row]; i < groups->start[row + 1]; i++)
    tally_row(tally, &groups->fine->rows, groups->member[i], groups->cluster, groups->id[row]);
}

/* Different columns of a group at most, and arcs of a member. */
static int64_t longest_group(const struct groups *groups, int64_t clusters) {
  const struct coarse_graph *rows = &groups->fine->rows;
  int64_t longest = 0;
  for (int64_t c = 0; c < groups->count; c++) {
    int64_t arcs = 0;
    for (int64_t i = groups->start[c]; i < groups->start[c + 1]; i++)
      arcs += rows->start[groups->member[i] + 1] - rows->start[groups->member[i]];
    longest = larger(longest, arcs);
  }
  return larger(smaller(longest, clusters), coarse_graph_longest_row(rows));
}

/* Rows that ranks send to the owners of the clusters: as they come, rank by rank. */
struct arrived {
  int64_t runs;
  int32_t *id, *length; /* [runs] */
  int64_t *offset;      /* [runs + 1] */
  int32_t *col;
  double *sum;
  int64_t *start; /* [own clusters + 1] */
  int32_t *run;   /* [runs] by cluster */
};

static void arrived_free(struct arrived *a) {
  free_all(a->id, a->length, a->offset, a->col, a->sum, a->start, a->run);
}

/* Where the groups of each rank's clusters begin, which ascend. */
static void split_groups(const struct comm *comm, const struct groups *groups, int64_t clusters,
                         int64_t *first) {
  int64_t g = 0;
  for (int r = 0; r <= comm->size; r++) {
    int64_t end = graph_block(clusters, comm->size, r);
    while (g < groups->count && groups->id[g] < end) g++;
    first[r] = g;
  }
}

static int send_array(struct comm *comm, const void *array, int64_t bytes, const int64_t *count,
                      void **arrived, int64_t *total) {
  FREED int64_t *out = NULL, *in = NULL;
  TRY(memory_arrays("rows of clusters", ROOM(&out, comm->size), ROOM(&in, comm->size)));
  for (int r = 0; r < comm->size; r++) out[r] = count[r] * bytes;
  TRY(comm_all_to_all(comm, array, out, arrived, in));
  *total = 0;
  for (int r = 0; r < comm->size; r++) *total += in[r] / bytes;
  return OK;
}

static int send_rows(struct comm *comm, const struct groups *groups, const struct tallied *rows,
                     int64_t clusters, struct arrived *a) {
  FREED int64_t *first = NULL, *runs = NULL, *arcs = NULL;
  FREED int32_t *length = NULL;
  int64_t unused;
  TRY(memory_arrays("rows of clusters", ROOM(&first, comm->size + 1), ROOM(&runs, comm->size),
                    ROOM(&arcs, comm->size), ROOM(&length, groups->count)));
  split_groups(comm, groups, clusters, first);
  for (int64_t g = 0; g < groups->count; g++) length[g] = (int32_t)(rows->start[g + 1] - rows->start[g]);
  for (int r = 0; r < comm->size; r++) {
    runs[r] = first[r + 1] - first[r];
    arcs[r] = rows->start[first[r + 1]] - rows->start[first[r]];
  }
  TRY(send_array(comm, groups->id, sizeof *a->id, runs, (void **)&a->id, &a->runs));
  TRY(send_array(comm, length, sizeof *length, runs, (void **)&a->length, &a->runs));
  TRY(send_array(comm, rows->col, sizeof *a->col, arcs, (void **)&a->col, &unused));
  return send_array(comm, rows->sum, sizeof *a->sum, arcs, (void **)&a->sum, &unused);
}

static void add_runs(struct tally *tally, int64_t row, const void *context) {
  const struct arrived *a = context;
  for (int64_t i = a->start[row]; i < a->start[row + 1]; i++)
    for (int64_t e = a->offset[a->run[i]]; e < a->offset[a->run[i] + 1]; e++)
      tally_add(tally, a->col[e], a->sum[e]);
}

/* What several ranks sent of a row is added up. */
static int merge_rows(struct arrived *a, int64_t first, int64_t own, int64_t clusters, struct tallied *rows) {
  int64_t longest = 0;
  TRY(memory_arrays("rows of clusters", ROOM(&a->offset, a->runs + 1), ROOM(&a->start, own + 1),
                    ROOM(&a->run, a->runs)));
  for (int64_t i = 0; i < a->runs; i++) {
    a->offset[i + 1] = a->offset[i] + a->length[i];
    a->id[i] -= (int32_t)first;
  }
  group_by_key(a->id, a->runs, own, a->start, a->run);
  for (int64_t c = 0; c < own; c++) {
    int64_t arcs = 0;
    for (int64_t i = a->start[c]; i < a->start[c + 1]; i++) arcs += a->length[a->run[i]];
    longest = larger(longest, arcs);
  }
  return tally_rows(own, smaller(longest, clusters), 0, add_runs, a, rows);
}

static int contract_rows(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters,
                         struct tallied *rows) {
  struct comm *comm = fine->comm;
  ENDED_BY(groups_free) struct groups groups = {0};
  ENDED_BY(arrived_free) struct arrived arrived = {0};
  const int64_t first = graph_block(clusters, comm->size, comm->rank);
  TRY(find_groups(fine, cluster, clusters, &groups));
  TRY(tally_rows(groups.count, longest_group(&groups, clusters), comm->size > 1, add_members, &groups, rows));
  if (comm->size == 1) return OK; /* each cluster is a group */
  TRY(send_rows(comm, &groups, rows, clusters, &arrived));
  tallied_free(rows);
  return merge_rows(&arrived, first, graph_block(clusters, comm->size, comm->rank + 1) - first, clusters,
                    rows);
}

int dist_contract(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters,
                  struct dist_graph *coarse) {
  struct tallied rows = {0};
  const int code = contract_rows(fine, cluster, clusters, &rows);
  struct coarse_graph graph = {
      .nodes = rows.rows, .start = rows.start, .col = rows.col, .weight = rows.weight};
  free(rows.sum);
  if (code == OK) return dist_graph_init(coarse, fine->comm, clusters, &graph);
  coarse_graph_free(&graph);
  return code;
}
