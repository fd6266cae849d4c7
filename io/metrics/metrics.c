#include "io/metrics/metrics.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"

static int fail_writing(const char *path, int error) {
  FAIL(FAILED, "%s: cannot be written: %s", path, strerror(error));
}

/* Whether a line stands at or before that epoch. A run's last line stands behind all of its epochs. *last:
 * the highest epoch of that run so far. */
static int stays(const char *line, int64_t resume_run, int64_t resume_epoch, int64_t *last) {
  long long run, epoch;
  size_t length = strlen(line);
  if (length == 0 || line[length - 1] != '\n') return 0; /* torn by a kill, or blocks of zeros */
  int fields = sscanf(line, "{\"run\": %lld, \"epoch\": %lld,", &run, &epoch);
  if (fields < 1) return 0;
  if (run != resume_run) return run < resume_run;
  int kept = fields == 2 && epoch <= resume_epoch;
  if (kept && epoch > *last) *last = epoch;
  return kept;
}

/* Copies what stays. Without the end of the file epochs would be lost. */
static int copy_rows(const char *path, FILE *from, FILE *to, int64_t resume_run, int64_t resume_epoch,
                     int64_t *last) {
  char line[4096];
  errno = 0;
  while (fgets(line, sizeof line, from)) {
    if (stays(line, resume_run, resume_epoch, last)) fputs(line, to);
  }
  if (ferror(from)) FAIL(FAILED, "%s: cannot be read: %s", path, strerror(errno ? errno : EIO));
  return OK;
}

/* The former file, NULL where there is none. It is only read: what is written has a new file. */
static int open_former(const struct atomic_write *p, FILE **former) {
  struct stat status;
  int file = openat(p->folder, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  *former = NULL;
  if (file < 0 && errno == ENOENT) return OK;
  if (file < 0 && errno == ELOOP)
    FAIL(BAD_INPUT, "%s: is a symbolic link; a run goes on with a file of its own", p->path);
  if (file < 0) FAIL(FAILED, "%s: cannot be read: %s", p->path, strerror(errno));
  int is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  *former = is_file ? fdopen(file, "r") : NULL;
  if (!*former) close(file);
  if (!is_file) FAIL(BAD_INPUT, "%s: is a folder, device or pipe; a file is expected", p->path);
  if (!*former) FAIL(FAILED, "%s: cannot be read: %s", p->path, strerror(errno));
  return OK;
}

static int cut_back(const struct atomic_write *p, int64_t resume_run, int64_t resume_epoch, int64_t *last) {
  FILE *former;
  TRY(open_former(p, &former));
  if (!former) return OK;
  int code = copy_rows(p->path, former, p->stream, resume_run, resume_epoch, last);
  fclose(former);
  return code;
}

/* The file that rows are appended to is the one that was written beside: a kill loses nothing, and nothing
 * that stood there is written into. */
static int replace(struct metrics *metrics, struct atomic_write *p, int64_t resume_run, int64_t resume_epoch,
                   int64_t *last) {
  FILE *stream;
  TRY(atomic_write_stream(p, &stream));
  if (resume_epoch >= 0) TRY(cut_back(p, resume_run, resume_epoch, last));
  int copy = fcntl(p->file, F_DUPFD_CLOEXEC, 0);
  metrics->file = copy >= 0 ? fdopen(copy, "a") : NULL;
  if (!metrics->file && copy >= 0) close(copy);
  if (!metrics->file) return fail_writing(metrics->path, errno);
  return atomic_write_commit(p);
}

int metrics_open(struct metrics *metrics, const char *dir, int64_t resume_run, int64_t resume_epoch) {
  struct atomic_write p;
  int64_t last = 0;
  memset(metrics, 0, sizeof *metrics);
  if (snprintf(metrics->path, sizeof metrics->path, "%s/metrics.jsonl", dir) >= (int)sizeof metrics->path)
    FAIL(BAD_INPUT, "%s: the folder's name is too long", dir);
  TRY(make_folder(dir));
  TRY(atomic_write_open(&p, metrics->path));
  int code = replace(metrics, &p, resume_run, resume_epoch, &last);
  atomic_write_drop(&p);
  if (code != OK) metrics_close(metrics);
  TRY(code);
  if (last < resume_epoch)
    log_info("note: %s: has epochs of run %lld up to %lld, where the checkpoint stands at %lld",
             metrics->path, (long long)resume_run, (long long)last, (long long)resume_epoch);
  return OK;
}

/* ", "name": value" with as few digits as read back equal. */
static void put_real(FILE *file, const char *name, double value) {
  char text[40] = "null";
  for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fprintf(file, ", \"%s\": %s", name, text);
}

static int end_line(struct metrics *metrics) {
  fputs("}\n", metrics->file);
  if (fflush(metrics->file) != 0 || ferror(metrics->file)) TRY(fail_writing(metrics->path, errno));
  return OK;
}

int metrics_tensorboard(struct metrics *metrics, const char *dir, int64_t runs, int fresh) {
  return events_open(&metrics->events, dir, runs, fresh);
}

int metrics_epoch(struct metrics *metrics, const struct metrics_row *row) {
  fprintf(metrics->file, "{\"run\": %lld, \"epoch\": %lld", (long long)row->run, (long long)row->epoch);
  put_real(metrics->file, "loss", row->loss);
  put_real(metrics->file, "train", row->train);
  put_real(metrics->file, "val", row->val);
  put_real(metrics->file, "test", row->test);
  put_real(metrics->file, "ms", row->ms);
  put_real(metrics->file, "train_loss", row->train_loss);
  put_real(metrics->file, "val_loss", row->val_loss);
  put_real(metrics->file, "test_loss", row->test_loss);
  put_real(metrics->file, "lr", row->lr);
  fprintf(metrics->file, ", \"sent_bytes\": %lld", (long long)row->sent_bytes);
  put_real(metrics->file, "time", row->time);
  TRY(end_line(metrics));
  return *metrics->events.folder ? events_epoch(&metrics->events, row) : OK;
}

int metrics_final(struct metrics *metrics, const struct metrics_final *row) {
  fprintf(metrics->file, "{\"run\": %lld, \"final\": true", (long long)row->run);
  if (row->best_epoch > 0)
    fprintf(metrics->file, ", \"best_epoch\": %lld", (long long)row->best_epoch);
  else
    fputs(", \"best_epoch\": null", metrics->file);
  fprintf(metrics->file, ", \"epochs\": %lld", (long long)row->epochs);
  put_real(metrics->file, "val", row->val);
  put_real(metrics->file, "test", row->test);
  put_real(metrics->file, "seconds", row->seconds);
  fprintf(metrics->file, ", \"peak_bytes\": %lld", (long long)row->peak_bytes);
  return end_line(metrics);
}

int metrics_sync(struct metrics *metrics) {
  if (fsync(fileno(metrics->file)) != 0) TRY(fail_writing(metrics->path, errno));
  return OK;
}

void metrics_close(struct metrics *metrics) {
  if (metrics->file) fclose(metrics->file);
  metrics->file = NULL;
  events_close(&metrics->events);
}
