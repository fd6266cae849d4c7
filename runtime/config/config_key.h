/* config_key: one row of the table of settings, and what can be done with it: check and store a value, print
 * it as TOML, say what is allowed. `settings` is the structure that the keys are fields of. */
#ifndef RUNTIME_CONFIG_CONFIG_KEY_H
#define RUNTIME_CONFIG_CONFIG_KEY_H

#include <stddef.h>

#include "runtime/config/config_limits.h"
#include "runtime/config/config_toml.h"

enum key_kind { KEY_INTEGER, KEY_REAL, KEY_BOOLEAN, KEY_TEXT, KEY_CHOICE };

struct config_key {
  const char *name; /* "section.key" */
  enum key_kind kind;
  size_t offset, size;       /* of the field in the structure of settings */
  double number;             /* default of an integer, real, boolean or choice (its index) */
  const char *text;          /* default of a text */
  double min, max;           /* of an integer or real; max INFINITY: no upper bound */
  const char *const *choice; /* names in the order of the enum, NULL at the end */
  const char *help;
};

/* Bytes that hold any value as TOML: each byte of a text may become \u00XX. */
enum { CONFIG_VALUE = 6 * CONFIG_TEXT + 3 };

void config_key_default(const struct config_key *key, void *settings);

/* Stores `value`, wherever it came from; `place` opens the message. Errors: BAD_INPUT: "place: key must be
 * what is allowed, not what was found". */
int config_key_set(const struct config_key *key, void *settings, const struct config_value *value,
                   const char *place);

/* The value in `settings` as TOML; reals in the shortest form that reads back equal. Returns text. */
char *config_key_text(const struct config_key *key, const void *settings, char text[CONFIG_VALUE]);

/* "a number from 0 to 1". Returns text. */
char *config_key_allowed(const struct config_key *key, char text[256]);

/* `string` as a TOML basic string into text[CONFIG_VALUE]; it has fewer than CONFIG_TEXT bytes. */
char *config_key_quote(const char *string, char text[CONFIG_VALUE]);

/* Bytes of the section in "section.key"; 0 without a dot. */
int config_key_section(const char *name);

/* The row that was most likely meant by an unknown name, or by the name of an unknown section. The part after
 * the dot counts double, so that a key in the wrong section finds its own. */
const struct config_key *config_key_nearest(const struct config_key *table, int count, const char *name,
                                            int is_section);

#endif
