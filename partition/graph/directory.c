#include "partition/graph/directory.h"

#include "partition/graph/owners.h"
#include "runtime/base/base.h"

void directory_free(struct directory *directory) {
  free_all(directory->offset, directory->id, directory->position);
  *directory = (struct directory){0};
}

static int ranks_of(const struct directory *d) {
  return d->grid.rows * d->grid.cols;
}

int64_t directory_bytes(const struct directory *d) {
  if (!d->offset) return 0;
  return (ranks_of(d) + 1) * (int64_t)sizeof *d->offset + d->rows * (int64_t)sizeof *d->id +
         d->count * (int64_t)sizeof *d->position;
}

/* offset[ranks + 1] is copied. */
static int allocate(const struct comm *comm, struct grid grid, const int64_t *offset, struct directory *d) {
  const int readers = comm->lone ? 1 : comm->size, reader = comm->lone ? 0 : comm->rank,
            row = comm->rank / grid.cols * grid.cols;
  *d = (struct directory){.grid = grid, .rank = comm->rank, .nodes = offset[comm->size]};
  d->row_first = offset[row];
  d->rows = offset[row + grid.cols] - d->row_first;
  d->first = graph_block(d->nodes, readers, reader);
  d->count = graph_block(d->nodes, readers, reader + 1) - d->first;
  TRY(memory_arrays("owners of nodes", ROOM(&d->offset, comm->size + 1), ROOM(&d->id, d->rows),
                    ROOM(&d->position, d->count)));
  memcpy(d->offset, offset, (size_t)(comm->size + 1) * sizeof *offset);
  return OK;
}

/* A message of what both stretches of places have, if they meet; *data: that of place `origin`. */
static int meet(const int64_t held[2], const int64_t wanted[2], int peer, const int64_t *data, int64_t origin,
                struct message *message) {
  const int64_t first = larger(held[0], wanted[0]), behind = smaller(held[1], wanted[1]);
  if (first >= behind) return 0;
  *message = (struct message){peer, (void *)(data + first - origin),
                              (behind - first) * (int64_t)sizeof *data};
  return 1;
}

/* Ids go from the ranks that list them to those that own them. */
static int deal(struct comm *comm, const struct partition *partition, struct message *messages,
                struct directory *d) {
  const int size = comm->size, rank = comm->rank;
  const int64_t listed[] = {partition_place(comm, partition, rank),
                            partition_place(comm, partition, rank + 1)},
                owned[] = {d->row_first, d->row_first + d->rows};
  struct message *recv = messages + size;
  int sends = 0, recvs = 0;
  for (int r = 0; r < size; r++) {
    const int row = directory_row_of_grid(d, r);
    const int64_t others[] = {partition_place(comm, partition, r), partition_place(comm, partition, r + 1)},
                  wanted[] = {d->offset[row], d->offset[row + d->grid.cols]};
    sends += meet(listed, wanted, r, partition->order, listed[0], &messages[sends]);
    recvs += meet(others, owned, r, d->id, d->row_first, &recv[recvs]);
  }
  return comm_swap(comm, messages, sends, recv, recvs);
}

/* All nodes' positions, of a rank that knows the order of all (NULL: the file's). */
static void number_all(const int64_t *order, struct directory *d) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < d->nodes; i++) d->position[order ? order[i] : i] = (int32_t)i;
}

static int take_order(struct comm *comm, const struct partition *partition, struct directory *d) {
  FREED struct message *messages = NULL;
  int64_t kept = partition->order != NULL;
  int code = allocate(comm, partition->grid, partition->offset, d);
  if (code == OK) code = memory_arrays("messages", ROOM(&messages, 2 * comm->size));
  TRY(comm_agree(comm, code));
  TRY(comm_max_int64(comm, &kept));
  if (kept && !comm->lone) return deal(comm, partition, messages, d);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < d->rows; i++)
    d->id[i] = kept ? partition->order[d->row_first + i] : d->row_first + i;
  return OK;
}

int directory_init(struct comm *comm, const struct partition *partition, struct directory *d) {
  *d = (struct directory){0};
  if (partition->parts != comm->size)
    FAIL(FAILED, "a partition into %d parts cannot be trained on %d ranks", partition->parts, comm->size);
  TRY(take_order(comm, partition, d));
  if (!comm->lone) return directory_tell(comm, d);
  number_all(partition->order, d);
  return OK;
}

int directory_init_ids(struct comm *comm, const int64_t *offset, const int64_t *id, struct directory *d) {
  *d = (struct directory){0};
  TRY(comm_agree(comm, allocate(comm, (struct grid){comm->size, 1}, offset, d)));
  memcpy(d->id, id, (size_t)d->rows * sizeof *id);
  return directory_tell(comm, d);
}

int directory_init_first(struct comm *comm, const struct directory *all, int64_t nodes, struct directory *d) {
  FREED int64_t *offset = NULL;
  int64_t own = 0;
  *d = (struct directory){0};
  TRY(comm_agree(comm, memory_arrays("owners of nodes", ROOM(&offset, comm->size + 1))));
  while (own < all->rows && all->id[own] < nodes) own++;
  TRY(comm_gather_all(comm, &own, sizeof own, offset + 1));
  for (int r = 0; r < comm->size; r++) offset[r + 1] += offset[r];
  TRY(comm_agree(comm, allocate(comm, all->grid, offset, d)));
  memcpy(d->id, all->id, (size_t)own * sizeof *d->id);
  return directory_tell(comm, d);
}

struct told {
  int32_t id, position;
};

static void put_positions(const void *records, int64_t count, int32_t *answer, void *context) {
  const struct directory *d = context;
  const struct told *told = records;
  (void)answer;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) d->position[told[i].id - d->first] = told[i].position;
}

static int tell(struct comm *comm, struct directory *d) {
  FREED struct told *told = NULL;
  const int64_t own = directory_own(d), *id = directory_own_ids(d), before = d->offset[d->rank];
  TRY(memory_arrays("positions of nodes", ROOM(&told, own)));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < own; i++) told[i] = (struct told){(int32_t)id[i], (int32_t)(before + i)};
  return owners_ask(comm, d->nodes, (struct question){told, sizeof *told, own}, put_positions, d, NULL);
}

int directory_tell(struct comm *comm, struct directory *d) {
  if (comm->size > 1) return comm_agree(comm, tell(comm, d));
  number_all(d->id, d);
  return OK;
}

int directory_ask(struct comm *comm, const struct directory *d, const int32_t *id, int64_t count,
                  int32_t *position) {
  if (!comm->lone) return comm_agree(comm, owners_look_up(comm, d->nodes, d->position, id, count, position));
  for (int64_t i = 0; i < count; i++) position[i] = d->position[id[i]];
  return OK;
}
