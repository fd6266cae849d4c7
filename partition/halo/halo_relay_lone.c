#include "partition/halo/halo_relay_lone.h"

#include "partition/graph/id_set.h"
#include "runtime/base/base.h"

/* A rank of this host, in this column of the grid, and the positions of the nodes that it needs of others. */
struct needing {
  int rank;
  struct id_set set;
  int32_t *position; /* [set.count] ascending */
};

struct taking {
  const struct directory *directory;
  uint8_t *from; /* [ranks] whether this gateway takes rows of that one */
  int *place;    /* [ranks] among the ranks of this host; -1: it is not one */
  int count;
  struct needing *each; /* [count] */
  struct id_set all;    /* what they need together */
};

static void taking_free(struct taking *t) {
  for (int i = 0; i < t->count; i++) {
    id_set_free(&t->each[i].set);
    free(t->each[i].position);
  }
  id_set_free(&t->all);
  free_all(t->from, t->place, t->each);
}

static int prepare(const struct comm *comm, const struct directory *directory, struct taking *t) {
  const int cols = directory->grid.cols;
  t->directory = directory;
  TRY(memory_arrays("halo relay", ROOM(&t->from, comm->size), ROOM(&t->place, comm->size),
                    ROOM(&t->each, comm->size)));
  for (int r = 0; r < comm->size; r++) t->place[r] = -1;
  for (int r = comm->rank % cols; r < comm->size; r += cols) {
    if (comm_host(comm, r) != comm_host(comm, comm->rank)) {
      t->from[r] = halo_gateway(comm, cols, r, comm->rank) == comm->rank;
      continue;
    }
    t->place[r] = t->count;
    t->each[t->count++].rank = r;
    TRY(id_set_init(&t->each[t->place[r]].set, directory->nodes));
  }
  return id_set_init(&t->all, directory->nodes);
}

static int is_beyond(const struct halo_arcs *arcs, int64_t node, int needs) {
  return arcs->level && arcs->level[node] > (needs ? arcs->needing : arcs->needed);
}

/* What the arcs of a row make ranks need. */
static void take_row(struct taking *t, const struct halo_arcs *arcs, int64_t v) {
  const struct graph *g = arcs->graph;
  const struct directory *directory = t->directory;
  const int back = arcs->transposed, of_row = directory_peer(directory, directory->position[v]);
  if ((back ? !t->from[of_row] : t->place[of_row] < 0) || is_beyond(arcs, v, !back)) return;
  for (int64_t e = g->start[v]; e < g->start[v + 1]; e++) {
    const int32_t u = g->col[e];
    const int of_col = directory_peer(directory, directory->position[u]);
    const int needs = back ? of_col : of_row, has = back ? of_row : of_col;
    if (t->place[needs] < 0 || !t->from[has] || is_beyond(arcs, u, back)) continue;
    id_set_add(&t->each[t->place[needs]].set, directory->position[back ? v : u]);
  }
}

static int take_rows(struct taking *t, const struct halo_arcs *arcs) {
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < arcs->graph->rows; v++) take_row(t, arcs, v);
  for (int i = 0; i < t->count; i++) {
    struct needing *one = &t->each[i];
    id_set_seal(&one->set);
    TRY(memory_arrays("halo relay", ROOM(&one->position, one->set.count)));
    id_set_list(&one->set, one->position);
    for (int64_t n = 0; n < one->set.count; n++) id_set_add(&t->all, one->position[n]);
  }
  id_set_seal(&t->all);
  return OK;
}

/* Of the rows of that rank. */
static int64_t pack_parcel(const struct taking *t, int from, int32_t *word) {
  const int row = directory_row_of_grid(t->directory, from);
  const int64_t first = t->directory->offset[row], end = t->directory->offset[row + t->directory->grid.cols],
                before = id_set_place(&t->all, first), rows = id_set_place(&t->all, end) - before;
  int64_t words = 0;
  if (rows == 0) return 0;
  word[words++] = (int32_t)rows;
  for (int i = 0; i < t->count; i++) {
    const struct id_set *set = &t->each[i].set;
    const int64_t low = id_set_place(set, first), high = id_set_place(set, end);
    if (low == high) continue;
    word[words++] = t->each[i].rank;
    word[words++] = (int32_t)(high - low);
    for (int64_t n = low; n < high; n++)
      word[words++] = (int32_t)(id_set_place(&t->all, t->each[i].position[n]) - before);
  }
  return words;
}

static int pack_parcels(const struct comm *comm, const struct taking *t, struct halo_parcels *parcels) {
  int64_t rows = 0, words = 0;
  for (int i = 0; i < t->count; i++) rows += t->each[i].set.count;
  const int64_t most = rows + comm->size * (1 + 2 * (int64_t)t->count);
  TRY(memory_arrays("halo relay", ROOM(&parcels->words, most), ROOM(&parcels->bytes, comm->size)));
  for (int r = 0; r < comm->size; r++) {
    const int64_t packed = t->from[r] ? pack_parcel(t, r, parcels->words + words) : 0;
    parcels->bytes[r] = packed * (int64_t)sizeof *parcels->words;
    words += packed;
  }
  return OK;
}

int halo_foresee_parcels(const struct comm *comm, const struct directory *directory,
                         const struct halo_arcs *arcs, struct halo_parcels *parcels) {
  ENDED_BY(taking_free) struct taking taking = {0};
  TRY(prepare(comm, directory, &taking));
  TRY(take_rows(&taking, arcs));
  return pack_parcels(comm, &taking, parcels);
}
