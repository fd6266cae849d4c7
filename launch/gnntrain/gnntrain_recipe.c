#include <ctype.h>
#include <unistd.h>

#include "io/dataset_path.h"
#include "launch/gnntrain/gnntrain_options.h"
#include "runtime/base/base.h"

enum { RECIPE = 512 };

/* Adds a comment's line to the recipe; whether the recipe goes on in the next line. */
static int add_line(char recipe[RECIPE], char *line) {
  const size_t used = strlen(recipe);
  size_t length = strcspn(line, "\r\n");
  while (length > 0 && isspace((unsigned char)line[length - 1])) length--;
  const int goes_on = length > 0 && line[length - 1] == '\\';
  snprintf(recipe + used, RECIPE - used, "%s%.*s", used ? " " : "", (int)length - goes_on, line);
  while (goes_on && recipe[0] && isspace((unsigned char)recipe[strlen(recipe) - 1]))
    recipe[strlen(recipe) - 1] = '\0';
  return goes_on;
}

/* The first command of gnndata among the comments of a file. */
static void read_recipe(FILE *file, char recipe[RECIPE]) {
  char line[RECIPE];
  int goes_on = 0;
  recipe[0] = '\0';
  while (fgets(line, sizeof line, file)) {
    char *text = line + strspn(line, " \t");
    if (*text != '#') break;
    text += strspn(text, "# \t");
    if (!goes_on && strncmp(text, "gnndata ", 8) != 0) continue;
    goes_on = add_line(recipe, text);
    if (!goes_on) break;
  }
}

int check_dataset_is_made(const struct config *config) {
  char recipe[RECIPE];
  if (dataset_path_is_made(config->dataset.path)) return OK;
  if (access(config->dataset.path, F_OK) == 0 || errno != ENOENT) return OK;
  FILE *file = fopen(config->path, "re");
  if (!file) return OK;
  read_recipe(file, recipe);
  fclose(file);
  if (!recipe[0]) return OK;
  FAIL(BAD_INPUT, "%s is not there; it is made by: %s", config->dataset.path, recipe);
}
