// Whole libraries: OpenBLAS, BLIS, oneDNN. Those that were not there at configuration are left out.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <map>

#include "product.h"

#ifdef BENCH_ONEDNN
#include <dnnl.hpp>
#endif

namespace bench {
namespace {

// A BLAS, found by the name of its library, each in a namespace of its own: they export the same names.
class Blas final : public Product {
 public:
  using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                         int lda, const float* b, int ldb, float beta, float* c, int ldc);

  Blas(Sgemm sgemm, const Shape& shape, const std::vector<float>& weights)
      : sgemm_(sgemm), shape_(shape), weights_(weights) {}

  static std::unique_ptr<Product> open(const char* library, const Shape& shape, const std::vector<float>& weights) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    auto* const sgemm = handle == nullptr ? nullptr : reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
    return sgemm == nullptr ? nullptr : std::make_unique<Blas>(sgemm, shape, weights);
  }

  void run(int64_t rows, const Inputs& x, float* y) override {
    const int m = static_cast<int>(rows), n = static_cast<int>(shape_.outputs), k = static_cast<int>(shape_.inputs);
    sgemm_(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1.0F, x.dense, k, weights_.data(), n, 0.0F, y, n);
  }

 private:
  static constexpr int kRowMajor = 101, kNoTranspose = 111;
  Sgemm sgemm_;
  Shape shape_;
  std::vector<float> weights_;
};

#ifdef BENCH_ONEDNN
// A primitive per number of rows, with weights in the format that it likes best.
class OneDnn final : public Product {
 public:
  OneDnn(const Shape& shape, const std::vector<float>& weights) : shape_(shape), weights_(weights) {}

  void run(int64_t rows, const Inputs& x, float* y) override {
    const auto found = plans_.find(rows);
    const Plan& plan = found != plans_.end() ? found->second : plans_.emplace(rows, plan_of(rows)).first->second;
    dnnl::memory source(plan.primitive_desc.src_desc(), engine_, const_cast<float*>(x.dense));
    dnnl::memory target(plan.primitive_desc.dst_desc(), engine_, y);
    plan.primitive.execute(stream_, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, plan.weights}, {DNNL_ARG_DST, target}});
    stream_.wait();
  }

 private:
  struct Plan {
    dnnl::matmul::primitive_desc primitive_desc;
    dnnl::matmul primitive;
    dnnl::memory weights;
  };

  Plan plan_of(int64_t rows) {
    using dnnl::memory;
    const auto f32 = memory::data_type::f32;
    const memory::desc source({rows, shape_.inputs}, f32, memory::format_tag::ab);
    const memory::desc any({shape_.inputs, shape_.outputs}, f32, memory::format_tag::any);
    const memory::desc plain({shape_.inputs, shape_.outputs}, f32, memory::format_tag::ab);
    const memory::desc target({rows, shape_.outputs}, f32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(source, any, target), engine_);
    memory as_given(plain, engine_, weights_.data()), packed(chosen.weights_desc(), engine_);
    dnnl::reorder(as_given, packed).execute(stream_, as_given, packed);
    stream_.wait();
    return {chosen, dnnl::matmul(chosen), packed};
  }

  Shape shape_;
  std::vector<float> weights_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<int64_t, Plan> plans_;
};
#endif

}  // namespace

std::unique_ptr<Product> make_openblas(const Shape& shape, const std::vector<float>& weights) {
  return Blas::open("libopenblas.so.0", shape, weights);
}

std::unique_ptr<Product> make_blis(const Shape& shape, const std::vector<float>& weights) {
  return Blas::open("libblis.so.4", shape, weights);
}

std::unique_ptr<Product> make_onednn([[maybe_unused]] const Shape& shape,
                                     [[maybe_unused]] const std::vector<float>& weights) {
#ifdef BENCH_ONEDNN
  return std::make_unique<OneDnn>(shape, weights);
#else
  return nullptr;
#endif
}

}  // namespace bench
