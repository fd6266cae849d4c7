/* config_memory: what C++ takes here, which is toml++ alone.
 *
 * toml++ takes memory in functions that must not throw, where a lack of it would end the program, and reads
 * numbers by streams, which take it for a mistake in the number. So what cannot be had comes from a reserve
 * until the text is read, and is then an error. */
#ifndef RUNTIME_CONFIG_MEMORY_H
#define RUNTIME_CONFIG_MEMORY_H

/* Whether the reserve was used. It is free again: what came from it must be gone. */
int config_memory_was_short(void);

#endif
