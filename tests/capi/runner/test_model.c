/* Opening checkpoints: what is told of a whole one, and what is refused of others, with what is missing or wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tiny_model.h"

static void a_whole_checkpoint_opens_and_tells_its_shape(void) {
  sidbeam_model* model = make_tiny_model();
  sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
  CHECK_OK(sidbeam_model_get_info(model, &info, &err));
  CHECK_TEXT(info.family, "llama");
  CHECK_INT(info.layers, TINY_LAYERS);
  CHECK_INT(info.encoder_layers, 0);
  CHECK_INT(info.hidden, TINY_HIDDEN);
  CHECK_INT(info.heads, TINY_HEADS);
  CHECK_INT(info.kv_heads, TINY_KV_HEADS);
  CHECK_INT(info.head_dim, TINY_HEAD_DIM);
  CHECK_INT(info.vocabulary, TINY_TOKENS);
  CHECK_INT(info.max_positions, 64);
  CHECK_INT(info.weights, SIDBEAM_WEIGHTS_F32);
  CHECK_INT(info.parameters, 24 * 16 + 16 + 2 * (2 * 16 + 2 * 16 * 16 + 2 * 8 * 16 + 3 * 24 * 16));
  CHECK(info.memory_bytes >= info.parameters * 4);
  sidbeam_model_retain(model);
  sidbeam_model_release(model);
  CHECK_OK(sidbeam_model_get_info(model, &info, &err));
  sidbeam_model_release(model);
  sidbeam_model_release(NULL);
}

static void refuses(const tiny_damage* damage, sidbeam_status status, const char* what) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  CHECK_FAILS(sidbeam_model_open(write_tiny_model("damaged", damage), &config, &model, &err), status, what);
  CHECK(model == NULL);
}

static void a_checkpoint_that_is_not_whole_is_refused_with_what_is_wrong(void) {
  refuses(&(tiny_damage){.without = "model.layers.1.mlp.up_proj.weight"}, SIDBEAM_CORRUPT,
          "has no tensor 'model.layers.1.mlp.up_proj.weight'");
  refuses(&(tiny_damage){.transposed = "model.layers.0.self_attn.k_proj.weight"}, SIDBEAM_CORRUPT,
          "tensor 'model.layers.0.self_attn.k_proj.weight' of");
  refuses(&(tiny_damage){.transposed = "model.norm.weight"}, SIDBEAM_CORRUPT, "tensor 'model.norm.weight' of");
  refuses(&(tiny_damage){.cut = 1}, SIDBEAM_CORRUPT, "as its header says: it is truncated");
  refuses(&(tiny_damage){.config = "{"}, SIDBEAM_CORRUPT, "config.json' is not JSON");
  refuses(&(tiny_damage){.config = "{\"model_type\": \"gpt2\"}"}, SIDBEAM_UNSUPPORTED,
          "model_type 'gpt2', expected t5, mt5, umt5, llama, mistral, qwen2, qwen3 or phi3");
}

typedef struct said {
  int32_t messages, level;
  char last[512];
} said;

static void hear(void* context, int32_t level, const char* message) {
  said* const heard = (said*)context;
  heard->messages++;
  heard->level = level;
  snprintf(heard->last, sizeof heard->last, "%s", message);
}

static void what_is_left_of_a_file_is_logged(void) {
  const tiny_damage fewer = {.config = TINY_CONFIG("1", "64")};
  said heard = {0};
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  config.log = hear;
  config.log_context = &heard;
  CHECK_OK(sidbeam_model_open(write_tiny_model("whole", NULL), &config, &model, &err));
  sidbeam_model_release(model);
  CHECK_INT(heard.messages, 0);
  CHECK_OK(sidbeam_model_open(write_tiny_model("fewer", &fewer), &config, &model, &err));
  sidbeam_model_release(model);
  CHECK_INT(heard.messages, 1);
  CHECK_INT(heard.level, SIDBEAM_LOG_WARNING);
  CHECK(strstr(heard.last,
               "fewer': config.json asks for none of 9 tensors, which are left: "
               "model.layers.1.input_layernorm.weight, model.layers.1.mlp.down_proj.weight, ") != NULL);
  CHECK(strstr(heard.last, " and 4 more") != NULL);
  config.log = NULL; /* nobody listens */
  CHECK_OK(sidbeam_model_open(write_tiny_model("fewer", &fewer), &config, &model, &err));
  sidbeam_model_release(model);
  config.struct_size = offsetof(sidbeam_model_config, base); /* a caller of the first version */
  config.log = hear;
  CHECK_OK(sidbeam_model_open(write_tiny_model("fewer", &fewer), &config, &model, &err));
  sidbeam_model_release(model);
  CHECK_INT(heard.messages, 1);
}

static void folders_that_hold_no_model_are_refused(void) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  CHECK_FAILS(sidbeam_model_open("/nonexistent", &config, &model, &err), SIDBEAM_IO_ERROR, "/nonexistent/config.json");
  CHECK_FAILS(sidbeam_model_open(NULL, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT, "folder is NULL");
  CHECK_FAILS(sidbeam_model_open("x", &config, NULL, &err), SIDBEAM_INVALID_ARGUMENT, "out is NULL");
  const char* const whole = write_tiny_model("whole", NULL);
  config.base = whole;
  CHECK_FAILS(sidbeam_model_open(whole, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT,
              "config.base is given, expected NULL");
}

static void settings_that_are_not_offered_are_refused(void) {
  const char* folder = write_tiny_model("whole", NULL);
  sidbeam_model* model = NULL;
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = 5;
  CHECK_FAILS(sidbeam_model_open(folder, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT, "config.weights is 5");
  config.weights = SIDBEAM_WEIGHTS_STORED;
  config.device_type = 7;
  CHECK_FAILS(sidbeam_model_open(folder, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT, "config.device_type is 7");
  config.device_type = SIDBEAM_DEVICE_CPU;
  config.device_id = 1;
  CHECK_FAILS(sidbeam_model_open(folder, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT, "config.device_id is 1");
  config.device_id = 0;
  config.struct_size = 3;
  CHECK_FAILS(sidbeam_model_open(folder, &config, &model, &err), SIDBEAM_INVALID_ARGUMENT, "struct_size is 3");
  CHECK_OK(sidbeam_model_open(folder, NULL, &model, &err));
  sidbeam_model_release(model);
}

int main(void) {
  const test_case tests[] = {
      TEST(a_whole_checkpoint_opens_and_tells_its_shape),
      TEST(a_checkpoint_that_is_not_whole_is_refused_with_what_is_wrong),
      TEST(what_is_left_of_a_file_is_logged),
      TEST(folders_that_hold_no_model_are_refused),
      TEST(settings_that_are_not_offered_are_refused),
  };
  return RUN_TESTS(tests);
}
