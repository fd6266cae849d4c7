/* edit_distance: how far a word is from another one, for messages that say what was meant. */
#ifndef RUNTIME_CONFIG_EDIT_DISTANCE_H
#define RUNTIME_CONFIG_EDIT_DISTANCE_H

/* Insertions, deletions and replacements from a to b (V. Levenshtein 1966), of at most 64 bytes of each. */
int edit_distance(const char *a, int a_length, const char *b, int b_length);

#endif
