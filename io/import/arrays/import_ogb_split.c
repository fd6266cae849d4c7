#include <dirent.h>

#include "io/file/csv.h"
#include "io/import/arrays/ogb.h"
#include "io/import/splits.h"
#include "runtime/base/base.h"

/* The ids of a part, in the order of the file. */
struct list {
  int64_t nodes, *id;
};

static int make_list(void *context, const struct text *text, const char *line, int64_t rows) {
  struct list *list = context;
  (void)line, (void)rows, (void)text;
  return list->id ? OK : memory_alloc(&list->id, list->nodes * (int64_t)sizeof *list->id, "a split");
}

static int take_id(void *context, const struct text *text, char *line, int64_t row) {
  struct list *list = context;
  if (row >= list->nodes) TEXT_FAIL(text, "there are more rows than the %lld nodes", (long long)list->nodes);
  TRY(text_int(text, &line, &list->id[row], "a node id"));
  return text_end(text, &line, "one node id");
}

static int put_list(const struct list *list, int64_t rows, const char *path, int p, uint8_t *part) {
  char place[OGB_PATH + 32];
  for (int64_t i = 0; i < rows; i++) {
    int64_t node = list->id[i];
    if (node >= 0 && node < list->nodes && part[node] == NO_PART) {
      part[node] = (uint8_t)p;
      continue;
    }
    snprintf(place, sizeof place, "%s:%lld", path, (long long)i + 1);
    return splits_put(part, list->nodes, node, p, place);
  }
  return OK;
}

static int read_part(const char *folder, int p, uint8_t *part, int64_t nodes) {
  static const char *const name[SPLIT_COUNT] = {"train", "valid", "test"};
  const struct csv_reader reader = {.room = make_list, .row = take_id};
  struct list list = {.nodes = nodes};
  char path[OGB_PATH];
  int64_t rows;
  ogb_find(folder, name[p], path);
  int code = csv_read(path, &reader, &list, &rows);
  if (code == OK) code = put_list(&list, rows, path, p, part);
  free(list.id);
  return code;
}

static int read_split(struct import *import, const char *folder, int64_t k, uint8_t *part) {
  int64_t nodes = import->edges.nodes;
  memset(part, NO_PART, (size_t)nodes);
  for (int p = 0; p < SPLIT_COUNT; p++) TRY(read_part(folder, p, part, nodes));
  return splits_list(&import->source, k, part, nodes);
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int read_splits(struct import *import, const char *folder, struct dirent **entry, int entries) {
  uint8_t *part;
  char path[OGB_PATH];
  TRY(splits_new(&import->source, entries));
  TRY(memory_alloc(&part, import->edges.nodes, "the parts of a split"));
  int code = OK;
  for (int k = 0; k < entries && code == OK; k++) {
    if (entries > 1) log_info("split %d: %s", k, entry[k]->d_name);
    ogb_path(path, folder, entry[k]->d_name);
    code = read_split(import, path, k, part);
  }
  free(part);
  return code;
}

int ogb_splits(struct import *import, const char *folder) {
  char splits[OGB_PATH];
  struct dirent **entry = NULL;
  ogb_path(splits, folder, "split");
  int entries = scandir(splits, &entry, is_visible, alphasort);
  int code = entries > 0 ? read_splits(import, splits, entry, entries) : OK;
  for (int k = 0; k < entries; k++) free(entry[k]);
  free(entry);
  return code;
}
