/* Stamps that the device has not come to yet wait here as spans; those it has come to become calls of their
 * regions, placed on the host's clock by their distance from one known stamp. */
#include "runtime/profile/profile_device.h"

#include <stdlib.h>

#include "runtime/profile/profile_tree.h"

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

int profile_take_device(const struct profile_device *device) {
  if (line.attached) return 0;
  line.device = *device;
  line.attached = 1;
  return 1;
}

int profile_is_device(const void *context) {
  return line.attached && line.device.context == context;
}

void profile_close_device(void) {
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

int profile_has_room(void) {
  return line.spans < line.room;
}

int profile_span(int32_t region, int track, void *from) {
  void *to = NULL;
  if (!from) return 1;
  if ((line.spans == line.room && !make_room()) || !profile_stamp(track, &to)) {
    profile_release(from);
    return 0;
  }
  line.span[line.spans++] = (struct span){region, track, from, to};
  return 1;
}

/* The end of a span lies behind the anchor; its start may lie before. */
static int read_span(const struct span *span, double *seconds, double *end, int *ready) {
  if (!seconds_between(span->from, span->to, seconds, ready)) return 0;
  if (!*ready) return 1;
  if (!seconds_between(line.anchor, span->to, end, ready)) return 0;
  *end += line.anchor_time;
  return 1;
}

/* The latest end that was read becomes the anchor: differences lose digits as they grow. */
struct latest {
  void *stamp;
  double end;
};

static void keep_later(struct latest *latest, void *stamp, double end) {
  if (latest->stamp && end <= latest->end) {
    profile_release(stamp);
    return;
  }
  if (latest->stamp) profile_release(latest->stamp);
  *latest = (struct latest){stamp, end};
}

static void move_anchor(struct latest latest) {
  if (!latest.stamp) return;
  profile_release(line.anchor);
  line.anchor = latest.stamp;
  line.anchor_time = latest.end;
}

int profile_read_spans(void (*take)(int32_t region, int track, double start, double seconds)) {
  struct latest latest = {0};
  int64_t kept = 0;
  int told = 1, ready = 0;
  for (int64_t i = 0; i < line.spans && told; i++) {
    const struct span span = line.span[i];
    double seconds = 0, end = 0;
    told = read_span(&span, &seconds, &end, &ready);
    if (told && !ready) line.span[kept++] = span;
    if (!told || !ready) continue;
    take(span.region, span.track, end - seconds, seconds);
    profile_release(span.from);
    keep_later(&latest, span.to, end);
  }
  line.spans = told ? kept : 0; /* after a failure the stamps are of no more use */
  move_anchor(latest);
  return told;
}
