/* config_toml: TOML text as typed values with their lines. Behind it stands toml++, of which no other file
 * knows; no exception leaves it. */
#ifndef RUNTIME_CONFIG_CONFIG_TOML_H
#define RUNTIME_CONFIG_CONFIG_TOML_H

#include <stdint.h>

/* The longest text that is read. Tables nest at most half as deep, which the stack bears. */
enum { CONFIG_TOML_BYTES = 16 << 10 };

enum value_type { VALUE_STRING, VALUE_INTEGER, VALUE_REAL, VALUE_BOOLEAN, VALUE_TABLE, VALUE_OTHER };

/* One value of a text, or one table (a section). What it points to lasts as long as the call that gave it. */
struct config_value {
  const char *key; /* dotted, "train.lr"; a part that is no bare key stands in quotes */
  enum value_type type;
  int line; /* from 1 */
  int64_t integer;
  double real;
  int boolean;
  const char *string;
  int64_t length; /* bytes of `string`, which may hold a NUL */
};

/* Calls visit for every table and value of `text` up to three parts deep, in order of line, until it fails;
 * `name` stands for the
 * text in messages. Errors: BAD_INPUT with the line of a syntax error, or for a text that is too long; what
 * visit returned. */
int config_toml_walk(const char *text, const char *name,
                     int (*visit)(const struct config_value *value, void *context), void *context);

#endif
