#include "runtime/base/base.h"
#include "runtime/comm/comm.h"
#include "runtime/profile/profile.h"
#include "runtime/profile/profile_tree.h"

/* One row: a region over all ranks, which may have recorded different ones. */
struct row {
  const char *name;
  int64_t parent, calls, beside;
  double seconds, slowest; /* sum and largest over the ranks */
};

struct report {
  int ranks;
  int64_t width;
  struct profile_region *all;
  int64_t *row_of; /* of a region of the rank at hand */
  struct row *row;
  int64_t rows;
};

int profile_gather(struct comm *comm, struct profile_region **all, int64_t *width) {
  FREED struct profile_region *mine = NULL, *padded = NULL;
  int64_t count = 0;
  *all = NULL;
  TRY(profile_tree(&mine, &count));
  *width = count;
  TRY(comm_max_int64(comm, width));
  TRY(memory_arrays("profile regions of all ranks", ROOM(&padded, *width), ROOM(all, comm->size * *width)));
  memcpy(padded, mine, (size_t)count * sizeof *mine);
  return comm_gather_all(comm, padded, *width * (int64_t)sizeof **all, *all);
}

static int64_t find_or_add(struct report *report, const char *name, int64_t parent) {
  for (int64_t i = 0; i < report->rows; i++)
    if (report->row[i].parent == parent && strcmp(report->row[i].name, name) == 0) return i;
  report->row[report->rows] = (struct row){.name = name, .parent = parent};
  return report->rows++;
}

static void merge_rank(struct report *report, const struct profile_region *region) {
  for (int64_t i = 0; i < report->width && region[i].name[0]; i++) {
    int64_t r = find_or_add(report, region[i].name, i ? report->row_of[region[i].parent] : -1);
    struct row *row = &report->row[r];
    report->row_of[i] = r;
    row->calls += region[i].calls;
    row->beside |= region[i].beside;
    row->seconds += region[i].seconds;
    if (region[i].seconds > row->slowest) row->slowest = region[i].seconds;
  }
}

/* A star marks what runs beside the regions around it. */
static void print_row(const struct report *report, const struct row *row, int depth) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", row->name, row->beside ? " *" : "");
  double ranks = report->ranks, total = 1e3 * row->seconds / ranks, slowest = 1e3 * row->slowest;
  double whole = row->parent < 0 ? row->seconds : report->row[row->parent].seconds;
  log_result("%*s%-*s %8.0f %11.2f %10.3f %11.2f %8.2f %6.1f%%", 2 * depth, "", 34 - 2 * depth, name,
             (double)row->calls / ranks, total, row->calls ? 1e3 * row->seconds / (double)row->calls : 0,
             slowest, total > 0 ? slowest / total : 1, whole > 0 ? 100 * row->seconds / whole : 0);
}

/* Rows below row `parent` (-1: all), depth first. */
static void print_rows(const struct report *report, int64_t parent, int depth) {
  for (int64_t i = parent + 1; i < report->rows; i++) {
    if (report->row[i].parent != parent) continue;
    print_row(report, &report->row[i], depth);
    print_rows(report, i, depth < 16 ? depth + 1 : depth);
  }
}

static int any_beside(const struct report *report) {
  for (int64_t i = 0; i < report->rows; i++) {
    if (report->row[i].beside) return 1;
  }
  return 0;
}

static int report_init(struct report *report, struct comm *comm) {
  report->ranks = comm->size;
  TRY(profile_gather(comm, &report->all, &report->width));
  TRY(memory_alloc(&report->row_of, report->width * (int64_t)sizeof(int64_t), "profile report"));
  TRY(memory_alloc(&report->row, comm->size * report->width * (int64_t)sizeof(struct row), "profile report"));
  for (int r = 0; r < comm->size; r++) merge_rank(report, report->all + r * report->width);
  return OK;
}

static void report_free(struct report *report) {
  free_all(report->all, report->row_of, report->row);
}

int profile_print(struct comm *comm) {
  ENDED_BY(report_free) struct report report = {0};
  TRY(report_init(&report, comm));
  if (comm->rank != 0) return OK;
  log_result("%-34s %8s %11s %10s %11s %8s %7s", "region", "calls", "total ms", "mean ms", "slowest ms",
             "max/avg", "share");
  print_rows(&report, -1, 0);
  if (any_beside(&report)) log_result("* on a stream of its own, beside the rows around it");
  return OK;
}
