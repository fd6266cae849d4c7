/* gnndata_commands: the commands of gnndata, one file each: gnndata_<command>.c. argv[0] is the command's
 * name. */
#ifndef LAUNCH_GNNDATA_GNNDATA_COMMANDS_H
#define LAUNCH_GNNDATA_GNNDATA_COMMANDS_H

int gnndata_import(int argc, char **argv);
int gnndata_synth(int argc, char **argv);
int gnndata_info(int argc, char **argv);
int gnndata_check(int argc, char **argv);
int gnndata_partition(int argc, char **argv);

struct dataset;
struct cost_model;

/* The cost model of a GPU of that name. Errors: BAD_INPUT where nothing is known of it. */
int gnndata_find_gpu(const char *gpu, const struct cost_model **model);
/* How densely the graph packs and what its products would take on that GPU. */
int gnndata_show_layout(struct dataset *dataset, const struct cost_model *model);

#endif
