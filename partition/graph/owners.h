/* owners: questions to the ranks that own ids. Ids [0, ids) lie on the ranks in blocks (graph_block). */
#ifndef PARTITION_GRAPH_OWNERS_H
#define PARTITION_GRAPH_OWNERS_H

#include <stdint.h>

#include "runtime/comm/comm.h"

/* Records of `bytes` each that begin with an id, an int32_t. */
struct question {
  const void *record;
  int64_t bytes, count;
};

/* Answers records[count], all of own ids, in answer[count]. All that were asked come in one call, those of
 * lower ranks first, each rank's in the order in which it put them. */
typedef void owners_answer(const void *records, int64_t count, int32_t *answer, void *context);

/* Collective. answer[i]: what the owner says to record i. NULL: nobody waits for answers, and `say` gets no
 * room for them. */
int owners_ask(struct comm *comm, int64_t ids, struct question question, owners_answer *say, void *context,
               int32_t *answer);

/* Collective. value[i] = what the owner of id[i] has for it in `own`, an entry for each of its ids. */
int owners_look_up(struct comm *comm, int64_t ids, const int32_t *own, const int32_t *id, int64_t count,
                   int32_t *value);

#endif
