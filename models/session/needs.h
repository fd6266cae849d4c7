/* needs: what training takes at the least, on all ranks together, from the configuration and the dataset's
 * header alone: so that what cannot fit is refused before anything is read. Halos, layouts, scratch and
 * libraries are left out, and nothing is counted that any model or setting does without; so what is refused
 * would not have fitted, however the graph is cut. */
#ifndef MODELS_SESSION_NEEDS_H
#define MODELS_SESSION_NEEDS_H

#include "io/dataset/dataset.h"
#include "runtime/base/memory.h"
#include "runtime/config/config.h"

/* Adds to what hosts and devices take; they may be one (then device memory is the hosts'). */
void needs_add(const struct config *config, const struct dataset *dataset, int hypergraph, int ranks,
               struct estimate *host, struct estimate *device);

/* Errors: FAILED where `least` is more than is there, of "GPU memory" or "memory", naming its parts. */
int needs_check(const struct estimate *least, const char *kind, int ranks, int64_t there);

#endif
