#include "models/train/report.h"

#include <math.h>
#include <unistd.h>

#include "models/train/state/rundir.h"
#include "runtime/base/base.h"

enum { WORD = 4 * RUNDIR_PATH + 3 };

const char *report_percent(double metric, char text[16]) {
  if (isnan(metric))
    snprintf(text, 16, "-");
  else
    snprintf(text, 16, "%.2f%%", 100 * metric);
  return text;
}

const char *report_duration(double seconds, char text[32]) {
  long whole = seconds > 0 ? (long)(seconds + .5) : 0;
  if (whole >= 3600)
    snprintf(text, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else if (whole >= 60)
    snprintf(text, 32, "%ld:%02ld", whole / 60, whole % 60);
  else
    snprintf(text, 32, "%ld s", whole);
  return text;
}

static const char *metric_name(enum metric metric) {
  static const char *const names[] = {
      [METRIC_ACCURACY] = "accuracy", [METRIC_MICRO_F1] = "micro-F1", [METRIC_ROC_AUC] = "ROC-AUC"};
  return names[metric];
}

/* Of the best evaluation. */
static const char *epoch_text(int64_t epoch, char text[32]) {
  if (epoch > 0)
    snprintf(text, 32, "%lld", (long long)epoch);
  else
    snprintf(text, 32, "none: no epoch was evaluated");
  return text;
}

void report_run(const struct state *state, const struct run *run) {
  if (run->config->train.runs == 1) return;
  const struct best *best = &state->best;
  char epoch[32], val[16], test[16];
  log_result("run %lld  seed %lld  best epoch %s  val %s  test %s", (long long)run->index,
             (long long)(run->config->train.seed + run->index), epoch_text(best->epoch, epoch),
             report_percent(best->val, val), report_percent(best->test, test));
}

/* Mean and, from two values on, sample deviation of the runs that have a value (NaN: none); how many have. */
static int64_t moments(const double *value, int64_t runs, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < runs; i++) {
    if (isnan(value[i])) continue;
    sum += value[i];
    count++;
  }
  *mean = count > 0 ? sum / (double)count : NAN;
  for (int64_t i = 0; i < runs; i++) squares += isnan(value[i]) ? 0 : (value[i] - *mean) * (value[i] - *mean);
  *deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
  return count;
}

/* "  test           accuracy 81.50% +- 0.60 over 10 runs" */
static void print_runs(enum metric metric, const char *nodes, const double *value, int64_t runs) {
  double mean, deviation;
  char text[16], spread[64] = "";
  int64_t count = moments(value, runs, &mean, &deviation);
  if (count > 0)
    snprintf(spread, sizeof spread, " +- %.2f over %lld run%s", 100 * deviation, (long long)count,
             count > 1 ? "s" : "");
  log_result("  %-14s %s %s%s", nodes, metric_name(metric), report_percent(mean, text), spread);
}

static void results(const struct report *report, const struct run *run) {
  const struct state *state = report->state;
  int64_t runs = run->config->train.runs;
  char epoch[32], val[16], test[16];
  if (runs == 1) {
    log_result("  best epoch     %s", epoch_text(state->best.epoch, epoch));
    log_result("  validation     %s %s", metric_name(report->metric), report_percent(state->best.val, val));
    log_result("  test           %s %s", metric_name(report->metric), report_percent(state->best.test, test));
    return;
  }
  print_runs(report->metric, "validation", state->run_val, runs);
  print_runs(report->metric, "test", state->run_test, runs);
}

/* Collective. */
static int memory_line(const struct run *run, const char *name, int64_t peak, int64_t estimate) {
  char took[16], needed[16];
  TRY(comm_max_int64(run->comm, &peak));
  TRY(comm_max_int64(run->comm, &estimate));
  log_result("  %-14s %s on the fullest rank (estimate %s)", name, memory_text(peak, took),
             memory_text(estimate, needed));
  return OK;
}

/* A path as a word of a shell command: in quotes where it needs them. */
static const char *shell_word(const char *path, char word[WORD]) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:@%=";
  char *out = word;
  if (path[strspn(path, plain)] == '\0') return strcpy(word, path);
  *out++ = '\'';
  for (; *path; path++) out += sprintf(out, *path == '\'' ? "'\\''" : "%c", *path);
  strcpy(out, "'");
  return word;
}

int report_closing(const struct report *report, struct run *run) {
  const struct device_ops *device = run->device->ops;
  const char *dir = run->config->log.dir;
  char seconds[32], path[RUNDIR_PATH], config[RUNDIR_PATH], word[2][WORD];
  log_info(" ");
  log_result("result");
  results(report, run);
  const struct times *times = report->times;
  if (times->used > 0)
    log_result("  epoch          %.2f ms (median of forward, backward and optimiser)", times_median(times));
  log_result("  training       %s, evaluation included", report_duration(times->seconds, seconds));
  TRY(memory_line(run, "memory", memory_peak(), report->host_estimate));
  if (!device->on_host)
    TRY(memory_line(run, "GPU memory", device->memory.peak(run->device), report->device_estimate));
  int has_best = access(rundir_path(run->config, "best.h5", path), F_OK) == 0;
  log_result("  written to     %s (metrics.jsonl, config.toml, %scheckpoints/)", dir,
             has_best ? "best.h5, " : "");
  if (has_best)
    log_result("  predict with   gnntrain %s --predict %s --out predictions.h5",
               shell_word(rundir_path(run->config, "config.toml", config), word[0]),
               shell_word(path, word[1]));
  return OK;
}
