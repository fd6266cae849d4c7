#include "io/synth/synth.h"

#include <math.h>

#include "io/synth/synth_communities.h"
#include "io/synth/synth_edges.h"
#include "io/synth/synth_hyperedges.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"

void synth_default(struct synth *synth) {
  *synth = (struct synth){.name = "synth",
                          .seed = 1,
                          .inside = 0.75,
                          .power = 0.45,
                          .size_power = 0.6,
                          .signal = 1.7,
                          .label_noise = 0.03,
                          .train = 0.1,
                          .val = 0.1,
                          .test = 1};
}

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

/* A label is the planted class, or with probability label_noise any other one. */
static int32_t draw_label(const struct synth *synth, struct philox_key key, int64_t node, int32_t planted) {
  struct philox_block block = random_block(key, (uint64_t)node, 0);
  if (random_unit_double(block.word[0], block.word[1]) >= synth->label_noise) return planted;
  int64_t others = (int64_t)random_below(block.word[2], block.word[3], (uint64_t)synth->classes - 1);
  return (int32_t)((planted + 1 + others) % synth->classes);
}

static void fill_labels(const struct synth *synth, const struct synth_communities *c,
                        const int32_t *community_class, const int32_t *new_id, int32_t *planted,
                        int32_t *label) {
  struct philox_key key = random_key((uint64_t)synth->seed, 0, 1, RANDOM_SYNTH_LABEL);
#pragma omp parallel for schedule(static)
  for (int64_t u = 0; u < synth->nodes; u++) {
    int64_t row = new_id ? new_id[u] : u;
    planted[row] = community_class[c->of_node[u]];
    label[row] = draw_label(synth, key, u, planted[row]);
  }
}

static int make_labels(const struct synth *synth, const struct synth_communities *c, const int32_t *new_id,
                       int32_t *planted, struct dataset_source *source) {
  FREED int32_t *community_class = NULL;
  TRY(memory_arrays("labels", ROOM(&source->label, synth->nodes), ROOM(&community_class, c->count)));
  TRY(assign_classes(synth, c, community_class));
  fill_labels(synth, c, community_class, new_id, planted, source->label);
  return OK;
}

/* Nodes whose drawn place is below the share of train are train, then val, then test, the others in no part.
 */
static void fill_split(const struct synth *synth, const int32_t *place, const int32_t *original,
                       struct split_list *list) {
  int64_t filled[SPLIT_COUNT] = {0};
  for (int64_t row = 0; row < synth->nodes; row++) {
    int64_t drawn = place[original ? original[row] : row];
    int part = SPLIT_TRAIN;
    while (part < SPLIT_COUNT && drawn >= list->count[part]) drawn -= list->count[part++];
    if (part < SPLIT_COUNT) list->node[part][filled[part]++] = row;
  }
}

static int make_split(const struct synth *synth, const int32_t *original, struct dataset_source *source) {
  TRY(memory_arrays("split", ROOM(&source->split, 1)));
  source->splits = 1;
  int64_t *count = source->split->count;
  count[SPLIT_TRAIN] = llround(synth->train * (double)synth->nodes);
  count[SPLIT_VAL] = llround(fmin(synth->val, 1 - synth->train) * (double)synth->nodes);
  if (count[SPLIT_VAL] > synth->nodes - count[SPLIT_TRAIN])
    count[SPLIT_VAL] = synth->nodes - count[SPLIT_TRAIN];
  count[SPLIT_TEST] = smaller(llround(synth->test * (double)synth->nodes),
                              synth->nodes - count[SPLIT_TRAIN] - count[SPLIT_VAL]);
  for (int part = 0; part < SPLIT_COUNT; part++)
    TRY(memory_arrays("split", ROOM(&source->split->node[part], count[part])));
  FREED int32_t *place = NULL;
  TRY(permute(synth->nodes, random_key((uint64_t)synth->seed, 0, 0, RANDOM_SPLIT), &place));
  fill_split(synth, place, original, source->split);
  return OK;
}

static int make_hyperedges(const struct synth *synth, struct synth_communities *c, const int32_t *new_id,
                           struct dataset_source *source) {
  double mean = synth->degree * (double)synth->nodes / (double)synth->hyperedges;
  struct synth_hyperedges h = {synth->hyperedges, mean, synth->size_power, synth->seed};
  source->hyperedges = synth->hyperedges;
  TRY(synth_communities_weigh(c, synth->power, synth->inside, synth->seed));
  return synth_hyperedges_build(&h, c, new_id, &source->hyper_start, &source->hyper_vertex);
}

static int make_edges(const struct synth *synth, struct synth_communities *c, const int32_t *new_id,
                      struct dataset_source *source) {
  struct synth_rmat rmat;
  struct synth_model model;
  if (synth->rmat) {
    synth_rmat_init(&rmat, synth->nodes, synth->seed);
    model = synth_rmat_model(&rmat);
  } else {
    TRY(synth_communities_weigh(c, synth->power, synth->inside, synth->seed));
    model = synth_communities_model(c);
  }
  int64_t draws;
  TRY(synth_edges_draws(&model, synth->nodes, synth->degree * (double)synth->nodes / 2, &draws));
  return synth_edges_build(&model, synth->nodes, draws, new_id, &source->start, &source->col);
}

/* The new id of each node, and in features->key_of the node that each new id was. */
static int shuffle(const struct synth *synth, struct synth_features *features, int32_t **new_id) {
  int64_t bytes = synth->nodes * (int64_t)sizeof **new_id;
  TRY(memory_alloc(&features->key_of, bytes, "ids before the shuffle"));
  TRY(permute(synth->nodes, random_key((uint64_t)synth->seed, 0, 0, RANDOM_SHUFFLE), new_id));
  for (int64_t u = 0; u < synth->nodes; u++) features->key_of[(*new_id)[u]] = (int32_t)u;
  return OK;
}

static int64_t community_size(const struct synth *synth) {
  if (synth->community_size > 0) return synth->community_size;
  int64_t size = synth->nodes / (4 * synth->classes);
  return size < 2 ? 2 : size > 1000 ? 1000 : size;
}

static int check(const struct synth *synth, const struct synth_communities *c) {
  if (c->count < synth->classes) {
    FAIL(BAD_INPUT, "%lld communities cannot carry %lld classes; allowed: at least one community a class",
         (long long)c->count, (long long)synth->classes);
  }
  if (synth->rmat && synth->hyperedges)
    FAIL(BAD_INPUT, "--rmat draws edges; with --hyperedges there are none: one of them is allowed");
  if (synth->train + synth->val > 1)
    FAIL(BAD_INPUT, "train and val are %g and %g; allowed: at most 1 together", synth->train, synth->val);
  if (synth->test < 1 && synth->train + synth->val + synth->test > 1 + 1e-9)
    FAIL(BAD_INPUT, "train, val and test are %g, %g and %g; allowed: at most 1 together", synth->train,
         synth->val, synth->test);
  return OK;
}

/* What is certainly held at once: a node's community, label, class and offset, an arc as drawn and stored. A
 * degree that the graph has no room for is refused later. */
static int check_memory(const struct synth *synth) {
  char text[16];
  double arc = synth->hyperedges ? sizeof(int32_t) : 2.0 * sizeof(int32_t);
  double degree = synth->degree < (double)synth->nodes ? synth->degree : (double)synth->nodes;
  double bytes = (double)synth->nodes * (3.0 * sizeof(int32_t) + sizeof(int64_t) + degree * arc);
  if (bytes > (double)memory_total())
    FAIL(FAILED, "out of memory: %lld nodes of mean degree %g take more than %s, and this machine has less",
         (long long)synth->nodes, synth->degree, memory_text((int64_t)bytes, text));
  return OK;
}

int synth_make(const struct synth *synth, struct dataset_source *source, struct synth_features *features) {
  ENDED_BY(synth_communities_free) struct synth_communities c = {0};
  FREED int32_t *new_id = NULL;
  memcpy(source->name, synth->name, sizeof source->name);
  source->nodes = synth->nodes;
  source->features = synth->features;
  source->classes = synth->classes;
  source->task = TASK_MULTICLASS;
  source->made.rows = synth_features_rows;
  source->made.context = features;
  TRY(check_memory(synth));
  TRY(synth_communities_init(&c, synth->nodes, community_size(synth), synth->community_power, synth->seed));
  TRY(check(synth, &c));
  TRY(synth_features_init(features, synth->nodes, synth->features, synth->classes, synth->signal,
                          synth->seed));
  if (synth->shuffle) TRY(shuffle(synth, features, &new_id));
  TRY(make_labels(synth, &c, new_id, features->class_of, source));
  TRY(make_split(synth, features->key_of, source));
  if (synth->hyperedges) return make_hyperedges(synth, &c, new_id, source);
  return make_edges(synth, &c, new_id, source);
}
