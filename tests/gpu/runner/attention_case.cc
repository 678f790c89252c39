// SPDX-License-Identifier: Apache-2.0
#include "attention_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "library.h"
#include "runner/attention/device.h"
#include "support/half.h"

namespace gpu {

using differential::call;
using differential::expect;

namespace {

// Numbers that depend on the seed alone.
struct Random {
  uint64_t state;
  double operator()() {  // in -1 .. 1
    state += 0x9E3779B97F4A7C15U;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
  }
};

size_t size_of(int32_t dtype) { return dtype == SIDBEAM_DTYPE_F32 ? 4 : 2; }

// The unit in the last place of a value near 1.
double unit_of(int32_t dtype) {
  return dtype == SIDBEAM_DTYPE_BF16 ? 0x1p-7 : dtype == SIDBEAM_DTYPE_F16 ? 0x1p-10 : 0x1p-23;
}

double decode(int32_t dtype, const void* at, size_t i) {
  uint16_t half = 0;
  float wide = 0;
  if (dtype == SIDBEAM_DTYPE_F32) {
    std::memcpy(&wide, static_cast<const char*>(at) + 4 * i, 4);
    return wide;
  }
  std::memcpy(&half, static_cast<const char*>(at) + 2 * i, 2);
  return dtype == SIDBEAM_DTYPE_F16 ? sidbeam::float_of(sidbeam::F16{half}) : sidbeam::float_of(sidbeam::Bf16{half});
}

// A value that the type has: towards zero, which is as good as any other rounding here.
void encode(int32_t dtype, double value, char* at) {
  const auto wide = static_cast<float>(value);
  if (dtype == SIDBEAM_DTYPE_F32) {
    std::memcpy(at, &wide, 4);
    return;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &wide, 4);
  uint16_t half = static_cast<uint16_t>(bits >> 16);
  if (dtype == SIDBEAM_DTYPE_F16) {
    const float size = std::fabs(wide);
    if (std::isnan(wide)) {
      half = 0x7E00;
    } else if (size < 0x1p-14F) {
      half = static_cast<uint16_t>(std::min(size * 0x1p24F, 1023.0F));
    } else {
      half = static_cast<uint16_t>(std::min<uint32_t>(((bits & 0x7FFFFFFFU) >> 13) - (112U << 10), 0x7C00U));
    }
    half = static_cast<uint16_t>(half | (bits >> 16 & 0x8000U));
  }
  std::memcpy(at, &half, 2);
}

void make(Elements& elements, size_t count, double scale, Random& random) {
  elements.values.resize(count);
  for (double& value : elements.values) value = random() * scale;
}

// To the device; the values become what the device has.
void send(Elements& elements, int32_t dtype, bool odd) {
  const size_t size = size_of(dtype), shift = odd ? size : 0, bytes = elements.values.size() * size;
  std::vector<char> image(bytes + shift);
  for (size_t i = 0; i < elements.values.size(); ++i) {
    encode(dtype, elements.values[i], image.data() + shift + i * size);
    elements.values[i] = decode(dtype, image.data() + shift, i);
  }
  elements.memory = device_memory(std::max<size_t>(image.size(), 1), nullptr);
  expect_cuda(cudaMemcpy(elements.memory.get(), image.data(), image.size(), cudaMemcpyHostToDevice), "copy");
  elements.address = static_cast<char*>(elements.memory.get()) + shift;
}

std::vector<double> receive(const Elements& elements, int32_t dtype, size_t count, cudaStream_t stream) {
  std::vector<char> image(count * size_of(dtype));
  expect_cuda(cudaMemcpyAsync(image.data(), elements.address, image.size(), cudaMemcpyDeviceToHost, stream), "copy");
  expect_cuda(cudaStreamSynchronize(stream), "wait");
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = decode(dtype, image.data(), i);
    if (std::isnan(values[i])) values[i] = AttentionCall::kNan;
  }
  return values;
}

}  // namespace

std::string AttentionCase::text() const {
  std::ostringstream out;
  out << "dtype=" << dtype << " heads=" << heads << '/' << kv_heads << " dim=" << head_dim << " depth=" << depth
      << " seed=" << seed << " bias=" << shared_bias << ancestor_bias << " odd=" << odd_addresses
      << " spread=" << spread << " requests=";
  for (size_t i = 0; i < rows.size(); ++i) out << ' ' << rows[i] << 'x' << lengths[i];
  return out.str();
}

AttentionCall::AttentionCall(const AttentionCase& c) : case_(c), offsets_{0} {
  Random random{c.seed};
  for (const int64_t count : c.rows) offsets_.push_back(offsets_.back() + count);
  total_rows_ = offsets_.back();
  const int64_t kv = int64_t{c.kv_heads} * c.head_dim;
  query_stride_ = int64_t{c.heads} * c.head_dim + (c.odd_addresses ? 3 : 0);
  make(queries_, static_cast<size_t>(total_rows_ * query_stride_), 2 * c.spread, random);
  const size_t requests = c.rows.size();
  keys_.resize(requests), values_.resize(requests), shared_bias_.resize(requests);
  for (size_t i = 0; i < requests; ++i) {
    make(keys_[i], static_cast<size_t>(c.lengths[i] * kv), 2, random);
    make(values_[i], static_cast<size_t>(c.lengths[i] * kv), 2, random);
    if (c.shared_bias) make(shared_bias_[i], static_cast<size_t>(c.lengths[i] * c.heads), 3, random);
  }
  slots_ = std::max<int64_t>(1, total_rows_);
  make(unshared_keys_, static_cast<size_t>(slots_ * kv), 2, random);
  make(unshared_values_, static_cast<size_t>(slots_ * kv), 2, random);
  make(ancestor_bias_, static_cast<size_t>(c.heads * c.depth), 3, random);
  for (int64_t i = 0; i < total_rows_ * c.depth; ++i)
    ancestors_.push_back(static_cast<int32_t>((random() + 1) / 2.001 * static_cast<double>(slots_ + 1)) - 1);
}

void AttentionCall::upload() {
  const bool odd = case_.odd_addresses;
  send(queries_, case_.dtype, odd);
  send(unshared_keys_, case_.dtype, odd);
  send(unshared_values_, case_.dtype, odd);
  send(ancestor_bias_, SIDBEAM_DTYPE_F32, false);
  key_pointers_.clear(), value_pointers_.clear(), bias_pointers_.clear();
  for (size_t i = 0; i < case_.rows.size(); ++i) {
    send(keys_[i], case_.dtype, odd);
    send(values_[i], case_.dtype, odd);
    send(shared_bias_[i], SIDBEAM_DTYPE_F32, false);
    key_pointers_.push_back(keys_[i].address);
    value_pointers_.push_back(values_[i].address);
    bias_pointers_.push_back(static_cast<const float*>(shared_bias_[i].address));
  }
  ancestors_memory_ = device_memory(std::max<size_t>(4, ancestors_.size() * 4), nullptr);
  expect_cuda(cudaMemcpy(ancestors_memory_.get(), ancestors_.data(), ancestors_.size() * 4, cudaMemcpyHostToDevice),
              "copy");
  output_.memory = device_memory(static_cast<size_t>(total_rows_ * case_.heads * case_.head_dim + 1) * 4, nullptr);
  lse_.memory = device_memory(static_cast<size_t>(total_rows_ * case_.heads + 1) * 4, nullptr);
  output_.address = output_.memory.get(), lse_.address = lse_.memory.get();
  sidbeam_attention_args sizes = args();
  call("workspace", sidbeam::runner::attention_device(0).workspace, static_cast<const sidbeam_attention_args*>(&sizes),
       &workspace_bytes_);
  workspace_ = device_memory(static_cast<size_t>(workspace_bytes_), nullptr);
  expect_cuda(cudaDeviceSynchronize(), "wait");
}

sidbeam_attention_args AttentionCall::args() const {
  sidbeam_attention_args args = SIDBEAM_ATTENTION_ARGS_INIT;
  args.device_type = SIDBEAM_DEVICE_CUDA;
  args.dtype = args.kv_dtype = case_.dtype;
  args.heads = case_.heads;
  args.kv_heads = case_.kv_heads;
  args.head_dim = case_.head_dim;
  args.depth = case_.depth;
  args.requests = static_cast<int64_t>(case_.rows.size());
  args.rows = total_rows_;
  args.row_offsets = offsets_.data();
  args.queries = queries_.address;
  args.query_stride = query_stride_;
  args.shared_keys = key_pointers_.data();
  args.shared_values = value_pointers_.data();
  args.shared_lengths = case_.lengths.data();
  args.unshared_keys = unshared_keys_.address;
  args.unshared_values = unshared_values_.address;
  args.unshared_length = slots_;
  args.ancestors = static_cast<const int32_t*>(ancestors_memory_.get());
  if (case_.shared_bias) args.shared_bias = bias_pointers_.data();
  if (case_.ancestor_bias) args.ancestor_bias = static_cast<const float*>(ancestor_bias_.address);
  args.output = output_.address;
  args.log_sum_exp = static_cast<float*>(lse_.address);
  args.workspace = workspace_.get();
  args.workspace_bytes = workspace_bytes_;
  return args;
}

void AttentionCall::enqueue(cudaStream_t stream) const {
  sidbeam_attention_args given = args();
  given.stream = stream;
  call("attention", sidbeam::runner::attention_device(0).run, static_cast<const sidbeam_attention_args*>(&given));
}

void AttentionCall::spoil(cudaStream_t stream) const {
  expect_cuda(
      cudaMemsetAsync(output_.address, 0xFF,
                      static_cast<size_t>(total_rows_ * case_.heads * case_.head_dim) * size_of(case_.dtype), stream),
      "fill");
  expect_cuda(cudaMemsetAsync(workspace_.get(), 0xFF, static_cast<size_t>(workspace_bytes_), stream), "fill");
}

AttentionCall::Results AttentionCall::fetch(cudaStream_t stream) const {
  const auto rows = static_cast<size_t>(total_rows_ * case_.heads);
  return {receive(output_, case_.dtype, rows * static_cast<size_t>(case_.head_dim), stream),
          receive(lse_, SIDBEAM_DTYPE_F32, rows, stream)};
}

// Products are sums of head_dim terms in f32; weights are rounded to the type before they meet the values, and results
// once more.
void AttentionCall::check_row(const Results& results, size_t request, int64_t row, int32_t head) const {
  const AttentionCase& c = case_;
  const int64_t dim = c.head_dim, kv = int64_t{c.kv_heads} * dim, at = int64_t{head / (c.heads / c.kv_heads)} * dim;
  const double* query = &queries_.values[static_cast<size_t>(row * query_stride_ + head * dim)];
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  struct Seen {
    double product;
    const double* value;
  };
  std::vector<Seen> seen;
  double largest = -std::numeric_limits<double>::infinity(), most = 0;
  bool nan = false;
  const auto see = [&](const Elements& keys, const Elements& values, int64_t position, double bias) {
    if (bias == -INFINITY) return;  // whatever the key and the value are
    double product = 0;
    for (int64_t d = 0; d < dim; ++d) product += query[d] * keys.values[static_cast<size_t>(position * kv + at + d)];
    product = product * scale + bias;
    nan = nan || std::isnan(product);
    seen.push_back({product, &values.values[static_cast<size_t>(position * kv + at)]});
    largest = std::max(largest, product);
    if (std::isfinite(product)) most = std::max(most, std::fabs(product));
  };
  for (int64_t key = 0; key < c.lengths[request]; ++key)
    see(keys_[request], values_[request], key,
        c.shared_bias ? shared_bias_[request].values[static_cast<size_t>(head * c.lengths[request] + key)] : 0);
  for (int32_t i = 0; i < c.depth; ++i) {
    const int32_t slot = ancestors_[static_cast<size_t>(row * c.depth + i)];
    if (slot < 0 || slot >= slots_) continue;
    see(unshared_keys_, unshared_values_, slot,
        c.ancestor_bias ? ancestor_bias_.values[static_cast<size_t>(head * c.depth + i)] : 0);
  }
  const auto place = static_cast<size_t>(row * c.heads + head);
  const double* got = &results.output[place * static_cast<size_t>(dim)];
  double weight = 0;
  for (const Seen& one : seen) weight += largest == -INFINITY ? 0 : std::exp(one.product - largest);
  const double lse = results.lse[place], near_lse = 2e-5 + 1e-6 * (most + std::fabs(largest));
  if (nan) {
    expect(lse == kNan && got[0] == kNan, c.text(), ": row ", row, " has NaN, and gave ", got[0]);
    return;
  }
  expect(weight == 0 ? lse == -INFINITY : std::fabs(lse - (largest + std::log(weight))) <= near_lse, c.text(), ": row ",
         row, " head ", head, " has lse ", lse, ", expected ", largest + std::log(weight));
  for (int64_t d = 0; d < dim; ++d) {
    double sum = 0, size = 0;
    for (const Seen& one : seen) {
      const double share = weight == 0 ? 0 : std::exp(one.product - largest) / weight;
      sum += share * one.value[d];
      size += share * std::fabs(one.value[d]);
    }
    const double allowed = unit_of(c.dtype) * size + near_lse * 4;
    expect(std::fabs(got[d] - sum) <= allowed, c.text(), ": row ", row, " head ", head, " column ", d, " is ", got[d],
           ", expected ", sum, " within ", allowed);
  }
}

void AttentionCall::check(const Results& results) const {
  for (size_t request = 0; request < case_.rows.size(); ++request)
    for (int64_t row = offsets_[request]; row < offsets_[request + 1]; ++row)
      for (int32_t head = 0; head < case_.heads; ++head) check_row(results, request, row, head);
}

AttentionCall AttentionCall::alone(size_t request) const {
  AttentionCall one = *this;
  one.case_.rows = {case_.rows[request]};
  one.case_.lengths = {case_.lengths[request]};
  one.offsets_ = {0, case_.rows[request]};
  one.total_rows_ = case_.rows[request];
  const auto part = [](const auto& from, int64_t first, int64_t count) {
    return std::decay_t<decltype(from)>(from.begin() + first, from.begin() + first + count);
  };
  one.queries_.values = part(queries_.values, offsets_[request] * query_stride_, one.total_rows_ * query_stride_);
  one.ancestors_ = part(ancestors_, offsets_[request] * case_.depth, one.total_rows_ * case_.depth);
  one.keys_ = {keys_[request]};
  one.values_ = {values_[request]};
  one.shared_bias_ = {shared_bias_[request]};
  one.upload();
  return one;
}

}  // namespace gpu
