// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/products.h"

#include "sidbeam/rows.h"
#include "support/error.h"

namespace sidbeam::runner::cuda {
namespace {

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const sidbeam_status as = status == CUBLAS_STATUS_ALLOC_FAILED ? SIDBEAM_OUT_OF_MEMORY : SIDBEAM_DEVICE_ERROR;
  fail(as, "%s: cuBLASLt: %s", what, cublasLtGetStatusString(status));
}

cudaDataType_t type_of(int32_t dtype) {
  return dtype == SIDBEAM_DTYPE_F32 ? CUDA_R_32F : dtype == SIDBEAM_DTYPE_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

Products::Products() { check_blas(cublasLtCreate(&handle_), "start cuBLASLt"); }

Products::~Products() {
  for (Known& known : known_) drop(known);
  cublasLtDestroy(handle_);
}

void Products::drop(Known& known) {
  if (known.product != nullptr) cublasLtMatmulDescDestroy(known.product);
  for (const cublasLtMatrixLayout_t layout : {known.weights, known.x, known.y})
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  known = {};
}

Products::Known& Products::find(const Shape& shape) {
  uint64_t hash = 0;
  for (const int64_t field :
       {shape.rows, shape.outputs, shape.inputs, shape.y_stride, shape.weights_stride, shape.x_stride,
        int64_t{shape.dtype * 16 + shape.y_dtype * 4 + (shape.callers ? 2 : 0) + (shape.add ? 1 : 0)}})
    hash = (hash ^ static_cast<uint64_t>(field)) * 0x9E3779B97F4A7C15U;
  // A few places each, so that shapes which meet in one do not drive each other out level by level.
  Known* place = nullptr;
  for (uint64_t i = 0; i < kPlaces; ++i) {
    Known& here = known_[(hash >> 56) + i];
    if (here.made && here.shape == shape) return here;
    if (place == nullptr && !here.made) place = &here;
  }
  Known& known = place != nullptr ? *place : known_[hash >> 56];
  drop(known);
  known.shape = shape;
  make(known);
  return known;
}

// cuBLAS has matrices by columns: of its view, weights are transposed and x and y are not.
void Products::make(Known& known) {
  const Shape& shape = known.shape;
  const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  const cudaDataType_t type = type_of(shape.dtype);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  constexpr char kWhat[] = "describe a product";
  check_blas(cublasLtMatmulDescCreate(&known.product, CUBLAS_COMPUTE_32F, CUDA_R_32F), kWhat);
  check_blas(cublasLtMatmulDescSetAttribute(known.product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
             kWhat);
  check_blas(
      cublasLtMatrixLayoutCreate(&known.weights, type, size(shape.inputs), size(shape.outputs), shape.weights_stride),
      kWhat);
  check_blas(cublasLtMatrixLayoutCreate(&known.x, type, size(shape.inputs), size(shape.rows), shape.x_stride), kWhat);
  check_blas(cublasLtMatrixLayoutCreate(&known.y, type_of(shape.y_dtype), size(shape.outputs), size(shape.rows),
                                        shape.y_stride),
             kWhat);
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&preference), kWhat);
  const auto bytes = static_cast<size_t>(kWorkspaceBytes);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  cublasStatus_t status =
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  const uint32_t alignment = 16;
  if (status == CUBLAS_STATUS_SUCCESS && shape.callers)
    status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                                                  sizeof alignment);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(handle_, known.product, known.weights, known.x, known.y, known.y,
                                            preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check_blas(status, "choose how to multiply");
  if (count == 0)
    fail(SIDBEAM_DEVICE_ERROR, "cuBLASLt has no algorithm for a product of %lld rows by [%lld, %lld]",
         static_cast<long long>(shape.rows), static_cast<long long>(shape.outputs),
         static_cast<long long>(shape.inputs));
  known.algorithm = found.algo;
  known.made = true;
}

void Products::enqueue(const Product& product, cudaStream_t stream) {
  if (product.rows == 0 || product.outputs == 0) return;
  const auto stride = [&](int64_t given) { return given != 0 ? given : product.inputs; };
  const Known& known =
      find({product.rows, product.outputs, product.inputs, product.y_stride, stride(product.weights_stride),
            stride(product.x_stride), product.dtype, product.y_dtype, product.add, product.callers});
  const float one = 1.0F, before = product.add ? 1.0F : 0.0F;
  check_blas(cublasLtMatmul(handle_, known.product, &one, product.weights, known.weights, product.x, known.x, &before,
                            product.y, known.y, product.y, known.y, &known.algorithm, workspace_,
                            static_cast<size_t>(kWorkspaceBytes), stream),
             "multiply");
}

}  // namespace sidbeam::runner::cuda
