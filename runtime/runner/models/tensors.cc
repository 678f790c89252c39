// SPDX-License-Identifier: Apache-2.0
#include "runner/models/tensors.h"

#include <cmath>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr std::string_view kInner = "model.";

Dtype dtype_of(StoredType type) {
  return type == StoredType::kF16 ? Dtype::kF16 : type == StoredType::kBf16 ? Dtype::kBf16 : Dtype::kF32;
}

bool begins_with(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

constexpr const char *kSharedEmbedding = "shared.weight", *kEmbedding = "model.embed_tokens.weight",
                     *kOutputLayer = "lm_head.weight";
// Copies of a T5's embedding.
constexpr const char* kCopies[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};

// Copies of the embedding, buffers of old versions, and a bias that no T5 uses.
bool is_ignored(std::string_view name) {
  for (const char* end : {"rotary_emb.inv_freq", kCopies[0], kCopies[1],
                          "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"})
    if (ends_with(name, end)) return true;
  return false;
}

std::vector<std::string> names_but(const Checkpoint& checkpoint, std::vector<std::string> read) {
  std::vector<std::string> names;
  std::sort(read.begin(), read.end());
  for (int64_t i = 0; i < checkpoint.size(); ++i) {
    std::string name(checkpoint.at(i).name);
    if (!std::binary_search(read.begin(), read.end(), name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Elements of any stored type as f32; those of an f64 beyond f32 become infinite.
void read_wide(const Checkpoint& from, const Weights& weights, int64_t first, int64_t n, std::byte* raw, float* out) {
  from.read(weights, first, n, raw);
  if (weights.type != StoredType::kF64) return widen({raw, dtype_of(weights.type), 1, n}, 0, n, out);
  for (int64_t i = 0; i < n; ++i) {
    double value;
    std::memcpy(&value, raw + i * 8, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

ModelTensors::ModelTensors(const Allocator& allocator, const Checkpoint& checkpoint, const Adapter* adapter,
                           const ModelConfig& config, int64_t piece_bytes)
    : allocator_(allocator),
      checkpoint_(checkpoint),
      adapter_(adapter),
      encodes_(config.encoder_layers > 0),
      piece_bytes_(piece_bytes) {
  find_prefix(config);
  check_tied();
  check_copies(config);
}

// What wrappers of training put before every name; and a model saved without its output layer lacks "model.".
void ModelTensors::find_prefix(const ModelConfig& config) {
  const std::string embedding = config.encoder_layers > 0 ? kSharedEmbedding : "embed_tokens.weight";
  for (const char* outer : {"", "module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."}) {
    for (const bool inner : {true, false}) {
      if (!checkpoint_.has(outer + std::string(inner && !encodes_ ? kInner : "") + embedding)) continue;
      outer_ = outer, inner_ = inner;
      return;
    }
  }
}

// transformers runs a T5 whose copies of the embedding are others; here they are one.
void ModelTensors::check_copies(const ModelConfig& config) const {
  if (!encodes_) return;
  for (const char* name : kCopies) {
    const std::string copy = name_in_file(name), shared = name_in_file(kSharedEmbedding);
    if (!checkpoint_.has(copy) || !checkpoint_.has(shared)) continue;
    const int64_t differs = first_difference(checkpoint_.tensor(copy, {config.vocabulary, config.hidden}),
                                             checkpoint_.tensor(shared, {config.vocabulary, config.hidden}));
    if (differs < 0) continue;
    fail(SIDBEAM_UNSUPPORTED, "tensor '%.200s' is not the same as '%.200s' at [%lld, %lld], expected its copy",
         copy.c_str(), shared.c_str(), static_cast<long long>(differs / config.hidden),
         static_cast<long long>(differs % config.hidden));
  }
}

int64_t ModelTensors::first_difference(const Weights& a, const Weights& b) const {
  constexpr int64_t kStep = int64_t{1} << 16;
  std::vector<std::byte> raw(kStep * sizeof(double));
  std::vector<float> of_a(kStep), of_b(kStep);
  const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  for (int64_t first = 0; first < a.elements; first += kStep) {
    const int64_t n = std::min(kStep, a.elements - first);
    read_wide(checkpoint_, a, first, n, raw.data(), of_a.data());
    read_wide(checkpoint_, b, first, n, raw.data(), of_b.data());
    const auto end = of_a.begin() + n;
    const auto at = std::mismatch(of_a.begin(), end, of_b.begin(), same).first;
    if (at != end) return first + (at - of_a.begin());
  }
  return -1;
}

// Of layers that are one PEFT changes one alone, merges into both, or unties them, as it happens.
void ModelTensors::check_tied() const {
  if (adapter_ == nullptr) return;
  const auto module_of = [](const char* name) {
    return std::string(name).substr(0, std::string_view(name).rfind('.'));
  };
  const auto adds = [&](const char* name) { return adapter_->adds_to(module_of(name)); };
  const auto changes = [&](const char* name) { return adds(name) || !adapter_->replacement(name).empty(); };
  const auto refuse_if = [&](bool wrong, const char* name, const char* other) {
    if (!wrong) return;
    fail(SIDBEAM_UNSUPPORTED,
         "the adapter changes '%s', which is the same tensor as %s, expected one that changes neither",
         module_of(name).c_str(), other);
  };
  for (const char* name : {kSharedEmbedding, kCopies[0], kCopies[1]})
    refuse_if(encodes_ && changes(name), name, "the other embeddings of a T5");
  if (checkpoint_.has(name_in_file(kOutputLayer))) return;
  refuse_if(adds(kOutputLayer), kOutputLayer, "the embedding (tied)");
  const bool alone = adds(kEmbedding) || !changes(kOutputLayer);  // else both are saved whole
  refuse_if(!encodes_ && changes(kEmbedding) && alone, kEmbedding, "the output layer (tied)");
}

std::string ModelTensors::name_in_file(const std::string& name) const {
  return outer_ + (!inner_ && begins_with(name, kInner) ? name.substr(kInner.size()) : name);
}

bool ModelTensors::has(const std::string& name) const {
  return checkpoint_.has(name_in_file(name)) || (adapter_ != nullptr && !adapter_->replacement(name).empty());
}

Dtype ModelTensors::type_of(const std::string& name) const {
  const std::string found = name_in_file(name);
  return checkpoint_.has(found) ? dtype_of(checkpoint_.tensor(found, checkpoint_.shape_of(found)).type) : Dtype::kF32;
}

bool ModelTensors::has_output_layer(const ModelConfig& config) const {
  if (has(kOutputLayer)) return true;
  if (!config.tied && !inner_)
    fail(SIDBEAM_CORRUPT,
         "the checkpoint has no output layer, tensor 'lm_head.weight': it is of the model without its head, and "
         "tie_word_embeddings is not true, with which the embedding would be the output layer");
  return !config.tied;
}

StoredRows ModelTensors::rows(const std::string& name, int64_t of, int64_t columns, int64_t first, int64_t rows) {
  return find(name, {of, columns}, first, rows, columns);
}

StoredRows ModelTensors::find(const std::string& name, std::initializer_list<int64_t> shape, int64_t first,
                              int64_t rows, int64_t columns) {
  StoredRows found;
  const std::string other = adapter_ != nullptr ? adapter_->replacement(name) : "";
  const bool replaced = adapter_ != nullptr && !other.empty();
  found.name = replaced ? other : name_in_file(name);
  found.from = replaced ? &adapter_->checkpoint() : &checkpoint_;
  found.weights = found.from->tensor(found.name, shape);
  (replaced ? read_of_adapter_ : read_).push_back(found.name);
  if (replaced && checkpoint_.has(name_in_file(name))) read_.push_back(name_in_file(name));
  found.first = first, found.rows = rows, found.columns = columns;
  found.dtype = dtype_of(found.weights.type);
  parameters_ += rows * columns;
  if (adapter_ == nullptr || shape.size() != 2) return found;
  found.change = adapter_->change(name, *shape.begin(), columns);
  if (found.change) {
    read_of_adapter_.push_back(found.change->down.name);
    read_of_adapter_.push_back(found.change->up.name);
  }
  return found;
}

std::byte* ModelTensors::raw(int64_t elements, StoredType type) {
  const int64_t bytes = checked_bytes(elements, size_of(type));
  if (raw_.size() < bytes) raw_ = Buffer<std::byte>(allocator_, bytes);
  return raw_.data();
}

Tensor ModelTensors::piece(const StoredRows& stored, Dtype held, int64_t row, int64_t rows) {
  const int64_t first = (stored.first + row) * stored.columns, n = rows * stored.columns;
  std::byte* const bytes = raw(n, stored.weights.type);
  Tensor piece{bytes, stored.dtype, rows, stored.columns};
  if (stored.change || stored.weights.type == StoredType::kF64) {
    if (wide_.size() < n) wide_ = Buffer<float>(allocator_, n);
    read_wide(*stored.from, stored.weights, first, n, bytes, wide_.data());
    if (stored.change) add_change(stored, stored.first + row, rows);
    piece.data = wide_.data(), piece.dtype = Dtype::kF32;
  } else {
    stored.from->read(stored.weights, first, n, bytes);
  }
  const int64_t unfit = first_unfit(piece, held);
  if (unfit < 0) return piece;
  float value;
  widen(piece, unfit, 1, &value);
  refuse(stored, value, stored.first + row + unfit / stored.columns, unfit % stored.columns);
}

// Elements [first, first + n) of one of an adapter's matrices, of whose rows each has `columns`.
void ModelTensors::read_factor(const Factor& factor, int64_t first, int64_t n, float* out) {
  read_wide(adapter_->checkpoint(), factor.weights, first, n, raw(n, factor.weights.type), out);
  const int64_t unfit = first_unfit({out, Dtype::kF32, 1, n}, Dtype::kF32);
  if (unfit < 0) return;
  StoredRows stored;
  stored.name = factor.name, stored.from = &adapter_->checkpoint(), stored.weights = factor.weights;
  stored.rows = factor.weights.elements / factor.columns, stored.columns = factor.columns;
  refuse(stored, out[unfit], (first + unfit) / factor.columns, (first + unfit) % factor.columns);
}

// All of the matrix that is [rank, columns], an embedding's turned.
void ModelTensors::read_down(const LowRank& change, int64_t columns) {
  down_.resize(static_cast<size_t>(change.rank * columns));
  if (!change.embedding) return read_factor(change.down, 0, change.rank * columns, down_.data());
  std::vector<float> row(static_cast<size_t>(change.rank));
  for (int64_t c = 0; c < columns; ++c) {
    read_factor(change.up, c * change.rank, change.rank, row.data());
    for (int64_t k = 0; k < change.rank; ++k) down_[static_cast<size_t>(k * columns + c)] = row[static_cast<size_t>(k)];
  }
}

// Rows of the matrix that is [of, rank], which may be as long as the vocabulary.
void ModelTensors::read_up(const LowRank& change, int64_t row, int64_t rows) {
  up_.resize(static_cast<size_t>(rows * change.rank));
  if (!change.embedding) return read_factor(change.up, row * change.rank, rows * change.rank, up_.data());
  std::vector<float> column(static_cast<size_t>(rows));
  for (int64_t k = 0; k < change.rank; ++k) {
    read_factor(change.down, k * change.down.columns + row, rows, column.data());
    for (int64_t r = 0; r < rows; ++r) up_[static_cast<size_t>(r * change.rank + k)] = column[static_cast<size_t>(r)];
  }
}

// In f32, a row at a time: sums over the rank, then the scale, as PEFT merges.
void ModelTensors::add_change(const StoredRows& stored, int64_t row, int64_t rows) {
  const LowRank& change = *stored.change;
  if (row == stored.first) read_down(change, stored.columns);
  read_up(change, row, rows);
  std::vector<float> sum(static_cast<size_t>(stored.columns));
  for (int64_t r = 0; r < rows; ++r) {
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (int64_t k = 0; k < change.rank; ++k) {
      const float factor = up_[static_cast<size_t>(r * change.rank + k)];
      const float* const from = down_.data() + k * stored.columns;
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += factor * from[c];
    }
    float* const to = wide_.data() + r * stored.columns;
    for (size_t c = 0; c < sum.size(); ++c) to[c] += change.scale * sum[c];
  }
}

void ModelTensors::refuse(const StoredRows& stored, float value, int64_t row, int64_t column) const {
  const int64_t at[] = {row, column};
  const std::string place = format_shape(stored.rows == 1 ? std::span(at).subspan(1) : at);
  const char* const path = stored.from->path_of(stored.weights);
  if (std::isfinite(value))
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.weights: tensor '%.200s' of '%.150s' is %g at %s, which 16 bits do not hold; expected weights as "
         "stored, or f32",
         stored.name.c_str(), path, static_cast<double>(value), place.c_str());
  fail(SIDBEAM_CORRUPT, "tensor '%.200s' of '%.200s' is %g at %s, expected finite numbers%s%s", stored.name.c_str(),
       path, static_cast<double>(value), place.c_str(),
       stored.weights.type == StoredType::kF64 ? ", of an F64 within f32" : "",
       stored.change ? ", the adapter's change included" : "");
}

std::vector<std::string> ModelTensors::left() const {
  if (adapter_ != nullptr) {
    const std::vector<std::string> unread = names_but(adapter_->checkpoint(), read_of_adapter_);
    if (!unread.empty())
      fail(SIDBEAM_UNSUPPORTED, "the adapter's tensor '%.200s' changes nothing of this model, expected LoRA's alone",
           unread.front().c_str());
  }
  std::vector<std::string> names = names_but(checkpoint_, read_);
  names.erase(std::remove_if(names.begin(), names.end(), is_ignored), names.end());
  return names;
}

}  // namespace sidbeam::runner
