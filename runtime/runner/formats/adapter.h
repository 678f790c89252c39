// A LoRA adapter as PEFT saves it: adapter_config.json, and adapter_model.safetensors with two narrow matrices per
// matrix that it changes, and whole tensors (biases, modules_to_save, resized embeddings) in place of others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/formats/checkpoint.h"
#include "runner/formats/config.h"
#include "runner/formats/fields.h"

namespace sidbeam::runner {

struct Factor {
  std::string name;
  Weights weights;
  int64_t columns = 0;
};

// scale * up x down is added to a matrix. Of an embedding up and down change places, and both are transposed.
struct LowRank {
  Factor down, up;  // [rank, columns], [rows, rank]; of an embedding [rank, rows], [columns, rank]
  int64_t rank = 0;
  float scale = 1.0F;
  bool embedding = false;
};

class Adapter {
 public:
  // Throws Failure: IO_ERROR, CORRUPT, UNSUPPORTED (not LoRA, or a form of it that is not merged).
  explicit Adapter(const char* folder);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  // What changes a tensor of the model of this shape, if anything does.
  std::optional<LowRank> change(const std::string& name, int64_t rows, int64_t columns) const;
  // A decoder's embedding that is saved whole may have more tokens than the base's.
  void read_vocabulary(ModelConfig& config) const;
  // The name of the tensor that takes the place of the model's; "": none.
  std::string replacement(const std::string& name) const;
  // Whether a product is added to the weight of the module of this path in the model.
  bool adds_to(const std::string& path) const;

 private:
  // A number that is the same for all modules except those that a pattern names; the first that does counts.
  struct Setting {
    double usual = 1.0;
    std::vector<std::pair<std::string, double>> patterns;
    double of(std::string_view path) const;
  };

  void read_settings(const char* folder);
  void read_pattern(const Fields& fields, const char* name, Setting& setting);
  // The adapter's name of a module of the model; "": it has no tensor `tensor` of it.
  std::string module(const std::string& name, const std::string& tensor) const;

  Checkpoint checkpoint_;
  Setting rank_, alpha_;
  bool root_ = false;  // the scale is alpha / sqrt(rank)
};

// Whether a folder has an adapter.
bool has_adapter(const std::string& folder);
// The folder of the adapter's base: `given` if it is not empty, the folder itself, or one beside it that is called as
// the adapter says. Throws UNSUPPORTED, with that advice, where there is none.
std::string find_base(const std::string& folder, const std::string& given);
// Throws UNSUPPORTED where the base, in another folder, has an adapter of its own, which would be passed over.
void check_base(const std::string& folder, const std::string& base);

}  // namespace sidbeam::runner
