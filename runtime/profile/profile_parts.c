#include "runtime/base/base.h"
#include "runtime/profile/profile.h"
#include "runtime/profile/profile_tree.h"

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
