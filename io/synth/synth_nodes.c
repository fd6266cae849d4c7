#include "io/synth/synth_nodes.h"

#include <math.h>

#include "io/synth/synth_communities.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

/* place[i] = the place that i goes to (Fisher and Yates; each step keyed by its number). */
static int permute(int64_t count, struct philox_key key, int32_t **place) {
  TRY(memory_arrays("permutation of the nodes", ROOM(place, count)));
  for (int64_t i = 0; i < count; i++) {
    struct philox_block block = random_block(key, (uint64_t)i, 0);
    int64_t j = (int64_t)random_below(block.word[0], block.word[1], (uint64_t)i + 1);
    (*place)[i] = (*place)[j];
    (*place)[j] = (int32_t)i;
  }
  return OK;
}

/* Whether class a is to get a community before class b: fewer nodes so far, then the lower number. */
static int goes_first(const int64_t *size, int32_t a, int32_t b) {
  return size[a] < size[b] || (size[a] == size[b] && a < b);
}

/* The root of a heap of classes, which has grown, goes to its place. */
static void sink(int32_t *heap, int64_t count, const int64_t *size) {
  for (int64_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && goes_first(size, heap[child + 1], heap[child])) child++;
    if (!goes_first(size, heap[child], heap[at])) break;
    int32_t moved = heap[at];
    heap[at] = heap[child];
    heap[child] = moved;
  }
}

/* Each community, in a random order, goes to the class that has the fewest nodes so far. */
static int assign_classes(const struct synth *synth, const struct synth_communities *c, int32_t *class_of) {
  FREED int64_t *size = NULL;
  FREED int32_t *order = NULL, *heap = NULL;
  TRY(memory_arrays("sizes of classes", ROOM(&size, synth->classes), ROOM(&heap, synth->classes)));
  TRY(permute(c->count, random_key((uint64_t)synth->seed, 0, 0, RANDOM_SYNTH_LABEL), &order));
  for (int32_t k = 0; k < synth->classes; k++) heap[k] = k;
  for (int64_t i = 0; i < c->count; i++) {
    int32_t community = order[i];
    class_of[community] = heap[0];
    size[heap[0]] += c->start[community + 1] - c->start[community];
    sink(heap, synth->classes, size);
  }
  return OK;
}

int synth_nodes_rename(const struct synth *synth, int32_t **row) {
  *row = NULL;
  return synth->shuffle ? permute(synth->nodes, random_key((uint64_t)synth->seed, 0, 0, RANDOM_SHUFFLE), row)
                        : OK;
}

/* The class of each row, and the node that it was before the shuffle. */
static int plant(struct synth_nodes *n, const struct synth *synth) {
  ENDED_BY(synth_communities_free) struct synth_communities c = {0};
  FREED int32_t *community_class = NULL, *new_id = NULL;
  TRY(synth_communities_init(&c, synth->nodes, synth_community_size(synth), synth->community_power,
                             synth->seed));
  TRY(memory_arrays("classes of communities", ROOM(&community_class, c.count)));
  TRY(assign_classes(synth, &c, community_class));
  TRY(synth_nodes_rename(synth, &new_id));
  if (new_id) TRY(memory_arrays("ids before the shuffle", ROOM(&n->features.key_of, synth->nodes)));
#pragma omp parallel for schedule(static)
  for (int64_t u = 0; u < synth->nodes; u++) {
    int64_t row = new_id ? new_id[u] : u;
    n->features.class_of[row] = community_class[c.of_node[u]];
    if (new_id) n->features.key_of[row] = (int32_t)u;
  }
  return OK;
}

/* Nodes whose drawn place is below the share of train are train, then val, then test, the others in no part.
 */
static int divide(struct synth_nodes *n, const struct synth *synth) {
  FREED int32_t *place = NULL;
  n->count[SPLIT_TRAIN] = llround(synth->train * (double)synth->nodes);
  n->count[SPLIT_VAL] = smaller(llround(fmin(synth->val, 1 - synth->train) * (double)synth->nodes),
                                synth->nodes - n->count[SPLIT_TRAIN]);
  n->count[SPLIT_TEST] = smaller(llround(synth->test * (double)synth->nodes),
                                 synth->nodes - n->count[SPLIT_TRAIN] - n->count[SPLIT_VAL]);
  TRY(memory_arrays("split", ROOM(&n->part, synth->nodes)));
  TRY(permute(synth->nodes, random_key((uint64_t)synth->seed, 0, 0, RANDOM_SPLIT), &place));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < synth->nodes; row++) {
    int64_t drawn = place[n->features.key_of ? n->features.key_of[row] : row];
    int part = SPLIT_TRAIN;
    while (part < SPLIT_COUNT && drawn >= n->count[part]) drawn -= n->count[part++];
    n->part[row] = (uint8_t)part;
  }
  return OK;
}

int synth_nodes_init(struct synth_nodes *n, const struct synth *synth) {
  *n = (struct synth_nodes){.label_noise = synth->label_noise,
                            .label_key = random_key((uint64_t)synth->seed, 0, 1, RANDOM_SYNTH_LABEL)};
  TRY(synth_features_init(&n->features, synth->nodes, synth->features, synth->classes, synth->signal,
                          synth->seed));
  TRY(plant(n, synth));
  return divide(n, synth);
}

void synth_nodes_free(struct synth_nodes *n) {
  synth_features_free(&n->features);
  free(n->part);
  *n = (struct synth_nodes){0};
}

/* A label is the planted class, or with probability label_noise any other one. */
static int32_t draw_label(const struct synth_nodes *n, int64_t node, int32_t planted) {
  struct philox_block block = random_block(n->label_key, (uint64_t)node, 0);
  if (random_unit_double(block.word[0], block.word[1]) >= n->label_noise) return planted;
  int64_t others = (int64_t)random_below(block.word[2], block.word[3], (uint64_t)n->features.classes - 1);
  return (int32_t)((planted + 1 + others) % n->features.classes);
}

void synth_nodes_label(const struct synth_nodes *n, int64_t first, int64_t rows, int32_t *label) {
  const struct synth_features *f = &n->features;
#pragma omp parallel for schedule(static)
  for (int64_t row = first; row < first + rows; row++)
    label[row - first] = draw_label(n, f->key_of ? f->key_of[row] : row, f->class_of[row]);
}

int synth_nodes_split(const struct synth_nodes *n, enum split part, int64_t **node, int64_t *count) {
  int64_t filled = 0;
  *count = n->count[part];
  TRY(memory_arrays("split", ROOM(node, *count)));
  for (int64_t row = 0; row < n->features.nodes; row++)
    if (n->part[row] == part) (*node)[filled++] = row;
  return OK;
}
