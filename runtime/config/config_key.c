#include "runtime/config/config_key.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "runtime/base/base.h"
#include "runtime/config/edit_distance.h"

static const void *field_of(const struct config_key *key, const void *settings) {
  return (const char *)settings + key->offset;
}

static void store(const struct config_key *key, void *settings, const void *value) {
  memcpy((char *)settings + key->offset, value, key->size);
}

static void store_integer(const struct config_key *key, void *settings, int64_t value) {
  if (key->kind == KEY_INTEGER) {
    store(key, settings, &value);
  } else {
    int narrow = (int)value;
    store(key, settings, &narrow);
  }
}

static void store_text(const struct config_key *key, void *settings, const char *value) {
  char *text = (char *)settings + key->offset;
  memset(text, 0, key->size);
  memcpy(text, value, strlen(value));
}

void config_key_default(const struct config_key *key, void *settings) {
  if (key->kind == KEY_TEXT)
    store_text(key, settings, key->text);
  else if (key->kind == KEY_REAL)
    store(key, settings, &key->number);
  else
    store_integer(key, settings, (int64_t)key->number);
}

/* Stores the value, where it is allowed; returns whether it is. */
static int try_value(const struct config_key *key, void *settings, const struct config_value *value) {
  int is_text = value->type == VALUE_STRING && (int64_t)strlen(value->string) == value->length, choice = 0;
  double real = value->type == VALUE_REAL ? value->real : (double)value->integer;
  switch (key->kind) {
  case KEY_INTEGER:
    if (value->type != VALUE_INTEGER || value->integer < (int64_t)key->min) return 0;
    if (isfinite(key->max) && value->integer > (int64_t)key->max) return 0;
    store_integer(key, settings, value->integer);
    return 1;
  case KEY_REAL:
    if (value->type != VALUE_REAL && value->type != VALUE_INTEGER) return 0;
    if (!isfinite(real) || real < key->min || real > key->max) return 0;
    real += 0.0; /* no negative zero: it would be a difference that nobody sees */
    store(key, settings, &real);
    return 1;
  case KEY_BOOLEAN:
    if (value->type == VALUE_BOOLEAN) store_integer(key, settings, value->boolean);
    return value->type == VALUE_BOOLEAN;
  case KEY_TEXT:
    if (is_text && value->length < (int64_t)key->size) store_text(key, settings, value->string);
    return is_text && value->length < (int64_t)key->size;
  case KEY_CHOICE:
    while (is_text && key->choice[choice] && strcmp(key->choice[choice], value->string) != 0) choice++;
    if (is_text && key->choice[choice]) store_integer(key, settings, choice);
    return is_text && key->choice[choice];
  }
  return 0;
}

/* The shortest decimal that reads back equal, written so that TOML takes it for a float. */
static void real_text(double value, char *text, size_t size) {
  for (int digits = 6; digits <= 17; digits++) { /* with fewer, 300 would be 3e+02 */
    snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  if (isfinite(value) && !strpbrk(text, ".e")) strncat(text, ".0", size - strlen(text) - 1);
}

/* How a message quotes what was found. */
static const char *shown(const struct config_value *value, char text[96]) {
  switch (value->type) {
  case VALUE_STRING:
    snprintf(text, 96, "\"%.60s%s\"%s", value->string, strlen(value->string) > 60 ? "..." : "",
             (int64_t)strlen(value->string) < value->length ? " and a NUL" : "");
    return text;
  case VALUE_INTEGER:
    snprintf(text, 96, "%" PRId64, value->integer);
    return text;
  case VALUE_REAL:
    real_text(value->real, text, 96);
    return text;
  case VALUE_BOOLEAN:
    return value->boolean ? "true" : "false";
  case VALUE_TABLE:
    return "a table";
  case VALUE_OTHER:
    break;
  }
  return "a list or a date";
}

int config_key_set(const struct config_key *key, void *settings, const struct config_value *value,
                   const char *place) {
  char allowed[256], found[96];
  if (!try_value(key, settings, value))
    FAIL(BAD_INPUT, "%s: %s must be %s, not %s", place, key->name, config_key_allowed(key, allowed),
         shown(value, found));
  return OK;
}

char *config_key_quote(const char *string, char text[CONFIG_VALUE]) {
  assert(strlen(string) < CONFIG_TEXT);
  char *out = text;
  *out++ = '"';
  for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
    if (*c < 0x20 || *c == 0x7f) {
      out += sprintf(out, "\\u%04x", *c);
    } else {
      if (*c == '"' || *c == '\\') *out++ = '\\';
      *out++ = (char)*c;
    }
  }
  *out++ = '"';
  *out = '\0';
  return text;
}

char *config_key_text(const struct config_key *key, const void *settings, char text[CONFIG_VALUE]) {
  const void *field = field_of(key, settings);
  switch (key->kind) {
  case KEY_INTEGER:
    snprintf(text, CONFIG_VALUE, "%" PRId64, *(const int64_t *)field);
    break;
  case KEY_REAL:
    real_text(*(const double *)field, text, CONFIG_VALUE);
    break;
  case KEY_BOOLEAN:
    strcpy(text, *(const int *)field ? "true" : "false");
    break;
  case KEY_TEXT:
    config_key_quote(field, text);
    break;
  case KEY_CHOICE:
    config_key_quote(key->choice[*(const int *)field], text);
    break;
  }
  return text;
}

static void append_choices(const struct config_key *key, char *text, size_t size) {
  for (int i = 0; key->choice[i]; i++) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s\"%s\"",
             i == 0               ? ""
             : key->choice[i + 1] ? ", "
                                  : " or ",
             key->choice[i]);
  }
}

char *config_key_allowed(const struct config_key *key, char text[256]) {
  const char *number = key->kind == KEY_INTEGER ? "an integer" : "a number";
  switch (key->kind) {
  case KEY_INTEGER:
  case KEY_REAL: /* 2^53, the largest whole number, has 16 digits */
    if (isfinite(key->max))
      snprintf(text, 256, "%s from %.16g to %.16g", number, key->min, key->max);
    else
      snprintf(text, 256, "%s of at least %.16g", number, key->min);
    break;
  case KEY_BOOLEAN:
    strcpy(text, "true or false");
    break;
  case KEY_TEXT:
    snprintf(text, 256, "text of at most %zu bytes", key->size - 1);
    break;
  case KEY_CHOICE:
    text[0] = '\0';
    append_choices(key, text, 256);
    break;
  }
  return text;
}

int config_key_section(const char *name) {
  const char *dot = strchr(name, '.');
  return dot ? (int)(dot - name) : 0;
}

const struct config_key *config_key_nearest(const struct config_key *table, int count, const char *name,
                                            int is_section) {
  const struct config_key *nearest = &table[0];
  int best = INT_MAX, section = is_section ? (int)strlen(name) : config_key_section(name);
  const char *leaf = name + section + (name[section] == '.');
  for (int i = 0; i < count; i++) {
    int key_section = config_key_section(table[i].name);
    const char *key_leaf = table[i].name + key_section + 1;
    int score = edit_distance(name, section, table[i].name, key_section);
    if (!is_section) score += 2 * edit_distance(leaf, (int)strlen(leaf), key_leaf, (int)strlen(key_leaf));
    if (score < best) {
      best = score;
      nearest = &table[i];
    }
  }
  return nearest;
}
