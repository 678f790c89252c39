// A matrix product as one library or another computes it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace bench {

struct Shape {
  int64_t inputs, outputs;
};

// The rows of x, dense, and as the runner lays out its own (input_stride()).
struct Inputs {
  const float *dense, *spaced;
};

// y[rows, outputs] = x[rows, inputs] W, row-major, y dense, on the caller's thread. W was given at creation and may
// have been packed.
class Product {
 public:
  virtual ~Product() = default;
  virtual void run(int64_t rows, const Inputs& x, float* y) = 0;
};

struct Maker {
  const char* name;
  // From W as [inputs, outputs]; nullptr where the library is not there.
  std::unique_ptr<Product> (*make)(const Shape& shape, const std::vector<float>& weights);
};

std::unique_ptr<Product> make_openblas(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_onednn(const Shape& shape, const std::vector<float>& weights);
// The whole library, with its own blocking.
std::unique_ptr<Product> make_blis(const Shape& shape, const std::vector<float>& weights);
// Its micro-kernel alone, under our blocking.
std::unique_ptr<Product> make_blis_kernel(const Shape& shape, const std::vector<float>& weights);
// Kernels generated for panels of 16, 32 or 64 outputs, under our blocking.
std::unique_ptr<Product> make_libxsmm_16(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_libxsmm_32(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_libxsmm_64(const Shape& shape, const std::vector<float>& weights);
// The runner's, by what the weights are held as.
std::unique_ptr<Product> make_sidbeam_f32(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_sidbeam_f16(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_sidbeam_bf16(const Shape& shape, const std::vector<float>& weights);
std::unique_ptr<Product> make_sidbeam_int8(const Shape& shape, const std::vector<float>& weights);

}  // namespace bench
