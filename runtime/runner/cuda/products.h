// Products of rows with weights, by cuBLASLt, with a workspace of ours. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace sidbeam::runner::cuda {

// y[r, o] (+)= sum over i of x[r, i] * weights[o, i]. Sums are f32.
struct Product {
  const void* weights = nullptr;  // [outputs, inputs]
  const void* x = nullptr;        // [rows, inputs]
  void* y = nullptr;
  int64_t rows = 0, outputs = 0, inputs = 0;
  int64_t y_stride = 0;            // elements between rows of y
  int32_t dtype = 0, y_dtype = 0;  // of weights and x; of y
  bool add = false;                // to what y holds
  // Elements between rows; 0: dense. Where the weights are the caller's, their address is a multiple of 16 alone.
  int64_t weights_stride = 0, x_stride = 0;
  bool callers = false;
};

// The library's handle, and the algorithms that it chose for shapes it has seen. One thread at a time, on one stream.
class Products {
 public:
  Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  static constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;  // what NVIDIA recommends for compute capability 9.0
  // Of kWorkspaceBytes, on the device, aligned to 256.
  void use(void* workspace) { workspace_ = workspace; }
  void enqueue(const Product& product, cudaStream_t stream);

 private:
  // Descriptors and algorithm of one shape.
  struct Shape {
    int64_t rows = 0, outputs = 0, inputs = 0, y_stride = 0, weights_stride = 0, x_stride = 0;
    int32_t dtype = 0, y_dtype = 0;
    bool add = false, callers = false;
    bool operator==(const Shape&) const = default;
  };
  struct Known {
    Shape shape;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t weights = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm;
    bool made = false;
  };
  Known& find(const Shape& shape);
  void make(Known& known);
  static void drop(Known& known);

  // A shape that is not there takes the place of another of about its hash, so that prompts of all lengths take no more
  // memory.
  static constexpr size_t kKnown = 256, kPlaces = 8;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  Known known_[kKnown + kPlaces];
};

}  // namespace sidbeam::runner::cuda
