// Catalogue files of every format, through the C ABI of the importers. The last bytes of an input choose the
// configuration; the rest is the file.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/import.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "equal_inputs.h"
#include "files/mutate.h"
#include "specimens.h"
#include "tool/catalogues.h"
#include "tool/scratch.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using Bytes = std::vector<uint8_t>;
using Import = std::unique_ptr<sidbeam_import, decltype(&sidbeam_import_destroy)>;

const fuzz::Scratch& scratch() {
  static const fuzz::Scratch folder("import");
  return folder;
}

struct Script {
  uint8_t format, columns, pattern, flags;
};

sidbeam_import_config draw_config(const Script& script, const std::string& ids) {
  static const char* const formats[] = {nullptr, "lcrec", "records", "jsonl", "csv", "npy", "npz", "raw", "xllm"};
  static const char* const columns[] = {nullptr, "sid", "c0,c1,c2", "0", "1,2"};
  static const char* const patterns[] = {nullptr, "<a_*> <b_*> <c_*>", "<s{level}_*>", "C*", "*", "<a_*> <b_*>"};
  static const int32_t codes[] = {300, 400, 500};
  sidbeam_import_config config = SIDBEAM_IMPORT_CONFIG_INIT;
  if (script.format % 2 == 1) config.format = formats[script.format / 2 % std::size(formats)];
  config.sid_columns = columns[script.columns % 16 < std::size(columns) ? script.columns % 16 : 0];
  config.item_column = (script.columns & 16) != 0 ? "2" : nullptr;
  config.priority_column = (script.columns & 32) != 0 ? "priority" : nullptr;
  static const char* const attributes[] = {nullptr, "price", "price:string,tags",
                                           "a:i64,b:f32,c:bool,d:string,e:strings"};
  config.attributes = attributes[script.columns / 64];
  config.token_pattern = patterns[script.pattern % 16 < std::size(patterns) ? script.pattern % 16 : 0];
  config.quotes = script.pattern / 16 % 3;
  config.variable_length = script.flags & 1;
  config.levels = (script.flags & 2) != 0 ? 3 : 0;
  config.codes = codes;
  config.codes_count = (script.flags & 4) != 0 ? (script.flags & 2) + 1 : 0;
  config.token_ids = (script.flags & 12) == 12;
  config.token_base = config.token_ids * 10;
  config.command_options = (script.flags & 16) != 0;
  config.text_ids = (script.flags & 32) != 0;
  if ((script.flags & 192) == 192) config.ids = ids.c_str();
  return config;
}

// A message that is one line and says something.
void check_refusal(sidbeam_status status, const sidbeam_error& err) {
  FUZZ_CHECK(status == SIDBEAM_CORRUPT || status == SIDBEAM_INVALID_ARGUMENT || status == SIDBEAM_UNSUPPORTED);
  FUZZ_CHECK(err.code == status && std::strlen(err.message) > 8);
  for (const char* c = err.message; *c != '\0'; ++c) FUZZ_CHECK(static_cast<unsigned char>(*c) >= 0x20);
}

void check_info(const sidbeam_import_info& info) {
  FUZZ_CHECK(info.levels >= 1 && info.levels <= SIDBEAM_MAX_LEVELS && info.rows >= 1);
  for (int32_t l = 0; l < info.levels; ++l) {
    FUZZ_CHECK(info.codes[l] >= 1 && info.codes[l] <= SIDBEAM_MAX_CODES);
    FUZZ_CHECK(std::strchr(info.families[l], '*') != nullptr);
  }
  FUZZ_CHECK(std::strlen(info.summary) > 0 && std::strlen(info.format) > 0);
}

// What was surveyed can be added, unless a code is out of a range that the caller gave, and all of it arrives.
// (Attributes of pairs that merge may differ.)
void check_rows(sidbeam_import* import, const sidbeam_import_info& info, bool codes_given) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = info.levels;
  config.codes = info.codes;
  config.variable_length = info.variable_length;
  config.id_type = info.id_type;
  config.threads = 1;
  sidbeam_builder* made = nullptr;
  FUZZ_CHECK(sidbeam_builder_create(fuzz::runtime(), &config, &made, &err) == SIDBEAM_OK);
  const fuzz::Handle<sidbeam_builder> builder(made);
  const sidbeam_status added = sidbeam_import_add_to(import, made, &err);
  if (added != SIDBEAM_OK) {
    FUZZ_CHECK(codes_given);
    return check_refusal(added, err);
  }
  sidbeam_index* finished = nullptr;
  const sidbeam_status status = sidbeam_builder_finish(made, &finished, &err);
  if (status != SIDBEAM_OK) {
    FUZZ_CHECK(info.attribute_count > 0 && std::strstr(err.message, "expected the same value in both") != nullptr);
    return check_refusal(status, err);
  }
  const fuzz::Handle<sidbeam_index> index(finished);
  FUZZ_CHECK(sidbeam_index_verify(finished, SIDBEAM_VERIFY_FULL, &err) == SIDBEAM_OK);
  sidbeam_index_info built = SIDBEAM_INDEX_INFO_INIT;
  FUZZ_CHECK(sidbeam_index_get_info(finished, &built, &err) == SIDBEAM_OK);
  FUZZ_CHECK(built.items + built.merged_pairs == info.rows && built.levels == info.levels);
  FUZZ_CHECK(built.attribute_count == info.attribute_count);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::weigh_inputs_equally(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < fuzz::kScriptBytes) return 0;
  size -= fuzz::kScriptBytes;
  const Script script{data[size], data[size + 1], data[size + 2], data[size + 3]};
  const std::string path = scratch().write("input", Bytes(data, data + size));
  const std::string ids = scratch().write("ids", Bytes{'7', '\n', '8', '\n', '9', '\n'});
  const sidbeam_import_config config = draw_config(script, ids);
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_import* opened = nullptr;
  const sidbeam_status status = sidbeam_import_open(path.c_str(), &config, &opened, &err);
  if (status != SIDBEAM_OK) {
    check_refusal(status, err);
    return 0;
  }
  const Import import(opened, sidbeam_import_destroy);
  sidbeam_import_info info = SIDBEAM_IMPORT_INFO_INIT;
  FUZZ_CHECK(sidbeam_import_get_info(opened, &info, &err) == SIDBEAM_OK);
  check_info(info);
  check_rows(opened, info, config.codes_count > 0);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  Bytes whole(data, data + size);
  whole.resize(std::max(size, fuzz::kScriptBytes));
  Bytes script(whole.end() - fuzz::kScriptBytes, whole.end());
  whole.resize(whole.size() - fuzz::kScriptBytes);
  if (random.one_in(4)) script[random.below(4)] = static_cast<uint8_t>(random.next());
  if (random.one_in(2)) {
    fuzz::mutate_catalogue(whole, most - fuzz::kScriptBytes, random, LLVMFuzzerMutate);
  } else {
    const size_t before = whole.size();
    whole.resize(most - fuzz::kScriptBytes);
    whole.resize(LLVMFuzzerMutate(whole.data(), before, whole.size()));
  }
  whole.insert(whole.end(), script.begin(), script.end());
  std::copy(whole.begin(), whole.end(), data);
  return whole.size();
}
