#include "models/train/epoch_log.h"

#include <math.h>

#include "models/train/report.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile_clock.h"

static double time_left(const struct times *times, const struct run *run, int64_t epoch) {
  double mean = times->epochs > 0 ? times->seconds / (double)times->epochs : 0;
  int64_t runs_left = run->config->train.runs - 1 - run->index, epochs = run->config->train.epochs;
  return mean * (double)(epochs - epoch + runs_left * epochs);
}

/* mark: what stands behind it. */
static void write_line(const struct times *times, const struct run *run, const struct metrics_row *row,
                       const char *mark, char line[EPOCH_LINE]) {
  const long long epochs = (long long)run->config->train.epochs;
  char metrics[96] = "", run_text[32] = "", train[16], val[16], test[16], eta[32];
  if (!isnan(row->train) || !isnan(row->val) || !isnan(row->test))
    snprintf(metrics, sizeof metrics, "  train %s  val %s  test %s", report_percent(row->train, train),
             report_percent(row->val, val), report_percent(row->test, test));
  if (run->config->train.runs > 1) snprintf(run_text, sizeof run_text, "run %lld  ", (long long)row->run);
  snprintf(line, EPOCH_LINE, "%sepoch %*lld/%lld  loss %.4f%s  %.1f ms  ETA %s%s", run_text,
           snprintf(NULL, 0, "%lld", epochs), (long long)row->epoch, epochs, row->loss, metrics, row->ms,
           report_duration(time_left(times, run, row->epoch), eta), mark);
}

/* Whether lines come by the clock. */
static int is_paced(const struct run *run) {
  return run->config->log.progress == 0 && !log_shows(LOG_DETAIL) && !log_is_terminal();
}

static int is_due(const struct epoch_log *log, const struct run *run, int64_t epoch) {
  const int64_t every = run->config->log.progress;
  if (is_paced(run)) return log->said == 0 || profile_clock() - log->said >= EPOCH_LOG_SECONDS;
  return every == 0 || log_is_terminal() || epoch % every == 0 || epoch == 1 ||
         epoch == run->config->train.epochs;
}

static void print(struct epoch_log *log) {
  if (log->best[0]) log_progress("%s", log->best);
  if (log->newest[0]) log_progress("%s", log->newest);
  log->best[0] = log->newest[0] = '\0';
  log->said = profile_clock();
}

void epoch_log_add(struct epoch_log *log, const struct times *times, const struct run *run,
                   const struct metrics_row *row, int is_best) {
  if (run->comm->rank != 0 || !log_shows(LOG_INFO)) return;
  const int due = is_due(log, run, row->epoch), paced = is_paced(run);
  if (!due && !paced) return;
  write_line(times, run, row, paced && is_best && row->epoch > 1 ? "  best so far" : "", log->newest);
  if (is_best) log->best[0] = '\0';
  if (due) return print(log);
  if (!is_best) return;
  memcpy(log->best, log->newest, sizeof log->best);
  log->newest[0] = '\0';
}

/* A run among several has a line of its own. */
void epoch_log_end(struct epoch_log *log, const struct run *run) {
  if (run->config->train.runs == 1 && (log->best[0] || log->newest[0])) print(log);
  log->best[0] = log->newest[0] = '\0';
}
