/* options: the command lines of the programs. One table says what options a command has; reading them,
 * refusing others and --help follow from it. "--name VALUE" and "--name=VALUE" are the same, options stand
 * anywhere on the line, and what is no option is a word. The same table reads "name=VALUE,name,..." out of a
 * text. */
#ifndef RUNTIME_CONFIG_OPTIONS_H
#define RUNTIME_CONFIG_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum option_kind {
  OPTION_FLAG,  /* sets an int to 1 */
  OPTION_TEXT,  /* sets a const char * */
  OPTION_WHOLE, /* sets an int64_t in [least, most] */
  OPTION_REAL,  /* sets a double in [least, most] */
  OPTION_READ,  /* calls `read` with its value */
  OPTION_MAYBE  /* likewise; it has one as "--name=VALUE", else NULL */
};

struct option {
  const char *name, *value, *help; /* "seed"; what --help calls its value, NULL: none; what it does */
  enum option_kind kind;
  size_t place; /* in `into`, of what it sets */
  double least, most;
  int (*read)(void *into, const struct option *option, char *text);
  unsigned commands;    /* that have it, of a table for several; 0: all */
  const char *fallback; /* where --help shows ranges: the default; "": it has to be given */
};

struct options {
  const char *command;         /* "gnndata synth" */
  const struct option *option; /* 64 at most; NULL as a name ends them */
  unsigned commands;           /* the command's bit */
  void *into;
  void (*print_help)(const struct options *options); /* called for --help; NULL: whoever reads them does */
  /* What somebody may have meant by an option that there is not, as text ("--set model.hidden=64") of at most
   * size bytes; nothing where that is not known. value: what stands behind it. NULL: an option is nearest. */
  void (*meant)(const char *name, const char *value, char *text, size_t size);
  const char *lead; /* what stands before a name in messages; NULL: "--" */
  /* What was found. */
  const char *word[4];
  int words;      /* may be more */
  int help;       /* --help or -h is on the line, and nothing else was read */
  uint64_t given; /* a bit an option */
};

/* Errors: BAD_INPUT with the argument's name. */
int options_read(struct options *options, int argc, char **argv);
/* Those of a list, "nodes=1000,rmat"; none of them keeps its text. */
int options_read_list(struct options *options, const char *list);
int options_given(const struct options *options, const char *name);
const char *options_lead(const struct options *options);
/* A whole number in the range of an option. */
int option_whole(const struct option *option, const char *text, int64_t *value);

/* A line an option: "  --seed K   what it does", the first column that wide. */
void options_print(const struct options *options, int width);

#endif
