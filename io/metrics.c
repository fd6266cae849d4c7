#include "io/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/error.h"
#include "runtime/log.h"

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

/* Writes what stays beside and renames it over the file: a kill here loses nothing. */
static int cut_back(const char *path, int64_t resume_run, int64_t resume_epoch, int64_t *last) {
  char temporary[1200], line[4096];
  FILE *from = fopen(path, "r");
  if (!from) return errno == ENOENT ? OK : fail_writing(path, errno);
  int code = publish_name(path, temporary, sizeof temporary);
  FILE *to = code == OK ? fopen(temporary, "w") : NULL;
  if (code == OK && !to) code = fail_writing(path, errno);
  while (to && fgets(line, sizeof line, from)) {
    if (stays(line, resume_run, resume_epoch, last)) fputs(line, to);
  }
  fclose(from);
  if (to && (ferror(to) | (fclose(to) != 0))) {
    code = fail_writing(path, errno);
    unlink(temporary);
  }
  TRY(code);
  TRY(publish(temporary, path));
  return OK;
}

int metrics_open(struct metrics *metrics, const char *dir, int64_t resume_run, int64_t resume_epoch) {
  memset(metrics, 0, sizeof *metrics);
  if (snprintf(metrics->path, sizeof metrics->path, "%s/metrics.jsonl", dir) >= (int)sizeof metrics->path)
    FAIL(FAILED, "%s: the folder's name is too long", dir);
  TRY(make_folder(dir));
  int64_t last = 0;
  if (resume_epoch >= 0) TRY(cut_back(metrics->path, resume_run, resume_epoch, &last));
  if (last < resume_epoch)
    log_info("note: %s: has epochs of run %lld up to %lld, where the checkpoint stands at %lld",
             metrics->path, (long long)resume_run, (long long)last, (long long)resume_epoch);
  metrics->file = fopen(metrics->path, resume_epoch >= 0 ? "a" : "w");
  if (!metrics->file) TRY(fail_writing(metrics->path, errno));
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

int metrics_epoch(struct metrics *metrics, const struct metrics_row *row) {
  fprintf(metrics->file, "{\"run\": %lld, \"epoch\": %lld", (long long)row->run, (long long)row->epoch);
  put_real(metrics->file, "loss", row->loss);
  put_real(metrics->file, "train", row->train);
  put_real(metrics->file, "val", row->val);
  put_real(metrics->file, "test", row->test);
  put_real(metrics->file, "ms", row->ms);
  TRY(end_line(metrics));
  return OK;
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
  TRY(end_line(metrics));
  return OK;
}

int metrics_sync(struct metrics *metrics) {
  if (fsync(fileno(metrics->file)) != 0) TRY(fail_writing(metrics->path, errno));
  return OK;
}

void metrics_close(struct metrics *metrics) {
  if (metrics->file) fclose(metrics->file);
  metrics->file = NULL;
}
