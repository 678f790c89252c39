/* SPDX-License-Identifier: Apache-2.0 */
#include "tiny_model.h"

#include <sys/stat.h>

typedef struct tensor {
  char name[64];
  int64_t shape[2]; /* the second 0 of a vector */
} tensor;

enum { FFN = 24, MOST_TENSORS = 64 };

static const char config_json[] = TINY_CONFIG("2", "64");

static void add(tensor* tensors, int* count, const char* name, int64_t rows, int64_t columns) {
  tensor* const t = &tensors[(*count)++];
  snprintf(t->name, sizeof t->name, "%s", name);
  t->shape[0] = rows;
  t->shape[1] = columns;
}

static int all_tensors(tensor* tensors) {
  const int64_t queries = TINY_HEADS * TINY_HEAD_DIM, keys = TINY_KV_HEADS * TINY_HEAD_DIM;
  int count = 0;
  char name[64];
  add(tensors, &count, "model.embed_tokens.weight", TINY_TOKENS, TINY_HIDDEN);
  add(tensors, &count, "model.norm.weight", TINY_HIDDEN, 0);
  for (int layer = 0; layer < TINY_LAYERS; ++layer) {
    const struct {
      const char* name;
      int64_t rows, columns;
    } parts[] = {{"input_layernorm", TINY_HIDDEN, 0},        {"post_attention_layernorm", TINY_HIDDEN, 0},
                 {"self_attn.q_proj", queries, TINY_HIDDEN}, {"self_attn.k_proj", keys, TINY_HIDDEN},
                 {"self_attn.v_proj", keys, TINY_HIDDEN},    {"self_attn.o_proj", TINY_HIDDEN, queries},
                 {"mlp.gate_proj", FFN, TINY_HIDDEN},        {"mlp.up_proj", FFN, TINY_HIDDEN},
                 {"mlp.down_proj", TINY_HIDDEN, FFN}};
    for (size_t i = 0; i < COUNT(parts); ++i) {
      snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, parts[i].name);
      add(tensors, &count, name, parts[i].rows, parts[i].columns);
    }
  }
  return count;
}

static int64_t elements(const tensor* t) { return t->shape[0] * (t->shape[1] == 0 ? 1 : t->shape[1]); }

/* Numbers in (-0.5, 0.5), or about 1 for norms, that depend on nothing but their place. */
static void write_values(FILE* file, const tensor* t, uint32_t* state) {
  for (int64_t i = 0; i < elements(t); ++i) {
    *state = *state * 1664525u + 1013904223u;
    float value = (float)(*state >> 8) / 16777216.0f - 0.5f;
    if (t->shape[1] == 0) value = 1 + 0.2f * value;
    CHECK(fwrite(&value, sizeof value, 1, file) == 1);
  }
}

static void damage_shape(tensor* t) {
  if (t->shape[1] == 0) {
    t->shape[0] -= 1;
  } else {
    const int64_t rows = t->shape[0];
    t->shape[0] = t->shape[1];
    t->shape[1] = rows;
  }
}

static void write_weights(const char* path, const tiny_damage* damage) {
  static char header[16384];
  tensor tensors[MOST_TENSORS];
  const int count = all_tensors(tensors);
  uint64_t length = 1;
  int64_t offset = 0;
  uint32_t state = 1;
  strcpy(header, "{");
  for (int i = 0; i < count; ++i) {
    tensor* const t = &tensors[i];
    if (damage->without != NULL && strcmp(t->name, damage->without) == 0) continue;
    if (damage->transposed != NULL && strcmp(t->name, damage->transposed) == 0) damage_shape(t);
    const int64_t bytes = elements(t) * 4;
    char shape[48];
    snprintf(shape, sizeof shape, t->shape[1] == 0 ? "%d" : "%d, %d", (int)t->shape[0], (int)t->shape[1]);
    length +=
        (uint64_t)snprintf(header + length, sizeof header - length,
                           "%s\"%s\": {\"dtype\": \"F32\", \"shape\": [%s], \"data_offsets\": [%lld, %lld]}",
                           offset == 0 ? "" : ", ", t->name, shape, (long long)offset, (long long)(offset + bytes));
    offset += bytes;
  }
  header[length++] = '}';
  FILE* const file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK(fwrite(&length, sizeof length, 1, file) == 1 && fwrite(header, 1, length, file) == length);
  for (int i = 0; i < count; ++i)
    if (damage->without == NULL || strcmp(tensors[i].name, damage->without) != 0)
      write_values(file, &tensors[i], &state);
  CHECK(fclose(file) == 0);
}

const char* write_tiny_model(const char* name, const tiny_damage* damage) {
  static const tiny_damage none;
  static char folder[512], path[640];
  if (damage == NULL) damage = &none;
  snprintf(folder, sizeof folder, "%s", temporary_path(name));
  mkdir(folder, 0700);
  snprintf(path, sizeof path, "%s/config.json", folder);
  write_text(path, damage->config != NULL ? damage->config : config_json);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  write_weights(path, damage);
  if (damage->cut != 0) {
    int64_t bytes;
    unsigned char* const whole = read_file(path, &bytes);
    FILE* const file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(whole, 1, (size_t)(bytes - damage->cut), file) == (size_t)(bytes - damage->cut));
    CHECK(fclose(file) == 0);
    free(whole);
  }
  return folder;
}

static sidbeam_model* open_on_cpu(const char* folder) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  sidbeam_model* model = NULL;
  CHECK_OK(sidbeam_model_open(folder, &config, &model, &err));
  return model;
}

sidbeam_model* make_tiny_model(void) { return open_on_cpu(write_tiny_model("tiny", NULL)); }

sidbeam_model* make_tiny_variant(const char* config) {
  tiny_damage damage = {0};
  damage.config = config;
  return open_on_cpu(write_tiny_model("variant", &damage));
}
