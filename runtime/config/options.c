#include "runtime/config/options.h"

#include "runtime/base/base.h"
#include "runtime/config/edit_distance.h"

static int is_of(const struct options *options, const struct option *option) {
  return option->commands == 0 || option->commands & options->commands;
}

static const struct option *find_option(const struct options *options, const char *name, size_t length) {
  for (const struct option *o = options->option; o->name; o++) {
    if (is_of(options, o) && strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
  }
  return NULL;
}

static const char *const DASHES = "--";

const char *options_lead(const struct options *options) {
  return options->lead ? options->lead : DASHES;
}

static int refuse_number(const char *lead, const struct option *o, const char *text) {
  if (o->kind == OPTION_REAL)
    FAIL(BAD_INPUT, "%s%s is \"%s\"; allowed: a number from %.16g to %.16g", lead, o->name, text, o->least,
         o->most);
  FAIL(BAD_INPUT, "%s%s is \"%s\"; allowed: a whole number from %.0f to %.0f", lead, o->name, text, o->least,
       o->most);
}

static int read_whole(const char *lead, const struct option *o, const char *text, int64_t *value) {
  char *end = NULL;
  errno = 0;
  *value = strtoll(text, &end, 10);
  int whole = end != text && *end == '\0' && !errno;
  int64_t most = o->most < 0x1p63 ? (int64_t)o->most : INT64_MAX;
  return whole && *value >= (int64_t)o->least && *value <= most ? OK : refuse_number(lead, o, text);
}

int option_whole(const struct option *o, const char *text, int64_t *value) {
  return read_whole(DASHES, o, text, value);
}

static int set_option(const struct options *options, const struct option *o, char *text) {
  void *place = (char *)options->into + o->place;
  char *end = NULL;
  switch (o->kind) {
  case OPTION_FLAG:
    *(int *)place = 1;
    return OK;
  case OPTION_TEXT:
    *(const char **)place = text;
    return OK;
  case OPTION_WHOLE:
    return read_whole(options_lead(options), o, text, place);
  case OPTION_REAL:
    *(double *)place = strtod(text, &end);
    if (end == text || *end || !(*(double *)place >= o->least && *(double *)place <= o->most))
      return refuse_number(options_lead(options), o, text);
    return OK;
  default:
    return o->read(options->into, o, text);
  }
}

/* One that begins so, or is at most two edits away; NULL: none. */
static const struct option *nearest_option(const struct options *options, const char *name, int length) {
  const struct option *nearest = NULL;
  int best = length > 4 ? 3 : 2;
  for (const struct option *o = options->option; o->name; o++) {
    const int begins = strncmp(o->name, name, (size_t)length) == 0;
    const int edits = begins ? 0 : edit_distance(name, length, o->name, (int)strlen(o->name));
    if (!is_of(options, o) || edits >= best) continue;
    nearest = o;
    best = edits;
  }
  return nearest;
}

/* value: the argument behind it, NULL: none. */
static int refuse_unknown(const struct options *options, const char *argument, const char *value) {
  char name[64] = "", meant[256] = "";
  const char *rest = argument + strspn(argument, "-");
  snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "="), rest);
  if (rest[strcspn(rest, "=")]) value = rest + strcspn(rest, "=") + 1;
  if (options->meant) options->meant(name, value, meant, sizeof meant);
  const struct option *nearest = meant[0] || !name[0] ? NULL
                                                      : nearest_option(options, name, (int)strlen(name));
  if (nearest) snprintf(meant, sizeof meant, "%s%s", options_lead(options), nearest->name);
  const char *lead = options->lead ? options->lead : ""; /* an argument has its own */
  if (meant[0])
    FAIL(BAD_INPUT, "unknown option \"%s%s\"; did you mean %s? %s --help lists all", lead, argument, meant,
         options->command);
  FAIL(BAD_INPUT, "unknown option \"%s%s\"; %s --help lists them", lead, argument, options->command);
}

/* text: NULL: the option was given without a value. */
static int take_option(struct options *options, const struct option *o, char *text) {
  const char *lead = options_lead(options);
  if (o->kind == OPTION_FLAG && text)
    FAIL(BAD_INPUT, "%s%s takes no value, \"%s\" was given", lead, o->name, text);
  if (o->kind != OPTION_FLAG && (text ? text[0] == '\0' : o->kind != OPTION_MAYBE))
    FAIL(BAD_INPUT, "%s%s needs a value: %s", lead, o->name, o->value);
  options->given |= 1ull << (o - options->option);
  return set_option(options, o, text);
}

/* Takes the option at argv[*i], and the value behind it where it has one. */
static int read_option(struct options *options, int argc, char **argv, int *i) {
  char *name = argv[*i] + 2, *equals = strchr(argv[*i], '='), *text = equals ? equals + 1 : NULL;
  const struct option *o = NULL;
  if (strncmp(argv[*i], DASHES, 2) == 0) o = find_option(options, name, strcspn(name, "="));
  if (!o) return refuse_unknown(options, argv[*i], *i + 1 < argc ? argv[*i + 1] : NULL);
  if (o->kind != OPTION_FLAG && o->kind != OPTION_MAYBE && !text && *i + 1 < argc) text = argv[++*i];
  return take_option(options, o, text);
}

int options_read_list(struct options *options, const char *list) {
  FREED char *copy = NULL;
  TRY(memory_alloc(&copy, (int64_t)strlen(list) + 1, "a list of options"));
  char *rest = *list ? strcpy(copy, list) : NULL;
  for (char *item; (item = strsep(&rest, ","));) {
    const struct option *o = find_option(options, item, strcspn(item, "="));
    char *equals = strchr(item, '=');
    if (!o) return refuse_unknown(options, item, NULL);
    TRY(take_option(options, o, equals ? equals + 1 : NULL));
  }
  return OK;
}

int options_read(struct options *options, int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    options->help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
  if (options->help && options->print_help) options->print_help(options);
  for (int i = 1; i < argc && !options->help; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      TRY(read_option(options, argc, argv, &i));
      continue;
    }
    if (options->words < 4) options->word[options->words] = argv[i];
    options->words++;
  }
  return OK;
}

int options_given(const struct options *options, const char *name) {
  const struct option *o = find_option(options, name, strlen(name));
  return o && options->given >> (o - options->option) & 1;
}

void options_print(const struct options *options, int width) {
  for (const struct option *o = options->option; o->name; o++) {
    char left[64], range[64] = "";
    if (!is_of(options, o)) continue;
    snprintf(left, sizeof left, o->kind == OPTION_MAYBE ? "--%s[=%s]" : "--%s %s", o->name,
             o->value ? o->value : "");
    printf("  %-*s %s", width, left, o->help);
    if (o->fallback && o->kind != OPTION_FLAG)
      snprintf(range, sizeof range, "%.16g to %.16g, ", o->least, o->most);
    if (o->fallback) printf(" (%s%s%s)", range, o->fallback[0] ? "default: " : "required", o->fallback);
    printf("\n");
  }
}
