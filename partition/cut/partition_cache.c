#include "partition/cut/partition_cache.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "partition/cut/partition_lists.h"
#include "runtime/base/base.h"

enum { PLACES = 2 };

/* The folder number `place`; 0 when there is no such place. */
static int folder_of(const struct partition_key *key, int place, char *path, size_t size) {
  if (place == 0) return key->dataset && snprintf(path, size, "%s.parts", key->dataset) < (int)size;
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

/* What a file says of itself, as attributes; by its key it is found again. */
static const struct field {
  const char *name;
  enum h5_type type;
  size_t offset, size; /* in struct partition_kept */
  enum { KEY, FACT, NEWER_FACT /* which older files lack */ } kind;
} fields[] = {
#define FIELD(kind, type, name, field) \
  { name, type, offsetof(struct partition_kept, field), sizeof(((struct partition_kept *)0)->field), kind }
    FIELD(KEY, H5_TEXT, "format", format),
    FIELD(KEY, H5_INT64, "version", version),
    FIELD(KEY, H5_TEXT, "method", method),
    FIELD(KEY, H5_INT64, "k", parts),
    FIELD(KEY, H5_INT64, "seed", seed),
    FIELD(KEY, H5_TEXT, "objective", objective),
    FIELD(KEY, H5_DOUBLE, "balance", balance),
    FIELD(KEY, H5_TEXT, "order", order),
    FIELD(KEY, H5_INT64, "loa_window", loa_window),
    FIELD(KEY, H5_TEXT, "graph_hash", hash),
    FIELD(FACT, H5_TEXT, "chosen", chosen),
    FIELD(FACT, H5_INT64, "tried", tried),
    FIELD(FACT, H5_DOUBLE, "order_seconds", order_seconds),
    FIELD(FACT, H5_INT64, "rated_rows", density.rows),
    FIELD(FACT, H5_INT64, "rated_cols", density.cols),
    FIELD(FACT, H5_INT64, "edge_cut", edge_cut),
    FIELD(NEWER_FACT, H5_INT64, "halo_rows", halo_rows),
    FIELD(FACT, H5_DOUBLE, "seconds", seconds),
};
enum { FIELDS = sizeof fields / sizeof fields[0], ANY = -1 /* of an integer of a key */ };

/* The arrays of a file beside the lists of nodes: of the density, then of the parts. */
enum { DENSITY_ARRAYS = 3, ARRAYS = 5 };
struct array {
  const char *name;
  enum h5_type type;
  int64_t rows;
  void *data;
};

static void list_density(struct density *density, struct array array[DENSITY_ARRAYS]) {
  array[0] = (struct array){"/density_cells", H5_INT64, DENSITY_BINS, density->cells};
  array[1] = (struct array){"/density_arcs", H5_INT64, DENSITY_BINS, density->arcs};
  array[2] = (struct array){"/density_windows", H5_INT64, DENSITY_BINS, density->windows};
}

static void list_arrays(struct partition *partition, struct array array[ARRAYS]) {
  list_density(&partition->density, array);
  array[3] = (struct array){"/halo", H5_INT64, partition->parts, partition->halo};
  array[4] = (struct array){"/nnz", H5_INT64, partition->parts, partition->nnz};
}

static int check_shape(struct h5 *h5, const char *name, int64_t rows) {
  struct h5_shape shape;
  TRY(h5_shape(h5, name, &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1 || shape.dim[0] != rows)
    FAIL(BAD_INPUT, "%s: %s is not there with %lld values", h5->path, name, (long long)rows);
  return OK;
}

static int read_arrays(struct h5 *h5, const struct array *array, int count) {
  for (; count > 0; count--, array++) {
    TRY(check_shape(h5, array->name, array->rows));
    TRY(h5_read_rows(h5, array->name, 0, array->rows, array->type, array->data));
  }
  return OK;
}

/* The key of a file of that order. The window of order "loa-cluster" is part of what decided where it was
 * used. */
static struct partition_kept key_of(const struct partition_key *key, enum node_order order) {
  const struct config *config = key->config;
  struct partition_kept kept = {.format = "gnntrain-partition",
                                .objective = "volume",
                                .version = 3,
                                .parts = key->parts,
                                .seed = config->partition.seed,
                                .balance = config->partition.balance,
                                .loa_window = ANY};
  if (order == ORDER_LOA_CLUSTER || order == ORDER_AUTO) kept.loa_window = config->partition.loa_window;
  snprintf(kept.method, sizeof kept.method, "%s", partition_method_name[config->partition.method]);
  snprintf(kept.order, sizeof kept.order, "%s", node_order_name[order]);
  snprintf(kept.hash, sizeof kept.hash, "%016" PRIx64, key->hash);
  return kept;
}

static int check_field(const struct h5 *h5, const struct field *field, const void *found,
                       const void *wanted) {
  const int64_t *integer = found, *wanted_integer = wanted;
  const double *real = found, *wanted_real = wanted;
  if (field->type == H5_TEXT && strcmp(found, wanted) != 0)
    FAIL(BAD_INPUT, "%s: %s is \"%s\" and not \"%s\"", h5->path, field->name, (const char *)found,
         (const char *)wanted);
  if (field->type == H5_INT64 && *wanted_integer != ANY && *integer != *wanted_integer)
    FAIL(BAD_INPUT, "%s: %s is %lld and not %lld", h5->path, field->name, (long long)*integer,
         (long long)*wanted_integer);
  if (field->type == H5_DOUBLE && *real != *wanted_real)
    FAIL(BAD_INPUT, "%s: %s is %g and not %g", h5->path, field->name, *real, *wanted_real);
  return OK;
}

/* wanted: what the key must be; NULL: it may be any. */
static int read_fields(struct h5 *h5, const struct partition_kept *wanted, struct partition_kept *kept) {
  for (const struct field *f = fields; f < fields + FIELDS; f++) {
    void *value = (char *)kept + f->offset;
    if (f->kind == NEWER_FACT && !h5_has_attr(h5, f->name)) continue;
    TRY(h5_read_value(h5, f->name, f->type, value, (int64_t)f->size));
    if (wanted && f->kind == KEY) TRY(check_field(h5, f, value, (const char *)wanted + f->offset));
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

static int check_seconds(const struct h5 *h5, const char *name, double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) FAIL(BAD_INPUT, "%s: %s is %g", h5->path, name, seconds);
  return OK;
}

/* The order that was chosen, among which, and how densely it packs the arcs. */
static int take_facts(const struct h5 *h5, const struct partition_kept *kept, enum node_order order,
                      struct partition *partition) {
  int chosen = 0;
  while (chosen < ORDERS && strcmp(kept->chosen, node_order_name[chosen]) != 0) chosen++;
  if (chosen == ORDERS || chosen == ORDER_AUTO || (order != ORDER_AUTO && chosen != (int)order))
    FAIL(BAD_INPUT, "%s: chosen is \"%s\", which is not possible with order %s", h5->path, kept->chosen,
         node_order_name[order]);
  if (kept->tried < 0 || kept->tried >> ORDERS)
    FAIL(BAD_INPUT, "%s: tried is %lld", h5->path, (long long)kept->tried);
  TRY(check_seconds(h5, "order_seconds", kept->order_seconds));
  TRY(check_seconds(h5, "seconds", kept->seconds));
  partition->chosen = (enum node_order)chosen;
  partition->tried = (int)kept->tried;
  partition->density = kept->density;
  partition->edge_cut = kept->edge_cut;
  partition->seconds = kept->seconds;
  partition->order_seconds = kept->order_seconds;
  return OK;
}

/* All but the lists of nodes. Rank 0. */
static int read_head(const struct partition_key *key, enum node_order order, const char *path, struct h5 *h5,
                     struct partition *partition) {
  struct partition_kept wanted = key_of(key, order), kept = {0};
  struct array array[ARRAYS];
  TRY(h5_probe(path));
  TRY(h5_open(h5, path));
  TRY(read_fields(h5, &wanted, &kept));
  TRY(take_facts(h5, &kept, order, partition));
  list_arrays(partition, array);
  TRY(read_arrays(h5, array, ARRAYS));
  TRY(check_shape(h5, "/part", partition->nodes));
  return check_shape(h5, "/order", partition->nodes);
}

static int check_head(const struct h5 *h5, const struct partition *partition, int64_t edges) {
  TRY(check_counts(h5, partition, edges));
  return check_density(h5, partition, edges);
}

static int read_file(struct comm *comm, const struct partition_key *key, enum node_order order,
                     const char *path, struct partition *partition, int *usable) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(comm_agree(comm, partition_init_block(comm, partition, key->parts, key->nodes)));
  TRY(partition_lists_agree(comm, comm->rank ? OK : read_head(key, order, path, &h5, partition), usable));
  if (!*usable) return OK;
  TRY(partition_share(comm, partition));
  TRY(partition_lists_read_owners(comm, &h5, partition, usable));
  if (!*usable) return OK;
  TRY(partition_lists_agree(comm, comm->rank ? OK : check_head(&h5, partition, key->edges), usable));
  return *usable ? partition_lists_read_order(comm, &h5, partition, usable) : OK;
}

/* The next file that is there, from number `at` on, by orders and then by places; `behind`: there is none. */
static int next_file(const struct partition_key *key, int at, int behind, char *path, size_t size) {
  while (at < behind &&
         (!path_of(key, (enum node_order)(at / PLACES), at % PLACES, path, size) || access(path, F_OK) != 0))
    at++;
  return at;
}

/* A file of one of the orders from `first` on, in any of the places. quiet: the order of which nothing is
 * said where a file is not used. */
static int find(struct comm *comm, const struct partition_key *key, int first, int behind, int quiet,
                struct partition *partition, int *found) {
  char path[sizeof partition->path] = "";
  *found = 0;
  for (int at = first * PLACES;; at++) {
    if (comm->rank == 0) at = next_file(key, at, behind * PLACES, path, sizeof path);
    TRY(comm_broadcast(comm, &at, sizeof at, 0));
    if (at == behind * PLACES) return OK;
    TRY(read_file(comm, key, (enum node_order)(at / PLACES), path, partition, found));
    if (*found) {
      memcpy(partition->path, path, sizeof path);
      partition->cached = 1;
      return OK;
    }
    if (comm->rank == 0 && at / PLACES != quiet)
      log_detail("partition: %s is not used: %s", path, error_message());
    error_clear();
    partition_free(partition);
  }
}

int partition_cache_read(struct comm *comm, const struct partition_key *key, struct partition *partition,
                         int *found) {
  const int order = (int)key->config->partition.order;
  return find(comm, key, order, order + 1, -1, partition, found);
}

/* Of files of the order that is wanted partition_cache_read() has spoken. */
int partition_cache_read_owners(struct comm *comm, const struct partition_key *key,
                                struct partition *partition, int *found) {
  ENDED_BY(partition_free) struct partition other = {0};
  TRY(find(comm, key, 0, ORDERS, (int)key->config->partition.order, &other, found));
  if (!*found) return OK;
  if (comm->rank == 0) log_detail("partition: owners read from %s", other.path);
  free(partition->part);
  partition->part = other.part;
  other.part = NULL;
  return OK;
}

/* All but the lists of nodes. Rank 0. */
static int write_head(struct h5 *h5, const struct partition_key *key, const char *path,
                      struct partition *partition) {
  enum { DAY = 24 * 60 * 60 };
  struct partition_kept kept = key_of(key, key->config->partition.order);
  struct array array[ARRAYS];
  kept.loa_window = key->config->partition.loa_window;
  snprintf(kept.chosen, sizeof kept.chosen, "%s", node_order_name[partition->chosen]);
  kept.tried = partition->tried;
  kept.density = partition->density;
  kept.edge_cut = partition->edge_cut;
  kept.seconds = partition->seconds;
  kept.order_seconds = partition->order_seconds;
  for (int p = 0; p < partition->parts; p++) kept.halo_rows += partition->halo[p];
  atomic_write_clean(path, DAY);
  TRY(h5_create(h5, path));
  for (const struct field *f = fields; f < fields + FIELDS; f++)
    TRY(h5_write_value(h5, f->name, f->type, (const char *)&kept + f->offset));
  list_arrays(partition, array);
  for (const struct array *a = array; a < array + ARRAYS; a++)
    TRY(h5_write_all(h5, a->name, a->type, a->rows, 0, a->data));
  return OK;
}

/* A disk may take longer to sync than ranks wait for each other: this is done aside. */
static int commit(void *context) {
  return h5_commit(context);
}

static int write_file(struct progress *progress, const struct partition_key *key, const char *folder,
                      const char *path, struct partition *partition, int *written) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  struct comm *comm = progress->comm;
  int code = comm->rank ? OK : make_folder(folder), lists = OK;
  if (comm->rank == 0 && code == OK) code = write_head(&h5, key, path, partition);
  TRY(partition_lists_write(comm, comm->rank == 0 && code == OK ? &h5 : NULL, partition, &lists));
  if (comm->rank == 0 && code == OK) code = lists;
  if (comm->rank == 0 && code == OK) code = progress_work(progress, "keeping the partition", commit, &h5);
  return partition_lists_agree(comm, code, written);
}

int partition_cache_write(struct progress *progress, const struct partition_key *key,
                          struct partition *partition) {
  struct comm *comm = progress->comm;
  char folder[1100] = "", path[sizeof partition->path] = "";
  for (int place = 0; place < PLACES; place++) {
    int is_there = comm->rank == 0 && folder_of(key, place, folder, sizeof folder) &&
                   path_of(key, key->config->partition.order, place, path, sizeof path);
    TRY(comm_broadcast(comm, &is_there, sizeof is_there, 0));
    if (!is_there) continue;
    TRY(write_file(progress, key, folder, path, partition, &is_there));
    if (is_there) {
      memcpy(partition->path, path, sizeof path);
      return OK;
    }
    if (comm->rank == 0) log_info("partition: not kept in %s: %s", folder, error_message());
    error_clear();
  }
  return OK;
}

enum { METHODS = PARTITION_SCOTCH + 1 };

static int is_among(const char *text, const char *const *name, int count) {
  while (count > 0 && strcmp(text, name[count - 1]) != 0) count--;
  return count > 0;
}

static int read_kept(struct partition_kept *kept) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  struct array array[DENSITY_ARRAYS];
  TRY(h5_probe(kept->path));
  TRY(h5_open(&h5, kept->path));
  TRY(read_fields(&h5, NULL, kept));
  list_density(&kept->density, array);
  TRY(read_arrays(&h5, array, DENSITY_ARRAYS));
  /* The file may be of anybody, and its words and numbers are printed. */
  if (!is_among(kept->method, partition_method_name, METHODS) ||
      !is_among(kept->order, node_order_name, ORDERS) || !is_among(kept->chosen, node_order_name, ORDERS) ||
      kept->parts < 1 || kept->edge_cut < 0 || !(kept->seconds >= 0 && kept->seconds < 1e9) ||
      !(kept->order_seconds >= 0 && kept->order_seconds < 1e9) ||
      !density_is_possible(&kept->density, INT64_MAX))
    FAIL(BAD_INPUT, "%s: is no partition that was made", h5.path);
  return OK;
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
    if (written >= (int)sizeof kept.path || read_kept(&kept) != OK) {
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
