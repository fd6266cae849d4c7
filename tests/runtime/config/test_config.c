#include <glob.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/random.h"
#include "runtime/config/config.h"
#include "tests/check.h"

static struct config config;

TEST(defaults_hold_without_any_key) {
  assert_ok(config_parse(&config, "", "empty.toml"));
  assert_string_equal(config.model.type, "gcn");
  assert_int_equal(config.model.layers, 2);
  assert_int_equal(config.model.hidden, 16);
  assert_true(config.model.dropout == 0.5 && config.model.dropout_input == 0);
  assert_true(config.model.heads == 8 && config.model.heads_last == 1 && config.model.dropout_attention == 0);
  assert_int_equal(config.model.activation, ACTIVATION_RELU);
  assert_int_equal(config.train.epochs, 200);
  assert_true(config.train.lr == 0.01);
  assert_int_equal(config.partition.order, ORDER_AUTO);
  assert_true(config.partition.balance == 1.05);
  assert_string_equal(config.runtime.device, "auto");
  assert_true(config.runtime.overlap && config.runtime.once && config.runtime.timeout == 300);
  assert_int_equal(config.checkpoint.every, 0);
  assert_string_equal(config.log.dir, "");
  assert_string_equal(config.path, "empty.toml");
}

TEST(every_kind_of_value_is_read) {
  assert_ok(config_parse(&config,
                         "dataset.path = 'data/x.h5'\n[model]\nnorm = \"layer\"\nhidden = 64\nbias = false\n"
                         "[train]\nlr = 1\nweight_decay = 5e-4\nseed = 9007199254740992\n",
                         "a.toml"));
  assert_string_equal(config.dataset.path, "data/x.h5");
  assert_int_equal(config.model.norm, NORM_LAYER);
  assert_int_equal(config.model.hidden, 64);
  assert_int_equal(config.model.bias, 0);
  assert_true(config.train.lr == 1.0 && config.train.weight_decay == 5e-4);
  assert_int_equal(config.train.seed, INT64_C(9007199254740992));
}

/* The text must be refused with a message that opens with `start` and says `rest`. */
static void refuse(const char *text, const char *start, const char *rest) {
  assert_int_equal(config_parse(&config, text, "a.toml"), BAD_INPUT);
  if (strncmp(error_message(), start, strlen(start)) != 0 || !strstr(error_message(), rest))
    fail_msg("\"%s\" gave \"%s\", not \"%s\" ... \"%s\"", text, error_message(), start, rest);
  error_clear();
}

TEST(unknown_keys_name_line_and_nearest_key) {
  refuse("[train]\n\nepoch = 3\n", "a.toml:3: unknown key train.epoch",
         "nearest allowed one is train.epochs");
  refuse("[model]\nlr = 3\n", "a.toml:2: unknown key model.lr", "nearest allowed one is train.lr");
  refuse("epochs = 3\n", "a.toml:1: unknown key epochs", "nearest allowed one is train.epochs");
  refuse("\n[trian]\nepochs = 3\n", "a.toml:2: unknown section [trian]", "nearest allowed one is [train]");
  refuse("[chekpoint]\n", "a.toml:1: unknown section [chekpoint]", "[checkpoint]");
  refuse("[train.adam]\nbeta = 1\n", "a.toml:1: unknown section [train.adam]", "[train]");
  refuse("path = 'x'\n", "a.toml:1: unknown key path", "dataset.path");
  refuse("\"train.lr\" = 1\n", "a.toml:1: unknown key \"train.lr\"", "train.lr");
  refuse("train = 3\n", "a.toml:1: train is a section", "[train]");
  refuse("[[train]]\nlr = 3\n", "a.toml:1: train is a section", "[train]");
}

TEST(values_out_of_range_name_what_is_allowed) {
  refuse("[train]\nlr = 1\nepochs = -1\n", "a.toml:3: train.epochs must be",
         "an integer from 0 to 1000000000, not -1");
  refuse("model.dropout = 1.0", "a.toml:1: model.dropout must be a number from 0 to 0.999, not 1", "");
  refuse("model.dropout = -0.25", "a.toml:1: model.dropout must be a number from 0 to 0.999, not -0.25", "");
  refuse("partition.balance = 1", "a.toml:1: partition.balance must be a number from 1.001 to 2, not 1", "");
  refuse("train.lr = nan", "a.toml:1: train.lr must be", "not nan");
  refuse("train.clip = inf", "a.toml:1: train.clip must be a number of at least 0, not inf", "");
  refuse("train.seed = 9007199254740993",
         "a.toml:1: train.seed must be an integer from 0 to 9007199254740992", "not 9007199254740993");
  refuse("train.optimizer = 'adagrad'",
         "a.toml:1: train.optimizer must be \"adam\", \"adamw\" or \"sgd\", not \"adagrad\"", "");
}

TEST(values_of_the_wrong_type_name_what_is_allowed) {
  refuse("train.epochs = 2.0", "a.toml:1: train.epochs must be an integer", "not 2.0");
  refuse("train.lr = '0.1'", "a.toml:1: train.lr must be a number", "not \"0.1\"");
  refuse("log.overwrite = 1", "a.toml:1: log.overwrite must be true or false, not 1", "");
  refuse("dataset.path = true", "a.toml:1: dataset.path must be text", "not true");
  refuse("model.norm = 0", "a.toml:1: model.norm must be \"none\", \"batch\" or \"layer\", not 0", "");
  refuse("train.lr = [1]", "a.toml:1: train.lr must be a number", "not a list");
  refuse("[train.lr]\nx = 1", "a.toml:1: train.lr must be a number", "not a table");
}

TEST(texts_must_fit_and_hold_no_nul) {
  refuse("model.type = 'a123456789b123456789c123456789d1'",
         "a.toml:1: model.type must be text of at most 31 bytes", "");
  assert_ok(config_parse(&config, "model.type = 'a123456789b123456789c123456789d'", "a.toml"));
  refuse("dataset.path = \"a\\u0000b\"", "a.toml:1: dataset.path must be text", "not \"a\" and a NUL");
  refuse("model.norm = \"none\\u0000b\"", "a.toml:1: model.norm must be", "");
}

TEST(the_first_mistake_in_the_text_is_reported) {
  refuse("[train]\nlr = -1\n[dataset]\npath = 3\n", "a.toml:2:", "train.lr");
}

TEST(syntax_errors_name_their_line) {
  refuse("[train]\nlr = 0.1\nepochs = = 3\n", "a.toml:3: not valid TOML: ", "");
  refuse("[train]\nlr = 1\n[}]\n[model]\n", "a.toml:3: not valid TOML", "");
  refuse("[train\n", "a.toml:1: not valid TOML: ", "");
  refuse("[train]\nlr = 1\nlr = 2\n", "a.toml:3: not valid TOML: ", "");
  refuse("[model]\ntype = \"gc\xff\"\n", "a.toml:2: not valid TOML: ", "");
}

/* toml++ 3.3 left it to chance what a letter behind 7 bits is where a space may stand. */
TEST(letters_stand_in_strings_and_comments_alone) {
  refuse("[train]\n\xc3\xa9pochs = 3\n", "a.toml:2: not valid TOML: ", "'\xc3\xa9'");
  refuse("[train]\nepochs\xc3\xa9 = 3\n", "a.toml:2: not valid TOML: ", "'\xc3\xa9'");
  refuse("[train]\nepochs = 3\xc3\xa9\n", "a.toml:2: not valid TOML: ", "'\xc3\xa9'");
  refuse("[tr\xce\xb1in]\n", "a.toml:1: not valid TOML: ", "'\xce\xb1'");
  assert_ok(config_parse(&config, "log.dir = \"\"\"a\\\n  \xc3\xa9\"\"\" # \xc3\xa9\n", "a.toml"));
  assert_string_equal(config.log.dir, "a\xc3\xa9");
  assert_ok(config_set(&config, "log.dir=\xc3\xa9"));
  assert_string_equal(config.log.dir, "\xc3\xa9");
  assert_fails(config_set(&config, "train.epochs=\xc3\xa9"), BAD_INPUT, "train.epochs must be an integer");
  assert_fails(config_set(&config, "train.\xc3\xa9pochs=3"), BAD_INPUT,
               "the nearest allowed one is train.epochs");
}

static double seconds_of(const char *text) {
  clock_t start = clock();
  for (int i = 0; i < 3; i++) config_parse(&config, text, "a.toml");
  error_clear();
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Which line breaks toml++ is found in a few readings of the text, not in one for each line. */
TEST(many_lines_ahead_of_a_mistake_take_no_time) {
  enum { LINES = 16000 };
  static char text[LINES + 3];
  memset(text, '\n', LINES);
  double sound = seconds_of(text);
  memcpy(text + LINES, "[}", 3);
  refuse(text, "a.toml:16001: not valid TOML", "");
  assert_true(seconds_of(text) < 200 * sound + 0.01);
}

TEST(deep_nesting_is_survived) {
  enum { BYTES = 16 << 10 };
  static char text[BYTES + 1];
  for (int i = 0; i + 1 < BYTES; i += 2) memcpy(text + i, "a.", 2);
  memcpy(text + BYTES - 6, "aa = 1", 6);
  assert_int_equal(config_parse(&config, text, "a.toml"), BAD_INPUT);
  memset(text, '[', BYTES);
  memcpy(text, "a = ", 4);
  assert_int_equal(config_parse(&config, text, "a.toml"), BAD_INPUT);
  error_clear();
}

TEST(texts_over_the_limit_are_refused) {
  enum { BYTES = (16 << 10) + 1 };
  static char text[BYTES + 1];
  memset(text, '\n', BYTES);
  assert_fails(config_parse(&config, text, "a.toml"), BAD_INPUT,
               "a.toml: a configuration has at most 16384 bytes");
}

TEST(assignments_take_toml_or_bare_words) {
  assert_ok(config_parse(&config, "", "a.toml"));
  assert_ok(config_set(&config, "train.lr=0.25"));
  assert_ok(config_set(&config, " train.epochs = 7 "));
  assert_ok(config_set(&config, "model.norm=batch"));
  assert_ok(config_set(&config, "model.type=\"mlp\""));
  assert_ok(config_set(&config, "runtime.once=false"));
  assert_ok(config_set(&config, "dataset.path=data/a b=c.h5"));
  assert_ok(config_set(&config, "log.dir=2024-05-01"));
  assert_true(config.train.lr == 0.25);
  assert_int_equal(config.train.epochs, 7);
  assert_int_equal(config.model.norm, NORM_BATCH);
  assert_string_equal(config.model.type, "mlp");
  assert_int_equal(config.runtime.once, 0);
  assert_string_equal(config.dataset.path, "data/a b=c.h5");
  assert_string_equal(config.log.dir, "2024-05-01");
  assert_ok(config_set(&config, "log.dir="));
  assert_string_equal(config.log.dir, "");
}

TEST(refused_assignments_are_named) {
  assert_ok(config_parse(&config, "", "a.toml"));
  assert_fails(config_set(&config, "train.lr=fast"), BAD_INPUT,
               "train.lr=fast: not a TOML value; train.lr must be a number");
  assert_fails(config_set(&config, "train.lr=\"fast\""), BAD_INPUT,
               "train.lr=\"fast\": train.lr must be a number");
  assert_fails(config_set(&config, "train.lr=-1"), BAD_INPUT, "train.lr=-1: train.lr must be a number");
  assert_fails(config_set(&config, "train.lr="), BAD_INPUT, "train.lr=: not a TOML value");
  assert_fails(config_set(&config, "train.rl=1"), BAD_INPUT,
               "train.rl=1: unknown key train.rl; the nearest allowed one is train.lr");
  assert_fails(config_set(&config, "train=1"), BAD_INPUT, "train is a section");
  assert_fails(config_set(&config, "train.lr"), BAD_INPUT, "section.key=VALUE");
  assert_fails(config_set(&config, "=3"), BAD_INPUT, "section.key=VALUE");
  assert_fails(config_set(&config, ""), BAD_INPUT, "section.key=VALUE");
  assert_fails(config_set(&config, "log.dir=\"x"), BAD_INPUT, "not a TOML value");
  assert_fails(config_set(&config, "log.dir=\xff"), BAD_INPUT, "not a TOML value");
  assert_fails(config_set(&config, "train.lr=1\ntrain.seed=4"), BAD_INPUT, "one value is allowed");
  char text[CONFIG_TEXT + 40];
  snprintf(text, sizeof text, "log.dir=%0*d", CONFIG_TEXT, 0);
  assert_fails(config_set(&config, text), BAD_INPUT, "the value is longer than");
  assert_true(config.train.lr == 0.01 || config.train.lr == 1.0);
  assert_int_equal(config.train.seed, 1);
}

static void same(const char *key, const char *was, const char *is, void *context) {
  (void)context;
  fail_msg("%s was %s and is %s", key, was, is);
}

TEST(written_copy_reads_back_equal) {
  static struct config copy;
  char *text = NULL;
  assert_ok(config_parse(&config,
                         "[train]\nlr = 0.1\nweight_decay = 1e-300\nclip = 0.30000000000000004\nseed = 12\n"
                         "[runtime]\ntimeout = 100000\n[model]\nactivation = 'elu'\nbias = false\n"
                         "[log]\ndir = \"a \\\"b\\\" \\\\ \\n \\u007f ü\"\n",
                         "a.toml"));
  assert_ok(config_text(&config, &text));
  assert_non_null(strstr(text, "\nlr = 0.1\n"));
  assert_non_null(strstr(text, "\ntimeout = 100000.0\n"));
  assert_non_null(strstr(text, "\nclip = 0.30000000000000004\n"));
  assert_ok(config_parse(&copy, text, "a.toml"));
  config_compare(&config, &copy, same, NULL);
  assert_memory_equal(&config, &copy, sizeof config);
  free(text);
}

static void note(const char *key, const char *was, const char *is, void *context) {
  char *text = context;
  sprintf(text + strlen(text), "%s %s %s;", key, was, is);
}

TEST(damaged_text_is_read_or_refused) {
  char *text = NULL;
  struct philox_key key = random_key(7, 0, 0, RANDOM_IMPORT);
  assert_ok(config_parse(&config, "", "a.toml"));
  assert_ok(config_text(&config, &text));
  size_t length = strlen(text);
  char *damaged = malloc(length + 1);
  int refused = 0;
  for (uint64_t i = 0; i < 2000; i++) {
    struct philox_block random = random_block(key, i, 0);
    memcpy(damaged, text, length + 1);
    damaged[random.word[0] % length] ^= (char)(1u << random.word[1] % 8);
    if (random.word[2] % 4 == 0) damaged[random.word[3] % length] = '\0';
    int code = config_parse(&config, damaged, "a.toml");
    assert_true(code == OK || code == BAD_INPUT);
    refused += code != OK;
  }
  assert_true(refused > 500);
  error_clear();
  free(damaged);
  free(text);
}

TEST(comparison_reports_each_difference) {
  static struct config other;
  char text[256] = "";
  assert_ok(config_parse(&config, "", "a.toml"));
  assert_ok(config_parse(&other, "train.lr = 0.5\nmodel.type = 'mlp'\npartition.method = 'block'", "b.toml"));
  config_compare(&config, &other, note, text);
  assert_string_equal(text,
                      "model.type \"gcn\" \"mlp\";train.lr 0.01 0.5;partition.method \"metis\" \"block\";");
}

TEST(help_names_every_key_with_range_and_default) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_ok(config_help(out, NULL));
  fclose(out);
  assert_non_null(strstr(text, "train.lr "));
  assert_non_null(strstr(text, "a number from 1.001 to 2; default 1.05\n"));
  assert_non_null(strstr(text, "\"none\", \"batch\" or \"layer\"; default \"none\"\n"));
  free(text);
  text = NULL;
  out = open_memstream(&text, &size);
  assert_ok(config_help(out, "train.lr"));
  assert_fails(config_help(out, "train.rate"), BAD_INPUT,
               "unknown key train.rate; the nearest allowed one is train.");
  fclose(out);
  assert_non_null(strstr(text, "train.lr "));
  assert_null(strstr(text, "train.momentum"));
  free(text);
}

/* Writes `text` to a new file; *path is valid until the next call. */
static void make_file(const char *text, size_t length, const char **path) {
  static char name[64];
  strcpy(name, "/tmp/config-XXXXXX.toml");
  int file = mkstemps(name, 5);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, length), (ssize_t)length);
  close(file);
  *path = name;
}

TEST(file_then_assignments_and_the_run_directory) {
  const char *path, *set[] = {"train.epochs=9", "dataset.path=d.h5"};
  char expected[96];
  static const char text[] = "[train]\nepochs = 3\nlr = 0.5\n";
  make_file(text, strlen(text), &path);
  assert_fails(config_read(&config, path, NULL, 0), BAD_INPUT,
               "dataset.path: missing; name the dataset file");
  assert_ok(config_read(&config, path, set, 2));
  assert_int_equal(config.train.epochs, 9);
  assert_true(config.train.lr == 0.5);
  snprintf(expected, sizeof expected, "runs/%.*s", (int)strlen(path) - 10, path + 5);
  assert_string_equal(config.log.dir, expected);
  assert_string_equal(config.path, path);
  unlink(path);
}

TEST(files_that_cannot_be_read_give_the_reason) {
  const char *path;
  assert_fails(config_read(&config, "/nowhere/x.toml", NULL, 0), BAD_INPUT,
               "/nowhere/x.toml: cannot open the configuration: No such file");
  assert_fails(config_read(&config, "/tmp", NULL, 0), BAD_INPUT, "/tmp is a folder, not a configuration");
  assert_fails(config_read(&config, "/dev/zero", NULL, 0), BAD_INPUT,
               "/dev/zero: is a device; a file is expected");
  make_file("train.lr = 1\0", 13, &path);
  assert_fails(config_read(&config, path, NULL, 0), BAD_INPUT, "byte 13 is NUL");
  unlink(path);
}

TEST(names_of_files_must_fit_and_make_a_run_directory) {
  static const char text[] = "dataset.path = \"d.h5\"\n";
  const char *path;
  char name[CONFIG_TEXT + 1];
  snprintf(name, sizeof name, "%0*d", CONFIG_TEXT, 0);
  assert_fails(config_parse(&config, "", name), BAD_INPUT, "the name is longer than");
  make_file(text, strlen(text), &path);
  snprintf(name, sizeof name, "%s-\xff.toml", path);
  assert_int_equal(rename(path, name), 0);
  assert_fails(config_read(&config, name, NULL, 0), BAD_INPUT, "the name is not valid UTF-8");
  assert_ok(config_read(&config, name, &(const char *){"log.dir=here"}, 1));
  unlink(name);
}

TEST(shipped_configurations_are_valid) {
  const char *folders[] = {"configs", "configs/models"}, *source = getenv("GNNTRAIN_SOURCE");
  char pattern[512];
  glob_t found;
  if (!source) skip();
  for (int i = 0; i < 2; i++) {
    snprintf(pattern, sizeof pattern, "%s/%s/*.toml", source, folders[i]);
    assert_int_equal(glob(pattern, i ? GLOB_APPEND : 0, NULL, &found), 0);
  }
  assert_true(found.gl_pathc >= 30);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    assert_ok(config_read(&config, found.gl_pathv[i], NULL, 0));
    assert_int_equal(strncmp(config.dataset.path, "data/", 5), 0);
  }
  globfree(&found);
}
