#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mutate/mutate.h"

enum { OPEN_FOLDERS = 16 };

/* nftw has no context. */
static struct tree *reading;
static size_t skip;        /* characters of the folder's name */
static const char *wanted; /* with what a path begins */
static uint64_t hash;      /* of what was read */
static char temporary[512];

static void stop(const char *path) {
  perror(path);
  exit(3);
}

static void *read_whole(const char *path, int64_t size) {
  char *data = malloc((size_t)size + 1);
  FILE *file = fopen(path, "r");
  if (!data || !file || fread(data, 1, (size_t)size, file) != (size_t)size) stop(path);
  fclose(file);
  return data;
}

static int add(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)at;
  if (kind != FTW_F || strncmp(path + skip, wanted, strlen(wanted)) != 0) return 0;
  reading->file = realloc(reading->file, (size_t)(reading->files + 1) * sizeof *reading->file);
  struct tree_file *file = &reading->file[reading->files++];
  snprintf(file->path, sizeof file->path, "%s", path + skip);
  file->size = status->st_size;
  file->data = read_whole(path, file->size);
  return 0;
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct tree_file *)a)->path, ((const struct tree_file *)b)->path);
}

static void read_part(struct tree *tree, const char *folder, const char *part) {
  *tree = (struct tree){0};
  reading = tree;
  wanted = part;
  skip = strlen(folder) + 1;
  if (nftw(folder, add, OPEN_FOLDERS, FTW_PHYS) != 0) stop(folder);
  qsort(tree->file, (size_t)tree->files, sizeof *tree->file, by_path);
}

void tree_read(struct tree *tree, const char *folder) {
  read_part(tree, folder, "");
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind, (void)at;
  return remove(path);
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST) stop(path);
    *slash = '/';
  }
}

void tree_write(const struct tree *tree, const char *folder) {
  char path[1200];
  if (access(folder, F_OK) == 0 && nftw(folder, remove_one, OPEN_FOLDERS, FTW_PHYS | FTW_DEPTH) != 0)
    stop(folder);
  for (int64_t i = 0; i < tree->files; i++) {
    const struct tree_file *file = &tree->file[i];
    snprintf(path, sizeof path, "%s/%s", folder, file->path);
    make_folders(path);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(file->data, 1, (size_t)file->size, out) != (size_t)file->size) stop(path);
    fclose(out);
  }
}

void tree_free(struct tree *tree) {
  for (int64_t i = 0; i < tree->files; i++) free(tree->file[i].data);
  free(tree->file);
  *tree = (struct tree){0};
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t from, const void *data, int64_t size) {
  const unsigned char *byte = data;
  for (int64_t i = 0; i < size; i++) from = (from ^ byte[i]) * 1099511628211u;
  return from;
}

uint64_t tree_hash(const char *folder, const char *part) {
  struct tree tree;
  hash = 14695981039346656037u;
  read_part(&tree, folder, part);
  for (int64_t i = 0; i < tree.files; i++) {
    const struct tree_file *file = &tree.file[i];
    size_t length = strlen(file->path);
    if (length > 5 && strcmp(file->path + length - 5, "/lock") == 0) continue;
    hash = hash_bytes(hash, file->path, (int64_t)length + 1);
    hash = hash_bytes(hash, file->data, file->size);
  }
  tree_free(&tree);
  return hash;
}

uint64_t file_hash(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return 0;
  void *data = read_whole(path, status.st_size);
  uint64_t of_data = hash_bytes(14695981039346656037u, data, status.st_size);
  free(data);
  return of_data;
}

static int look(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)at;
  if (kind == FTW_F && strstr(path, ".tmp")) snprintf(temporary, sizeof temporary, "%s", path);
  return 0;
}

const char *tree_find_temporary(const char *folder) {
  temporary[0] = '\0';
  if (nftw(folder, look, OPEN_FOLDERS, FTW_PHYS) != 0) stop(folder);
  return temporary;
}
