/* Settings: TOML in files and on command lines, and the command lines themselves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dataset_path.h"
#include "kernels/cost/cost_models.h"
#include "launch/gnndata/gnndata_commands.h"
#include "launch/gnntrain/gnntrain_options.h"
#include "runtime/base/error.h"
#include "runtime/config/config.h"
#include "tests/fuzz/target.h"

/* What was read stands in a checkpoint as text, and is read again from there: nothing may change. */
static void check_round_trip(const struct config *config) {
  static struct config again;
  char *text;
  if (config_text(config, &text) != OK) abort();
  int code = config_parse(&again, text, config->path);
  if (code != OK) {
    fprintf(stderr, "fuzz: its own text is not read: %s\n%s", error_message(), text);
    abort();
  }
  if (memcmp(&again, config, sizeof again) != 0) abort();
  free(text);
}

void fuzz_toml(const uint8_t *data, size_t size) {
  static struct config config;
  int code = config_read(&config, fuzz_file("config.toml", data, size), NULL, 0);
  if (code == OK) check_round_trip(&config);
  fuzz_check_text(code == OK, data, size);
  fuzz_check_code(code);
}

void fuzz_set(const uint8_t *data, size_t size) {
  static struct config config;
  char *assignment = fuzz_text(data, size);
  fuzz_check_code(config_parse(&config, "dataset.path = \"data.h5\"\n", "config.toml"));
  int code = config_set(&config, assignment);
  if (code == OK) check_round_trip(&config);
  fuzz_check_code(code);
  free(assignment);
}

void fuzz_constants(const uint8_t *data, size_t size) {
  static struct cost_constants constants;
  int code = cost_constants_find(fuzz_file("constants.toml", data, size), &constants);
  if (code == OK) code = cost_models_read(constants.text, constants.path);
  const struct cost_model *model = cost_model_of("NVIDIA H200");
  if (!(model->cached_bytes > 0 && model->distant_bytes > model->cached_bytes)) abort();
  fuzz_check_text(code == OK, data, size);
  fuzz_check_code(code);
}

/* Opening reads the options and makes nothing. */
void fuzz_synth_path(const uint8_t *data, size_t size) {
  struct dataset dataset;
  char *list = fuzz_text(data, size), path[CONFIG_TEXT];
  snprintf(path, sizeof path, "synth:%s", list);
  int code = dataset_path_open(&dataset, path);
  if (code == OK && (dataset.nodes < 2 || dataset.features < 1 || dataset.classes < 2)) abort();
  dataset_close(&dataset);
  fuzz_check_code(code);
  free(list);
}

enum { ARGUMENTS = 300 };

/* An argument a line, behind the program's name. The caller frees the text, argv[0]. */
static int arguments_of(const uint8_t *data, size_t size, char *argv[ARGUMENTS + 1]) {
  int argc = 0;
  char *at = fuzz_text(data, size), *text = at;
  argv[argc++] = text;
  for (char *end = strchr(at, '\n'); end && argc < ARGUMENTS; end = strchr(at, '\n')) {
    *end = '\0';
    if (argc > 1 || at > text) argv[argc++] = at;
    at = end + 1;
    if (argc == 1) argv[argc++] = text;
  }
  argv[argc] = NULL;
  return argc;
}

void fuzz_gnntrain_line(const uint8_t *data, size_t size) {
  static struct command_line line;
  static struct config config;
  char *argv[ARGUMENTS + 1];
  int argc = arguments_of(data, size, argv);
  int code = command_line_read(&line, argc, argv);
  if (code == OK && line.config) {
    static const char text[] = "dataset.path = \"data.h5\"\n";
    code = config_read(&config, fuzz_file("config.toml", text, sizeof text - 1), line.set, line.set_count);
  }
  fuzz_check_code(code);
  free(argv[0]);
}

/* Names with a slash would lead out of the folder; 16 million random features are what was asked for. */
static int stays_small(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *random = strstr(argv[i], "random:");
    if (strchr(argv[i], '/') || strstr(argv[i], "..") || (random && strlen(random) > 16)) return 0;
    if (random && strspn(random + 7, "0123456789+") > 3) return 0;
  }
  return 1;
}

/* The files that a line of gnndata import may name. */
static void make_inputs(void) {
  fuzz_folder("line");
  fuzz_file("line/arcs", "0 1\n1 2\n2 3\n", 12);
  fuzz_file("line/labels", "0\n1\n0\n1\n", 8);
  fuzz_file("line/split", "train\nval\ntest\nnone\n", 20);
  fuzz_file("line/f.csv", "1 2\n3 4\n5 6\n7 8\n", 16);
  static const char nodes[] = "id,label,part,f\nx,b,train,1\ny,a,val,2\nz,,,3\n",
                    edges[] = "a,b,w\nx,y,1\ny,z,2\n";
  fuzz_file("line/nodes", nodes, sizeof nodes - 1);
  fuzz_file("line/edges", edges, sizeof edges - 1);
  fuzz_remove("line/out.h5");
}

/* gnndata prints its help and what it has made; a fuzzer's lines go to stderr. */
static void quieten(void) {
  static int quiet;
  if (quiet++) return;
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDOUT_FILENO) < 0) abort();
  close(null);
}

void fuzz_import_line(const uint8_t *data, size_t size) {
  char *argv[ARGUMENTS + 1];
  int argc = arguments_of(data, size, argv), here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  make_inputs();
  quieten();
  if (here >= 0 && stays_small(argc, argv) && chdir(fuzz_path("line")) == 0) {
    int code = gnndata_import(argc, argv);
    if (fchdir(here) != 0) abort();
    fuzz_check_code(code);
  }
  if (here >= 0) close(here);
  free(argv[0]);
}
