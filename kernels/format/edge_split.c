#include "kernels/format/edge_split.h"

#include <math.h>
#include <omp.h>

#include "runtime/base/base.h"

enum {
  RESIDENT = 264,    /* blocks that a large GPU holds, two on each multiprocessor of an H200 */
  CHUNK = 1 << 13,   /* rows that a thread cuts at a time; no block crosses them */
  MOST_THREADS = 16, /* each has two numbers a hyperedge */
  LENGTHS = 256,     /* of pieces that are told apart when they are sorted */
};

static int64_t size_of(const struct csr *edges, int64_t e) {
  return edges->start[e + 1] - edges->start[e];
}

/* Of a hyperedge; it leaves most of a block's slots to others. */
static int32_t pieces_of(int64_t size, int32_t limit, int32_t slots) {
  return (int32_t)smaller((size + limit - 1) / limit, split_pieces_most(slots));
}

static int64_t longest_piece(int64_t size, int32_t pieces) {
  return (size + pieces - 1) / pieces;
}

/* So many slots that blocks of `pieces` in all fill `resident` places of a GPU, if they suffice. */
static int32_t slots_for(int64_t pieces, int resident, int32_t most) {
  int64_t each = (pieces / resident + 31) / 32 * 32;
  return (int32_t)larger(SPLIT_SLOTS_LEAST, smaller(each, most));
}

static int32_t few_slots(int64_t pieces) {
  return slots_for(pieces, RESIDENT, SPLIT_SLOTS_HALF);
}

/* The pieces of all hyperedges; *longest: vertices of one. */
static int64_t pieces_of_all(const struct csr *edges, int32_t limit, int64_t *longest) {
  int64_t pieces = 0, most = 0;
#pragma omp parallel for reduction(+ : pieces) reduction(max : most)
  for (int64_t e = 0; e < edges->rows; e++) {
    int64_t size = size_of(edges, e);
    int32_t mine = pieces_of(size, limit, SPLIT_SLOTS_MOST);
    pieces += mine;
    if (mine > 0) most = larger(most, longest_piece(size, mine));
  }
  *longest = most;
  return pieces;
}

/* What a block takes, in rows of X that are read one after the other: each of `groups` groups of threads
 * waits for the ids of its pieces as long as for `start` rows, and all wait for the longest piece. Blocks
 * follow one another where the GPU does not hold all. */
static double pieces_cost(int64_t pieces, int64_t longest) {
  const double start = 4, groups = 64, slots = few_slots(pieces);
  return fmax(1, (double)pieces / slots / RESIDENT) * (slots / groups * start + (double)longest);
}

int32_t edge_split_limit(const struct csr *edges) {
  double least = INFINITY;
  int32_t best = 0;
  for (int32_t limit = 4; limit <= 256; limit *= 2) {
    int64_t longest, pieces = pieces_of_all(edges, limit, &longest);
    double cost = pieces_cost(pieces, longest);
    if (cost < least) best = limit;
    least = fmin(cost, least);
  }
  return best;
}

/* Cuts a chunk of rows into blocks; or only counts them, while the split has no arrays. */
struct cutter {
  const struct csr *edges, *vertices;
  struct edge_split *split;
  struct split_counts at; /* what is behind; at.rows: the first row of the open block */
  int32_t rows;           /* of the open block, as are: */
  int64_t entries;        /* and of the open round: */
  int32_t pieces, joins, uses, listed;
  int32_t list[SPLIT_SLOTS_MOST]; /* hyperedges */
  int32_t serial;                 /* of the open round, from 1 on */
  int32_t *seen, *slot;           /* [hyperedges] the round that lists it, its first slot there */
};

static int64_t vertex_at(const struct edge_split *split, int64_t i) {
  return split->row ? split->row[i] : i;
}

/* Of vertex v's incidences from `first` on those that fit a round; their new pieces into *pieces. */
static int64_t fitting(const struct cutter *c, int64_t v, int64_t first, int32_t room, int32_t *pieces) {
  const struct csr *m = c->vertices;
  int64_t i = first;
  *pieces = 0;
  for (; i < m->start[v + 1]; i++) {
    int32_t e = m->col[i];
    int32_t more = c->seen[e] == c->serial
                       ? 0
                       : pieces_of(size_of(c->edges, e), c->split->limit, c->split->slots);
    if (*pieces + more > room) break;
    *pieces += more;
  }
  return i;
}

static void list_edge(struct cutter *c, int32_t e) {
  int64_t size = size_of(c->edges, e);
  if (size == 0) return;
  c->uses++;
  if (c->seen[e] == c->serial) return;
  int32_t pieces = pieces_of(size, c->split->limit, c->split->slots);
  c->seen[e] = c->serial;
  c->list[c->listed++] = e;
  c->pieces += pieces;
  c->joins += pieces > 1;
  c->entries += size;
}

/* Long pieces first, since threads that work side by side wait for one another. */
static void sort_list(struct cutter *c) {
  int32_t place[LENGTHS + 1] = {0}, sorted[SPLIT_SLOTS_MOST];
  uint8_t length[SPLIT_SLOTS_MOST];
  for (int32_t i = 0; i < c->listed; i++) {
    int64_t size = size_of(c->edges, c->list[i]);
    length[i] = (uint8_t)(LENGTHS -
                          smaller(longest_piece(size, pieces_of(size, c->split->limit, c->split->slots)),
                                  LENGTHS));
    place[length[i] + 1]++;
  }
  for (int l = 0; l < LENGTHS; l++) place[l + 1] += place[l];
  for (int32_t i = 0; i < c->listed; i++) sorted[place[length[i]]++] = c->list[i];
  memcpy(c->list, sorted, (size_t)c->listed * sizeof *sorted);
}

static void write_pieces(struct cutter *c) {
  int64_t at = c->at.pieces, join = c->at.joins;
  for (int32_t i = 0; i < c->listed; i++) {
    int32_t e = c->list[i];
    int64_t first = c->edges->start[e], size = size_of(c->edges, e);
    int32_t pieces = pieces_of(size, c->split->limit, c->split->slots), slot = (int32_t)(at - c->at.pieces);
    c->slot[e] = slot;
    if (pieces > 1) c->split->join[join++] = (struct split_join){e, (uint16_t)slot, (uint16_t)pieces};
    for (int32_t p = 0; p < pieces; p++) {
      int64_t count = size / pieces + (p < size % pieces);
      c->split->piece[at++] = (struct split_piece){first, (int32_t)count, pieces > 1 ? -1 : e};
      first += count;
    }
  }
}

/* Incidences [first, end) of the vertices, which are one row's in this round. */
static void write_uses(struct cutter *c, int32_t row, int64_t first, int64_t end) {
  int32_t *row_use = c->split->row_use + c->at.row_uses + row;
  uint16_t *use = c->split->use + c->at.uses;
  int32_t at = row_use[0];
  for (int64_t i = first; i < end; i++) {
    int32_t e = c->vertices->col[i];
    if (size_of(c->edges, e) > 0) use[at++] = (uint16_t)c->slot[e];
  }
  row_use[1] = at;
}

/* Ends the round; of a block of one row it takes the incidences [first, end). */
static void end_round(struct cutter *c, int64_t first, int64_t end) {
  if (c->split->round) {
    c->split->round[c->at.rounds] = (struct split_round){c->at.pieces,   c->at.joins, c->at.uses,
                                                         c->at.row_uses, c->pieces,   c->joins};
    sort_list(c);
    write_pieces(c);
    c->split->row_use[c->at.row_uses] = 0;
    for (int32_t r = 0; r < c->rows; r++) {
      const int64_t *start = c->vertices->start + vertex_at(c->split, c->at.rows + r);
      write_uses(c, r, c->rows > 1 ? start[0] : first, c->rows > 1 ? start[1] : end);
    }
  }
  c->at.rounds++;
  c->at.pieces += c->pieces;
  c->at.joins += c->joins;
  c->at.uses += c->uses;
  c->at.row_uses += c->rows + 1;
  c->pieces = c->joins = c->uses = c->listed = 0;
  c->serial++;
}

static void end_block(struct cutter *c) {
  c->at.blocks++;
  c->at.rows += c->rows;
  c->at.entries += c->entries;
  c->at.longest = larger(c->at.longest, c->entries);
  c->entries = c->rows = 0;
}

static void begin_block(struct cutter *c) {
  if (c->split->block) c->split->block[c->at.blocks] = (struct split_block){c->at.rows, c->at.rounds};
}

static void close_block(struct cutter *c) {
  const int64_t *start = c->vertices->start + vertex_at(c->split, c->at.rows);
  if (c->rows == 0) return;
  begin_block(c);
  end_round(c, start[0], start[1]);
  end_block(c);
}

/* A block of its own, in as many rounds as it takes. */
static void take_long_row(struct cutter *c, int64_t v) {
  begin_block(c);
  c->rows = 1;
  for (int64_t first = c->vertices->start[v], end; first < c->vertices->start[v + 1]; first = end) {
    int32_t pieces;
    end = fitting(c, v, first, c->split->slots, &pieces);
    for (int64_t i = first; i < end; i++) list_edge(c, c->vertices->col[i]);
    end_round(c, first, end);
  }
  end_block(c);
}

static void take_row(struct cutter *c, int64_t v) {
  const int64_t first = c->vertices->start[v], end = c->vertices->start[v + 1];
  int32_t more;
  if (c->rows == c->split->slots || fitting(c, v, first, c->split->slots - c->pieces, &more) < end)
    close_block(c);
  if (c->rows == 0 && fitting(c, v, first, c->split->slots, &more) < end) {
    take_long_row(c, v);
    return;
  }
  c->rows++;
  for (int64_t i = first; i < end; i++) list_edge(c, c->vertices->col[i]);
}

static void cut_chunk(struct cutter *c, int64_t chunk) {
  int64_t first = chunk * CHUNK, end = smaller(first + CHUNK, c->vertices->rows);
  c->at.rows = first;
  for (int64_t i = first; i < end; i++) take_row(c, vertex_at(c->split, i));
  close_block(c);
}

struct incidences {
  const struct csr *edges, *vertices;
  int threads;
  int32_t limit; /* of pieces */
};

static int64_t chunks_of(const struct incidences *of) {
  return (of->vertices->rows + CHUNK - 1) / CHUNK;
}

/* All chunks, or one in `every`; count: what is in each, while the split has no arrays, else where they
 * begin. */
static int cut(const struct incidences *of, struct edge_split *split, int64_t every,
               struct split_counts *count) {
  FREED int32_t *seen = NULL;
  FREED int32_t *slot = NULL;
  const int64_t chunks = chunks_of(of), hyperedges = of->edges->rows;
  const int workers = (int)smaller(smaller(of->threads, MOST_THREADS), larger(chunks, 1));
  TRY(memory_arrays("hyperedges of blocks", ROOM(&seen, workers * hyperedges),
                    ROOM(&slot, workers * hyperedges)));
#pragma omp parallel num_threads(workers)
  {
    int64_t mine = omp_get_thread_num() * hyperedges;
    struct cutter c = {.edges = of->edges,
                       .vertices = of->vertices,
                       .split = split,
                       .serial = 1,
                       .seen = seen + mine,
                       .slot = slot + mine};
#pragma omp for schedule(dynamic)
    for (int64_t chunk = 0; chunk < chunks; chunk += every) {
      c.at = split->block ? count[chunk] : (struct split_counts){0};
      cut_chunk(&c, chunk);
      if (!split->block) count[chunk] = c.at;
    }
  }
  return OK;
}

/* Counts become places; returns the sums. */
static struct split_counts add_up(struct split_counts *count, int64_t chunks) {
  struct split_counts all = {0};
  for (int64_t i = 0; i < chunks; i++) {
    const struct split_counts mine = count[i];
    count[i] = all;
    all.blocks += mine.blocks;
    all.rounds += mine.rounds;
    all.pieces += mine.pieces;
    all.joins += mine.joins;
    all.uses += mine.uses;
    all.row_uses += mine.row_uses;
    all.entries += mine.entries;
    all.longest = larger(all.longest, mine.longest);
  }
  return all;
}

/* The largest hyperedge of v that fits a block with its vertices: it is worth most to be read once. Behind
 * all hyperedges: there is none. */
static int32_t lead_of(const struct csr *edges, const struct csr *vertices, int64_t v) {
  int32_t lead = (int32_t)edges->rows;
  int64_t most = 0;
  for (int64_t i = vertices->start[v]; i < vertices->start[v + 1]; i++) {
    int64_t size = size_of(edges, vertices->col[i]);
    if (size <= most || size > SPLIT_SLOTS_HALF) continue;
    most = size;
    lead = vertices->col[i];
  }
  return lead;
}

/* Vertices with the same lead side by side. */
static int order_by_lead(const struct csr *edges, const struct csr *vertices, int32_t *row) {
  FREED int64_t *place = NULL;
  FREED int32_t *lead = NULL;
  TRY(memory_arrays("order of vertices", ROOM(&place, edges->rows + 2), ROOM(&lead, vertices->rows)));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < vertices->rows; v++) lead[v] = lead_of(edges, vertices, v);
  for (int64_t v = 0; v < vertices->rows; v++) place[lead[v] + 1]++;
  for (int64_t e = 0; e < edges->rows; e++) place[e + 1] += place[e];
  for (int64_t v = 0; v < vertices->rows; v++) row[place[lead[v]]++] = (int32_t)v;
  return OK;
}

static int allocate(struct edge_split *split) {
  const struct split_counts *n = &split->count;
  return memory_arrays("hyperedges in pieces", ROOM(&split->block, n->blocks + 1),
                       ROOM(&split->round, n->rounds), ROOM(&split->piece, n->pieces),
                       ROOM(&split->join, n->joins), ROOM(&split->use, n->uses),
                       ROOM(&split->row_use, n->row_uses));
}

/* A way to cut and the rows that it reads, in some chunks. */
struct trial {
  int32_t slots, *row;
  int64_t entries;
};

/* Becomes `best` if it reads less than `share` of that. */
static int try_cut(const struct incidences *of, struct trial mine, double share, struct trial *best) {
  enum { SAMPLE = 8 }; /* chunks that tell enough */
  struct edge_split split = {.limit = of->limit, .slots = mine.slots, .row = mine.row};
  const int64_t chunks = chunks_of(of);
  FREED struct split_counts *count = NULL;
  TRY(memory_arrays("blocks of vertices", ROOM(&count, chunks)));
  TRY(cut(of, &split, 1 + chunks / SAMPLE, count));
  mine.entries = add_up(count, chunks).entries;
  if (best->slots == 0 || (double)mine.entries < share * (double)best->entries) *best = mine;
  return OK;
}

/* Vertices in their order or by their leads; with more slots, which leave a multiprocessor one block, where
 * that saves a tenth. */
static int choose(const struct incidences *of, int32_t *row, struct trial *best) {
  int64_t longest, pieces = pieces_of_all(of->edges, of->limit, &longest);
  int32_t few = few_slots(pieces), many = slots_for(pieces, RESIDENT / 2, SPLIT_SLOTS_MOST);
  TRY(try_cut(of, (struct trial){few, NULL, 0}, 1, best));
  TRY(try_cut(of, (struct trial){few, row, 0}, 1, best));
  if (many == few) return OK;
  TRY(try_cut(of, (struct trial){many, NULL, 0}, .9, best));
  return try_cut(of, (struct trial){many, row, 0}, best->slots == few ? .9 : 1, best);
}

/* count: of the chunks, which are counted first. */
static int cut_all(const struct incidences *of, struct edge_split *split, struct split_counts *count) {
  TRY(cut(of, split, 1, count));
  split->count = add_up(count, chunks_of(of));
  split->count.rows = of->vertices->rows;
  TRY(allocate(split));
  TRY(cut(of, split, 1, count));
  split->block[split->count.blocks] = (struct split_block){split->count.rows, split->count.rounds};
  return OK;
}

int edge_split_init(const struct csr *edges, const struct csr *vertices, int threads,
                    struct edge_split *split) {
  const struct incidences of = {edges, vertices, threads, edge_split_limit(edges)};
  struct trial best = {0};
  FREED struct split_counts *count = NULL;
  FREED int32_t *row = NULL;
  *split = (struct edge_split){.limit = of.limit};
  TRY(memory_arrays("order of vertices", ROOM(&row, vertices->rows), ROOM(&count, chunks_of(&of))));
  TRY(order_by_lead(edges, vertices, row));
  TRY(choose(&of, row, &best));
  split->slots = best.slots;
  split->row = best.row;
  if (best.row) row = NULL; /* it is the split's */
  return cut_all(&of, split, count);
}

void edge_split_free(struct edge_split *split) {
  free_all(split->block, split->round, split->piece, split->join, split->use, split->row_use, split->row);
  *split = (struct edge_split){0};
}
