// SPDX-License-Identifier: Apache-2.0
#include "caller.h"

#include "../model/input.h"
#include "../tool/scratch.h"

namespace fuzz::abi {
namespace {

// A T5, a Llama and a Qwen2.
constexpr size_t kSpecimens[kModelFolders] = {0, 4, 6};

struct Folders {
  Scratch scratch{"runner"};
  std::vector<std::string> models;
  std::string head = scratch.path("head.sdraft");

  Folders() {
    for (const size_t which : kSpecimens) {
      const ModelInput& model = model_specimens()[which];
      const std::string name = std::to_string(which);
      models.push_back(scratch.make_folder(name));
      scratch.write(name + "/config.json", {model.config.begin(), model.config.end()});
      scratch.write(name + "/model.safetensors", weights_file(model));
    }
  }
};

const Folders& folders() {
  static const Folders instance;
  return instance;
}

}  // namespace

sidbeam_index* catalogue_index() {
  static const Handle<sidbeam_index> index = [] {
    Catalogue catalogue;
    catalogue.codes.assign(kLevels, kCodes);
    catalogue.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH;
    catalogue.sids = {0, 1, 2, 0, 1, 3, 0, 3, 0, 2, 2, 1, 3, 0, 0, 3, 3, 3};
    catalogue.lengths.assign(kSids, kLevels);
    return index_of(catalogue);
  }();
  return index.get();
}

sidbeam_constraint* catalogue_constraint() {
  static const Handle<sidbeam_constraint> constraint = constraint_of(catalogue_index());
  return constraint.get();
}

const std::string& model_folder(int32_t which) { return folders().models[static_cast<size_t>(which)]; }
const std::string& head_path() { return folders().head; }

Caller::~Caller() {
  while (world.flip() ? world.drop_any() || drop_any() : drop_any() || world.drop_any()) {
  }
}

bool Caller::drop_any() {
  const size_t count = models.size() + heads.size() + runners.size() + hidden.size() + decoders.size();
  if (count == 0) return false;
  auto at = static_cast<size_t>(world.in(0, static_cast<int32_t>(count) - 1));
  const auto drop = [&at](auto& all, const auto& let_go) {
    if (at >= all.size()) {
      at -= all.size();
      return false;
    }
    let_go(all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  };
  return drop(models,
              [](sidbeam_model* one) {
                ABI(model_release)
                (one);
              }) ||
         drop(heads,
              [](sidbeam_draft_head* one) {
                ABI(draft_head_release)
                (one);
              }) ||
         drop(runners,
              [](const std::unique_ptr<Runner>& one) {
                ABI(runner_destroy)(one->handle);
                for (const Runner::Request& request : one->requests) FUZZ_CHECK(request.told == 1);
              }) ||
         drop(hidden,
              [](const std::unique_ptr<Hidden>& one) {  // the others must outlive the first
                ABI(hidden_destroy)(one->handle);
                ABI(session_destroy)(one->session);
                ABI(output_layer_destroy)(one->layer);
              }) ||
         drop(decoders, [](const Decoder& one) {
           ABI(draft_decoder_destroy)
           (one.handle);
         });
}

}  // namespace fuzz::abi
