/* seeds: the texts that fuzzing starts from. */
#ifndef TESTS_FUZZ_SEEDS_H
#define TESTS_FUZZ_SEEDS_H

struct seed {
  const char *target, *name, *text;
};
extern const struct seed seed_texts[]; /* ends with target NULL */

#endif
