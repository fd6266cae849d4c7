/* The partitions that are kept beside a dataset, as they describe themselves. */
#include <dirent.h>

#include "io/file/h5.h"
#include "partition/cut/partition_cache.h"
#include "runtime/base/base.h"

enum { METHODS = PARTITION_RANDOM + 1 };

static int read_bins(struct h5 *h5, const char *name, int64_t *bins) {
  struct h5_shape shape;
  TRY(h5_shape(h5, name, &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1 || shape.dim[0] != DENSITY_BINS)
    FAIL(BAD_INPUT, "%s: %s is not there with %d values", h5->path, name, DENSITY_BINS);
  return h5_read_rows(h5, name, 0, DENSITY_BINS, H5_INT64, bins);
}

static int is_among(const char *text, const char *const *name, int count) {
  while (count > 0 && strcmp(text, name[count - 1]) != 0) count--;
  return count > 0;
}

/* The file may be of anybody, and its words and numbers are printed. */
static int check_kept(const struct h5 *h5, const struct partition_kept *kept) {
  if (!is_among(kept->method, partition_method_name, METHODS) ||
      !is_among(kept->order, node_order_name, ORDERS) || !is_among(kept->chosen, node_order_name, ORDERS) ||
      kept->parts < 1 || kept->edge_cut < 0 || !(kept->seconds >= 0 && kept->seconds < 1e9) ||
      !(kept->order_seconds >= 0 && kept->order_seconds < 1e9) ||
      !density_is_possible(&kept->density, INT64_MAX))
    FAIL(BAD_INPUT, "%s: is no partition that was made", h5->path);
  return OK;
}

static int read_kept(struct h5 *h5, struct partition_kept *kept) {
  TRY(h5_read_text(h5, "/", "method", kept->method, sizeof kept->method));
  TRY(h5_read_text(h5, "/", "order", kept->order, sizeof kept->order));
  TRY(h5_read_text(h5, "/", "chosen", kept->chosen, sizeof kept->chosen));
  TRY(h5_read_text(h5, "/", "graph_hash", kept->hash, sizeof kept->hash));
  TRY(h5_read_int(h5, "/", "k", &kept->parts));
  TRY(h5_read_int(h5, "/", "edge_cut", &kept->edge_cut));
  TRY(h5_read_real(h5, "/", "seconds", &kept->seconds));
  TRY(h5_read_real(h5, "/", "order_seconds", &kept->order_seconds));
  TRY(h5_read_int(h5, "/", "rated_rows", &kept->density.rows));
  TRY(h5_read_int(h5, "/", "rated_cols", &kept->density.cols));
  TRY(read_bins(h5, "/density_cells", kept->density.cells));
  TRY(read_bins(h5, "/density_arcs", kept->density.arcs));
  TRY(read_bins(h5, "/density_windows", kept->density.windows));
  return check_kept(h5, kept);
}

static int read_file(struct partition_kept *kept) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_probe(kept->path));
  TRY(h5_open(&h5, kept->path));
  return read_kept(&h5, kept);
}

static int is_partition(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 3 && strcmp(entry->d_name + length - 3, ".h5") == 0;
}

static int visit_files(const char *folder, struct dirent **entry, int count,
                       int (*visit)(const struct partition_kept *kept, void *context), void *context) {
  for (int i = 0; i < count; i++) {
    struct partition_kept kept = {0};
    int written = snprintf(kept.path, sizeof kept.path, "%s/%s", folder, entry[i]->d_name);
    if (written >= (int)sizeof kept.path || read_file(&kept) != OK) {
      error_clear();
      continue;
    }
    TRY(visit(&kept, context));
  }
  return OK;
}

int partition_cache_list(const char *dataset, int (*visit)(const struct partition_kept *kept, void *context),
                         void *context) {
  char folder[1100];
  struct dirent **entry = NULL;
  if (snprintf(folder, sizeof folder, "%s.parts", dataset) >= (int)sizeof folder) return OK;
  int count = scandir(folder, &entry, is_partition, alphasort);
  if (count < 0) return OK;
  int code = visit_files(folder, entry, count, visit, context);
  for (int i = 0; i < count; i++) free(entry[i]);
  free(entry);
  return code;
}
