#include "models/train/rank_consistency.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/fnv.h"

/* The first key that differs from rank 0's. */
struct difference {
  char key[64], first[200], mine[200];
};

static void on_difference(const char *key, const char *first, const char *mine, void *context) {
  struct difference *d = context;
  if (d->key[0] || strcmp(key, "runtime.threads") == 0) return;
  snprintf(d->key, sizeof d->key, "%s", key);
  snprintf(d->first, sizeof d->first, "%s", first);
  snprintf(d->mine, sizeof d->mine, "%s", mine);
}

static int compare(const struct comm *comm, const struct config *config, const char *text) {
  FREED struct config *first = NULL;
  struct difference d = {0};
  TRY(memory_arrays("rank 0's configuration", ROOM(&first, 1)));
  TRY(config_parse(first, text, "rank 0's configuration"));
  config_compare(first, config, on_difference, &d);
  if (d.key[0])
    FAIL(BAD_INPUT, "rank %d has %s = %s, rank 0 has %s; all ranks must have the same configuration",
         comm->rank, d.key, d.mine, d.first);
  return OK;
}

/* Rank 0's text for all; the caller frees it. */
static int share_text(struct comm *comm, char *mine, char **text) {
  int64_t bytes = (int64_t)strlen(mine) + 1;
  TRY(comm_broadcast(comm, &bytes, sizeof bytes, 0));
  TRY(comm_agree(comm, memory_alloc(text, bytes, "rank 0's configuration")));
  if (comm->rank == 0) memcpy(*text, mine, (size_t)bytes);
  return comm_broadcast(comm, *text, bytes, 0);
}

int rank_consistency_config(struct comm *comm, const struct config *config) {
  FREED char *mine = NULL, *text = NULL;
  TRY(comm_agree(comm, config_text(config, &mine)));
  TRY(share_text(comm, mine, &text));
  return comm_agree(comm, compare(comm, config, text));
}

/* Up to the end of the file: a call may be interrupted, or bring less, on one rank and not on another. */
static int64_t read_at(int file, char *bytes, int64_t size, int64_t from) {
  int64_t read = 0;
  while (read < size) {
    ssize_t more = pread(file, bytes + read, (size_t)(size - read), from + read);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    if (more == 0) break;
    read += more;
  }
  return read;
}

static int sample(const char *path, uint64_t *hash) {
  enum { PLACES = 64, BYTES = 4096 };
  char bytes[BYTES];
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC), failed = file < 0 || fstat(file, &status) != 0;
  int64_t size = failed ? 0 : status.st_size;
  *hash = fnv_add(FNV_START, &size, sizeof size);
  for (int64_t i = 0; i < PLACES && !failed; i++) {
    int64_t got = read_at(file, bytes, BYTES, size / PLACES * i);
    failed = got < 0;
    *hash = fnv_add(*hash, bytes, got < 0 ? 0 : got);
  }
  int error = errno;
  if (file >= 0) close(file);
  if (failed) FAIL(BAD_INPUT, "%s: cannot be read: %s", path, strerror(error));
  return OK;
}

static int compare_file(const struct comm *comm, const char *path, uint64_t mine, uint64_t first) {
  if (mine != first)
    FAIL(BAD_INPUT, "%s: is another file for rank %d than for rank 0; all ranks must read the same", path,
         comm->rank);
  return OK;
}

int rank_consistency_file(struct comm *comm, const char *path) {
  uint64_t mine = 0;
  TRY(comm_agree(comm, sample(path, &mine)));
  uint64_t first = mine;
  TRY(comm_broadcast(comm, &first, sizeof first, 0));
  return comm_agree(comm, compare_file(comm, path, mine, first));
}

static int compare_device(const struct comm *comm, const char *mine, const char *first) {
  if (strcmp(mine, first) != 0)
    FAIL(BAD_INPUT,
         "rank %d chose the device \"%s\", rank 0 \"%s\"; all ranks must have the same: say --device %s, or "
         "leave out the node whose GPUs are not found",
         comm->rank, mine, first, strcmp(first, "cpu") == 0 ? first : mine);
  return OK;
}

int rank_consistency_device(struct comm *comm, const char *name) {
  char first[32] = "";
  snprintf(first, sizeof first, "%s", name);
  TRY(comm_broadcast(comm, first, sizeof first, 0));
  return comm_agree(comm, compare_device(comm, name, first));
}
