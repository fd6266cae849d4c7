#include "io/import/import_split_file.h"

#include "io/file/text.h"
#include "io/import/splits.h"
#include "runtime/base/base.h"

static int put_indices(uint8_t *part, int64_t nodes, int p, const struct npy *array) {
  for (int64_t i = 0; i < array->count; i++) {
    int64_t node;
    TRY(npy_int64(array, i, 1, &node));
    TRY(splits_put(part, nodes, node, p, array->name));
  }
  return OK;
}

static int put_mask(uint8_t *part, int64_t nodes, int p, const struct npy *array, int64_t k) {
  for (int64_t v = 0; v < nodes; v++) {
    int64_t inside;
    TRY(npy_int64(array, k * nodes + v, 1, &inside));
    if (inside != 0 && inside != 1)
      FAIL(BAD_INPUT, "%s: element %lld is not 0 or 1", array->name, (long long)(k * nodes + v));
    if (inside) TRY(splits_put(part, nodes, v, p, array->name));
  }
  return OK;
}

/* The three arrays of an archive: lists of nodes or masks. An absent one is an empty part. */
struct split_arrays {
  struct npy array[SPLIT_COUNT];
  int there[SPLIT_COUNT], masks;
  int64_t splits;
};

/* What the names of an archive's arrays end in: lists of nodes, masks of several splits, of one; NULL: none.
 */
static const char *ending_of(const struct npz *npz) {
  static const char *const endings[] = {"masks", "mask", "idx"};
  char name[32];
  for (int i = 0; i < 3; i++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      snprintf(name, sizeof name, "%s_%s", split_name[p], endings[i]);
      if (npz_has(npz, name)) return endings[i];
    }
  }
  return NULL;
}

static int read_arrays(struct split_arrays *arrays, const struct npz *npz, int64_t nodes) {
  const char *ending = ending_of(npz);
  arrays->masks = strcmp(ending, "idx") != 0;
  arrays->splits = arrays->masks ? -1 : 1;
  for (int p = 0; p < SPLIT_COUNT; p++) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", split_name[p], ending);
    arrays->there[p] = npz_has(npz, name);
    if (!arrays->there[p]) continue;
    struct npy *array = &arrays->array[p];
    TRY(npz_read(npz, name, array));
    if (!arrays->masks) {
      TRY(npy_check_dims(array, 1, "a list of nodes"));
      continue;
    }
    int64_t splits = array->dims == 1 ? 1 : array->dim[0], values;
    /* An array without columns may have any number of rows. */
    int fits = !__builtin_mul_overflow(splits, nodes, &values) && array->count == values;
    if (array->dims > 2 || splits < 1 || !fits || (arrays->splits != -1 && splits != arrays->splits))
      FAIL(BAD_INPUT, "%s: expected a mask for each of %lld nodes a split, as many as in %s_%s", array->name,
           (long long)nodes, split_name[SPLIT_TRAIN], ending);
    arrays->splits = splits;
  }
  return OK;
}

static int put_arrays(struct dataset_source *source, const struct split_arrays *arrays, uint8_t *part,
                      int64_t nodes) {
  for (int64_t k = 0; k < arrays->splits; k++) {
    memset(part, NO_PART, (size_t)nodes);
    for (int p = 0; p < SPLIT_COUNT; p++) {
      if (!arrays->there[p]) continue;
      TRY(arrays->masks ? put_mask(part, nodes, p, &arrays->array[p], k)
                        : put_indices(part, nodes, p, &arrays->array[p]));
    }
    TRY(splits_list(source, k, part, nodes));
  }
  return OK;
}

static int split_from_arrays(struct dataset_source *source, struct split_arrays *arrays,
                             const struct npz *npz, int64_t nodes) {
  TRY(read_arrays(arrays, npz, nodes));
  TRY(splits_new(source, arrays->splits));
  FREED uint8_t *part = NULL;
  TRY(memory_alloc(&part, nodes, "the parts of a split"));
  return put_arrays(source, arrays, part, nodes);
}

int import_split_arrays(struct dataset_source *source, const struct npz *npz, int64_t nodes) {
  if (!ending_of(npz)) return OK;
  struct split_arrays *arrays;
  TRY(memory_arrays("split arrays", ROOM(&arrays, 1)));
  int code = split_from_arrays(source, arrays, npz, nodes);
  for (int p = 0; p < SPLIT_COUNT; p++) npy_free(&arrays->array[p]);
  free(arrays);
  return code;
}

int split_from_npz(struct dataset_source *source, const char *path) {
  struct npz npz;
  int code = npz_open(&npz, path);
  int there = code == OK && ending_of(&npz);
  if (there) code = import_split_arrays(source, &npz, source->nodes);
  npz_close(&npz);
  if (code == OK && !there)
    FAIL(BAD_INPUT, "--split %s: has neither train_idx nor train_mask nor train_masks", path);
  return code;
}

static int read_parts(struct text *text, const char *path, uint8_t *part, int64_t nodes) {
  static const char expected[] = "train, val, test or none";
  char *line, quote[TEXT_QUOTE];
  TRY(text_open(text, path));
  for (int64_t v = 0;;) {
    TRY(text_next(text, &line));
    if (!line && v < nodes)
      TEXT_FAIL(text, "the file ends after %lld of %lld nodes", (long long)v, (long long)nodes);
    if (!line) return OK;
    if (line[0] == '#') continue;
    if (v == nodes) TEXT_FAIL(text, "there are more lines than the %lld nodes", (long long)nodes);
    TRY(text_fields(text, line));
    const char *shown = text_quote(line, quote), *word = text_word(&line);
    int p = 0;
    while (p < SPLIT_COUNT && (!word || strcmp(word, split_name[p]) != 0)) p++;
    if (!word || (p == NO_PART && strcmp(word, "none") != 0))
      TEXT_FAIL(text, "expected %s, found %s", expected, shown);
    TRY(text_end(text, &line, "one word"));
    part[v++] = (uint8_t)p;
  }
}

int split_from_text(struct dataset_source *source, const char *path) {
  TRY(splits_new(source, 1));
  uint8_t *part;
  TRY(memory_alloc(&part, source->nodes, "the parts of a split"));
  struct text text;
  int code = read_parts(&text, path, part, source->nodes);
  text_close(&text);
  if (code == OK) code = splits_list(source, 0, part, source->nodes);
  free(part);
  return code;
}
