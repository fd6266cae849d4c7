/* Feeds files to targets without libFuzzer: fuzz_replay FOLDER... where FOLDER/<target>/ holds the files of
 * each target. FILE.hex is text: two digits a byte, blanks between them, and what stands behind # is for
 * people. All others are fed as they are. What a file must not do again, it does to this program: crash, hang
 * or abort. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/target.h"

enum { SECONDS = 300 /* of a file, which takes milliseconds; machines may be busy */ };

struct bytes {
  uint8_t *data;
  size_t size;
};

static struct bytes load(const char *path) {
  FILE *file = fopen(path, "rb");
  struct bytes b = {0};
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    exit(1);
  }
  b.size = (size_t)ftell(file);
  rewind(file);
  b.data = malloc(b.size + 1);
  if (!b.data || fread(b.data, 1, b.size, file) != b.size) {
    perror(path);
    exit(1);
  }
  fclose(file);
  b.data[b.size] = '\0';
  return b;
}

static int digit_of(int c) {
  return isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place: what is left is shorter. */
static void decode(struct bytes *b, const char *path) {
  size_t used = 0;
  for (size_t i = 0; i < b->size; i++) {
    int c = b->data[i];
    if (c == '#') {
      while (i < b->size && b->data[i] != '\n') i++;
    } else if (!isspace(c)) {
      int high = digit_of(c), low = digit_of(b->data[i + 1]);
      if (high < 0 || low < 0) {
        fprintf(stderr, "%s: byte %zu is not of two digits from 0 to f\n", path, i);
        exit(1);
      }
      b->data[used++] = (uint8_t)(16 * high + low);
      i++;
    }
  }
  b->size = used;
}

static void feed_file(const struct fuzz_target *target, const char *path) {
  struct bytes b = load(path);
  size_t length = strlen(path);
  if (length > 4 && strcmp(path + length - 4, ".hex") == 0) decode(&b, path);
  fprintf(stderr, "%s\n", path); /* the last line, should it end here */
  alarm(SECONDS);
  /* A copy without a byte to spare, so that sanitizers see who reads on. */
  uint8_t *exact = malloc(b.size ? b.size : 1);
  if (!exact) exit(1);
  memcpy(exact, b.data, b.size);
  target->feed(exact, b.size);
  alarm(0);
  free(exact);
  free(b.data);
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int feed_folder(const struct fuzz_target *target, const char *folder) {
  struct dirent **entry = NULL;
  int entries = scandir(folder, &entry, is_visible, alphasort);
  for (int i = 0; i < entries; i++) {
    char path[2048 + 256];
    if (snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name) < (int)sizeof path)
      feed_file(target, path);
    free(entry[i]);
  }
  free(entry);
  return entries < 0 ? 0 : entries;
}

int main(int argc, char **argv) {
  int files = 0;
  fuzz_start();
  for (int i = 1; i < argc; i++) {
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
      char folder[2048];
      snprintf(folder, sizeof folder, "%s/%s", argv[i], t->name);
      files += feed_folder(t, folder);
    }
  }
  if (files == 0) {
    fputs("usage: fuzz_replay FOLDER... with a folder for each target; nothing was found\n", stderr);
    return 1;
  }
  fprintf(stderr, "%d files were fed\n", files);
  return 0;
}
