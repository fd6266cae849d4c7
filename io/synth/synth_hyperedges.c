#include "io/synth/synth_hyperedges.h"

#include <math.h>

#include "runtime/base/base.h"

/* Streams of the seed. */
enum { OF_SIZES = 1, OF_CENTRES, OF_MEMBERS };

static const double TOLERANCE = .05; /* of the mean size that is asked for, before a warning */

static struct philox_key key_of(const struct synth_hyperedges *h, uint32_t stream) {
  return random_key((uint64_t)h->seed, 0, stream, RANDOM_SYNTH_EDGE);
}

/* Mean of (U + 1e-3)^-power. */
static double mean_weight(double power) {
  if (power > 1 - 1e-9) return log(1.001 / .001);
  return (pow(1.001, 1 - power) - pow(.001, 1 - power)) / (1 - power);
}

/* Rounded up or down at random, so that the mean is kept; between 1 and all vertices. */
static int64_t draw_size(const struct synth_hyperedges *h, int64_t nodes, int64_t e) {
  struct philox_block block = random_block(key_of(h, OF_SIZES), (uint64_t)e, 0);
  double weight = pow(random_unit_double(block.word[0], block.word[1]) + 1e-3, -h->power);
  double size = h->mean * weight / mean_weight(h->power);
  size = floor(size + random_unit_double(block.word[2], block.word[3]));
  return size < 1 ? 1 : size > (double)nodes ? nodes : (int64_t)size;
}

/* Draws members until `size` are different, for so many rounds; returns how many there are. */
static int64_t draw_members(const struct synth_hyperedges *h, const struct synth_communities *c, int64_t e,
                            int shuffled, int64_t size, int32_t *vertex) {
  enum { ROUNDS = 6 };
  struct philox_block block = random_block(key_of(h, OF_CENTRES), (uint64_t)e, 0);
  double place = random_unit_double(block.word[0], block.word[1]);
  int32_t centre = synth_communities_at(c, shuffled ? place : ((double)e + place) / (double)h->count);
  uint64_t draws = 0;
  int64_t filled = 1;
  vertex[0] = centre;
  for (int round = 0; round < ROUNDS && filled < size; round++) {
    for (int64_t i = filled; i < size; i++) {
      struct philox_block member = random_block(key_of(h, OF_MEMBERS), (uint64_t)e, draws++);
      vertex[i] = synth_communities_end(c, centre, random_unit_double(member.word[0], member.word[1]));
    }
    filled = sort_distinct(vertex, size);
  }
  return filled;
}

/* Room for the sizes drawn, then the rows move together. */
static void fill(const struct synth_hyperedges *h, const struct synth_communities *c, const int32_t *new_id,
                 int64_t *filled, struct synth_rows *rows) {
  int64_t *start = rows->start;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t e = 0; e < rows->rows; e++) {
    int32_t *row = rows->id + start[e];
    filled[e] = draw_members(h, c, rows->first + e, new_id != NULL, start[e + 1] - start[e], row);
    for (int64_t i = 0; new_id && i < filled[e]; i++) row[i] = new_id[row[i]];
    if (new_id) sort_distinct(row, filled[e]);
  }
  for (int64_t e = 0, at = 0, from = 0; e < rows->rows; e++) {
    int64_t next = start[e + 1];
    for (int64_t i = 0; i < filled[e]; i++) rows->id[at + i] = rows->id[from + i];
    at += filled[e];
    from = next;
    start[e + 1] = at;
  }
}

void synth_hyperedges_say(const struct synth_hyperedges *h, const struct synth_rows *rows) {
  const double made = (double)rows->start[rows->rows] / (double)rows->rows;
  if (fabs(made / h->mean - 1) > TOLERANCE)
    log_warn("hyperedges have %.3g vertices on average, not %.3g: %s", made, h->mean,
             made > h->mean ? "none has fewer than one" : "communities have no more for them");
}

int synth_hyperedges_build(const struct synth_hyperedges *h, const struct synth_communities *c,
                           const int32_t *new_id, struct synth_rows *rows) {
  FREED int64_t *filled = NULL;
  TRY(memory_arrays("hyperedges", ROOM(&rows->start, rows->rows + 1), ROOM(&filled, rows->rows)));
  for (int64_t e = 0; e < rows->rows; e++)
    rows->start[e + 1] = rows->start[e] + draw_size(h, c->nodes, rows->first + e);
  TRY(memory_arrays("vertices of hyperedges", ROOM(&rows->id, rows->start[rows->rows])));
  fill(h, c, new_id, filled, rows);
  return OK;
}
