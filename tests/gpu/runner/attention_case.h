// A call of sidbeam_attention_run() on a device: its inputs in both memories, and what it must give, in float64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device_place.h"
#include "sidbeam/attention.h"

namespace gpu {

struct AttentionCase {
  int32_t dtype = SIDBEAM_DTYPE_F32;
  int32_t heads = 2, kv_heads = 1, head_dim = 16, depth = 0;
  std::vector<int64_t> rows, lengths;  // of each request
  bool shared_bias = false, ancestor_bias = false;
  bool odd_addresses = false;  // that are not multiples of 16, with gaps between rows of queries
  float spread = 1;            // of the products
  uint64_t seed = 1;

  std::string text() const;
};

// One array of elements of the case's type, or of f32.
struct Elements {
  std::vector<double> values;  // as rounded
  std::shared_ptr<void> memory;
  void* address = nullptr;  // in memory
};

class AttentionCall {
 public:
  explicit AttentionCall(const AttentionCase& c);

  const AttentionCase& of() const { return case_; }
  // For changes before upload().
  std::vector<double>& queries() { return queries_.values; }
  std::vector<int32_t>& ancestors() { return ancestors_; }
  std::vector<double>& bias(size_t request) { return shared_bias_[request].values; }
  std::vector<double>& keys(size_t request) { return keys_[request].values; }
  std::vector<double>& values(size_t request) { return values_[request].values; }
  std::vector<double>& unshared_keys() { return unshared_keys_.values; }
  std::vector<double>& unshared_values() { return unshared_values_.values; }
  std::vector<double>& ancestor_bias() { return ancestor_bias_.values; }
  void upload();

  void enqueue(cudaStream_t stream) const;
  struct Results {
    std::vector<double> output, lse;
    bool operator==(const Results&) const = default;  // NaNs are compared as a marker
  };
  // Waits for the stream. NaN is given as kNan.
  Results fetch(cudaStream_t stream) const;
  // Throws differential::Mismatch where the results are not near those in float64.
  void check(const Results& results) const;
  // Fills what the call writes with rubbish.
  void spoil(cudaStream_t stream) const;

  static constexpr double kNan = 1e300;
  int64_t rows() const { return total_rows_; }
  // The same request alone.
  AttentionCall alone(size_t request) const;
  int64_t first_row(size_t request) const { return offsets_[request]; }

 private:
  sidbeam_attention_args args() const;
  void check_row(const Results& results, size_t request, int64_t row, int32_t head) const;

  AttentionCase case_;
  int64_t total_rows_ = 0, query_stride_ = 0, slots_ = 0;
  std::vector<int64_t> offsets_;
  Elements queries_, unshared_keys_, unshared_values_, ancestor_bias_, output_, lse_;
  std::vector<Elements> keys_, values_, shared_bias_;
  std::vector<const void*> key_pointers_, value_pointers_;
  std::vector<const float*> bias_pointers_;
  std::vector<int32_t> ancestors_;
  std::shared_ptr<void> ancestors_memory_, workspace_;
  int64_t workspace_bytes_ = 0;
};

}  // namespace gpu
