#include "partition/shard/shard.h"

#include "partition/graph/id_map.h"
#include "partition/halo/halo_lone.h"
#include "runtime/base/base.h"

/* What peers would ask of a rank alone of the rows of one direction, by the arcs of the other. */
static int foresee(struct comm *comm, const struct directory *directory, const struct adjacency *other,
                   struct adjacency *adjacency) {
  const struct halo_reach reach = {other->halo_part, other->halo.id, INT64_MAX, NULL, 0};
  return comm->lone ? halo_foresee(comm, directory, &reach, &adjacency->halo) : OK;
}

int shard_init(struct comm *comm, struct dataset *dataset, const struct directory *directory,
               struct graph *block, enum self_loops loops, struct shard *shard) {
  *shard = (struct shard){.global_nodes = dataset->nodes,
                          .directed = dataset->directed,
                          .features = dataset->features,
                          .classes = dataset->classes,
                          .sparse = dataset->sparse,
                          .own = directory_own(directory),
                          .global_id = directory_own_ids(directory)};
  TRY(adjacency_init(comm, directory, block, shard->directed || comm->lone, loops, NULL, &shard->in));
  TRY(shard_graphs_init(comm, dataset, directory, &shard->in, &shard->graphs));
  if (!shard->directed) return foresee(comm, directory, &shard->in, &shard->in);
  TRY(adjacency_init(comm, directory, block, comm->lone, loops, &shard->in, &shard->out));
  TRY(foresee(comm, directory, &shard->out, &shard->in));
  return foresee(comm, directory, &shard->in, &shard->out);
}

int shard_add_levels(struct comm *comm, const struct directory *directory, const struct levels *levels,
                     struct shard *shard) {
  const struct shard_rows rows = {shard->own, shard->global_id, &shard->in,
                                  shard->directed ? &shard->out : &shard->in};
  return shard_levels_init(comm, directory, levels, &rows, &shard->levels);
}

void shard_free(struct shard *shard) {
  shard_levels_free(&shard->levels);
  shard_graphs_free(&shard->graphs);
  adjacency_free(&shard->in);
  adjacency_free(&shard->out);
  hyper_free(&shard->hyper);
  csr_free(&shard->feature_rows);
  free_all(shard->feature, shard->label, shard->labels);
  for (int s = 0; s < SPLIT_COUNT; s++) free(shard->split[s]);
  *shard = (struct shard){0};
}

static void add_peers(const struct halo *halo, uint8_t *peer) {
  for (int p = 0; p < halo->peers; p++) peer[halo->peer[p].rank] = 1;
}

/* Those of the transpose are the same where rows go from rank to rank, and those of a level are among them.
 */
void shard_peers(const struct comm *comm, const struct shard *shard, uint8_t *peer) {
  const struct halo *halo[] = {&shard->in.halo, &shard->out.halo, &shard->hyper.all.halo};
  memset(peer, 0, (size_t)comm->size);
  for (int i = 0; i < 3; i++) {
    const struct halo_relay *relay = halo[i]->relay;
    add_peers(relay ? &relay->first : halo[i], peer);
    if (relay) add_peers(&relay->second, peer);
  }
  peer[comm->rank] = 0;
}

int64_t shard_bytes(const struct shard *shard) {
  int64_t own = shard->own,
          bytes = adjacency_bytes(&shard->in) + adjacency_bytes(&shard->out) + hyper_bytes(&shard->hyper);
  bytes += shard_levels_bytes(&shard->levels) + shard_graphs_bytes(&shard->graphs);
  if (shard->feature) bytes += own * shard->features * (int64_t)sizeof *shard->feature;
  if (shard->feature_rows.start) bytes += csr_bytes(&shard->feature_rows);
  if (shard->label) bytes += own * (int64_t)sizeof *shard->label;
  if (shard->labels) bytes += own * shard->classes;
  for (int s = 0; s < SPLIT_COUNT; s++) bytes += shard->split_count[s] * (int64_t)sizeof *shard->split[s];
  return bytes;
}

int64_t shard_build_bytes(const struct shard *shard) {
  const int64_t features = shard->feature ? shard->own * shard->features * (int64_t)sizeof *shard->feature
                                          : csr_bytes(&shard->feature_rows);
  const int64_t data = shard_bytes(shard) +
                       2 * smaller(DATASET_BLOCK, features); /* own rows and two blocks */
  const int64_t out = shard->directed ? adjacency_bytes(&shard->in) + shard->out.making : 0;
  return larger(larger(shard->in.making, out), data);
}
