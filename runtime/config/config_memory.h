/* config_memory: the program's operator new, for reading configurations when memory runs out.
 *
 * toml++ allocates in functions that must not throw, where a lack of memory would end the program, and it
 * reads numbers through streams, which would report that lack as a mistake in the number. So a request that
 * malloc refuses is served from a reserve of 1 MiB; config_toml reports the error once the text is read.
 * Other C++ code in the process, such as NCCL's, is served by the same operator. */
#ifndef RUNTIME_CONFIG_CONFIG_MEMORY_H
#define RUNTIME_CONFIG_CONFIG_MEMORY_H

/* Whether the reserve has been used since the last call; then the whole reserve is free again. Call it when
 * everything that toml++ allocated has been released. */
int config_memory_was_short(void);

#endif
