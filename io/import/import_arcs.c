#include "io/import/import_arcs.h"

#include "io/file/text_pieces.h"
#include "runtime/base/base.h"

enum { APART = 128 }; /* bytes: what threads write at every line shares no line of a cache */

struct reading {
  struct import *import;
  const struct arc_reader *reader;
  char *state;
  char *piece; /* states of the pieces */
  struct arcs *arcs;
};

static char *state_of(const struct reading *reading, int p) {
  return reading->piece + (size_t)p * (reading->reader->size + APART);
}

static int read_piece(void *context, struct text *text, int p) {
  struct reading *reading = context;
  char *state = state_of(reading, p);
  struct arcs arcs = reading->arcs[p];
  memcpy(state, reading->state, reading->reader->size);
  arcs.weighted = reading->import->edges.list.weighted;
  int code = reading->reader->lines(state, text, &arcs);
  if (code == OK) code = arcs_pack(&arcs);
  reading->arcs[p] = arcs;
  return code;
}

static int join_pieces(void *context, int pieces) {
  struct reading *reading = context;
  const struct arc_reader *reader = reading->reader;
  for (int p = 0; p < pieces; p++) {
    TRY(arcs_join(&reading->import->edges.list, &reading->arcs[p]));
    if (reader->join) reader->join(reading->state, state_of(reading, p));
  }
  return OK;
}

int import_arc_lines(struct import *import, struct text *text, const struct arc_reader *reader, void *state) {
  const struct text_pieces pieces = {read_piece, join_pieces};
  int most = text_pieces_most();
  FREED char *piece = NULL;
  struct reading reading = {.import = import, .reader = reader, .state = state};
  TRY(memory_arrays("pieces of a text", ROOM(&piece, most * ((int64_t)reader->size + APART))));
  reading.piece = piece;
  TRY(memory_arrays("pieces of a text", ROOM(&reading.arcs, most)));
  int code = text_pieces_read(text, &pieces, &reading);
  for (int p = 0; p < most; p++) arcs_free(&reading.arcs[p]);
  free(reading.arcs);
  return code;
}

/* The ids of pairs. */
struct id_range {
  int64_t base, nodes;
};

static int read_pair(const struct id_range *ids, const struct text *text, char *line, struct arcs *arcs) {
  int64_t id[2];
  for (int k = 0; k < 2; k++) {
    TRY(text_int(text, &line, &id[k], "two node ids"));
    if (id[k] < ids->base || id[k] - ids->base >= ids->nodes)
      TEXT_FAIL(text, "node %lld is outside %lld .. %lld", (long long)id[k], (long long)ids->base,
                (long long)(ids->base + ids->nodes) - 1);
  }
  TRY(text_end(text, &line, "two node ids"));
  return arcs_add(arcs, id[0] - ids->base, id[1] - ids->base, 1);
}

static int read_pairs(void *ids, struct text *text, struct arcs *arcs) {
  char *line;
  for (;;) {
    TRY(text_row(text, "#", &line));
    if (!line) return OK;
    TRY(read_pair(ids, text, line, arcs));
  }
}

int import_pair_lines(struct import *import, struct text *text, int64_t base) {
  static const struct arc_reader reader = {sizeof(struct id_range), read_pairs, NULL};
  struct id_range ids = {base, import->edges.nodes};
  return import_arc_lines(import, text, &reader, &ids);
}
