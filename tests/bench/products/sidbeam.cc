// The runner's own products. SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "product.h"
#include "runner/math/product.h"

namespace bench {
namespace {

using namespace sidbeam;

class Packed final : public Product {
 public:
  Packed(const Shape& shape, const std::vector<float>& weights, runner::Dtype dtype) : shape_(shape) {
    std::vector<float> by_output(weights.size());
    for (int64_t i = 0; i < shape.inputs; ++i)
      for (int64_t o = 0; o < shape.outputs; ++o)
        by_output[static_cast<size_t>(o * shape.inputs + i)] = weights[static_cast<size_t>(i * shape.outputs + o)];
    const runner::Tensor tensor{by_output.data(), runner::Dtype::kF32, shape.outputs, shape.inputs};
    matrix_ = runner::pack_matrix(default_allocator(), tensor, dtype);
    if (!find_cpu_target(std::getenv("BENCH_TARGET"), workers_.target)) std::abort();
  }

  void run(int64_t rows, const Inputs& x, float* y) override {
    const runner::ConstRows inputs(x.spaced, rows, shape_.inputs, runner::input_stride(shape_.inputs));
    runner::multiply(workers_, inputs, matrix_, {y, rows, shape_.outputs});
  }

 private:
  Shape shape_;
  runner::Matrix matrix_;
  runner::Workers workers_;
};

}  // namespace

std::unique_ptr<Product> make_sidbeam_f32(const Shape& shape, const std::vector<float>& weights) {
  return std::make_unique<Packed>(shape, weights, runner::Dtype::kF32);
}
std::unique_ptr<Product> make_sidbeam_f16(const Shape& shape, const std::vector<float>& weights) {
  return std::make_unique<Packed>(shape, weights, runner::Dtype::kF16);
}
std::unique_ptr<Product> make_sidbeam_bf16(const Shape& shape, const std::vector<float>& weights) {
  return std::make_unique<Packed>(shape, weights, runner::Dtype::kBf16);
}
std::unique_ptr<Product> make_sidbeam_int8(const Shape& shape, const std::vector<float>& weights) {
  return std::make_unique<Packed>(shape, weights, runner::Dtype::kI8);
}

}  // namespace bench
