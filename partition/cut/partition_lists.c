#include "partition/cut/partition_lists.h"

#include "partition/graph/owners.h"
#include "runtime/base/base.h"

/* Rank r has entries [first[r], first[r + 1]) of a list. */
struct list {
  const char *name;
  enum h5_type type;
  int64_t bytes; /* of an entry */
  int64_t *first;
};

static void list_free(struct list *list) {
  free(list->first);
}

static int owners_init(const struct comm *comm, int64_t nodes, struct list *list) {
  *list = (struct list){"/part", H5_INT32, sizeof(int32_t), NULL};
  TRY(memory_arrays("lists of nodes", ROOM(&list->first, comm->size + 1)));
  for (int r = 0; r <= comm->size; r++) list->first[r] = graph_block(nodes, comm->size, r);
  return OK;
}

static int order_init(const struct comm *comm, const struct partition *partition, struct list *list) {
  *list = (struct list){"/order", H5_INT64, sizeof *partition->order, NULL};
  TRY(memory_arrays("lists of nodes", ROOM(&list->first, comm->size + 1)));
  for (int r = 0; r <= comm->size; r++) list->first[r] = partition_place(comm, partition, r);
  return OK;
}

static int64_t count_of(const struct list *list, int r) {
  return list->first[r + 1] - list->first[r];
}

int partition_lists_deal(struct comm *comm, const int32_t *all, struct partition *partition) {
  ENDED_BY(list_free) struct list list = {0};
  FREED struct message *send = NULL;
  int code = owners_init(comm, partition->nodes, &list);
  if (code == OK) code = memory_arrays("messages", ROOM(&send, comm->size));
  TRY(comm_agree(comm, code));
  const struct message recv = {0, partition->part, count_of(&list, comm->rank) * list.bytes};
  for (int r = 0; comm->rank == 0 && r < comm->size; r++)
    send[r] = (struct message){r, (void *)(all + list.first[r]), count_of(&list, r) * list.bytes};
  return comm_swap(comm, send, comm->rank == 0 ? comm->size : 0, &recv, 1);
}

int partition_lists_agree(struct comm *comm, int code, int *usable) {
  *usable = code == OK;
  return comm_broadcast(comm, usable, sizeof *usable, 0);
}

/* Room on rank 0 for the longest list of another rank. */
static int make_room(struct comm *comm, const struct list *list, char **room) {
  int64_t most = 0;
  for (int r = 1; comm->rank == 0 && r < comm->size; r++) most = larger(most, count_of(list, r));
  return comm_agree(comm, memory_alloc(room, most * list->bytes, "lists of nodes"));
}

/* Rank 0 reads the entries of one rank after the other, and sends them there. */
static int fetch(struct comm *comm, const struct list *list, partition_reader *read, void *context,
                 void *own) {
  FREED char *room = NULL;
  TRY(make_room(comm, list, &room));
  for (int r = 0; r < comm->size; r++) {
    void *data = r == comm->rank ? own : room;
    const struct message message = {comm->rank == 0 ? r : 0, data, count_of(list, r) * list->bytes};
    TRY(comm_agree(comm, comm->rank ? OK : read(context, count_of(list, r), data)));
    TRY(comm_swap(comm, &message, comm->rank == 0 && r > 0, &message, comm->rank > 0 && r == comm->rank));
  }
  return OK;
}

int partition_lists_fetch(struct comm *comm, int64_t nodes, partition_reader *read, void *context,
                          int32_t *part) {
  ENDED_BY(list_free) struct list list = {0};
  TRY(comm_agree(comm, owners_init(comm, nodes, &list)));
  return fetch(comm, &list, read, context, part);
}

/* A list of a kept partition. Once something cannot be read, nothing more is. */
struct kept_list {
  struct h5 *h5;
  const struct list *list;
  int64_t at;
  int code;
};

static int read_kept(void *context, int64_t count, void *to) {
  struct kept_list *kept = context;
  if (kept->code == OK)
    kept->code = h5_read_rows(kept->h5, kept->list->name, kept->at, count, kept->list->type, to);
  kept->at += count;
  return OK;
}

static int read_list(struct comm *comm, struct h5 *h5, const struct list *list, void *own, int *usable) {
  struct kept_list kept = {.h5 = h5, .list = list};
  TRY(fetch(comm, list, read_kept, &kept, own));
  return partition_lists_agree(comm, kept.code, usable);
}

static int write_list(struct comm *comm, struct h5 *h5, const struct list *list, const void *own,
                      int *written) {
  FREED char *room = NULL;
  TRY(make_room(comm, list, &room));
  if (h5 && *written == OK) *written = h5_new_dataset(h5, list->name, list->type, list->first[comm->size], 0);
  for (int r = 0; r < comm->size; r++) {
    void *data = r == comm->rank ? (void *)own : room;
    const struct message message = {comm->rank == 0 ? r : 0, data, count_of(list, r) * list->bytes};
    TRY(comm_swap(comm, &message, comm->rank > 0 && r == comm->rank, &message, comm->rank == 0 && r > 0));
    if (h5 && *written == OK)
      *written = h5_write_rows(h5, list->name, list->first[r], count_of(list, r), list->type, data);
  }
  return OK;
}

int partition_lists_write(struct comm *comm, struct h5 *h5, const struct partition *partition, int *written) {
  ENDED_BY(list_free) struct list owners = {0};
  ENDED_BY(list_free) struct list order = {0};
  int code = owners_init(comm, partition->nodes, &owners);
  if (code == OK) code = order_init(comm, partition, &order);
  TRY(comm_agree(comm, code));
  *written = OK;
  TRY(write_list(comm, h5, &owners, partition->part, written));
  return write_list(comm, h5, &order, partition->order, written);
}

static int refuse_owners(const struct h5 *h5, const struct partition *partition, int64_t outside) {
  if (outside == 0) return OK;
  FAIL(BAD_INPUT, "%s: %lld nodes lie in none of %d parts", h5->path, (long long)outside, partition->parts);
}

int partition_lists_read_owners(struct comm *comm, struct h5 *h5, struct partition *partition, int *usable) {
  ENDED_BY(list_free) struct list list = {0};
  int64_t outside = 0;
  TRY(comm_agree(comm, owners_init(comm, partition->nodes, &list)));
  TRY(read_list(comm, h5, &list, partition->part, usable));
  if (!*usable) return OK;
  for (int64_t i = 0; i < count_of(&list, comm->rank); i++)
    outside += partition->part[i] < 0 || partition->part[i] >= partition->parts;
  TRY(comm_sum_int64(comm, &outside));
  TRY(partition_lists_agree(comm, comm->rank ? OK : refuse_owners(h5, partition, outside), usable));
  return *usable ? partition_count_all(comm, partition) : OK;
}

/* A node as an order lists it. */
struct listed {
  int32_t id, part;
};

struct check {
  const struct partition *partition;
  int64_t first; /* node of the rank's block */
  uint8_t *seen; /* [block] */
  int64_t wrong; /* nodes in another part, or that came before */
};

static void compare(const void *records, int64_t count, int32_t *answer, void *context) {
  struct check *check = context;
  const struct listed *listed = records;
  (void)answer;
  for (int64_t i = 0; i < count; i++) {
    const int64_t v = listed[i].id - check->first;
    check->wrong += check->seen[v]++ > 0 || check->partition->part[v] != listed[i].part;
  }
}

/* Nodes at this rank's places, those that there are, for the ranks that know their owners. */
static int64_t list_own(const struct comm *comm, const struct partition *partition, struct listed *listed) {
  const int64_t origin = partition_place(comm, partition, comm->rank);
  const int behind = partition_part(comm, partition, comm->rank + 1);
  int64_t count = 0;
  for (int p = partition_part(comm, partition, comm->rank); p < behind; p++) {
    for (int64_t i = partition->offset[p] - origin; i < partition->offset[p + 1] - origin; i++)
      if (partition->order[i] >= 0 && partition->order[i] < partition->nodes)
        listed[count++] = (struct listed){(int32_t)partition->order[i], p};
  }
  return count;
}

/* Every node once, in the part that owns it: as many as there are, in their parts, none twice. */
static int count_wrong(struct comm *comm, const struct partition *partition, const struct list *order,
                       int64_t *wrong) {
  FREED struct listed *listed = NULL;
  FREED uint8_t *seen = NULL;
  const int64_t first = graph_block(partition->nodes, comm->size, comm->rank),
                block = graph_block(partition->nodes, comm->size, comm->rank + 1) - first;
  int code = memory_arrays("check of the order", ROOM(&listed, count_of(order, comm->rank)));
  if (code == OK) code = memory_alloc(&seen, block, "check of the order");
  TRY(comm_agree(comm, code));
  struct check check = {partition, first, seen, 0};
  const int64_t count = list_own(comm, partition, listed);
  const struct question question = {listed, sizeof *listed, count};
  TRY(comm_agree(comm, owners_ask(comm, partition->nodes, question, compare, &check, NULL)));
  *wrong = check.wrong + count_of(order, comm->rank) - count;
  return comm_sum_int64(comm, wrong);
}

static int refuse_order(const struct h5 *h5, int64_t wrong) {
  if (wrong == 0) return OK;
  FAIL(BAD_INPUT, "%s: order does not list the nodes of each part once", h5->path);
}

int partition_lists_read_order(struct comm *comm, struct h5 *h5, struct partition *partition, int *usable) {
  ENDED_BY(list_free) struct list list = {0};
  int64_t wrong = 0;
  int code = order_init(comm, partition, &list);
  if (code == OK)
    code = memory_arrays("order of nodes", ROOM(&partition->order, count_of(&list, comm->rank)));
  TRY(comm_agree(comm, code));
  TRY(read_list(comm, h5, &list, partition->order, usable));
  if (!*usable) return OK;
  TRY(count_wrong(comm, partition, &list, &wrong));
  return partition_lists_agree(comm, comm->rank ? OK : refuse_order(h5, wrong), usable);
}
