/* Stamps that the device has not come to yet wait here as spans; profile_resolve turns those it has come to
 * into calls of their regions, placed on the host's clock by their distance from one known stamp. */
#include "runtime/profile_device.h"

#include <stdlib.h>

#include "runtime/profile.h"
#include "runtime/profile_tree.h"

struct span {
  int32_t region;
  int track;
  void *from, *to;
};

static struct {
  int attached;
  struct profile_device device;
  void *anchor; /* a stamp, and when it was on profile_clock */
  double anchor_time;
  int64_t spans, room;
  struct span *span;
} line;

int profile_has_device(void) {
  return line.attached;
}

void profile_push(const char *name) {
  if (line.attached && line.device.push) line.device.push(name);
}

void profile_pop(void) {
  if (line.attached && line.device.pop) line.device.pop();
}

void profile_release(void *stamp) {
  line.device.release(line.device.context, stamp);
}

static int seconds_between(void *from, void *to, double *seconds, int *ready) {
  return line.device.seconds(line.device.context, from, to, seconds, ready) == 0;
}

int profile_anchor(void) {
  int ready = 0;
  double nothing;
  if (!line.attached || line.anchor) return 1;
  if (!profile_stamp(1, &line.anchor)) return 0;
  while (!ready) {
    if (!seconds_between(line.anchor, line.anchor, &nothing, &ready)) return 0;
  }
  line.anchor_time = profile_clock();
  return 1;
}

void profile_attach(const struct profile_device *device) {
  if (line.attached) {
    device->close(device->context);
    return;
  }
  line.device = *device;
  line.attached = 1;
  if (profile_enabled() && !profile_anchor()) profile_give_up();
}

void profile_detach(const void *context) {
  if (!line.attached || line.device.context != context) return;
  profile_resolve();
  profile_drop_open();
  profile_drop_spans();
  line.device.close(line.device.context);
  line.attached = 0;
}

void profile_drop_spans(void) {
  if (!line.attached) return;
  for (int64_t i = 0; i < line.spans; i++) {
    profile_release(line.span[i].from);
    profile_release(line.span[i].to);
  }
  if (line.anchor) profile_release(line.anchor);
  free(line.span);
  line.span = NULL;
  line.anchor = NULL;
  line.spans = line.room = 0;
}

int profile_stamp(int track, void **stamp) {
  *stamp = NULL;
  return line.device.stamp(line.device.context, track - 1, stamp) == 0;
}

static int make_room(void) {
  int64_t room = line.room ? 2 * line.room : 1024;
  struct span *larger = realloc(line.span, (size_t)room * sizeof *larger);
  if (!larger) return 0;
  line.span = larger;
  line.room = room;
  return 1;
}

int profile_span(int32_t region, int track, void *from) {
  void *to = NULL;
  if (!from) return 1;
  if (line.spans == line.room) profile_resolve();
  if ((line.spans == line.room && !make_room()) || !profile_stamp(track, &to)) {
    profile_release(from);
    return 0;
  }
  line.span[line.spans++] = (struct span){region, track, from, to};
  return 1;
}

/* The end of a span lies behind the anchor; its start may lie before. *end becomes when it ended. */
static int resolve_span(const struct span *span, double *end, int *ready) {
  double seconds = 0, after = 0;
  if (!seconds_between(span->from, span->to, &seconds, ready)) return 0;
  if (!*ready) return 1;
  if (!seconds_between(line.anchor, span->to, &after, ready)) return 0;
  *end = line.anchor_time + after;
  profile_record(span->region, span->track, *end - seconds, seconds);
  return 1;
}

/* Gives the stamps of a span back, but keeps the latest end of all in *latest. */
static void release_span(const struct span *span, double end, void **latest, double *latest_end) {
  profile_release(span->from);
  if (*latest && end <= *latest_end) {
    profile_release(span->to);
    return;
  }
  if (*latest) profile_release(*latest);
  *latest = span->to;
  *latest_end = end;
}

/* Differences lose digits as they grow: the latest end that was read becomes the anchor. */
static int resolve_all(void) {
  int64_t kept = 0, count = line.spans;
  void *latest = NULL;
  double latest_end = 0;
  line.spans = 0; /* after a failure the stamps are of no more use */
  for (int64_t i = 0; i < count; i++) {
    struct span span = line.span[i];
    double end = 0;
    int ready = 0;
    if (!resolve_span(&span, &end, &ready)) return 0;
    if (ready)
      release_span(&span, end, &latest, &latest_end);
    else
      line.span[kept++] = span;
  }
  line.spans = kept;
  if (!latest) return 1;
  profile_release(line.anchor);
  line.anchor = latest;
  line.anchor_time = latest_end;
  return 1;
}

void profile_resolve(void) {
  if (line.spans && !resolve_all()) profile_give_up();
}
