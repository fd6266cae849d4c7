#include "partition/shard/hyper.h"

#include "partition/shard/adjacency.h"
#include "runtime/base/base.h"

/* Local ids of the star: own vertices, own hyperedges, then a halo of its own for each direction. */
struct building {
  struct hyper *hyper;
  struct adjacency in;       /* row of a hyperedge: its vertices */
  struct adjacency out;      /* row of a vertex: its hyperedges */
  int32_t *place;            /* [edges] number of each own hyperedge: inner ones, then outer ones */
  struct hyper_vertex *fact; /* [own + edges + halo of in] */
};

static void building_free(struct building *b) {
  adjacency_free(&b->in);
  adjacency_free(&b->out);
  free_all(b->place, b->fact);
}

static int number_edges(const struct directory *expansion, struct building *b) {
  struct hyper *h = b->hyper;
  const int64_t *id = expansion->id, total = expansion->rows;
  while (h->own < total && id[h->own] < h->vertices) h->own++;
  h->edges = total - h->own;
  for (int64_t e = 0; e < h->edges; e++) h->outer += b->in.has_halo[h->own + e];
  h->inner = h->edges - h->outer;
  TRY(memory_arrays("own hyperedges", ROOM(&b->place, h->edges), ROOM(&h->edge_id, h->edges)));
  int64_t inner = 0, outer = h->inner;
  for (int64_t e = 0; e < h->edges; e++) {
    int64_t place = b->in.has_halo[h->own + e] ? outer++ : inner++;
    b->place[e] = (int32_t)place;
    h->edge_id[place] = id[h->own + e] - h->vertices;
  }
  return OK;
}

/* Hyperedges of own vertices, wherever they belong; one of size 1 has its vertex alone. */
static void count_part(const struct csr *part, const float *size, struct hyper_vertex *fact) {
  for (int64_t i = 0; i < part->rows; i++) {
    struct hyper_vertex *v = &fact[part->row ? part->row[i] : i];
    for (int64_t e = part->start[i]; e < part->start[i + 1]; e++) {
      v->degree++;
      if (size[part->col[e]] < 1.5F) v->lonely = 0;
    }
  }
}

static void add_vertex(struct hyper_edge *edge, const struct hyper_vertex *vertex) {
  edge->size++;
  edge->degrees += vertex->degree;
  edge->lonely += vertex->lonely;
}

static void sum_edges(const struct building *b) {
  const struct hyper *h = b->hyper;
  const struct csr *own = &b->in.own_part, *away = b->in.halo_part;
  int64_t total = h->own + h->edges;
  for (int64_t e = 0; e < h->edges; e++) {
    for (int64_t i = own->start[h->own + e]; i < own->start[h->own + e + 1]; i++)
      add_vertex(&h->edge[b->place[e]], &b->fact[own->col[i]]);
  }
  for (int64_t r = 0; r < away->rows; r++) {
    for (int64_t i = away->start[r]; i < away->start[r + 1]; i++)
      add_vertex(&h->edge[b->place[away->row[r] - h->own]], &b->fact[total + away->col[i]]);
  }
}

static int alloc_facts(struct building *b) {
  struct hyper *h = b->hyper;
  int64_t total = h->own + h->edges;
  TRY(memory_arrays("degrees of vertices", ROOM(&b->fact, total + b->in.halo.rows),
                    ROOM(&h->vertex, h->own)));
  return memory_arrays("sizes of hyperedges", ROOM(&h->edge, h->edges));
}

static int find_facts(struct comm *comm, struct building *b) {
  struct hyper *h = b->hyper;
  int64_t total = h->own + h->edges;
  TRY(comm_agree(comm, alloc_facts(b)));
  for (int64_t v = 0; v < h->own; v++) b->fact[v].lonely = 1;
  count_part(&b->out.own_part, b->out.degree, b->fact);
  count_part(b->out.halo_part, b->out.degree + total, b->fact);
  TRY(halo_swap(&b->in.halo, comm, b->fact, sizeof *b->fact, b->fact + total));
  memcpy(h->vertex, b->fact, (size_t)h->own * sizeof *h->vertex);
  sum_edges(b);
  return OK;
}

/* What fewer rows bring; the plan of that. */
static int cost_travel(struct comm *comm, struct building *b) {
  struct hyper *h = b->hyper;
  int64_t rows[2] = {b->in.halo.rows, b->out.halo.rows};
  TRY(comm_reduce(comm, rows, 2, NUMBER_INT64, REDUCE_SUM));
  h->travel = rows[0] <= rows[1] ? TRAVEL_VERTICES : TRAVEL_HYPEREDGES;
  struct halo *halo = h->travel == TRAVEL_VERTICES ? &b->in.halo : &b->out.halo;
  struct halo *taken = &h->all.halo;
  *taken = *halo;
  *halo = (struct halo){0};
  for (int64_t i = 0; i < taken->send_rows && h->travel == TRAVEL_HYPEREDGES; i++)
    taken->send_row[i] = (int32_t)(b->place[taken->send_row[i] - h->own] - h->inner);
  return OK;
}

/* Own vertices of own hyperedges number [first, first + rows). */
static int take_rows(const struct building *b, int64_t first, int64_t rows, struct csr *m) {
  const struct hyper *h = b->hyper;
  const struct csr *from = &b->in.own_part;
  int64_t nnz = 0, row = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) TRY(csr_init(m, rows, h->own, nnz, 0));
    nnz = row = 0;
    for (int64_t e = 0; e < h->edges; e++) {
      if (b->place[e] < first || b->place[e] >= first + rows) continue;
      for (int64_t i = from->start[h->own + e]; i < from->start[h->own + e + 1]; i++, nnz++) {
        if (pass == 1) m->col[nnz] = from->col[i];
      }
      if (pass == 1) m->start[++row] = nnz;
    }
  }
  return OK;
}

/* A matrix with all of its first `rows` rows in place of those it lists. */
static int expand_rows(struct csr *m, int64_t rows) {
  int64_t *start = NULL;
  TRY(memory_arrays("row offsets", ROOM(&start, rows + 1)));
  for (int64_t i = 0; i < m->rows; i++) start[m->row[i] + 1] = m->start[i + 1] - m->start[i];
  for (int64_t r = 0; r < rows; r++) start[r + 1] += start[r];
  free_all(m->start, m->row);
  m->start = start;
  m->row = NULL;
  m->rows = rows;
  return OK;
}

/* Sums for foreign vertices, or for foreign hyperedges. */
static int find_partial(struct building *b) {
  const struct hyper *h = b->hyper;
  const int vertices = h->travel == TRAVEL_VERTICES;
  struct csr *foreign = vertices ? b->in.halo_part : b->out.halo_part;
  if (!vertices) TRY(expand_rows(foreign, h->own));
  free(foreign->row); /* those of hyperedges are the outer ones, in their order */
  foreign->row = NULL;
  return csr_transpose(foreign, &b->hyper->all.partial, NULL);
}

static int divide(struct building *b) {
  struct hyper *h = b->hyper;
  h->all.vertices = h->own;
  h->all.inner = h->inner;
  h->all.outer = h->outer;
  TRY(take_rows(b, 0, h->inner, &h->all.inner_edges));
  TRY(take_rows(b, h->inner, h->outer, &h->all.outer_own));
  TRY(find_partial(b));
  return hyper_part_complete(h->travel, h->outer, &h->all);
}

int hyper_init(struct comm *comm, const struct dataset *dataset, const struct directory *expansion,
               struct graph *block, struct hyper *hyper) {
  ENDED_BY(building_free) struct building building = {.hyper = hyper};
  *hyper = (struct hyper){
      .vertices = dataset->nodes, .hyperedges = dataset->hyperedges, .incidences = dataset->incidences};
  TRY(adjacency_init(comm, expansion, block, 1, LOOPS_APART, NULL, &building.in));
  TRY(adjacency_init(comm, expansion, block, 0, LOOPS_APART, &building.in, &building.out));
  TRY(comm_agree(comm, number_edges(expansion, &building)));
  TRY(find_facts(comm, &building));
  TRY(cost_travel(comm, &building));
  return comm_agree(comm, divide(&building));
}

void hyper_free(struct hyper *hyper) {
  hyper_part_free(&hyper->all);
  for (int i = 0; i < hyper->levels; i++) {
    hyper_part_free(&hyper->level[i].rows);
    hyper_part_free(&hyper->level[i].all);
  }
  free_all(hyper->edge_id, hyper->vertex, hyper->edge, hyper->level);
  *hyper = (struct hyper){0};
}

int64_t hyper_bytes(const struct hyper *hyper) {
  int64_t bytes = hyper_part_bytes(&hyper->all);
  if (hyper->vertices == 0) return 0;
  for (int i = 0; i < hyper->levels; i++)
    bytes += hyper_part_bytes(&hyper->level[i].rows) + hyper_part_bytes(&hyper->level[i].all);
  return bytes + hyper->own * (int64_t)sizeof *hyper->vertex +
         hyper->edges * (int64_t)(sizeof *hyper->edge + sizeof *hyper->edge_id);
}

int hyper_print(struct comm *comm, const struct hyper *hyper) {
  int64_t count[2] = {hyper->all.halo.rows, hyper->outer};
  if (comm->size == 1) return OK;
  TRY(comm_reduce(comm, count, 2, NUMBER_INT64, REDUCE_SUM));
  log_detail("%lld of %lld hyperedges span ranks; %lld rows of %s travel there and back in a product",
             (long long)count[1], (long long)hyper->hyperedges, (long long)count[0],
             hyper->travel == TRAVEL_VERTICES ? "vertices" : "hyperedges");
  return OK;
}
