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

int checkpoint_write(const struct checkpoint *checkpoint, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  TRY(h5_create(&h5, path));
  TRY(h5_write_text(&h5, "format", checkpoint_format));
  TRY(h5_write_int(&h5, "version", CHECKPOINT_VERSION));
  for (int64_t i = 0; i < checkpoint->values; i++) {
    const struct checkpoint_value *value = &checkpoint->value[i];
    TRY(h5_write_value(&h5, value->name, (enum h5_type)value->kind, place_of(value)));
  }
  for (int64_t i = 0; i < checkpoint->items; i++) {
    const struct checkpoint_item *item = &checkpoint->item[i];
    TRY(h5_write_all(&h5, item->name, item->type, item->rows, item->cols, item->data));
  }
  return h5_commit(&h5);
}

static int check_format(struct h5 *h5) {
  char format[64] = "";
  int64_t version;
  if (h5_has_attr(h5, "format")) TRY(h5_read_text(h5, "format", format, sizeof format));
  if (strcmp(format, checkpoint_format) != 0)
    FAIL(BAD_INPUT, "%s: is not a checkpoint: the attribute format = \"%s\" is expected", h5->path,
         checkpoint_format);
  TRY(h5_read_int(h5, "version", &version));
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

int checkpoint_read(const struct checkpoint *checkpoint, const char *path) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  if (!checkpoint->probed) TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  TRY(check_format(&h5));
  for (int64_t i = 0; i < checkpoint->values; i++) {
    const struct checkpoint_value *value = &checkpoint->value[i];
    if (value->optional && !h5_has_attr(&h5, value->name)) continue;
    TRY(h5_read_value(&h5, value->name, (enum h5_type)value->kind, place_of(value), value->text_size));
  }
  for (int64_t i = 0; i < checkpoint->items; i++) TRY(read_item(&h5, &checkpoint->item[i]));
  return OK;
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

/* Checkpoints of a folder: runs follow each other, and in each its epochs. */
struct files {
  int64_t count;
  struct file {
    int64_t run, epoch;
  } * file;
};

static void files_free(struct files *files) {
  free(files->file);
}

static int compare(const void *left, const void *right) {
  const struct file *a = left, *b = right;
  return a->run != b->run ? COMPARE(a->run, b->run) : COMPARE(a->epoch, b->epoch);
}

/* Takes checkpoints out of what the folder holds; `clean` removes what killed writers left. */
static int take_files(int folder, struct dirent **entry, int entries, int clean, struct files *files) {
  TRY(memory_arrays("the names of checkpoints", ROOM(&files->file, entries)));
  for (int i = 0; i < entries; i++) {
    struct file file;
    int temporary;
    if (!parse_name(entry[i]->d_name, &file.run, &file.epoch, &temporary)) continue;
    if (!temporary)
      files->file[files->count++] = file;
    else if (clean)
      (void)unlinkat(folder, entry[i]->d_name, 0);
  }
  qsort(files->file, (size_t)files->count, sizeof *files->file, compare);
  return OK;
}

/* Those in `dir`, if there is such. A folder that cannot be read to its end has not been searched. */
static int list_files(const char *dir, int clean, struct files *files) {
  struct dirent **entry = NULL;
  int folder, code = atomic_write_folder(dir, &folder);
  if (code != OK && errno == ENOENT) {
    error_clear();
    return OK;
  }
  TRY(code);
  int entries = scandirat(folder, ".", &entry, NULL, NULL), error = errno;
  if (entries >= 0) code = take_files(folder, entry, entries, clean, files);
  close(folder);
  for (int i = 0; i < entries; i++) free(entry[i]);
  free(entry);
  if (entries < 0) FAIL(FAILED, "%s: cannot be read: %s", dir, strerror(error));
  return code;
}

/* Unless it has gone already; through the folder, and no link on the way. */
static int remove_file(const char *dir, const struct file *file) {
  char name[64];
  int folder;
  checkpoint_name(name, file->run, file->epoch);
  TRY(atomic_write_folder(dir, &folder));
  int error = unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : errno;
  close(folder);
  if (error) FAIL(FAILED, "%s/%s: cannot be removed: %s", dir, name, strerror(error));
  return OK;
}

int checkpoint_newest_of(const char *dir, int64_t run, char *path, int64_t size) {
  ENDED_BY(files_free) struct files files = {0};
  path[0] = '\0';
  TRY(list_files(dir, 0, &files));
  for (int64_t i = files.count - 1; i >= 0; i--) {
    const struct file *f = &files.file[i];
    if (run >= 0 && f->run != run) continue;
    checkpoint_path(path, size, dir, f->run, f->epoch);
    return OK;
  }
  return OK;
}

int checkpoint_newest(const char *dir, char *path, int64_t size) {
  return checkpoint_newest_of(dir, -1, path, size);
}

int checkpoint_cut_back(const char *dir, int64_t run, int64_t epoch, int64_t *removed) {
  ENDED_BY(files_free) struct files files = {0};
  const struct file last = {run, epoch};
  *removed = 0;
  TRY(list_files(dir, 0, &files));
  for (; files.count > 0 && compare(&files.file[files.count - 1], &last) > 0; ++*removed)
    TRY(remove_file(dir, &files.file[--files.count]));
  return OK;
}

int checkpoint_prune(const char *dir, int64_t run, int64_t keep) {
  ENDED_BY(files_free) struct files files = {0};
  int64_t of_run = 0;
  TRY(list_files(dir, 1, &files));
  for (int64_t i = 0; i < files.count; i++) of_run += files.file[i].run == run;
  for (const struct file *f = files.file; of_run > keep; f++) {
    if (f->run != run) continue;
    TRY(remove_file(dir, f));
    of_run--;
  }
  return OK;
}
