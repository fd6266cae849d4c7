/* cost_models: which constants hold on which device. The source has those of two GPUs and of a processor's
 * thread; a file that `gnnbench calibrate` wrote may have others, a section for each model of a GPU:
 *
 *   ["NVIDIA H200"]
 *   row = 20.0
 *   ["NVIDIA H200".bf16]
 *   near_128 = 12.8
 *
 * All in picoseconds and bytes as in struct cost_model. What is chosen is the same wherever the file is. */
#ifndef KERNELS_COST_COST_MODELS_H
#define KERNELS_COST_COST_MODELS_H

#include "kernels/cost/cost_model.h"
#include "runtime/config/config_limits.h"
#include "runtime/config/config_toml.h"

/* The constants that hold for a GPU of that name: of the file that was read, else those of the source. */
const struct cost_model *cost_model_of(const char *device);
/* Whether they are of that very GPU; otherwise those of cost_model_of stand in for its own. */
int cost_model_is_own(const char *device);
/* Errors: BAD_INPUT where there are none of that name, with the names that there are. */
int cost_model_named(const char *device, const struct cost_model **model);

/* Takes the constants of `text`, which has at most CONFIG_TOML_BYTES; `name` stands for it in messages. A
 * constant that is not there is the source's. Errors: BAD_INPUT naming line and key. */
int cost_models_read(const char *text, const char *name);

/* The constants that hold for the GPU model->name from now on: copied, and those of others stay. Errors:
 * FAILED when there is no room for another GPU. */
int cost_models_take(const struct cost_model *model);

/* A file of them. */
struct cost_constants {
  char path[CONFIG_TEXT]; /* "": none */
  char text[CONFIG_TOML_BYTES + 1];
};

/* Reads the file that the setting names: "none"; "auto": the one of cost_models_path, if there is one; else
 * a path. Errors: BAD_INPUT when a file that is named cannot be read or is too long. */
int cost_constants_find(const char *setting, struct cost_constants *constants);

/* Writes the constants that were read and taken to that file. Errors: FAILED when it cannot be written. */
int cost_models_write(const char *path);

/* Back to the source's alone. */
void cost_models_forget(void);

/* Where the file is looked for and kept unless another is named: $XDG_CONFIG_HOME/gnntrain/constants.toml, or
 * below ~/.config; "" when neither is set. */
void cost_models_path(char *path, size_t size);

#endif
