/* Blocks of vertices that sum the hyperedges of these: each row is in one block and finds each of its
 * hyperedges in one slot, whose pieces are all of it; nothing depends on threads; vertices that share
 * hyperedges come together. */
#include "kernels/format/edge_split.h"

#include "tests/check.h"

struct hypergraph {
  struct csr edges, vertices;
};

static void free_hypergraph(struct hypergraph *h) {
  csr_free(&h->edges);
  csr_free(&h->vertices);
}

typedef int holds(int64_t e, int64_t v);

static struct hypergraph hypergraph_of(int64_t vertices, int64_t edges, holds *has) {
  struct hypergraph h = {0};
  int64_t nnz = 0;
  for (int64_t e = 0; e < edges; e++)
    for (int64_t v = 0; v < vertices; v++) nnz += has(e, v);
  assert_ok(csr_init(&h.edges, edges, vertices, nnz, 0));
  nnz = 0;
  for (int64_t e = 0; e < edges; e++) {
    for (int64_t v = 0; v < vertices; v++)
      if (has(e, v)) h.edges.col[nnz++] = (int32_t)v;
    h.edges.start[e + 1] = nnz;
  }
  assert_ok(csr_transpose(&h.edges, &h.vertices, NULL));
  return h;
}

/* Hyperedge 0 has all vertices, 1 none, 2 a third of them, others one to nine; vertex 3 is in all but one. */
static int is_mixed(int64_t e, int64_t v) {
  if (e < 3) return e == 0 || (e == 2 && v % 3 == 0);
  return v == 3 || (v - e * 37 % 1900 >= 0 && v - e * 37 % 1900 < e % 9);
}

static int64_t vertex_at(const struct edge_split *s, int64_t i) {
  return s->row ? s->row[i] : i;
}

/* The hyperedge whose pieces begin in that slot of the round, checked to be all of it; -1: none does. */
static int64_t edge_in_slot(const struct hypergraph *h, const struct edge_split *s,
                            const struct split_round *round, int32_t slot) {
  const struct split_piece *piece = s->piece + round->piece + slot;
  int64_t edge = piece->edge, pieces = 1, count = 0;
  for (int32_t j = 0; j < round->joins; j++) {
    const struct split_join *join = s->join + round->join + j;
    if (join->slot != slot) continue;
    assert_int_equal(edge, -1);
    assert_true(join->pieces > 1);
    edge = join->edge;
    pieces = join->pieces;
  }
  if (edge < 0) return -1;
  assert_true(slot + pieces <= round->pieces && pieces <= split_pieces_most(s->slots));
  const int64_t first = h->edges.start[edge];
  for (int64_t p = 0; p < pieces; p++) {
    assert_int_equal(piece[p].first, first + count);
    assert_int_equal(piece[p].edge, pieces > 1 ? -1 : edge);
    assert_true(piece[p].count > 0 && (piece[p].count <= s->limit || pieces == split_pieces_most(s->slots)));
    count += piece[p].count;
  }
  assert_int_equal(count, h->edges.start[edge + 1] - first);
  return edge;
}

/* Uses of row i of the block, vertex v: times[e] of each hyperedge. */
static void count_uses(const struct hypergraph *h, const struct edge_split *s,
                       const struct split_round *round, int64_t i, int32_t *times) {
  const int32_t *range = s->row_use + round->row_use + i;
  for (int32_t u = range[0]; u < range[1]; u++) {
    int32_t slot = s->use[round->use + u];
    assert_true(slot < round->pieces);
    int64_t e = edge_in_slot(h, s, round, slot);
    assert_true(e >= 0);
    times[e]++;
  }
}

static void check_row(const struct hypergraph *h, const struct edge_split *s, const struct split_block *block,
                      int64_t i) {
  const int64_t v = vertex_at(s, i);
  int32_t *times = calloc((size_t)h->edges.rows, sizeof *times);
  for (int64_t r = block[0].round; r < block[1].round; r++)
    count_uses(h, s, s->round + r, i - block[0].row, times);
  for (int64_t j = h->vertices.start[v]; j < h->vertices.start[v + 1]; j++) {
    int32_t e = h->vertices.col[j];
    assert_int_equal(times[e], h->edges.start[e + 1] > h->edges.start[e]);
    times[e] = 0;
  }
  for (int64_t e = 0; e < h->edges.rows; e++) assert_int_equal(times[e], 0);
  free(times);
}

static void check_blocks(const struct hypergraph *h, const struct edge_split *s) {
  int64_t rows = h->vertices.rows, entries = 0, longest = 0;
  uint8_t *had = calloc((size_t)rows + 1, 1);
  assert_int_equal(s->block[0].row, 0);
  assert_int_equal(s->block[s->count.blocks].row, rows);
  assert_int_equal(s->block[s->count.blocks].round, s->count.rounds);
  for (int64_t b = 0; b < s->count.blocks; b++) {
    const struct split_block *block = s->block + b;
    int64_t mine = 0, rounds = block[1].round - block[0].round;
    assert_true(rounds == 1 || (rounds > 1 && block[1].row - block[0].row == 1));
    for (int64_t r = block[0].round; r < block[1].round; r++) {
      assert_true(s->round[r].pieces <= s->slots);
      for (int32_t p = 0; p < s->round[r].pieces; p++) mine += s->piece[s->round[r].piece + p].count;
    }
    for (int64_t i = block[0].row; i < block[1].row; i++) {
      assert_false(had[vertex_at(s, i)]++);
      check_row(h, s, block, i);
    }
    entries += mine;
    longest = mine > longest ? mine : longest;
  }
  assert_int_equal(s->count.entries, entries);
  assert_int_equal(s->count.longest, longest);
  free(had);
}

TEST(each_row_finds_all_of_its_hyperedges) {
  struct hypergraph h = hypergraph_of(2000, 900, is_mixed);
  struct edge_split s;
  assert_ok(edge_split_init(&h.edges, &h.vertices, 2, &s));
  check_blocks(&h, &s);
  assert_true(s.count.rounds > s.count.blocks); /* vertex 3 takes several */
  assert_true(s.count.joins > 0 && s.count.blocks > 2);
  edge_split_free(&s);
  free_hypergraph(&h);
}

/* Rows of the way back may be fewer, and name hyperedges that the way there has no vertices of. */
TEST(ways_of_different_vertices_are_cut_as_well) {
  struct hypergraph h = hypergraph_of(2000, 900, is_mixed), few = {0};
  struct edge_split s;
  assert_ok(csr_cut(&h.vertices, 700, 900, &few.vertices));
  few.edges = h.edges;
  assert_ok(edge_split_init(&few.edges, &few.vertices, 2, &s));
  check_blocks(&few, &s);
  edge_split_free(&s);
  struct hypergraph less = {.vertices = h.vertices};
  assert_ok(csr_transpose(&few.vertices, &less.edges, NULL));
  assert_ok(edge_split_init(&less.edges, &less.vertices, 2, &s));
  check_blocks(&less, &s);
  edge_split_free(&s);
  csr_free(&less.edges);
  csr_free(&few.vertices);
  free_hypergraph(&h);
}

static void assert_same(const void *a, const void *b, int64_t bytes) {
  assert_memory_equal(a, b, (size_t)bytes);
}

/* More rows than a thread takes at a time. */
static int is_spread(int64_t e, int64_t v) {
  return v % 7 != 5 && v / 4 == e * 3 % 10000;
}

TEST(blocks_do_not_depend_on_threads) {
  struct hypergraph h = hypergraph_of(40000, 300, is_spread);
  struct edge_split one, many;
  assert_ok(edge_split_init(&h.edges, &h.vertices, 1, &one));
  assert_ok(edge_split_init(&h.edges, &h.vertices, 5, &many));
  assert_int_equal(one.count.blocks, many.count.blocks);
  assert_int_equal(one.slots, many.slots);
  assert_same(one.block, many.block, (one.count.blocks + 1) * (int64_t)sizeof *one.block);
  assert_same(one.round, many.round, one.count.rounds * (int64_t)sizeof *one.round);
  assert_same(one.piece, many.piece, one.count.pieces * (int64_t)sizeof *one.piece);
  assert_same(one.use, many.use, one.count.uses * (int64_t)sizeof *one.use);
  check_blocks(&h, &many);
  edge_split_free(&one);
  edge_split_free(&many);
  free_hypergraph(&h);
}

/* Hyperedge e: all vertices that leave the remainder e. */
static int is_apart(int64_t e, int64_t v) {
  return v % 200 == e;
}

static int is_near(int64_t e, int64_t v) {
  return v / 10 == e;
}

TEST(vertices_of_a_hyperedge_come_together) {
  struct hypergraph apart = hypergraph_of(2000, 200, is_apart), near = hypergraph_of(2000, 200, is_near);
  struct edge_split s;
  assert_ok(edge_split_init(&apart.edges, &apart.vertices, 2, &s));
  assert_non_null(s.row);
  assert_true(s.count.entries < 2000 * 5 / 4); /* else ten times as many */
  check_blocks(&apart, &s);
  edge_split_free(&s);
  assert_ok(edge_split_init(&near.edges, &near.vertices, 2, &s));
  assert_null(s.row); /* they are so already */
  assert_true(s.count.entries < 2000 * 5 / 4);
  edge_split_free(&s);
  free_hypergraph(&apart);
  free_hypergraph(&near);
}

static int is_empty(int64_t e, int64_t v) {
  return e < 0 && v < 0;
}

TEST(nothing_is_cut_into_nothing) {
  struct hypergraph h = hypergraph_of(5, 3, is_empty);
  struct edge_split s;
  assert_ok(edge_split_init(&h.edges, &h.vertices, 2, &s));
  check_blocks(&h, &s);
  assert_int_equal(s.count.entries, 0);
  assert_int_equal(s.count.blocks, 1); /* rows end all the same */
  edge_split_free(&s);
  free_hypergraph(&h);
  h = hypergraph_of(0, 0, is_empty);
  assert_ok(edge_split_init(&h.edges, &h.vertices, 2, &s));
  assert_int_equal(s.count.blocks, 0);
  edge_split_free(&s);
  free_hypergraph(&h);
}

static int32_t limit_of(int64_t edges, int64_t size) {
  struct csr m;
  assert_ok(csr_init(&m, edges, size, edges * size, 0));
  for (int64_t e = 0; e < edges; e++) m.start[e + 1] = (e + 1) * size;
  int32_t limit = edge_split_limit(&m);
  csr_free(&m);
  return limit;
}

TEST(pieces_are_as_long_as_hyperedges_and_blocks_ask_for) {
  assert_int_equal(limit_of(1000, 4), 4);
  assert_int_equal(limit_of(1000000, 8), 8);
  assert_true(limit_of(100000, 200) > limit_of(100, 200)); /* few are cut finer, to busy all threads */
}
