/* comm_lone: one rank of a job whose other ranks are not there, to see what it takes and for how long.
 *
 * In set-up nothing comes from the other ranks, what is sent to them is gone, and a sum over the ranks is
 * what this one gave: whoever needs more finds it without them. Of an epoch's messages nothing travels;
 * they last as long as a network is said to need for them. */
#ifndef RUNTIME_COMM_COMM_LONE_H
#define RUNTIME_COMM_COMM_LONE_H

#include "runtime/comm/comm.h"

/* What a way between ranks takes: before the first byte, then for each byte that a rank sends, or receives,
 * whichever are more; before a reduction's first byte, and for each byte of a short one, 0: as for any.
 * Seconds. */
struct network_link {
  double start, byte, reduce_start, reduce_byte;
};

/* Ranks of a host are as many as local_size; the first ones are on the first host. */
struct network {
  struct network_link within, between; /* hosts */
  double beside;                       /* the share of messages' time that they take from work beside them */
  int local_size;
  struct network_link stored; /* rows that go straight into another GPU's memory; byte 0: as `within` */
};

/* *comm is rank `rank` of `size`, alone; `of`: an open comm of one rank, whose timeout it takes. comm_close
 * ends it, and not `of`. Errors: FAILED when memory is short. */
int comm_lone_open(struct comm *comm, const struct comm *of, int rank, int size,
                   const struct network *network);

/* Takes the device whose buffers are to travel, as comm_attach does. */
void comm_lone_attach(struct comm *comm, struct device *device);

/* Whether what follows is stored into the memory of ranks of the same host. */
void comm_lone_stores(struct comm *comm, int stores);

/* Before the compute stream waits for the first of several exchanges that are under way: it has had less of
 * the device until then. comm_wait is for the others. */
int comm_lone_wait_first(struct comm *comm);

/* Seconds of messages, and of a reduction of so many bytes over all ranks: by a ring in each host, and then
 * of a share for each of its ranks by a ring of the hosts. A reduction goes the way of short ones, or of long
 * ones, which pay the start of messages as well: the one that is faster. */
double network_exchange_seconds(const struct network *network, int rank, const struct message *sends,
                                int send_count, const struct message *recvs, int recv_count);
double network_reduce_seconds(const struct network *network, int ranks, double bytes);

#endif
