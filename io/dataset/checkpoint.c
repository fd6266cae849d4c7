#include "io/dataset/checkpoint.h"

#include <dirent.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/file/atomic_write.h"

static const char checkpoint_format[] = "gnntrain-checkpoint";

static void *place_of(const struct checkpoint_value *v) {
  return v->kind == CHECKPOINT_INT    ? (void *)v->integer
         : v->kind == CHECKPOINT_REAL ? (void *)v->real
                                      : v->text;
}

static int write_parts(struct h5 *h5, const struct checkpoint *checkpoint) {
  TRY(h5_write_text(h5, "/", "format", checkpoint_format));
  TRY(h5_write_int(h5, "/", "version", CHECKPOINT_VERSION));
  for (int64_t i = 0; i < checkpoint->values; i++) {
    const struct checkpoint_value *value = &checkpoint->value[i];
    TRY(h5_write_value(h5, value->name, (enum h5_type)value->kind, place_of(value)));
  }
  for (int64_t i = 0; i < checkpoint->items; i++) {
    const struct checkpoint_item *item = &checkpoint->item[i];
    TRY(h5_write_all(h5, item->name, item->type, item->rows, item->cols, item->data));
  }
  return h5_commit(h5);
}

int checkpoint_write(const struct checkpoint *checkpoint, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_create(&h5, path));
  return write_parts(&h5, checkpoint);
}

static int check_format(struct h5 *h5) {
  char format[64] = "";
  int64_t version;
  if (h5_has_attr(h5, "/", "format")) TRY(h5_read_text(h5, "/", "format", format, sizeof format));
  if (strcmp(format, checkpoint_format) != 0)
    FAIL(BAD_INPUT, "%s: is not a checkpoint: the attribute format = \"%s\" is expected", h5->path,
         checkpoint_format);
  TRY(h5_read_int(h5, "/", "version", &version));
  if (version != CHECKPOINT_VERSION)
    FAIL(BAD_INPUT, "%s: is a checkpoint of version %lld; this program reads version %d", h5->path,
         (long long)version, CHECKPOINT_VERSION);
  return OK;
}

static int read_item(struct h5 *h5, const struct checkpoint_item *item) {
  static const char *const type_name[] = {"int32", "int64", "uint8", "float32", "float64", "text"};
  struct h5_shape shape;
  TRY(h5_shape(h5, item->name, &shape));
  if (!shape.exists || shape.is_group) FAIL(BAD_INPUT, "%s: /%s: is missing", h5->path, item->name);
  if (shape.type != item->type)
    FAIL(BAD_INPUT, "%s: /%s: is %s; %s is expected", h5->path, item->name, type_name[shape.type],
         type_name[item->type]);
  int64_t rows = shape.dims > 0 ? shape.dim[0] : 0, cols = shape.dims > 1 ? shape.dim[1] : 0;
  if (shape.dims != (item->cols ? 2 : 1) || rows != item->rows || cols != item->cols)
    FAIL(BAD_INPUT, "%s: /%s: has %d dimensions, %lld x %lld; %lld x %lld is expected (0: none)", h5->path,
         item->name, shape.dims, (long long)rows, (long long)cols, (long long)item->rows,
         (long long)item->cols);
  return h5_read_rows(h5, item->name, 0, rows, item->type, item->data);
}

static int read_parts(struct h5 *h5, const struct checkpoint *checkpoint) {
  TRY(check_format(h5));
  for (int64_t i = 0; i < checkpoint->values; i++) {
    const struct checkpoint_value *value = &checkpoint->value[i];
    if (value->optional && !h5_has_attr(h5, "/", value->name)) continue;
    TRY(h5_read_value(h5, value->name, (enum h5_type)value->kind, place_of(value), value->text_size));
  }
  for (int64_t i = 0; i < checkpoint->items; i++) TRY(read_item(h5, &checkpoint->item[i]));
  return OK;
}

int checkpoint_read(const struct checkpoint *checkpoint, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  if (!checkpoint->probed) TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  return read_parts(&h5, checkpoint);
}

static void checkpoint_name(char name[64], int64_t run, int64_t epoch) {
  snprintf(name, 64, "epoch-%lld-%lld.h5", (long long)run, (long long)epoch);
}

void checkpoint_path(char *path, int64_t size, const char *dir, int64_t run, int64_t epoch) {
  char name[64];
  checkpoint_name(name, run, epoch);
  snprintf(path, (size_t)size, "%s/%s", dir, name);
}

/* A file that checkpoint_path names; `temporary`: one that a killed writer left. */
static int parse_name(const char *name, int64_t *run, int64_t *epoch, int *temporary) {
  long long r, e, writer = 0;
  int end = 0, whole = 0;
  if (sscanf(name, "epoch-%lld-%lld.h5%n.tmp-%lld%n", &r, &e, &end, &writer, &whole) < 2 || end == 0)
    return 0;
  if (r < 0 || e < 0) return 0;
  char canonical[64];
  checkpoint_name(canonical, r, e);
  if (strncmp(name, canonical, strlen(canonical)) != 0) return 0; /* as epoch-0-010.h5 */
  *run = r;
  *epoch = e;
  *temporary = whole > 0 && name[whole] == '\0' && writer != atomic_write_writer();
  return *temporary || name[end] == '\0';
}

/* Calls each(folder, name, run, epoch, temporary, context) for the checkpoints in `dir`, if there is such. A
 * folder that cannot be read to its end has not been searched. */
static int scan(const char *dir,
                int (*each)(int folder, const char *name, int64_t run, int64_t epoch, int temporary,
                            void *context),
                void *context) {
  int folder;
  int code = atomic_write_folder(dir, &folder);
  if (code != OK && errno == ENOENT) {
    error_clear();
    return OK;
  }
  TRY(code);
  DIR *listing = fdopendir(folder);
  if (!listing) close(folder);
  if (!listing) FAIL(FAILED, "%s: cannot be read: %s", dir, strerror(errno));
  errno = 0;
  for (struct dirent *entry; code == OK && (entry = readdir(listing)); errno = 0) {
    int64_t run, epoch;
    int temporary;
    if (parse_name(entry->d_name, &run, &epoch, &temporary))
      code = each(folder, entry->d_name, run, epoch, temporary, context);
  }
  int error = code == OK ? errno : 0;
  closedir(listing);
  TRY(code);
  if (error) FAIL(FAILED, "%s: cannot be read: %s", dir, strerror(error));
  return OK;
}

/* Unless it has gone already; through the folder, and no link on the way. */
static int remove_from(const char *dir, const char *name) {
  int folder;
  TRY(atomic_write_folder(dir, &folder));
  int error = unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : errno;
  close(folder);
  if (error) FAIL(FAILED, "%s/%s: cannot be removed: %s", dir, name, strerror(error));
  return OK;
}

/* Runs follow each other, and in each its epochs. */
static int is_beyond(int64_t run, int64_t epoch, int64_t other_run, int64_t other_epoch) {
  return run > other_run || (run == other_run && epoch > other_epoch);
}

struct newest {
  int64_t wanted; /* run; -1: any */
  int64_t run, epoch;
};

static int keep_newest(int folder, const char *name, int64_t run, int64_t epoch, int temporary,
                       void *context) {
  (void)folder, (void)name;
  struct newest *newest = context;
  if (temporary || (newest->wanted >= 0 && run != newest->wanted)) return OK;
  if (is_beyond(run, epoch, newest->run, newest->epoch)) {
    newest->run = run;
    newest->epoch = epoch;
  }
  return OK;
}

int checkpoint_newest_of(const char *dir, int64_t run, char *path, int64_t size) {
  struct newest newest = {run, -1, -1};
  path[0] = '\0';
  TRY(scan(dir, keep_newest, &newest));
  if (newest.run >= 0) checkpoint_path(path, size, dir, newest.run, newest.epoch);
  return OK;
}

int checkpoint_newest(const char *dir, char *path, int64_t size) {
  return checkpoint_newest_of(dir, -1, path, size);
}

int checkpoint_cut_back(const char *dir, int64_t run, int64_t epoch, int64_t *removed) {
  for (*removed = 0;; ++*removed) {
    struct newest newest = {-1, -1, -1};
    char name[64];
    TRY(scan(dir, keep_newest, &newest));
    if (!is_beyond(newest.run, newest.epoch, run, epoch)) return OK;
    checkpoint_name(name, newest.run, newest.epoch);
    TRY(remove_from(dir, name));
  }
}

/* The epochs of one run. */
struct epochs {
  int64_t run, count, room, *epoch;
};

static int collect(int folder, const char *name, int64_t run, int64_t epoch, int temporary, void *context) {
  struct epochs *epochs = context;
  if (temporary) {
    (void)unlinkat(folder, name, 0);
    return OK;
  }
  if (run != epochs->run) return OK;
  if (epochs->count == epochs->room) {
    int64_t room = 2 * epochs->room + 64, *grown = realloc(epochs->epoch, (size_t)room * sizeof *grown);
    if (!grown) FAIL(FAILED, "out of memory for the names of %lld checkpoints", (long long)room);
    epochs->epoch = grown;
    epochs->room = room;
  }
  epochs->epoch[epochs->count++] = epoch;
  return OK;
}

int checkpoint_prune(const char *dir, int64_t run, int64_t keep) {
  struct epochs epochs = {.run = run};
  char name[64];
  int code = scan(dir, collect, &epochs);
  if (code == OK && epochs.count > 0)
    qsort(epochs.epoch, (size_t)epochs.count, sizeof *epochs.epoch, compare_int64);
  for (int64_t i = 0; code == OK && i < epochs.count - keep; i++) {
    checkpoint_name(name, run, epochs.epoch[i]);
    code = remove_from(dir, name);
  }
  free(epochs.epoch);
  return code;
}
