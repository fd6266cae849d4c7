/* config: every setting of a run, from one table (config.c) that serves the file, --set, --help, the banner
 * and the copies in the run directory and the checkpoint. */
#ifndef RUNTIME_CONFIG_CONFIG_H
#define RUNTIME_CONFIG_CONFIG_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/base/types.h"
#include "runtime/config/config_limits.h"

/* Choices stand in the order of their names in the table. */
enum normalize { NORMALIZE_NONE, NORMALIZE_ROW };
enum norm_edges { EDGES_BOTH, EDGES_ROW, EDGES_NONE };
enum aggregator { AGGREGATOR_MEAN, AGGREGATOR_GCN, AGGREGATOR_SUM, AGGREGATOR_MAX, AGGREGATOR_MIN };
enum readout_kind { READOUT_SUM, READOUT_MEAN, READOUT_MAX };
enum readout_layers { READOUT_LAYERS_LAST, READOUT_LAYERS_ALL };
enum schedule { SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_STEP };
enum loss { LOSS_AUTO, LOSS_CROSS_ENTROPY, LOSS_BCE };
enum metric { METRIC_AUTO, METRIC_ACCURACY, METRIC_MICRO_F1, METRIC_ROC_AUC };
enum partition_method {
  PARTITION_METIS,
  PARTITION_BLOCK,
  PARTITION_RANDOM,
  PARTITION_FILE,
  PARTITION_SCOTCH
};
enum node_order {
  ORDER_GIVEN,
  ORDER_DEGREE,
  ORDER_METIS,
  ORDER_CLUSTER,
  ORDER_LOA,
  ORDER_LOA_CLUSTER,
  ORDER_RCM,
  ORDER_AUTO,
  ORDERS
};
enum recompute { RECOMPUTE_AUTO, RECOMPUTE_NONE, RECOMPUTE_LAYER };
enum exchange_way { EXCHANGE_AUTO, EXCHANGE_MESSAGES };
enum offload { OFFLOAD_AUTO, OFFLOAD_NONE, OFFLOAD_FEATURES, OFFLOAD_ACTIVATIONS };
enum row_choice { ROWS_NEEDED, ROWS_ALL };

#define NODE_ORDER_NAMES "given", "degree", "metis", "cluster", "loa", "loa-cluster", "rcm", "auto"
extern const char *const node_order_name[]; /* NULL at the end */

struct config {
  struct {
    char path[CONFIG_TEXT];
    int64_t split;
    enum normalize normalize;
  } dataset;
  struct {
    char type[32]; /* checked against the model table by model_init */
    int64_t layers, hidden;
    double dropout, dropout_input, dropout_attention;
    enum norm norm;
    enum norm_edges norm_edges;
    enum aggregator aggregator; /* sage */
    enum readout_kind readout;  /* of graphs */
    enum readout_layers readout_layers;
    int64_t heads, heads_last; /* gat */
    double eps;                /* gin */
    int learn_eps;
    int learn_first_beta;
    double alpha, lambda; /* gcnii */
    int64_t steps;        /* appnp */
    int self_hyperedges, edge_weights;
    int residual, bias;
    enum activation activation;
  } model;
  struct {
    int64_t epochs;
    double lr;
    enum optimizer optimizer;
    double momentum, weight_decay, weight_decay_convolutions;
    int weight_decay_first_only;
    double clip; /* largest gradient norm, 0: off */
    enum schedule schedule;
    int64_t warmup, step_every;
    double step_factor;
    enum loss loss;
    enum metric metric;
    int64_t seed, runs, eval_every, patience;
    enum recompute recompute;
  } train;
  struct {
    enum partition_method method;
    char file[CONFIG_TEXT];
    enum node_order order;
    int64_t loa_window, seed;
    double balance;
    char grid[16]; /* "4x2", "auto" */
  } partition;
  struct {
    char device[16];
    enum precision precision;
    enum layout_tiers layout;
    enum incidence_form incidence;
    char constants[CONFIG_TEXT]; /* file of kernels/cost/cost_models.h; "auto", "none" */
    int overlap, once, graph;
    enum row_choice rows;
    enum exchange_way exchange;
    enum offload offload;
    double timeout;
    int64_t threads; /* 0: from the binding */
    int64_t vector_threshold;
    double late_rows;    /* negative: as many as pay */
    int64_t halo_stages; /* 0: as many as pay */
  } runtime;
  struct {
    int64_t every, keep;
  } checkpoint;
  struct {
    char dir[CONFIG_FOLDER];
    int overwrite;
    int64_t progress; /* print every n-th epoch */
    int tensorboard;
  } log;
  char path[CONFIG_TEXT]; /* the file it was read from */
};

/* Defaults, then the file (a path relative to the working directory), then `set_count` strings
 * "section.key=VALUE" (VALUE is TOML; a bare word is a string). log.dir "" becomes runs/<file's stem>.
 * Errors: BAD_INPUT naming file, line (or the string), key and what is allowed; dataset.path must be set. */
int config_read(struct config *config, const char *path, const char *const *set, int set_count);

/* Defaults, then TOML text; `name` stands for the file in messages. Neither asks for dataset.path nor fills
 * in log.dir. */
int config_parse(struct config *config, const char *text, const char *name);

/* "model.hidden" for "hidden"; NULL where no key ends so. */
const char *config_key_of(const char *name);

/* Sets one key from "section.key=VALUE". */
int config_set(struct config *config, const char *assignment);

/* Writes every key with its value as TOML; the result reads back equal. */
void config_write(const struct config *config, FILE *out);

/* The same as one string; the caller frees it. */
int config_text(const struct config *config, char **text);

/* Prints the table, or what of it begins with `topic` ("model", "model.type"; NULL: all): key, type and
 * range, default, help. Errors: BAD_INPUT where nothing does, with the nearest. */
int config_help(FILE *out, const char *topic);

/* Calls differ("section.key", old, new, context) for each key whose values differ. */
void config_compare(const struct config *old, const struct config *new_,
                    void (*differ)(const char *key, const char *was, const char *is, void *context),
                    void *context);

#endif
