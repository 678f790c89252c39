// SPDX-License-Identifier: Apache-2.0
#include "sound.h"

#include "../draft_specimens.h"
#include "../model/input.h"
#include "../specimens.h"
#include "catalogues.h"

namespace fuzz {
namespace {

constexpr size_t kEveryKind = 6;      // of specimens()
constexpr size_t kSmallestModel = 6;  // of model_specimens()

std::vector<uint8_t> bytes_of_text(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<uint8_t> some_rows() {
  const int32_t codes[] = {3, 1, 2, 3, 1, 0, 0, 0, 0, 2, 3, 3, 0, 2, 1, 3, 1, 2};
  return npy_bytes("<i4", "(6, 3)", codes, sizeof codes);
}

std::vector<uint8_t> index_for_head() {
  Catalogue catalogue;
  catalogue.codes = kDraftCodes;
  catalogue.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_HASH;
  catalogue.sids = {0, 4, 1, 1, 0, 0, 1, 3, 1, 2, 2, 0};
  catalogue.lengths.assign(4, 3);
  return bytes_of(catalogue);
}

std::string make_live(const Scratch& folder, const std::string& base) {
  const std::string path = folder.path("live");
  const int32_t codes[] = {0, 1, 2, 3, 3, 3, 1, 0, 1};
  const int64_t ids[] = {7, 7, 0};
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes;
  pairs.ids = ids;
  pairs.count = 3;
  sidbeam_item_list gone = SIDBEAM_ITEM_LIST_INIT;
  gone.numbers = ids + 2;
  gone.count = 1;
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  sidbeam_index* index = nullptr;
  sidbeam_catalog* catalog = nullptr;
  const auto done = [](sidbeam_status status) { FUZZ_CHECK(status == SIDBEAM_OK); };
  done(sidbeam_index_open(runtime(), base.c_str(), nullptr, &index, nullptr));
  done(sidbeam_catalog_create(index, path.c_str(), &config, &catalog, nullptr));
  done(sidbeam_catalog_add(catalog, &pairs, nullptr));
  done(sidbeam_catalog_publish(catalog, nullptr, nullptr));
  done(sidbeam_catalog_remove(catalog, &gone, nullptr, nullptr));
  done(sidbeam_catalog_publish(catalog, nullptr, nullptr));
  sidbeam_catalog_close(catalog);
  sidbeam_index_release(index);
  return path;
}

// Of two requests: [requests, L + 1, D].
std::vector<uint8_t> some_hidden_states() {
  std::vector<float> states(size_t{2} * 4 * kDraftHidden);
  for (size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(i % 7) / 4 - 1;
  return npy_bytes("<f4", "(2, 4, 3)", states.data(), states.size() * sizeof(float));
}

}  // namespace

Sound::Sound()
    : index(folder_.write("sound.sidx", specimens()[kEveryKind])),
      rows(folder_.write("rows.npy", some_rows())),
      live(make_live(folder_, index)),
      model(folder_.make_folder("model")),
      head_of_model(folder_.path("model.sdraft")),
      head(folder_.path("head.sdraft")),
      index_of_head(folder_.write("head.sidx", index_for_head())),
      hidden(folder_.write("hidden.npy", some_hidden_states())) {
  const ModelInput& smallest = model_specimens()[kSmallestModel];
  folder_.write("model/config.json", bytes_of_text(smallest.config));
  folder_.write("model/model.safetensors", weights_file(smallest));
  write_draft_head(head_of_model, {4, 4, 4}, kModelHidden, 0);
  write_draft_head(head, kDraftCodes, kDraftHidden, 3);
}

}  // namespace fuzz
