#include "runtime/profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/profile_tree.h"

struct region {
  const char *name;
  int32_t parent, child, next; /* first child, next sibling; 0: none */
  int64_t calls;
  double seconds, start; /* start of the call under way */
};

static struct {
  int enabled;
  double since;
  int32_t open; /* innermost open region */
  int32_t regions, room;
  struct region *region;
  int64_t events;
  struct profile_event *event;
} state;

static double started, started_epoch;

static double read_clock(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((constructor)) static void start_clock(void) {
  started = read_clock(CLOCK_MONOTONIC);
  started_epoch = read_clock(CLOCK_REALTIME);
}

double profile_clock(void) {
  return read_clock(CLOCK_MONOTONIC) - started;
}

double profile_epoch(void) {
  return started_epoch;
}

void profile_free(void) {
  free(state.region);
  free(state.event);
  memset(&state, 0, sizeof state);
}

/* Recording must never end a run. */
static void give_up(void) {
  log_warn("profile: %s; nothing is recorded", error_message());
  error_clear();
  profile_free();
}

static int start(void) {
  state.room = 256;
  TRY(memory_alloc(&state.region, state.room * (int64_t)sizeof *state.region, "profile regions"));
  TRY(memory_alloc(&state.event, PROFILE_EVENTS * (int64_t)sizeof *state.event, "profile events"));
  state.region[0] = (struct region){.name = "run", .parent = -1, .calls = 1};
  state.regions = 1;
  state.since = profile_clock();
  state.enabled = 1;
  return OK;
}

void profile_enable(void) {
  if (!state.enabled && start() != OK) give_up();
}

int profile_enabled(void) {
  return state.enabled;
}

/* The child of the open region with that name; 0: none yet. *last is the last child that was looked at. */
static int32_t find_child(const char *name, int32_t *last) {
  *last = 0;
  for (int32_t r = state.region[state.open].child; r; r = state.region[r].next) {
    if (state.region[r].name == name || strcmp(state.region[r].name, name) == 0) return r;
    *last = r;
  }
  return 0;
}

static int grow(void) {
  struct region *larger;
  TRY(memory_alloc(&larger, 2 * state.room * (int64_t)sizeof *larger, "profile regions"));
  memcpy(larger, state.region, (size_t)state.regions * sizeof *larger);
  free(state.region);
  state.region = larger;
  state.room *= 2;
  return OK;
}

static int add_child(const char *name, int32_t last, int32_t *child) {
  if (state.regions == state.room) TRY(grow());
  *child = state.regions++;
  state.region[*child] = (struct region){.name = name, .parent = state.open};
  *(last ? &state.region[last].next : &state.region[state.open].child) = *child;
  return OK;
}

void profile_begin(const char *name) {
  if (!state.enabled) return;
  int32_t last, child = find_child(name, &last);
  if (!child && add_child(name, last, &child) != OK) {
    give_up();
    return;
  }
  state.open = child;
  state.region[child].start = profile_clock();
}

void profile_end(void) {
  if (!state.enabled || state.open == 0) return; /* it was opened before the recording started */
  struct region *region = &state.region[state.open];
  double seconds = profile_clock() - region->start;
  region->calls++;
  region->seconds += seconds;
  if (state.events < PROFILE_EVENTS)
    state.event[state.events++] = (struct profile_event){
        .start = region->start, .seconds = seconds, .region = state.open};
  state.open = region->parent;
}

double profile_seconds(const char *name) {
  double seconds = 0;
  for (int32_t r = 1; r < state.regions; r++)
    if (strcmp(state.region[r].name, name) == 0) seconds += state.region[r].seconds;
  return seconds;
}

int profile_tree(struct profile_region **region, int64_t *count) {
  *count = state.regions;
  TRY(memory_alloc(region, *count * (int64_t)sizeof **region, "profile regions"));
  for (int32_t r = 0; r < state.regions; r++) {
    const struct region *from = &state.region[r];
    struct profile_region *to = &(*region)[r];
    strncpy(to->name, from->name, sizeof to->name - 1);
    to->parent = from->parent;
    to->calls = from->calls;
    to->seconds = r ? from->seconds : profile_clock() - state.since;
  }
  return OK;
}

const struct profile_event *profile_events(int64_t *count) {
  *count = state.events;
  return state.event;
}
