#include <stdio.h>
#include <string.h>

#include "launch/gnntrain/gnntrain_options.h"
#include "runtime/base/error.h"

void command_line_help(void) {
  puts(
      "usage: gnntrain CONFIG.toml [OPTION]...\n"
      "       mpirun -n RANKS gnntrain CONFIG.toml [OPTION]...\n"
      "\n"
      "Trains a graph neural network on a whole graph, without sampling, on as many ranks as mpirun starts.\n"
      "\n"
      "  --set SECTION.KEY=VALUE   change a setting (VALUE is TOML; a bare word is a string); may be "
      "repeated\n"
      "  --epochs N                train.epochs: the total, also when resuming\n"
      "  --device auto|cpu|cuda    runtime.device\n"
      "  --resume[=FILE]           go on from FILE, or from the newest checkpoint of the run directory; the\n"
      "                            directory's checkpoints of later epochs and runs are removed; both\n"
      "                            --resume=FILE and --resume: from FILE while there is no newest\n"
      "  --eval CHECKPOINT         print the metrics of a checkpoint and end\n"
      "  --predict CHECKPOINT --out FILE.h5\n"
      "                            write logits, predictions and the last hidden embedding of every node\n"
      "  --profile                 of a training: print where the time went; write trace.json for\n"
      "                            chrome://tracing\n"
      "  --dry-run                 print the estimate of memory and the steps of an epoch, and stop\n"
      "  --version                 version, revision and what was compiled in\n"
      "  --help                    this text and every setting\n"
      "\n"
      "Exit codes: 0 done; 1 failed; 2 bad usage, configuration or input file; 75 stopped by a\n"
      "signal, after saving a checkpoint where training had begun.\n"
      "\n"
      "Settings of CONFIG.toml:\n");
  config_help(stdout);
}

/* The value of option `name`: "--name=VALUE" or the next argument. NULL: the argument is not this option. */
static const char *option_value(const char *name, int argc, char **argv, int *i) {
  size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length] != '\0') return NULL;
  return *i + 1 < argc ? argv[++*i] : "";
}

static int add_set(struct command_line *line, const char *assignment) {
  int most = (int)(sizeof line->set / sizeof line->set[0]);
  if (line->set_count == most) FAIL(BAD_INPUT, "--set: more than %d assignments", most);
  line->set[line->set_count++] = assignment;
  return OK;
}

/* --epochs 5 is short for --set train.epochs=5. */
static int add_short(struct command_line *line, int which, const char *key, const char *value) {
  snprintf(line->assignment[which], sizeof line->assignment[which], "%s=%s", key, value);
  return add_set(line, line->assignment[which]);
}

static int read_flag(struct command_line *line, const char *argument, int *known) {
  *known = 1;
  if (strcmp(argument, "--dry-run") == 0)
    line->dry_run = 1;
  else if (strcmp(argument, "--profile") == 0)
    line->profile = 1;
  else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
    line->help = 1;
  else if (strcmp(argument, "--version") == 0)
    line->version = 1;
  else if (strcmp(argument, "--resume") == 0)
    line->resume_newest = 1;
  else
    *known = 0;
  return OK;
}

static int read_valued(struct command_line *line, int argc, char **argv, int *i, int *known) {
  const char *name = argv[*i], *value;
  *known = 1;
  if (strncmp(name, "--resume=", 9) == 0) {
    if (line->resume && line->checkpoint[0] && strcmp(line->checkpoint, name + 9) != 0)
      FAIL(BAD_INPUT, "--resume=%s and %s: a run goes on from one checkpoint", line->checkpoint, name);
    line->resume = 1;
    line->checkpoint = name + 9;
    value = line->checkpoint;
  } else if ((value = option_value("--set", argc, argv, i))) {
    TRY(add_set(line, value));
  } else if ((value = option_value("--epochs", argc, argv, i))) {
    TRY(add_short(line, 0, "train.epochs", value));
  } else if ((value = option_value("--device", argc, argv, i))) {
    TRY(add_short(line, 1, "runtime.device", value));
  } else if ((value = option_value("--eval", argc, argv, i))) {
    line->evaluate = value;
  } else if ((value = option_value("--predict", argc, argv, i))) {
    line->predict = value;
  } else if ((value = option_value("--out", argc, argv, i))) {
    line->out = value;
  } else {
    *known = 0;
    return OK;
  }
  if (value[0] == '\0') FAIL(BAD_INPUT, "%s: a value is missing; see gnntrain --help", name);
  return OK;
}

static int check(struct command_line *line) {
  if (line->help || line->version) return OK;
  if (!line->config)
    FAIL(BAD_INPUT, "usage: gnntrain CONFIG.toml [OPTION]...; gnntrain --help lists all options");
  if (line->predict && !line->out) FAIL(BAD_INPUT, "--predict needs --out FILE.h5, the file to write");
  if (line->out && !line->predict) FAIL(BAD_INPUT, "--out goes with --predict CHECKPOINT");
  if (line->resume_newest) line->resume = 1;
  if ((line->predict != NULL) + (line->evaluate != NULL) + (line->resume != 0) > 1)
    FAIL(BAD_INPUT, "--resume, --eval and --predict exclude each other");
  if (line->profile && (line->evaluate || line->predict || line->dry_run))
    FAIL(BAD_INPUT, "--profile is for training, not for --eval, --predict or --dry-run");
  return OK;
}

int command_line_read(struct command_line *line, int argc, char **argv) {
  *line = (struct command_line){.checkpoint = ""};
  for (int i = 1; i < argc; i++) {
    int known = 0;
    if (argv[i][0] == '-' && argv[i][1] != '\0') {
      TRY(read_flag(line, argv[i], &known));
      if (!known) TRY(read_valued(line, argc, argv, &i, &known));
      if (!known) FAIL(BAD_INPUT, "unknown option \"%s\"; gnntrain --help lists all options", argv[i]);
    } else if (line->config) {
      FAIL(BAD_INPUT, "more than one configuration: \"%s\" and \"%s\"", line->config, argv[i]);
    } else {
      line->config = argv[i];
    }
  }
  return check(line);
}
