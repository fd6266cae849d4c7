#include "io/dataset/edges.h"

#include "io/dataset/buckets.h"
#include "io/dataset/ids.h"
#include "runtime/base/base.h"

void edges_free(struct edges *edges) {
  arcs_free(&edges->list);
  *edges = (struct edges){0};
}

/* What the nodes are called, and how the ids of arcs become rows. */
struct naming {
  struct edges *edges;
  struct ids ids; /* unused where the ids are declared */
  struct buckets *buckets;
};

static int unpack(const struct edges *edges, int64_t block, struct arc_room *room) {
  TRY(arcs_unpack(&edges->list, block, room));
  for (int64_t i = 0; edges->target_shift && i < room->count; i++) room->arc[i].target += edges->target_shift;
  return OK;
}

/* Notes which ids occur. */
static int note_ids(struct naming *naming) {
  struct edges *edges = naming->edges;
  struct error_first error = {0};
#pragma omp parallel
  {
    ENDED_BY(arc_room_free) struct arc_room room = {0};
    int code = arc_room_make(&edges->list, &room);
#pragma omp for schedule(dynamic, 1)
    for (int64_t b = 0; b < edges->list.blocks; b++) {
      if (code == OK) code = unpack(edges, b, &room);
      if (code == OK) code = ids_note(&naming->ids, &room.arc->source, 2 * room.count);
      error_note(&error, b, code);
    }
  }
  return error_raise_noted(&error);
}

static int find_ids(struct naming *naming, int64_t **id) {
  struct edges *edges = naming->edges;
  const struct arcs *list = &edges->list;
  if (list->count == 0) return OK;
  int64_t largest = larger(list->largest_source, list->largest_target + edges->target_shift);
  TRY(ids_begin(&naming->ids, largest, 2 * list->count));
  TRY(note_ids(naming));
  TRY(ids_settle(&naming->ids, id));
  edges->nodes = naming->ids.nodes;
  return OK;
}

static int declare_ids(const struct edges *edges, int64_t **id) {
  if (edges->nodes > INT32_MAX)
    FAIL(BAD_INPUT, "%lld nodes; at most %d can be read", (long long)edges->nodes, INT32_MAX);
  if (edges->base == 0) return OK;
  TRY(memory_arrays("node ids", ROOM(id, edges->nodes)));
  for (int64_t v = 0; v < edges->nodes; v++) (*id)[v] = edges->base + v;
  return OK;
}

/* `number`: of the arc in the list. */
static int rank_arc(const struct naming *naming, struct arc *arc, int64_t number) {
  const struct edges *edges = naming->edges;
  if (naming->ids.nodes) {
    *arc = (struct arc){ids_rank_of(&naming->ids, arc->source), ids_rank_of(&naming->ids, arc->target)};
    return OK;
  }
  arc->source -= edges->base;
  arc->target -= edges->base;
  int64_t out = arc->source < 0 || arc->source >= edges->nodes ? arc->source : arc->target;
  if (out < 0 || out >= edges->nodes)
    FAIL(BAD_INPUT, "arc %lld: node id %lld is outside %lld .. %lld", (long long)number,
         (long long)(out + edges->base), (long long)edges->base, (long long)(edges->base + edges->nodes - 1));
  return OK;
}

/* Loops go once the ids are known: a node that has nothing but a loop stays a node. */
static int rank_block(const struct naming *naming, int64_t block, struct arc_room *room, int64_t *in_range) {
  struct edges *edges = naming->edges;
  int64_t kept = 0, first = edges->list.block[block].first;
  TRY(unpack(edges, block, room));
  for (int64_t i = 0; i < room->count; i++) {
    struct arc arc = room->arc[i];
    TRY(rank_arc(naming, &arc, first + i));
    if (edges->drop_loops && arc.source == arc.target) continue;
    room->arc[kept] = arc;
    if (room->weight) room->weight[kept] = room->weight[i];
    buckets_count(naming->buckets, &arc, in_range);
    kept++;
  }
#pragma omp atomic
  edges->loops += room->count - kept;
  room->count = kept;
  return arcs_repack(&edges->list, block, room);
}

/* Ids become rows, and loops go where they are not wanted. */
static int rank_arcs(struct naming *naming) {
  struct buckets *buckets = naming->buckets;
  struct arcs *list = &naming->edges->list;
  struct error_first error = {0};
#pragma omp parallel
  {
    ENDED_BY(arc_room_free) struct arc_room room = {0};
    FREED int64_t *in_range = NULL;
    int code = arc_room_make(list, &room);
    if (code == OK) code = memory_arrays("counts of arcs", ROOM(&in_range, buckets->ranges));
#pragma omp for schedule(dynamic, 1)
    for (int64_t b = 0; b < list->blocks; b++) {
      if (code == OK) code = rank_block(naming, b, &room, in_range);
      error_note(&error, b, code);
    }
    for (int64_t r = 0; code == OK && r < buckets->ranges; r++) {
      if (in_range[r] == 0) continue;
#pragma omp atomic
      buckets->in_range[r] += in_range[r];
    }
  }
  return error_raise_noted(&error);
}

static void naming_free(struct naming *naming) {
  ids_free(&naming->ids);
}

/* Names the nodes and ranks the arcs, which are counted into the buckets. */
static int name_nodes(struct edges *edges, struct buckets *buckets, int64_t **id) {
  ENDED_BY(naming_free) struct naming naming = {.edges = edges, .buckets = buckets};
  TRY(edges->nodes ? declare_ids(edges, id) : find_ids(&naming, id));
  TRY(buckets_begin(buckets, &edges->list, edges->nodes));
  return rank_arcs(&naming);
}

int edges_build(struct edges *edges, struct csr *graph, int64_t **id) {
  ENDED_BY(buckets_free) struct buckets buckets = {0};
  struct merged merged;
  *id = NULL;
  TRY(arcs_pack(&edges->list));
  TRY(name_nodes(edges, &buckets, id));
  TRY(buckets_deal(&buckets));
  TRY(buckets_merge(&buckets, edges->undirected, graph, &merged));
  edges->duplicates = edges->list.count - edges->loops - merged.own;
  edges->mirrored = graph->nnz - merged.own;
  edges->directed = merged.unmatched > 0 && !edges->undirected;
  edges->unequal = edges->undirected ? merged.unequal / 2 : 0; /* each pair was seen from both ends */
  return OK;
}
