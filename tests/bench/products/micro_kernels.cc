// Single-threaded micro-kernels of BLIS and libxsmm under the runner's blocking: weights in panels, inputs in blocks of
// 256, rows in blocks that the second-level cache holds. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>

#include "product.h"

#ifdef BENCH_BLIS
#include <blis.h>
#endif
#ifdef BENCH_LIBXSMM
#include <libxsmm.h>
#endif

namespace bench {
namespace {

constexpr int64_t kBlock = 256;
constexpr int64_t kRows = 96;

// 64-byte aligned floats.
class Aligned {
 public:
  explicit Aligned(int64_t count)
      : data_(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>((count + 15) / 16 * 64)))) {
    std::fill_n(data_.get(), count, 0.0F);
  }
  float* data() const { return data_.get(); }

 private:
  struct Freed {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float[], Freed> data_;
};

// Blocks of inputs; in them panels of outputs; in them a row of the panel per input. Unused where neither library is
// installed.
[[maybe_unused]] Aligned pack(const Shape& shape, const std::vector<float>& weights, int64_t panel) {
  const int64_t columns = (shape.outputs + panel - 1) / panel * panel;
  Aligned packed(columns * shape.inputs);
  for (int64_t i = 0; i < shape.inputs; ++i) {
    const int64_t first = i / kBlock * kBlock, length = std::min(kBlock, shape.inputs - first);
    for (int64_t o = 0; o < shape.outputs; ++o)
      packed.data()[columns * first + (o / panel * length + (i - first)) * panel + o % panel] =
          weights[static_cast<size_t>(i * shape.outputs + o)];
  }
  return packed;
}

// Rows in equal blocks of at most kRows, each over all blocks of inputs.
class Blocked : public Product {
 public:
  explicit Blocked(const Shape& shape) : shape_(shape) {}
  void run(int64_t rows, const Inputs& x, float* y) override {
    const int64_t blocks = (rows + kRows - 1) / kRows;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = rows * b / blocks, to = rows * (b + 1) / blocks;
      for (int64_t first = 0; first < shape_.inputs; first += kBlock)
        run_block(to - from, x.dense + from * shape_.inputs, first, y + from * shape_.outputs);
    }
  }

 protected:
  // Adds the products of the inputs from `first` on; those from 0 on replace y.
  virtual void run_block(int64_t rows, const float* x, int64_t first, float* y) = 0;
  const Shape shape_;
};

#ifdef BENCH_BLIS
// The micro-kernel takes up to MR rows by NR outputs; both sides packed. (On machines whose kernel likes columns, the
// roles would be exchanged; there this is left out.)
class BlisKernel final : public Blocked {
 public:
  BlisKernel(const Shape& shape, const std::vector<float>& weights)
      : Blocked(shape),
        context_(bli_gks_query_cntx()),
        kernel_(reinterpret_cast<sgemm_ukr_ft>(bli_cntx_get_l3_vir_ukr_dt(BLIS_FLOAT, BLIS_GEMM_UKR, context_))),
        tall_(bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_MR, context_)),
        wide_(bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_NR, context_)),
        weights_(pack(shape, weights, wide_)),
        rows_((kRows + tall_) * kBlock) {}

  static std::unique_ptr<Product> make(const Shape& shape, const std::vector<float>& weights) {
    bli_init();
    if (!bli_cntx_l3_vir_ukr_prefers_rows_dt(BLIS_FLOAT, BLIS_GEMM_UKR, bli_gks_query_cntx())) return nullptr;
    return std::make_unique<BlisKernel>(shape, weights);
  }

 private:
  void run_block(int64_t rows, const float* x, int64_t first, float* y) override {
    const int64_t n = std::min(kBlock, shape_.inputs - first);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < n; ++i)
        rows_.data()[(row / tall_ * n + i) * tall_ + row % tall_] = x[row * shape_.inputs + first + i];
    float one = 1.0F, start = first == 0 ? 0.0F : 1.0F;
    const int64_t columns = (shape_.outputs + wide_ - 1) / wide_ * wide_;
    float* panel = weights_.data() + columns * first;
    for (int64_t o = 0; o < shape_.outputs; o += wide_, panel += n * wide_) {
      for (int64_t row = 0; row < rows; row += tall_) {
        float* const strip = rows_.data() + row * n;
        auxinfo_t next;
        bli_auxinfo_set_next_a(strip, &next);
        bli_auxinfo_set_next_b(panel + n * wide_, &next);
        kernel_(std::min(tall_, rows - row), std::min(wide_, shape_.outputs - o), n, &one, strip, panel, &start,
                y + row * shape_.outputs + o, shape_.outputs, 1, &next, context_);
      }
    }
  }

  cntx_t* context_;
  sgemm_ukr_ft kernel_;
  int64_t tall_, wide_;
  Aligned weights_, rows_;
};
#endif

#ifdef BENCH_LIBXSMM
// A generated kernel multiplies one panel by all rows of a block, which it reads where they are; it sees everything
// transposed, column by column.
class Generated final : public Blocked {
 public:
  Generated(const Shape& shape, const std::vector<float>& weights, int64_t panel)
      : Blocked(shape), panel_(panel), weights_(pack(shape, weights, panel)) {}

 private:
  void run_block(int64_t rows, const float* x, int64_t first, float* y) override {
    const int64_t n = std::min(kBlock, shape_.inputs - first);
    const libxsmm_smmfunction kernel = kernel_of(rows, n, first > 0);
    const int64_t columns = (shape_.outputs + panel_ - 1) / panel_ * panel_;
    const float* panel = weights_.data() + columns * first;
    for (int64_t o = 0; o < shape_.outputs; o += panel_, panel += n * panel_) kernel(panel, x + first, y + o);
  }

  libxsmm_smmfunction kernel_of(int64_t rows, int64_t inputs, bool add) {
    libxsmm_smmfunction& kernel = kernels_[{rows, inputs, add}];
    if (kernel == nullptr) {
      const auto lda = static_cast<int>(panel_), ldb = static_cast<int>(shape_.inputs),
                 ldc = static_cast<int>(shape_.outputs);
      const float alpha = 1.0F, beta = add ? 1.0F : 0.0F;
      const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
      kernel = libxsmm_smmdispatch(lda, static_cast<int>(rows), static_cast<int>(inputs), &lda, &ldb, &ldc, &alpha,
                                   &beta, &flags, &prefetch);
    }
    return kernel;
  }

  int64_t panel_;
  Aligned weights_;
  std::map<std::tuple<int64_t, int64_t, bool>, libxsmm_smmfunction> kernels_;
};
#endif

std::unique_ptr<Product> make_libxsmm([[maybe_unused]] const Shape& shape,
                                      [[maybe_unused]] const std::vector<float>& weights,
                                      [[maybe_unused]] int64_t panel) {
#ifdef BENCH_LIBXSMM
  if (shape.outputs % panel == 0) return std::make_unique<Generated>(shape, weights, panel);
#endif
  return nullptr;
}

}  // namespace

std::unique_ptr<Product> make_blis_kernel([[maybe_unused]] const Shape& shape,
                                          [[maybe_unused]] const std::vector<float>& weights) {
#ifdef BENCH_BLIS
  return BlisKernel::make(shape, weights);
#else
  return nullptr;
#endif
}
std::unique_ptr<Product> make_libxsmm_16(const Shape& shape, const std::vector<float>& weights) {
  return make_libxsmm(shape, weights, 16);
}
std::unique_ptr<Product> make_libxsmm_32(const Shape& shape, const std::vector<float>& weights) {
  return make_libxsmm(shape, weights, 32);
}
std::unique_ptr<Product> make_libxsmm_64(const Shape& shape, const std::vector<float>& weights) {
  return make_libxsmm(shape, weights, 64);
}

}  // namespace bench
