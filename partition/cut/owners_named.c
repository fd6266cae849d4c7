#include "partition/cut/owners_named.h"

#include "partition/cut/owners_file.h"
#include "partition/cut/partition_lists.h"
#include "runtime/base/base.h"
#include "runtime/base/fnv.h"

/* What rank 0 reads; the next of it. */
struct naming {
  struct progress *progress;
  struct partition_key *key;
  struct owners_file file;
  int64_t nodes, count;
  int32_t *part;
};

static void naming_free(struct naming *naming) {
  owners_file_close(&naming->file);
}

static int open_file(void *context) {
  struct naming *naming = context;
  return owners_file_open(&naming->file, naming->key->config->partition.file, naming->nodes,
                          naming->key->parts);
}

static int read_part(void *context) {
  struct naming *naming = context;
  TRY(owners_file_next(&naming->file, naming->count, naming->part));
  naming->key->hash = fnv_add(naming->key->hash, naming->part, naming->count * (int64_t)sizeof *naming->part);
  return OK;
}

/* In a thread of its own: a text may take long. */
static int work(struct naming *naming, int (*call)(void *context)) {
  return progress_work(naming->progress, "reading the parts", call, naming);
}

static int read_next(void *context, int64_t count, void *part) {
  struct naming *naming = context;
  naming->count = count;
  naming->part = part;
  return work(naming, read_part);
}

int owners_named(struct progress *progress, int64_t vertices, struct partition_key *key, int32_t **named) {
  struct comm *comm = progress->comm;
  ENDED_BY(naming_free)
  struct naming naming = {.progress = progress, .key = key, .nodes = vertices ? vertices : key->nodes};
  const int64_t block = graph_block(key->nodes, comm->size, comm->rank + 1) -
                        graph_block(key->nodes, comm->size, comm->rank),
                all = comm->rank ? 0 : vertices;
  TRY(comm_agree(comm, memory_arrays("parts of nodes", ROOM(named, vertices ? all : block))));
  TRY(comm_agree(comm, comm->rank ? OK : work(&naming, open_file)));
  if (!vertices) return partition_lists_fetch(comm, key->nodes, read_next, &naming, *named);
  return comm_agree(comm, comm->rank ? OK : read_next(&naming, vertices, *named));
}
