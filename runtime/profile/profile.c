#include "runtime/profile/profile.h"

#include "runtime/base/base.h"
#include "runtime/profile/profile_device.h"
#include "runtime/profile/profile_tree.h"

struct region {
  const char *name;
  int32_t child, next;       /* first child, next sibling; 0: none */
  int32_t track, on_device;  /* of its last call; whose clock timed that */
  struct profile_region sum; /* of the calls that have ended */
  double start;              /* of the call under way, on the host's track */
  void *stamp;               /* the same on the device's */
};

static struct {
  int enabled;
  double since;
  int32_t open;                   /* innermost open region */
  int32_t beside[PROFILE_TRACKS]; /* the open region of each track beside; 0: none */
  int32_t regions, room;
  struct region *region;
  int64_t events;
  struct profile_event *event;
} state;

static void drop_call(int32_t r) {
  struct region *region = &state.region[r];
  if (region->track == PROFILE_HOST_TRACK || !region->stamp) return;
  profile_release(region->stamp);
  region->stamp = NULL;
}

static int32_t parent_of_region(int32_t r) {
  return (int32_t)state.region[r].sum.parent;
}

/* The stamps of the calls under way, which are not counted then. */
static void drop_open(void) {
  for (int32_t r = state.open; r; r = parent_of_region(r)) drop_call(r);
  for (int t = 0; t < PROFILE_TRACKS; t++) {
    if (state.beside[t]) drop_call(state.beside[t]);
  }
}

void profile_free(void) {
  drop_open();
  profile_drop_spans();
  free_all(state.region, state.event);
  memset(&state, 0, sizeof state);
}

/* Drops the recording, after a warning: it must never end a run. */
static void give_up(void) {
  log_warn("profile: out of memory, or the device does not tell the time; nothing is recorded");
  profile_free();
}

static struct region region_of(const char *name, int32_t parent) {
  struct region region = {.name = name, .sum = {.parent = parent}};
  strncpy(region.sum.name, name, sizeof region.sum.name - 1);
  return region;
}

static int start(void) {
  state.room = 256;
  state.region = calloc((size_t)state.room, sizeof *state.region);
  state.event = calloc(PROFILE_EVENTS, sizeof *state.event);
  if (!state.region || !state.event || !profile_anchor()) return 0;
  state.region[0] = region_of("run", -1);
  state.region[0].sum.calls = 1;
  state.regions = 1;
  state.since = profile_clock();
  state.enabled = 1;
  return 1;
}

void profile_enable(void) {
  if (!state.enabled && !start()) give_up();
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
  struct region *larger = realloc(state.region, 2 * (size_t)state.room * sizeof *larger);
  if (!larger) return 0;
  state.region = larger;
  state.room *= 2;
  return 1;
}

static int add_child(const char *name, int32_t last, int32_t *child) {
  if (state.regions == state.room && !grow()) return 0;
  *child = state.regions++;
  state.region[*child] = region_of(name, state.open);
  *(last ? &state.region[last].next : &state.region[state.open].child) = *child;
  return 1;
}

/* Starts a call of the region `name` below the open one. */
static int start_call(const char *name, int track, int32_t *child) {
  int32_t last;
  *child = find_child(name, &last);
  if (!*child && !add_child(name, last, child)) return 0;
  struct region *region = &state.region[*child];
  region->track = track;
  region->on_device = track != PROFILE_HOST_TRACK && profile_has_device();
  if (region->on_device) return profile_stamp(track, &region->stamp);
  region->start = profile_clock();
  return 1;
}

/* Adds one call of a region that has ended. */
static void record(int32_t r, int track, double from, double seconds) {
  state.region[r].sum.calls++;
  state.region[r].sum.seconds += seconds;
  if (state.events < PROFILE_EVENTS)
    state.event[state.events++] = (struct profile_event){
        .start = from, .seconds = seconds, .region = r, .track = track};
}

/* What the device has come to. */
static int read_calls(void) {
  return profile_read_spans(record);
}

static int end_span(const struct region *region, int32_t r) {
  if (!region->stamp || profile_has_room() || read_calls())
    return profile_span(r, region->track, region->stamp);
  profile_release(region->stamp);
  return 0;
}

static int end_call(int32_t r) {
  const struct region *region = &state.region[r];
  if (region->on_device) return end_span(region, r);
  record(r, region->track, region->start, profile_clock() - region->start);
  return 1;
}

static void begin(const char *name, int track) {
  int32_t child;
  profile_push(name);
  if (!state.enabled) return;
  if (start_call(name, track, &child))
    state.open = child;
  else
    give_up();
}

void profile_begin(const char *name) {
  begin(name, profile_has_device() ? 1 : PROFILE_HOST_TRACK);
}

void profile_begin_host(const char *name) {
  begin(name, PROFILE_HOST_TRACK);
}

void profile_end(void) {
  profile_pop();
  if (!state.enabled || state.open == 0) return; /* it was opened before the recording started */
  int32_t r = state.open;
  state.open = parent_of_region(r);
  if (!end_call(r)) give_up();
}

void profile_begin_beside(int stream, const char *name, double bytes) {
  int track = stream + 1;
  int32_t child;
  if (!state.enabled || track >= PROFILE_TRACKS || state.beside[track]) return;
  if (!start_call(name, track, &child)) {
    give_up();
    return;
  }
  state.region[child].sum.beside = 1;
  state.region[child].sum.bytes += bytes;
  state.beside[track] = child;
}

void profile_end_beside(int stream) {
  int track = stream + 1;
  if (!state.enabled || track >= PROFILE_TRACKS || !state.beside[track]) return;
  int32_t r = state.beside[track];
  state.beside[track] = 0;
  if (!end_call(r)) give_up();
}

void profile_work(double bytes, double flops) {
  if (!state.enabled) return;
  state.region[state.open].sum.bytes += bytes;
  state.region[state.open].sum.flops += flops;
}

void profile_resolve(void) {
  if (!read_calls()) give_up();
}

void profile_attach(const struct profile_device *device) {
  if (!profile_take_device(device))
    device->close(device->context);
  else if (state.enabled && !profile_anchor())
    give_up();
}

void profile_detach(const void *context) {
  if (!profile_is_device(context)) return;
  profile_resolve();
  drop_open();
  profile_drop_spans();
  profile_close_device();
}

int profile_tree(struct profile_region **region, int64_t *count) {
  profile_resolve();
  *count = state.regions;
  TRY(memory_arrays("profile regions", ROOM(region, *count)));
  for (int32_t r = 0; r < state.regions; r++) (*region)[r] = state.region[r].sum;
  if (*count > 0) (*region)[0].seconds = profile_clock() - state.since;
  return OK;
}

const struct profile_event *profile_events(int64_t *count) {
  profile_resolve();
  *count = state.events;
  return state.event;
}

enum { OUTSIDE = -2, NO_PART = -1 }; /* else the number of a part */

static int is_named(const struct profile_part *part, const char *name) {
  for (int i = 0; part->names[i]; i++) {
    if (strcmp(part->names[i], name) == 0) return 1;
  }
  return 0;
}

static int find_part(const struct profile_part *part, int count, const char *name) {
  for (int p = 0; p < count; p++) {
    if (is_named(&part[p], name)) return p;
  }
  return NO_PART;
}

/* Time is that of the outermost region of a part; work that of all regions in it. */
static void add_region(struct profile_part *part, const struct profile_region *region, int outermost) {
  part->bytes += region->bytes;
  part->flops += region->flops;
  if (!outermost) return;
  part->calls += (double)region->calls;
  part->seconds += region->seconds;
}

/* place[i]: where region i stands. Parents come before their children. */
static struct profile_part sum(const struct profile_region *region, int64_t regions, const char *within,
                               struct profile_part *part, int count, int *place) {
  struct profile_part whole = {0};
  place[0] = OUTSIDE;
  for (int64_t i = 1; i < regions; i++) {
    int above = place[i] = place[region[i].parent];
    if (above == OUTSIDE && strcmp(region[i].name, within) == 0) place[i] = NO_PART;
    if (above == NO_PART) place[i] = find_part(part, count, region[i].name);
    if (above == OUTSIDE && place[i] == NO_PART) add_region(&whole, &region[i], 1);
    if (place[i] >= 0) add_region(&part[place[i]], &region[i], above == NO_PART);
  }
  return whole;
}

struct profile_part profile_parts(const char *within, struct profile_part *part, int count) {
  struct profile_region *region = NULL;
  struct profile_part whole = {0};
  int64_t regions = 0;
  for (int p = 0; p < count; p++) part[p] = (struct profile_part){.names = part[p].names};
  if (!profile_enabled() || profile_tree(&region, &regions) != OK) {
    error_clear();
    return whole;
  }
  int *place = calloc((size_t)regions, sizeof *place);
  if (place) whole = sum(region, regions, within, part, count, place);
  free_all(place, region);
  return whole;
}
