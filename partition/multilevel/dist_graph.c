#include "partition/multilevel/dist_graph.h"

#include <math.h>

#include "partition/graph/graph.h"
#include "partition/graph/id_set.h"
#include "runtime/base/base.h"

void dist_graph_free(struct dist_graph *g) {
  coarse_graph_free(&g->rows);
  free_all(g->send, g->send_start, g->recv_start, g->out, g->messages);
  *g = (struct dist_graph){0};
}

static int is_own(const struct dist_graph *g, int64_t id) {
  return id >= g->first && id < g->first + g->rows.nodes;
}

static int64_t arcs_of(const struct dist_graph *g) {
  return g->rows.start[g->rows.nodes];
}

static int find_ghosts(const struct dist_graph *g, struct id_set *set) {
  TRY(id_set_init(set, g->nodes));
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < arcs_of(g); e++)
    if (!is_own(g, g->rows.col[e])) id_set_add(set, g->rows.col[e]);
  id_set_seal(set);
  return OK;
}

static int64_t slot_of(const struct dist_graph *g, int32_t id) {
  return (int64_t)graph_block_of(g->nodes, g->comm->size, id) * DIST_SHARES + id % DIST_SHARES;
}

/* Ghosts by owner, share and id: id[place[i]] is the i-th of the set. */
static int sort_ghosts(struct dist_graph *g, const struct id_set *set, int32_t *place, int32_t *id) {
  const int64_t slots = (int64_t)g->comm->size * DIST_SHARES;
  FREED int64_t *next = NULL;
  FREED int32_t *ascending = NULL;
  TRY(memory_arrays("ghosts", ROOM(&next, slots), ROOM(&ascending, set->count)));
  id_set_list(set, ascending);
  for (int64_t i = 0; i < set->count; i++) g->recv_start[slot_of(g, ascending[i]) + 1]++;
  for (int64_t s = 0; s < slots; s++) g->recv_start[s + 1] += g->recv_start[s];
  memcpy(next, g->recv_start, (size_t)slots * sizeof *next);
  for (int64_t i = 0; i < set->count; i++) {
    place[i] = (int32_t)next[slot_of(g, ascending[i])]++;
    id[place[i]] = ascending[i];
  }
  g->ghosts = set->count;
  return OK;
}

static void renumber_columns(struct dist_graph *g, const struct id_set *set, const int32_t *place) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < arcs_of(g); e++) {
    int32_t id = g->rows.col[e];
    int64_t local = is_own(g, id) ? id - g->first : g->rows.nodes + place[id_set_place(set, id)];
    g->rows.col[e] = (int32_t)local;
  }
}

/* Owners learn whose ghosts their nodes are; the ids come sorted by share, as they were sent. */
static int tell_owners(struct dist_graph *g, const int32_t *id) {
  const int size = g->comm->size;
  FREED int64_t *out = NULL, *in = NULL;
  TRY(memory_arrays("ghosts", ROOM(&out, size), ROOM(&in, size)));
  for (int r = 0; r < size; r++)
    out[r] = (g->recv_start[(r + 1) * DIST_SHARES] - g->recv_start[r * DIST_SHARES]) * (int64_t)sizeof *id;
  TRY(comm_all_to_all(g->comm, id, out, (void **)&g->send, in));
  int64_t at = 0;
  for (int r = 0; r < size; r++) {
    for (int64_t last = at + in[r] / (int64_t)sizeof *id; at < last; at++) {
      g->send_start[r * DIST_SHARES + g->send[at] % DIST_SHARES + 1]++;
      g->send[at] -= (int32_t)g->first;
    }
  }
  for (int64_t s = 0; s < (int64_t)size * DIST_SHARES; s++) g->send_start[s + 1] += g->send_start[s];
  return memory_arrays("messages", ROOM(&g->out, at * (int64_t)sizeof(int64_t)),
                       ROOM(&g->messages, 2 * size));
}

static int connect(struct dist_graph *g) {
  ENDED_BY(id_set_free) struct id_set set = {0};
  FREED int32_t *place = NULL, *id = NULL;
  TRY(find_ghosts(g, &set));
  TRY(memory_arrays("ghosts", ROOM(&place, set.count), ROOM(&id, set.count)));
  TRY(sort_ghosts(g, &set, place, id));
  renumber_columns(g, &set, place);
  return tell_owners(g, id);
}

int dist_graph_init(struct dist_graph *g, struct comm *comm, int64_t nodes, struct coarse_graph *rows) {
  const int64_t slots = (int64_t)comm->size * DIST_SHARES;
  *g = (struct dist_graph){
      .comm = comm, .nodes = nodes, .first = graph_block(nodes, comm->size, comm->rank), .rows = *rows};
  *rows = (struct coarse_graph){0};
  g->longest = coarse_graph_longest_row(&g->rows);
  TRY(memory_arrays("ghosts", ROOM(&g->send_start, slots + 1), ROOM(&g->recv_start, slots + 1)));
  if (comm->size > 1) return connect(g);
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < arcs_of(g); e++) g->rows.col[e] -= (int32_t)g->first;
  return OK;
}

static void pack(const struct dist_graph *g, int64_t first, int64_t last, const char *value, int64_t bytes) {
  char *out = g->out + first * bytes;
  for (int64_t i = first; i < last; i++, out += bytes) memcpy(out, value + g->send[i] * bytes, (size_t)bytes);
}

int dist_graph_fetch(const struct dist_graph *g, int share, void *value, int64_t bytes) {
  const int size = g->comm->size;
  const int64_t from = share == DIST_ALL ? 0 : share, to = share == DIST_ALL ? DIST_SHARES : share + 1;
  char *const ghost = (char *)value + g->rows.nodes * bytes;
  struct message *sends = g->messages, *recvs = g->messages + size;
  int sent = 0, received = 0;
  if (size == 1) return OK;
  for (int64_t r = 0; r < size; r++) {
    const int64_t first = g->send_start[r * DIST_SHARES + from], last = g->send_start[r * DIST_SHARES + to];
    const int64_t begin = g->recv_start[r * DIST_SHARES + from], end = g->recv_start[r * DIST_SHARES + to];
    pack(g, first, last, value, bytes);
    if (last > first)
      sends[sent++] = (struct message){(int)r, g->out + first * bytes, (last - first) * bytes};
    if (end > begin)
      recvs[received++] = (struct message){(int)r, ghost + begin * bytes, (end - begin) * bytes};
  }
  return comm_swap(g->comm, sends, sent, recvs, received);
}

int dist_graph_decide(const struct dist_graph *g, int share,
                      void (*decide)(struct tally *tally, int64_t v, void *context), void *context) {
  const int64_t nodes = g->rows.nodes, step = share == DIST_ALL ? 1 : DIST_SHARES;
  const int64_t first = share == DIST_ALL ? 0 : dist_graph_share(g, share);
  int code = OK;
#pragma omp parallel reduction(max : code)
  {
    struct tally tally = {0};
    code = tally_init(&tally, g->longest);
#pragma omp for schedule(dynamic, 256)
    for (int64_t v = first; v < nodes; v += step)
      if (code == OK) decide(&tally, v, context);
    tally_free(&tally);
  }
  if (code != OK) FAIL(code, "out of memory: no room to decide for %lld nodes", (long long)nodes);
  return OK;
}

int dist_graph_weigh(struct dist_graph *g) {
  enum { WHOLE = 4096 }; /* of a weight of 1 */
  struct coarse_graph *rows = &g->rows;
  FREED int32_t *volume = NULL;
  FREED float *of = NULL;
  int64_t all = rows->nodes + g->ghosts;
  TRY(memory_arrays("weights of arcs", ROOM(&volume, all), ROOM(&of, all), ROOM(&rows->weight, arcs_of(g))));
  for (int64_t v = 0; v < rows->nodes; v++) volume[v] = (int32_t)rows->volume[v];
  TRY(dist_graph_fetch(g, DIST_ALL, volume, sizeof *volume));
  for (int64_t v = 0; v < all; v++) of[v] = WHOLE / sqrtf((float)larger(volume[v], 1));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < rows->nodes; v++)
    for (int64_t e = rows->start[v]; e < rows->start[v + 1]; e++)
      rows->weight[e] = fmaxf(1, rintf(rows->share[v] * (of[v] + of[rows->col[e]])));
  return OK;
}
