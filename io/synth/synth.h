/* synth: graphs made to order, with planted labels and features that speak of them.
 *
 * Degree-corrected communities: node u weighs (U_u + 1e-3)^-power, communities are ranges of ids, a share of
 * the edges ends inside the source's community, both ends drawn in proportion to weight. Or R-MAT
 * (Chakrabarti et al., SDM 2004). Symmetric, no self loops, no duplicates. Communities map to classes; a
 * label is the class of its community, wrong with probability label_noise; features are the class's mean plus
 * unit noise.
 *
 * Every number is keyed by seed and by the node or edge it belongs to, and sums that decide something are
 * integer or sequential: the result is equal on any number of threads. Shuffling renames nodes, no more. */
#ifndef IO_SYNTH_SYNTH_H
#define IO_SYNTH_SYNTH_H

#include "io/dataset/dataset.h"
#include "io/synth/synth_features.h"
#include "io/synth/synth_options.h"
#include "io/synth/synth_rows.h"

/* Fills a zeroed source with graph, labels and split; its features come in blocks from `features`, which must
 * outlive the source. The caller frees both, also after an error. Errors: BAD_INPUT for options that do not
 * go together (more classes than communities, more edges than the graph has room for), FAILED for memory. */
int synth_make(const struct synth *synth, struct dataset_source *source, struct synth_features *features);

struct comm;

/* Makes the rows of the graph, or of the hyperedges, that rows->first and rows->rows name. comm NULL: alone;
 * this process draws all edges and keeps those of these rows. Else collective: every rank asks for the rows
 * behind those of the rank before it, and draws its share of the edges. While edges are drawn 20 to 28 bytes
 * a node of the whole graph are held. The caller frees the arrays, also after an error. Errors: as above. */
int synth_make_rows(struct comm *comm, const struct synth *synth, struct synth_rows *rows);
/* How many rows there are; a warning where all of them are not quite what was asked for. */
int64_t synth_row_count(const struct synth *synth);
void synth_say(const struct synth *synth, const struct synth_rows *rows);

#endif
