#include "launch/gnntrain/gnntrain_options.h"
#include "models/layers/types.h"
#include "runtime/base/base.h"
#include "runtime/config/options.h"

static int add_set(void *of, const struct option *option, char *assignment) {
  struct command_line *line = of;
  int most = (int)(sizeof line->set / sizeof line->set[0]);
  if (line->set_count == most) FAIL(BAD_INPUT, "--%s: more than %d assignments", option->name, most);
  line->set[line->set_count++] = assignment;
  return OK;
}

/* --epochs 5 is short for --set train.epochs=5. */
static int add_short(void *of, const struct option *option, char *value) {
  struct command_line *line = of;
  int epochs = strcmp(option->name, "epochs") == 0;
  snprintf(line->assignment[epochs], sizeof line->assignment[epochs], "%s=%s",
           epochs ? "train.epochs" : "runtime.device", value);
  return add_set(line, option, line->assignment[epochs]);
}

static int set_resume(void *of, const struct option *option, char *checkpoint) {
  struct command_line *line = of;
  (void)option;
  if (!checkpoint) {
    line->resume_newest = 1;
    return OK;
  }
  if (line->resume && line->checkpoint[0] && strcmp(line->checkpoint, checkpoint) != 0)
    FAIL(BAD_INPUT, "--resume=%s and --resume=%s: a run goes on from one checkpoint", line->checkpoint,
         checkpoint);
  line->resume = 1;
  line->checkpoint = checkpoint;
  return OK;
}

/* clang-format off */
#define SETS(name, value, kind, field, help) \
  {name, value, help, OPTION_##kind, offsetof(struct command_line, field), 0, 0, NULL, 0, NULL}
#define READS(name, value, kind, read, help) {name, value, help, OPTION_##kind, 0, 0, 0, read, 0, NULL}
#define NEXT "\n                            "
static const struct option table[] = {
    READS("set", "SECTION.KEY=VALUE", READ, add_set, "change a setting (VALUE is TOML; a bare word is a string); may be repeated"),
    READS("epochs", "N", READ, add_short, "train.epochs: the total, also when resuming"),
    READS("device", "auto|cpu|cuda", READ, add_short, "runtime.device"),
    READS("resume", "FILE", MAYBE, set_resume, "go on from FILE, or from the newest checkpoint of the run directory; the"
          NEXT "directory's checkpoints of later epochs and runs are removed; both"
          NEXT "--resume=FILE and --resume: from FILE while there is no newest"),
    SETS("eval", "CHECKPOINT", TEXT, evaluate, "print the metrics of a checkpoint and end"),
    SETS("predict", "CHECKPOINT", TEXT, predict, "write logits, predictions and the last hidden embedding of every node"),
    SETS("export", "CHECKPOINT", TEXT, export, "write weights for PyTorch and others; needs no CONFIG.toml"),
    SETS("out", "FILE", TEXT, out, "what --predict writes (.h5, .csv, .npy), --eval (confusion matrices, .csv), --export"
         NEXT "(.safetensors, .npz), or --plan (a picture, .svg)"),
    SETS("profile", NULL, FLAG, profile, "of a training: print where the time went; write trace.json for"
         NEXT "chrome://tracing"),
    SETS("check", NULL, FLAG, check, "look at the settings, the folder of the run and the dataset's header, print the"
         NEXT "settings as they were resolved, and stop"),
    SETS("dry-run", NULL, FLAG, dry_run, "print the estimate of memory and the steps of an epoch, and stop"),
    SETS("plan", "1,2,4,...", TEXT, plan.ranks, "predict an epoch, memory and messages on so many GPUs, and stop; no GPU is"
         NEXT "needed"),
    SETS("gpu", "NAME", TEXT, plan.gpu, "of --plan: H200, H100, or one that gnnbench calibrate has measured"),
    SETS("network", "nvlink,400gbit,8", TEXT, plan.network, "of --plan: inside a host, between hosts, GPUs of a host"),
    SETS("quiet", NULL, FLAG, quiet, "print results, warnings and errors alone"),
    SETS("verbose", NULL, FLAG, verbose, "print all there is to say of graph, partition and memory, and a line an epoch"),
    SETS("version", NULL, FLAG, version, "version, revision and what was compiled in"),
    {0}};
/* clang-format on */

/* Settings that begin so. */
static int help_on(const char *topic) {
  TRY(config_help(stdout, topic));
  if (strcmp(topic, "model.type") == 0) model_types_print(stdout);
  return OK;
}

int command_line_help(const struct command_line *line) {
  const struct options options = {.option = table};
  if (line->topic) return help_on(line->topic);
  puts("usage: gnntrain CONFIG.toml [OPTION]...\n"
       "       mpirun -n RANKS gnntrain CONFIG.toml [OPTION]...\n"
       "       gnntrain --export CHECKPOINT --out FILE\n\n"
       "Trains a graph neural network on a whole graph, without sampling, on as many ranks as mpirun "
       "starts.\n");
  options_print(&options, 25);
  puts("  --help [TOPIC]            this text and every setting, or those of a section (model) or one "
       "(model.type)\n\n"
       "Exit codes: 0 done; 1 failed; 2 bad usage, configuration or input file; 75 stopped by a\n"
       "signal, after saving a checkpoint where training had begun.\n\n"
       "Settings of CONFIG.toml:\n");
  return config_help(stdout, NULL);
}

/* A setting that has no option of its own. */
static void meant(const char *name, const char *value, char *text, size_t size) {
  const char *key = config_key_of(name);
  if (key) snprintf(text, size, "--set %s=%s", key, value ? value : "VALUE");
}

/* --plan and what goes with it. */
static int check_plan(struct command_line *line) {
  struct plan_wish *plan = &line->plan;
  const char *ending = line->out ? strrchr(line->out, '.') : NULL;
  if (!plan->ranks && (plan->gpu || plan->network))
    FAIL(BAD_INPUT, "--%s goes with --plan 1,2,4,...", plan->gpu ? "gpu" : "network");
  if (!plan->ranks) return OK;
  if (line->predict || line->evaluate || line->resume || line->profile || line->dry_run || line->check)
    FAIL(BAD_INPUT,
         "--plan trains nothing; --eval, --predict, --resume, --profile, --dry-run and --check do not go "
         "with it");
  if (line->out && (!ending || strcmp(ending, ".svg") != 0))
    FAIL(BAD_INPUT, "--out %s: the picture of --plan is an SVG; let the name end in .svg", line->out);
  plan->out = line->out;
  return OK;
}

/* Predictions are HDF5 unless their name ends otherwise. */
static int check_out(const char *out) {
  static const char *const other[] = {".tsv", ".txt", ".json", ".npz", ".parquet", ".gz"};
  const char *ending = strrchr(out, '.');
  for (int i = 0; ending && i < (int)(sizeof other / sizeof other[0]); i++)
    if (strcmp(ending, other[i]) == 0)
      FAIL(BAD_INPUT,
           "--out %s: predictions are HDF5, a table or an array; let the name end in .h5, .csv or .npy", out);
  return OK;
}

static int check_confusion(const char *out) {
  const char *ending = strrchr(out, '.');
  if (!ending || strcmp(ending, ".csv") != 0)
    FAIL(BAD_INPUT, "--out %s: the confusion matrices of --eval are a table; let the name end in .csv", out);
  return OK;
}

/* --export stands alone: a checkpoint says itself what it is of. */
static int check_export(const struct command_line *line) {
  const char *ending = line->out ? strrchr(line->out, '.') : NULL;
  if (line->predict || line->evaluate || line->resume || line->resume_newest || line->profile ||
      line->dry_run || line->plan.ranks)
    FAIL(BAD_INPUT,
         "--export computes nothing; --eval, --predict, --resume, --profile, --dry-run and --plan do not go "
         "with it");
  if (line->config || line->set_count > 0)
    FAIL(BAD_INPUT,
         "--export takes all it needs from the checkpoint; a configuration and settings do not go with it");
  if (!ending || (strcmp(ending, ".safetensors") != 0 && strcmp(ending, ".npz") != 0))
    FAIL(BAD_INPUT, "--export needs --out FILE.safetensors or .npz, the file to write%s%s",
         line->out ? ", not " : "", line->out ? line->out : "");
  return OK;
}

static int check(struct command_line *line) {
  if (line->help || line->version) return OK;
  if (line->export) return check_export(line);
  if (!line->config)
    FAIL(BAD_INPUT, "usage: gnntrain CONFIG.toml [OPTION]...; gnntrain --help lists all options");
  if (line->predict && !line->out)
    FAIL(BAD_INPUT, "--predict needs --out FILE.h5, .csv or .npy, the file to write");
  TRY(check_plan(line));
  if (line->out && !line->predict && !line->evaluate && !line->plan.ranks)
    FAIL(BAD_INPUT,
         "--out goes with --predict CHECKPOINT, --eval CHECKPOINT, --export CHECKPOINT or --plan 1,2,4,...");
  if (line->predict) TRY(check_out(line->out));
  if (line->evaluate && line->out) TRY(check_confusion(line->out));
  if (line->resume_newest) line->resume = 1;
  if ((line->predict != NULL) + (line->evaluate != NULL) + (line->resume != 0) > 1)
    FAIL(BAD_INPUT, "--resume, --eval and --predict exclude each other");
  if (line->check && (line->predict || line->evaluate || line->profile || line->dry_run))
    FAIL(BAD_INPUT, "--check trains nothing; --eval, --predict, --profile and --dry-run do not go with it");
  if (line->quiet && line->verbose) FAIL(BAD_INPUT, "--quiet and --verbose exclude each other");
  if (line->profile && (line->evaluate || line->predict || line->dry_run))
    FAIL(BAD_INPUT, "--profile is for training, not for --eval, --predict or --dry-run");
  return OK;
}

int command_line_read(struct command_line *line, int argc, char **argv) {
  struct options options = {.command = "gnntrain", .option = table, .into = line, .meant = meant};
  *line = (struct command_line){.checkpoint = ""};
  TRY(options_read(&options, argc, argv));
  line->config = options.word[0];
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp(argv[i], "--help") == 0 && argv[i + 1][0] != '-') line->topic = argv[i + 1];
  line->help = options.help || (options.words == 1 && strcmp(line->config, "help") == 0);
  if (options.words > 1)
    FAIL(BAD_INPUT, "more than one configuration: \"%s\" and \"%s\"", line->config, options.word[1]);
  return check(line);
}
