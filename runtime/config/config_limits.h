/* config_limits: how large the values of a configuration may be. */
#ifndef RUNTIME_CONFIG_CONFIG_LIMITS_H
#define RUNTIME_CONFIG_CONFIG_LIMITS_H

/* The most epochs of a run and runs of a job: what is counted in them stays far from any overflow. */
enum { CONFIG_EPOCHS = 1000 * 1000 * 1000, CONFIG_RUNS = 10 * 1000 };

enum { CONFIG_TEXT = 1024, CONFIG_FOLDER = CONFIG_TEXT - 128 }; /* names of files follow a folder's */

#endif
