/* Constants of the cost model in files: read, written, and which GPU they are of. */
#include "kernels/cost/cost_models.h"

#include <unistd.h>

#include "tests/check.h"

TEST(the_source_serves_where_no_file_says_otherwise) {
  assert_ptr_equal(cost_model_of("NVIDIA H200"), &cost_model_h200);
  assert_ptr_equal(cost_model_of("another"), &cost_model_h200);
  assert_ptr_equal(cost_model_of("NVIDIA H100 80GB HBM3"), &cost_model_h100);
  assert_true(cost_model_is_own("NVIDIA H200") && !cost_model_is_own("another"));
  assert_true(cost_model_is_own("NVIDIA H100 80GB HBM3"));
  assert_ok(cost_models_read("", "empty"));
  assert_ptr_equal(cost_model_of("another"), &cost_model_h200);
}

TEST(constants_are_those_of_the_named_gpu) {
  assert_ok(cost_models_read("[\"GPU A\"]\nrow = 7\n[\"GPU A\".bf16]\nnear_128 = 3.5\ntile_32 = 0\n"
                             "selector_bias_64 = -2.5\nblock_64 = 300\n"
                             "[\"GPU B\".fp32]\ndistant_512 = 4e2\n[plain]\nmerge_byte = 2.5\n"
                             "kernel = 3e6\nentry = 2e4\nblock_start = 5\nrow_byte_cached = 0.25\n"
                             "[\"NVIDIA H100 80GB HBM3\"]\nrow = 7\n",
                             "two.toml"));
  const struct cost_model *a = cost_model_of("GPU A"), *b = cost_model_of("GPU B");
  assert_string_equal(a->name, "GPU A");
  assert_close(a->result.row, 7, 0);
  assert_close(a->near[COST_BF16][2], 3.5, 0);
  assert_close(a->tile[COST_BF16][0], 0, 0);
  assert_close(a->near[COST_BF16][1], cost_model_h200.near[COST_BF16][1], 0);
  assert_close(a->block[COST_BF16][1], 300, 0);
  assert_close(b->distant[COST_FP32][4], 400, 0);
  assert_close(b->result.row, cost_model_h200.result.row, 0);
  const struct cost_model *plain = cost_model_of("plain"), *h100 = cost_model_of("NVIDIA H100 80GB HBM3");
  assert_close(plain->result.merge_byte, 2.5, 0);
  assert_close(plain->start.kernel, 3e6, 0);
  assert_close(plain->start.entry, 2e4, 0);
  assert_close(plain->start.block, 5, 0);
  assert_close(plain->result.byte_cached, .25, 0);
  assert_close(h100->result.row, 7, 0);
  assert_close(h100->distant[COST_BF16][2], cost_model_h100.distant[COST_BF16][2], 0); /* not the H200's */
  assert_ptr_equal(cost_model_of("NVIDIA H200"), &cost_model_h200);
  cost_models_forget();
}

TEST(bad_files_are_refused_with_their_place) {
  assert_fails(cost_models_read("[A]\nrow = -1\n", "f"), BAD_INPUT, "f:2: row must be a number from 0");
  assert_fails(cost_models_read("[A]\nrow = \"x\"\n", "f"), BAD_INPUT, "f:2: row must be");
  assert_fails(cost_models_read("[A]\nrows = 1\n", "f"), BAD_INPUT, "f:2: unknown constant rows");
  assert_fails(cost_models_read("[A.fp16]\nnear_32 = 1\n", "f"), BAD_INPUT, "unknown constant fp16.near_32");
  assert_fails(cost_models_read("row = 1\n", "f"), BAD_INPUT, "f:1: row stands in no section");
  assert_fails(cost_models_read("[A]\ncached_bytes = 2e9\n", "f"), BAD_INPUT, "f: A: cached_bytes");
  assert_fails(cost_models_read("[A\n", "f"), BAD_INPUT, "not valid TOML");
  char text[200];
  snprintf(text, sizeof text, "[%0130d]\nrow = 1\n", 0);
  assert_fails(cost_models_read(text, "f"), BAD_INPUT, "f:2: at most");
  assert_ptr_equal(cost_model_of("A"), &cost_model_h200);
}

TEST(what_is_written_reads_back_equal) {
  static struct cost_constants constants;
  struct cost_model model = cost_model_h200;
  model.name = "GPU A";
  model.near[COST_FP32][1] = 12.25;
  model.tile[COST_BF16][3] = 0;
  model.exchange.reduce_byte = 21;
  model.stores = (struct cost_exchange){.start = 9e6, .byte = 3.25};
  unlink("models/deep/constants.toml");
  assert_ok(cost_models_take(&model));
  assert_ok(cost_models_write("models/deep/constants.toml"));
  model.name = "GPU B";
  model.result.row = 33;
  assert_ok(cost_models_take(&model));
  assert_ok(cost_models_write("models/deep/constants.toml"));
  cost_models_forget();
  assert_ok(cost_constants_find("models/deep/constants.toml", &constants));
  assert_ok(cost_models_read(constants.text, constants.path));
  const struct cost_model *a = cost_model_of("GPU A"), *b = cost_model_of("GPU B");
  assert_close(a->near[COST_FP32][1], 12.25, 0);
  assert_close(a->tile[COST_BF16][3], 0, 0);
  assert_close(a->result.row, cost_model_h200.result.row, 1e-4);
  assert_close(a->exchange.reduce_byte, 21, 0);
  assert_close(a->stores.start, 9e6, 0);
  assert_close(a->stores.byte, 3.25, 0);
  assert_close(b->result.row, 33, 0);
  assert_fails(cost_model_named("GPU C", &a), BAD_INPUT, "a GPU \"GPU C\"; allowed: ");
  assert_fails(cost_model_named("GPU C", &a), BAD_INPUT, ", GPU A, GPU B");
  cost_models_forget();
}

/* Files of before there were such constants: rows are then taken to be stored as fast as messages come. */
TEST(stores_that_were_not_measured_are_not_known) {
  assert_ok(cost_models_read("[A]\nexchange_byte = 4.2\n", "old"));
  assert_close(cost_model_of("A")->exchange.byte, 4.2, 0);
  assert_close(cost_model_of("A")->stores.byte, 0, 0);
  cost_models_forget();
}

/* What stands behind a NUL would be passed over. */
TEST(files_that_hold_a_nul_are_refused) {
  static struct cost_constants constants;
  static const char text[] = "[A]\nrow = 1\0\nrows = 1\n";
  FILE *file = fopen("nul.toml", "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, sizeof text - 1, file), sizeof text - 1);
  assert_int_equal(fclose(file), 0);
  assert_fails(cost_constants_find("nul.toml", &constants), BAD_INPUT,
               "nul.toml: not a text: byte 12 is NUL");
  unlink("nul.toml");
}

TEST(settings_name_files) {
  static struct cost_constants constants;
  assert_ok(cost_constants_find("none", &constants));
  assert_string_equal(constants.text, "");
  setenv("XDG_CONFIG_HOME", "nowhere", 1);
  assert_ok(cost_constants_find("auto", &constants));
  assert_string_equal(constants.path, "");
  assert_fails(cost_constants_find("no.toml", &constants), BAD_INPUT, "runtime.constants: no.toml");
}
