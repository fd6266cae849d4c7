#include "tests/fuzz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"

const struct fuzz_target fuzz_targets[] = {
    {"toml", fuzz_toml},
    {"set", fuzz_set},
    {"constants", fuzz_constants},
    {"synth_path", fuzz_synth_path},
    {"gnntrain_line", fuzz_gnntrain_line},
    {"import_line", fuzz_import_line},
    {"table", fuzz_table},
    {"edgelist", fuzz_edgelist},
    {"konect", fuzz_konect},
    {"mtx", fuzz_mtx},
    {"metis", fuzz_metis},
    {"hypergraph", fuzz_hypergraph},
    {"hmetis", fuzz_hmetis},
    {"allset", fuzz_allset},
    {"tud", fuzz_tud},
    {"gin", fuzz_gin},
    {"labels", fuzz_labels},
    {"split", fuzz_split},
    {"csv", fuzz_csv},
    {"ids", fuzz_ids},
    {"gzip", fuzz_gzip},
    {"metrics", fuzz_metrics},
    {"npy", fuzz_npy},
    {"npz", fuzz_npz},
    {"arrays", fuzz_arrays},
    {"beside", fuzz_beside},
    {"ogb", fuzz_ogb},
    {"ogb_arrays", fuzz_ogb_arrays},
    {"dgl", fuzz_dgl},
    {"dataset", fuzz_dataset},
    {"checkpoint", fuzz_checkpoint},
    {"parts", fuzz_parts_file},
    {NULL, NULL},
};

static char folder[256];
static pid_t owner; /* children that probe files leave the folder alone */

const struct fuzz_target *fuzz_find(const char *name) {
  for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
    if (strcmp(t->name, name) == 0) return t;
  }
  return NULL;
}

static _Noreturn void give_up(const char *what) {
  fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place) {
  (void)status, (void)flag, (void)place;
  return remove(path);
}

static void remove_folder(void) {
  if (getpid() == owner) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void fuzz_start(void) {
  const char *base = getenv("TMPDIR");
  if (!base) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  if (snprintf(folder, sizeof folder, "%s/gnntrain-fuzz-XXXXXX", base) >= (int)sizeof folder ||
      !mkdtemp(folder))
    give_up(folder);
  owner = getpid();
  atexit(remove_folder);
  log_open(0);
}

const char *fuzz_path(const char *name) {
  static char path[8][512];
  static int next;
  char *into = path[next++ % 8];
  snprintf(into, sizeof path[0], "%s/%s", folder, name);
  return into;
}

const char *fuzz_file(const char *name, const void *data, size_t size) {
  const char *path = fuzz_path(name);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) give_up(path);
  for (size_t done = 0; done < size;) {
    ssize_t more = write(file, (const char *)data + done, size - done);
    if (more < 0) give_up(path);
    done += (size_t)more;
  }
  if (close(file) != 0) give_up(path);
  return path;
}

void fuzz_remove(const char *name) {
  const char *path = fuzz_path(name);
  if (unlink(path) != 0 && errno != ENOENT) give_up(path);
}

void fuzz_folder(const char *name) {
  const char *path = fuzz_path(name);
  if (mkdir(path, 0700) != 0 && errno != EEXIST) give_up(path);
}

int fuzz_parts(const uint8_t *data, size_t size, struct fuzz_part *part, int most) {
  static const char line[] = "====\n";
  enum { LINE = sizeof line - 1 };
  int parts = 0;
  while (parts < most) {
    const uint8_t *stop = size ? memmem(data, size, line, LINE) : NULL;
    size_t length = stop ? (size_t)(stop - data) : size;
    part[parts++] = (struct fuzz_part){data, length};
    if (!stop) break;
    data += length + LINE;
    size -= length + LINE;
  }
  return parts;
}

char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) give_up("a text");
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

void fuzz_check_text(int taken, const uint8_t *data, size_t size) {
  int gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
  if (!taken || gzip || !size || !memchr(data, '\0', size)) return;
  fputs("fuzz: a text with a NUL was taken\n", stderr);
  abort();
}

static void check_code(int code, int failing) {
  if (code != OK && code != BAD_INPUT && !(failing && code == FAILED)) {
    fprintf(stderr, "fuzz: code %d: %s\n", code, error_message());
    abort();
  }
  if (code != OK && error_message()[0] == '\0') abort();
  error_clear();
}

void fuzz_check_code(int code) {
  check_code(code, 0);
}

void fuzz_check_h5_code(int code) {
  check_code(code, 1);
}
