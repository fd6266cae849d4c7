#include "partition/cut/partition_cache.h"

#include <inttypes.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "runtime/base/base.h"

static const char FORMAT[] = "gnntrain-partition";
static const char OBJECTIVE[] = "volume";

enum { PLACES = 2 };

/* The folder number `place`; 0 when there is no such place. */
static int folder_of(const struct partition_key *key, int place, char *path, size_t size) {
  if (place == 0) return snprintf(path, size, "%s.parts", key->dataset) < (int)size;
  return key->run_dir && snprintf(path, size, "%s/parts", key->run_dir) < (int)size;
}

static int path_of(const struct partition_key *key, enum node_order order, int place, char *path,
                   size_t size) {
  char folder[1100];
  if (!folder_of(key, place, folder, sizeof folder)) return 0;
  const struct config *config = key->config;
  int written = snprintf(path, size, "%s/%s-%d-%s-seed%lld-%.4g-%016" PRIx64 ".h5", folder,
                         partition_method_name[config->partition.method], key->parts, node_order_name[order],
                         (long long)config->partition.seed, config->partition.balance, key->hash);
  return written < (int)size;
}

static int check_text(struct h5 *h5, const char *name, const char *expected) {
  char text[64];
  TRY(h5_read_text(h5, "/", name, text, sizeof text));
  if (strcmp(text, expected) != 0)
    FAIL(BAD_INPUT, "%s: %s is \"%s\" and not \"%s\"", h5->path, name, text, expected);
  return OK;
}

static int check_int(struct h5 *h5, const char *name, int64_t expected) {
  int64_t value;
  TRY(h5_read_int(h5, "/", name, &value));
  if (value != expected)
    FAIL(BAD_INPUT, "%s: %s is %lld and not %lld", h5->path, name, (long long)value, (long long)expected);
  return OK;
}

static int check_shape(struct h5 *h5, const char *name, int64_t rows) {
  struct h5_shape shape;
  TRY(h5_shape(h5, name, &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1 || shape.dim[0] != rows)
    FAIL(BAD_INPUT, "%s: %s is not there with %lld values", h5->path, name, (long long)rows);
  return OK;
}

static void hash_text(uint64_t hash, char text[24]) {
  snprintf(text, 24, "%016" PRIx64, hash);
}

/* Whether the window of order "loa" is part of what decided. */
static int has_window(enum node_order order) {
  return order == ORDER_LOA || order == ORDER_AUTO;
}

static int check_key(struct h5 *h5, const struct partition_key *key, enum node_order order) {
  char hash[24];
  hash_text(key->hash, hash);
  const struct config *config = key->config;
  double balance;
  TRY(check_text(h5, "format", FORMAT));
  TRY(check_int(h5, "version", 2));
  TRY(check_text(h5, "method", partition_method_name[config->partition.method]));
  TRY(check_int(h5, "k", key->parts));
  TRY(check_int(h5, "seed", config->partition.seed));
  TRY(check_text(h5, "objective", OBJECTIVE));
  TRY(h5_read_real(h5, "/", "balance", &balance));
  if (balance != config->partition.balance)
    FAIL(BAD_INPUT, "%s: balance is %g and not %g", h5->path, balance, config->partition.balance);
  TRY(check_text(h5, "order", node_order_name[order]));
  if (has_window(order)) TRY(check_int(h5, "loa_window", config->partition.loa_window));
  TRY(check_text(h5, "graph_hash", hash));
  TRY(check_shape(h5, "/part", key->nodes));
  TRY(check_shape(h5, "/order", key->nodes));
  TRY(check_shape(h5, "/halo", key->parts));
  return check_shape(h5, "/nnz", key->parts);
}

/* Every node once, in the shard that owns it. */
static int check_order(const struct h5 *h5, const struct partition *partition, uint8_t *seen) {
  for (int p = 0; p < partition->parts; p++) {
    for (int64_t i = partition->offset[p]; i < partition->offset[p + 1]; i++) {
      int64_t v = partition->order[i];
      if (v < 0 || v >= partition->nodes || seen[v] || partition->part[v] != p)
        FAIL(BAD_INPUT, "%s: order does not list the nodes of part %d once each", h5->path, p);
      seen[v] = 1;
    }
  }
  return OK;
}

/* What the parts have between them: all arcs once, and of those that are cut one a halo row at least. */
static int check_counts(const struct h5 *h5, const struct partition *partition, int64_t edges) {
  int64_t arcs = edges, halo = partition->edge_cut;
  if (partition->edge_cut < 0 || partition->edge_cut > edges)
    FAIL(BAD_INPUT, "%s: edge_cut is %lld of %lld arcs", h5->path, (long long)partition->edge_cut,
         (long long)edges);
  for (int p = 0; p < partition->parts; p++) {
    int64_t others = partition->nodes - (partition->offset[p + 1] - partition->offset[p]);
    if (partition->nnz[p] < 0 || partition->nnz[p] > arcs)
      FAIL(BAD_INPUT, "%s: nnz of part %d is %lld, which is not possible with %lld arcs", h5->path, p,
           (long long)partition->nnz[p], (long long)edges);
    if (partition->halo[p] < 0 || partition->halo[p] > others || partition->halo[p] > halo)
      FAIL(BAD_INPUT, "%s: halo of part %d is %lld rows, which is not possible", h5->path, p,
           (long long)partition->halo[p]);
    arcs -= partition->nnz[p];
    halo -= partition->halo[p];
  }
  if (arcs != 0)
    FAIL(BAD_INPUT, "%s: nnz is %lld short of %lld arcs", h5->path, (long long)arcs, (long long)edges);
  return OK;
}

/* A sample of the windows stands for all of them: what it counts is at most the arcs times the step. */
static int check_density(const struct h5 *h5, const struct partition *partition, int64_t edges) {
  const struct density *density = &partition->density;
  int64_t arcs;
  if (__builtin_mul_overflow(edges, partition->nodes / TILE_ROWS + 1, &arcs)) arcs = INT64_MAX;
  if (density->rows > partition->nodes || density->cols > partition->nodes ||
      !density_is_possible(density, arcs))
    FAIL(BAD_INPUT, "%s: the densities of the order are not possible", h5->path);
  return OK;
}

static int check_contents(const struct h5 *h5, int64_t edges, struct partition *partition) {
  for (int64_t v = 0; v < partition->nodes; v++) {
    if (partition->part[v] < 0 || partition->part[v] >= partition->parts)
      FAIL(BAD_INPUT, "%s: node %lld lies in part %d of %d", h5->path, (long long)v, partition->part[v],
           partition->parts);
  }
  partition_count(partition);
  TRY(check_counts(h5, partition, edges));
  TRY(check_density(h5, partition, edges));
  FREED uint8_t *seen = NULL;
  TRY(memory_alloc(&seen, partition->nodes, "check of the order"));
  return check_order(h5, partition, seen);
}

static int read_seconds(struct h5 *h5, const char *name, double *seconds) {
  TRY(h5_read_real(h5, "/", name, seconds));
  if (!(*seconds >= 0 && *seconds < 1e9)) FAIL(BAD_INPUT, "%s: %s is %g", h5->path, name, *seconds);
  return OK;
}

/* The order that was chosen, among which, and how densely it packs the arcs. */
static int read_rating(struct h5 *h5, enum node_order order, struct partition *partition) {
  struct density *density = &partition->density;
  char text[64];
  int64_t tried, chosen = 0;
  TRY(h5_read_text(h5, "/", "chosen", text, sizeof text));
  while (chosen < ORDERS && strcmp(text, node_order_name[chosen]) != 0) chosen++;
  if (chosen == ORDERS || chosen == ORDER_AUTO || (order != ORDER_AUTO && chosen != (int64_t)order))
    FAIL(BAD_INPUT, "%s: chosen is \"%s\", which is not possible with order %s", h5->path, text,
         node_order_name[order]);
  TRY(h5_read_int(h5, "/", "tried", &tried));
  if (tried < 0 || tried >> ORDERS) FAIL(BAD_INPUT, "%s: tried is %lld", h5->path, (long long)tried);
  TRY(read_seconds(h5, "order_seconds", &partition->order_seconds));
  TRY(h5_read_int(h5, "/", "rated_rows", &density->rows));
  TRY(h5_read_int(h5, "/", "rated_cols", &density->cols));
  TRY(check_shape(h5, "/density_cells", DENSITY_BINS));
  TRY(check_shape(h5, "/density_arcs", DENSITY_BINS));
  TRY(check_shape(h5, "/density_windows", DENSITY_BINS));
  TRY(h5_read_rows(h5, "/density_cells", 0, DENSITY_BINS, H5_INT64, density->cells));
  TRY(h5_read_rows(h5, "/density_arcs", 0, DENSITY_BINS, H5_INT64, density->arcs));
  TRY(h5_read_rows(h5, "/density_windows", 0, DENSITY_BINS, H5_INT64, density->windows));
  partition->chosen = (enum node_order)chosen;
  partition->tried = (int)tried;
  return OK;
}

static int read_open(struct h5 *h5, const struct partition_key *key, enum node_order order,
                     struct partition *partition) {
  TRY(check_key(h5, key, order));
  TRY(partition_init(partition, key->parts, key->nodes));
  TRY(read_rating(h5, order, partition));
  TRY(h5_read_int(h5, "/", "edge_cut", &partition->edge_cut));
  TRY(read_seconds(h5, "seconds", &partition->seconds));
  TRY(h5_read_rows(h5, "/part", 0, key->nodes, H5_INT32, partition->part));
  TRY(h5_read_rows(h5, "/order", 0, key->nodes, H5_INT64, partition->order));
  TRY(h5_read_rows(h5, "/halo", 0, key->parts, H5_INT64, partition->halo));
  TRY(h5_read_rows(h5, "/nnz", 0, key->parts, H5_INT64, partition->nnz));
  return check_contents(h5, key->edges, partition);
}

static int read_file(const struct partition_key *key, enum node_order order, const char *path,
                     struct partition *partition) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  return read_open(&h5, key, order, partition);
}

/* The file of that order in any of the places. quiet: nothing is said of those that are not used. */
static int find(const struct partition_key *key, enum node_order order, int quiet,
                struct partition *partition) {
  char path[sizeof partition->path];
  for (int place = 0; place < PLACES; place++) {
    if (!path_of(key, order, place, path, sizeof path) || access(path, F_OK) != 0) continue;
    if (read_file(key, order, path, partition) == OK) {
      memcpy(partition->path, path, sizeof path);
      partition->cached = 1;
      return 1;
    }
    if (!quiet) log_info("partition: %s is not used: %s", path, error_message());
    error_clear();
    partition_free(partition);
  }
  return 0;
}

int partition_cache_read(const struct partition_key *key, struct partition *partition) {
  return find(key, key->config->partition.order, 0, partition);
}

int partition_cache_read_owners(const struct partition_key *key, struct partition *partition) {
  struct partition other = {0};
  for (int order = 0; order < ORDERS; order++) {
    int known = order == (int)key->config->partition.order; /* partition_cache_read has spoken of it */
    if (!find(key, (enum node_order)order, known, &other)) continue;
    memcpy(partition->part, other.part, (size_t)key->nodes * sizeof *partition->part);
    log_info("partition: owners read from %s", other.path);
    partition_free(&other);
    return 1;
  }
  return 0;
}

static int write_key(struct h5 *h5, const struct partition_key *key) {
  char hash[24];
  hash_text(key->hash, hash);
  const struct config *config = key->config;
  TRY(h5_write_text(h5, "/", "format", FORMAT));
  TRY(h5_write_int(h5, "/", "version", 2));
  TRY(h5_write_text(h5, "/", "method", partition_method_name[config->partition.method]));
  TRY(h5_write_int(h5, "/", "k", key->parts));
  TRY(h5_write_int(h5, "/", "seed", config->partition.seed));
  TRY(h5_write_text(h5, "/", "objective", OBJECTIVE));
  TRY(h5_write_real(h5, "/", "balance", config->partition.balance));
  TRY(h5_write_text(h5, "/", "order", node_order_name[config->partition.order]));
  TRY(h5_write_int(h5, "/", "loa_window", config->partition.loa_window));
  return h5_write_text(h5, "/", "graph_hash", hash);
}

static int write_rating(struct h5 *h5, const struct partition *partition) {
  const struct density *density = &partition->density;
  TRY(h5_write_text(h5, "/", "chosen", node_order_name[partition->chosen]));
  TRY(h5_write_int(h5, "/", "tried", partition->tried));
  TRY(h5_write_real(h5, "/", "order_seconds", partition->order_seconds));
  TRY(h5_write_int(h5, "/", "rated_rows", density->rows));
  TRY(h5_write_int(h5, "/", "rated_cols", density->cols));
  TRY(h5_write_all(h5, "/density_cells", H5_INT64, DENSITY_BINS, 0, density->cells));
  TRY(h5_write_all(h5, "/density_arcs", H5_INT64, DENSITY_BINS, 0, density->arcs));
  return h5_write_all(h5, "/density_windows", H5_INT64, DENSITY_BINS, 0, density->windows);
}

static int write_open(struct h5 *h5, const struct partition_key *key, const struct partition *partition) {
  int64_t halo_rows = 0;
  for (int p = 0; p < partition->parts; p++) halo_rows += partition->halo[p];
  TRY(write_key(h5, key));
  TRY(write_rating(h5, partition));
  TRY(h5_write_int(h5, "/", "edge_cut", partition->edge_cut));
  TRY(h5_write_int(h5, "/", "halo_rows", halo_rows));
  TRY(h5_write_real(h5, "/", "seconds", partition->seconds));
  TRY(h5_write_all(h5, "/part", H5_INT32, partition->nodes, 0, partition->part));
  TRY(h5_write_all(h5, "/order", H5_INT64, partition->nodes, 0, partition->order));
  TRY(h5_write_all(h5, "/halo", H5_INT64, partition->parts, 0, partition->halo));
  TRY(h5_write_all(h5, "/nnz", H5_INT64, partition->parts, 0, partition->nnz));
  return h5_commit(h5);
}

static int write_file(const struct partition_key *key, const char *path, const struct partition *partition) {
  enum { DAY = 24 * 60 * 60 };
  ENDED_BY(h5_close) struct h5 h5 = {0};
  atomic_write_clean(path, DAY);
  TRY(h5_create(&h5, path));
  return write_open(&h5, key, partition);
}

void partition_cache_write(const struct partition_key *key, struct partition *partition) {
  char folder[1100], path[sizeof partition->path];
  for (int place = 0; place < PLACES; place++) {
    if (!folder_of(key, place, folder, sizeof folder) ||
        !path_of(key, key->config->partition.order, place, path, sizeof path))
      continue;
    if (make_folder(folder) == OK && write_file(key, path, partition) == OK) {
      memcpy(partition->path, path, sizeof path);
      return;
    }
    log_info("partition: not kept in %s: %s", folder, error_message());
    error_clear();
  }
}
