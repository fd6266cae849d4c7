#include "io/import/text/named_files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/import/import.h"

/* Takes the NAME out of what a file is called; 0: it is called otherwise. */
static int take_name(struct named_files *files, const char *entry, const char *prefix, const char *suffix) {
  const size_t ahead = strlen(prefix), behind = strlen(suffix);
  const size_t length = strlen(entry) - (option_has_suffix(entry, ".gz") ? 3 : 0);
  if (*entry == '.' || length < ahead + behind || !option_has_prefix(entry, prefix)) return 0;
  if (strncmp(entry + length - behind, suffix, behind) != 0) return 0;
  return snprintf(files->name, sizeof files->name, "%.*s", (int)(length - ahead - behind), entry + ahead) <
         (int)sizeof files->name;
}

static int find_in(struct named_files *files, const char *prefix, const char *suffix) {
  DIR *folder = opendir(files->folder);
  int found = 0;
  if (!folder) return 0;
  for (const struct dirent *entry; (entry = readdir(folder));)
    found += take_name(files, entry->d_name, prefix, suffix);
  closedir(folder);
  return found == 1;
}

int named_files_find(struct named_files *files, const char *folder, const char *prefix, const char *suffix) {
  static const char *const below[] = {"", "/raw"};
  for (int i = 0; i < 2; i++) {
    const int length = snprintf(files->folder, sizeof files->folder, "%s%s", folder, below[i]);
    if (length < (int)sizeof files->folder && find_in(files, prefix, suffix)) return 1;
  }
  return 0;
}

int named_files_path(const struct named_files *files, const char *prefix, const char *suffix,
                     char path[NAMED_PATH]) {
  snprintf(path, NAMED_PATH, "%s/%s%s%s.gz", files->folder, prefix, files->name, suffix);
  if (access(path, F_OK) == 0) return 1;
  path[strlen(path) - 3] = '\0';
  return access(path, F_OK) == 0;
}
